"""Names in pages lead to the reference: `LSPCCV` or `LSPC.fit_stream` in code type becomes a link.

Pages stay plain Markdown that reads well anywhere. A name is linked once in a section; short words
such as `load`, which may mean something else, are left alone.
"""

from __future__ import annotations

import re

from docutils import nodes
from public_names import public_names

_TELLING = re.compile(r"\w*[A-Z]\w*|\w+_\w+")
# Where a link would be in the way, or is there already.
_NOT_IN = (nodes.reference, nodes.title, nodes.pending)


def _targets(app) -> dict[str, tuple[str, str]]:
    """Page and anchor of every name as people write it: short, or with its class or module."""
    objects = app.env.get_domain("py").objects
    public = {full: full.rpartition(".")[2] for full in public_names()}
    found = {}
    for full, entry in objects.items():
        owner, _, name = full.rpartition(".")
        place = entry.docname, entry.node_id
        if full in public and _TELLING.fullmatch(name):
            found[name] = found[full] = place
        elif owner in public:
            found[f"{public[owner]}.{name}"] = place
    return found


def _link(app, doctree, docname: str) -> None:
    if docname.startswith("api/generated/"):
        return
    targets = _targets(app)
    linked: set[tuple[int, str]] = set()
    for literal in list(doctree.findall(nodes.literal)):
        name = literal.astext().removesuffix("()")
        if name not in targets or _inside(literal, _NOT_IN) is not None:
            continue
        section = id(_inside(literal, nodes.section))
        if (section, name) in linked:
            continue
        linked.add((section, name))
        page, anchor = targets[name]
        uri = app.builder.get_relative_uri(docname, page)
        reference = nodes.reference("", "", internal=True, refuri=f"{uri}#{anchor}")
        literal.replace_self(reference)
        reference += literal


def _inside(node: nodes.Node, kinds) -> nodes.Node | None:
    """The nearest node around this one that is of such a kind."""
    above = node.parent
    while above is not None and not isinstance(above, kinds):
        above = above.parent
    return above


def setup(app) -> dict[str, bool]:
    """Register the hook."""
    app.connect("doctree-resolved", _link)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
