"""Links between files of the repository, made to work in the site.

Pages are written to be read where they lie: a page links to ``../CONTRIBUTING.md`` or to
``../examples/plot_x.py``. In the site these are pages of their own, so the links are moved; links
to a folder, which has no page, keep their words only. Two pages of the site *are* files of the
repository's root: their stubs are replaced by the files.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

# Pages of the site, and the file of the repository's root whose text each of them shows.
SHOWN = {"contributing": "CONTRIBUTING.md", "changes": "CHANGELOG.md"}
PAGES = {file: f"{page}.md" for page, file in SHOWN.items()} | {"README.md": "index.md"}

_FENCE = re.compile(r"(^[ \t]*(```+|:::+|~~~+).*?^[ \t]*\2[ \t]*$)", flags=re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")


def _read(app, docname: str, content: list[str]) -> None:
    docs = Path(app.srcdir)
    if Path(app.env.doc2path(docname)).suffix != ".md":
        return
    folder = PurePosixPath("docs") / PurePosixPath(docname).parent
    text = content[0]
    if docname in SHOWN:
        file = docs.parent / SHOWN[docname]
        app.env.note_dependency(str(file))
        text, folder = file.read_text(encoding="utf-8"), PurePosixPath(".")
    here = (PurePosixPath("docs") / PurePosixPath(docname)).parent

    def moved(match: re.Match[str]) -> str:
        words, target = match.groups()
        if re.match(r"[a-z]+:|#", target):
            return match[0]
        path, hash_, anchor = target.partition("#")
        where = _resolve(folder, path)
        if where is None:
            return match[0]
        place = _place(where, docs)
        if place is None:
            return words if (docs.parent / where).is_dir() else match[0]
        return f"[{words}]({_relative(place, here)}{hash_}{anchor})"

    parts = _FENCE.split(text)
    # Splitting by two groups gives text, fence, its mark, text, …: only the texts are touched.
    for at in range(0, len(parts), 3):
        parts[at] = _LINK.sub(moved, parts[at])
    content[0] = "".join(part for at, part in enumerate(parts) if at % 3 != 2)


def _resolve(folder: PurePosixPath, path: str) -> PurePosixPath | None:
    """The linked file, from the repository's root; None when it lies outside."""
    steps: list[str] = []
    for step in (folder / path).parts:
        if step == "..":
            if not steps:
                return None
            steps.pop()
        elif step != ".":
            steps.append(step)
    return PurePosixPath(*steps)


def _place(where: PurePosixPath, docs: Path) -> PurePosixPath | None:
    """Where the site holds this file: a path from the root that lies under docs/, or the file."""
    if str(where) in PAGES:
        return PurePosixPath("docs", PAGES[str(where)])
    if where.parts[:1] == ("examples",):
        page = PurePosixPath("docs", "auto_examples", *where.parts[1:])
        page = page / "index.rst" if page.suffix == "" else page.with_suffix(".rst")
        return page if (docs.parent / page).is_file() else None
    return where if (docs.parent / where).is_file() else None


def _relative(place: PurePosixPath, here: PurePosixPath) -> str:
    shared = 0
    for one, other in zip(place.parts, here.parts, strict=False):
        if one != other:
            break
        shared += 1
    return str(PurePosixPath(*[".."] * (len(here.parts) - shared), *place.parts[shared:]))


def setup(app) -> dict[str, bool]:
    """Register the hook."""
    app.connect("source-read", _read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
