"""Every message the library raises or warns with, read from its source.

A message is the first argument of a call that makes an exception, raised or returned, or of
``warnings.warn``. What is filled in at run time is written ``…``. A message held in a variable, or
made by a function of the library, is followed to the texts it can be.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

GAP = "…"
SHORTEST = 9
ROOT = Path(__file__).parent.parent
SOURCES = (ROOT / "src" / "kinlearn", ROOT / "experiments" / "src" / "kinlearn_experiments")


@dataclass(frozen=True)
class Message:
    """A text with gaps, and where it is."""

    place: str
    text: str


@dataclass
class Reader:
    """Reads all modules first, so that functions and exceptions of other modules are known."""

    sources: tuple[Path, ...] = SOURCES
    trees: dict[str, ast.Module] = field(default_factory=dict)
    functions: dict[str, list[ast.FunctionDef]] = field(default_factory=lambda: defaultdict(list))
    exceptions: set[str] = field(default_factory=set)
    unread: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        for source in self.sources:
            for path in sorted(source.rglob("*.py")):
                tree = ast.parse(path.read_text(encoding="utf-8"))
                self.trees[path.relative_to(source.parent).as_posix()] = tree
        self.exceptions = {
            name
            for name, thing in vars(builtins).items()
            if isinstance(thing, type) and issubclass(thing, BaseException)
        } | {"LinAlgError", "ConvergenceWarning"}
        self.exceptions -= {"AssertionError"}  # for the one who wrote the line, not for users
        nodes = [node for tree in self.trees.values() for node in ast.walk(tree)]
        classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
        for _ in range(3):  # a class may come before the one it is made from
            for node in classes:
                if any(last_name(base) in self.exceptions for base in node.bases):
                    self.exceptions.add(node.name)
        for node in nodes:
            if isinstance(node, ast.FunctionDef):
                self.functions[node.name].append(node)

    def messages(self) -> list[Message]:
        """Return all messages; what cannot be read is left in ``unread``."""
        found = []
        for module, tree in self.trees.items():
            for scope, node in scoped(tree):
                place = f"{module}:{getattr(node, 'lineno', 0)}"
                if isinstance(node, ast.Raise):
                    self._check_raise(node, place)
                elif isinstance(node, ast.Call) and node.args and self._speaks(node):
                    texts = self.texts(node.args[0], scope)
                    if texts is None:
                        self.unread.append(f"{place}: {ast.unparse(node)}")
                    found += [Message(place, text) for text in texts or ()]
        return found

    def _speaks(self, call: ast.Call) -> bool:
        if last_name(call.func) in self.exceptions:
            return True
        # to write out every call takes long
        likely = isinstance(call.func, ast.Call) or last_name(call.func) == "warn"
        return likely and ast.unparse(call.func) in ("warnings.warn", "type(error)")

    def _check_raise(self, node: ast.Raise, place: str) -> None:
        raised = node.exc
        parts = raised.values if isinstance(raised, ast.BoolOp) else [raised]
        for part in parts:
            if part is None or isinstance(part, (ast.Name, ast.Attribute)):
                continue  # what was caught, or made above, goes on; or a class without a message
            name = last_name(part.func) if isinstance(part, ast.Call) else ""
            known = name in self.exceptions | self.functions.keys() | {"Exit", "AssertionError"}
            if not known and ast.unparse(part.func) != "type(error)":  # type: ignore[attr-defined]
                self.unread.append(f"{place}: {ast.unparse(node)}")

    def texts(self, node: ast.expr, scope: ast.AST, depth: int = 0) -> list[str] | None:
        """Return the texts an expression can be, gaps marked; None where that cannot be told."""
        if isinstance(node, ast.Constant):
            return [node.value] if isinstance(node.value, str) else []
        if isinstance(node, ast.JoinedStr):
            return ["".join(v.value if isinstance(v, ast.Constant) else GAP for v in node.values)]
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            left = self.texts(node.left, scope, depth) or [GAP]
            right = self.texts(node.right, scope, depth) or [GAP]
            return [a + b for a in left for b in right]
        if isinstance(node, ast.IfExp):
            parts = [self.texts(side, scope, depth) for side in (node.body, node.orelse)]
            return [text for part in parts for text in part or ()] or None
        if depth > 3:
            return None
        if isinstance(node, ast.Name):
            made = [self.texts(value, scope, depth + 1) for value in assigned(scope, node.id)]
            return [text for part in made for text in part or ()] or None
        if isinstance(node, ast.Call) and last_name(node.func) in self.functions:
            made = [
                self.texts(inner.value, function, depth + 1)
                for function in self.functions[last_name(node.func)]
                for inner in ast.walk(function)
                if isinstance(inner, ast.Return) and inner.value is not None
            ]
            return [text for part in made for text in part or ()] or None
        return None


def last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def assigned(scope: ast.AST, name: str) -> Iterator[ast.expr]:
    """Yield what a name is set to inside a function."""
    for node in ast.walk(scope):
        if isinstance(node, ast.Assign) and any(last_name(t) == name for t in node.targets):
            yield node.value


def scoped(tree: ast.Module) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Yield every node with the innermost function around it."""

    left: list[tuple[ast.AST, ast.AST]] = [(tree, tree)]
    while left:
        node, scope = left.pop()
        for child in ast.iter_child_nodes(node):
            yield scope, child
            left.append((child, child if isinstance(child, ast.FunctionDef) else scope))


@cache
def one_gap(text: str) -> str:
    """The text with neighbouring gaps as one."""
    return re.sub(rf"{GAP}(?:\s*{GAP})+", GAP, text)


def covers(fragment: str, text: str) -> bool:
    """Whether a fragment of the page, its gaps marked, is found in a message.

    One of very few words must be the whole message, since it would be found almost anywhere.
    """
    text = one_gap(text)
    if len(fragment.replace(GAP, "").strip(" :.,")) < SHORTEST:
        return fragment == text
    at = 0
    for piece in fragment.split(GAP):
        at = text.find(piece.strip(), at)
        if at < 0:
            return False
        at += len(piece.strip())
    return True
