"""Pages that show what their examples print: run the blocks, compare what is printed and shown.

A ``text`` block that directly follows a ``python`` block is what that block prints. Words must
agree; numbers may differ by as much as another linear algebra library makes them differ. A ``py``
block needs a library that is no dependency, and is run where that is installed.
"""

from __future__ import annotations

import ast
import contextlib
import io
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d*)?(?:e[-+]?\d+)?")


class Block(NamedTuple):
    """A python block and the text that is shown as its output, if any."""

    code: str
    shown: str | None
    optional: bool = False

    def can_run(self) -> bool:
        """Whether all that is imported can be."""
        if not self.optional:
            return True
        tree = ast.parse(self.code)
        needed = {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.module}
        return all(find_spec(name.partition(".")[0]) is not None for name in needed)


def blocks_of(page: Path) -> list[Block]:
    """Return the python blocks of a page with what is shown to be printed."""
    text = page.read_text(encoding="utf-8")
    found: list[Block] = []
    end = None
    for fence in FENCE.finditer(text):
        kind, body = fence.groups()
        if kind in ("python", "py"):
            found.append(Block(body, None, optional=kind == "py"))
            end = fence.end()
        elif kind == "text" and end is not None and not text[end : fence.start()].strip():
            found[-1] = found[-1]._replace(shown=body)
            end = None
    return found


def run_page(page: Path) -> list[tuple[str, str]]:
    """Execute the blocks in one namespace; return (shown, printed) of those that show something."""
    names: dict[str, Any] = {"__name__": "page"}
    pairs = []
    for block in blocks_of(page):
        if not block.can_run():
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block.code, str(page), "exec"), names)
        if block.shown is not None:
            pairs.append((block.shown, printed.getvalue()))
    return pairs


def differences(shown: str, printed: str, *, atol: float = 0.05, rtol: float = 0.1) -> list[str]:
    """Return what differs, as sentences; nothing where words agree and numbers are near."""
    ours, theirs = NUMBER.findall(shown), NUMBER.findall(printed)
    if NUMBER.sub("#", shown).split() != NUMBER.sub("#", printed).split():
        return [f"the page shows\n{shown}\nbut the block prints\n{printed}"]
    return [
        f"the page shows {a} where the block prints {b}"
        for a, b in zip(ours, theirs, strict=True)
        if abs(float(a) - float(b)) > atol + rtol * abs(float(b))
    ]
