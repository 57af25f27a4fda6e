"""Drawings in SVG become part of the page, so that they take its colours and their links work.

On a page, ``![words](images/x.svg)`` shows the drawing also where the Markdown is read as it is.
Links inside the drawing are written from the root of the site.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.transforms import SphinxTransform


class InlineSvg(SphinxTransform):
    """Replace an image whose file is an SVG under docs/images by the drawing itself."""

    default_priority = 5

    def apply(self, **kwargs) -> None:
        """Do it, before Sphinx collects the images."""
        for image in list(self.document.findall(nodes.image)):
            uri = image["uri"]
            if not uri.endswith(".svg") or "images/" not in uri or "://" in uri:
                continue
            relative, path = self.env.relfn2path(uri, self.env.docname)
            self.env.note_dependency(relative)
            drawing = Path(path).read_text(encoding="utf-8")
            drawing = re.sub(r"<\?xml.*?\?>\s*", "", drawing)
            root = "../" * self.env.docname.count("/")
            drawing = re.sub(r'href="(?![a-z]+:|#)', f'href="{root}', drawing)
            words = escape(image.get("alt", ""))
            html = f'<div class="drawing" role="figure" aria-label="{words}">{drawing}</div>'
            block = nodes.raw("", html, format="html")
            # A drawing alone in its paragraph takes the paragraph's place: a div may not be in a p.
            paragraph = image.parent
            if isinstance(paragraph, nodes.paragraph) and len(paragraph.children) == 1:
                paragraph.replace_self(block)
            else:
                image.replace_self(block)


def setup(app) -> dict[str, bool]:
    """Register the transform."""
    app.add_transform(InlineSvg)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
