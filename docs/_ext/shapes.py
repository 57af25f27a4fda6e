"""Shapes in docstrings may name fitted attributes, such as ``ndarray of shape (n_centers_,)``.

A word that ends in an underscore is a reference in reStructuredText; in a shape it never is.
"""

from __future__ import annotations

import re

_NAME = re.compile(r"(?<=[( ])(\w+)_(?=[,)])")


def _escape(app, what, name, obj, options, lines: list[str]) -> None:
    for at, line in enumerate(lines):
        if " shape (" in line:
            lines[at] = _NAME.sub(r"\1\\_", line)


def setup(app) -> dict[str, bool]:
    """Register the hook, after numpydoc's."""
    app.connect("autodoc-process-docstring", _escape, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
