"""What steps hand to each other: numbers, texts, and inputs that no step has read yet.

Whether a column of a table holds text or numbers is not guessed: the first step that needs to know
settles it by what it learnt, an encoder by its categories, an imputer by what it fills in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np

from kinlearn.export.graph import Graph

MISSING_TEXT = ""  # how a missing value is written where columns hold text
MISSING = float("nan")


@dataclass
class Source:
    """An input of the graph.

    Attributes
    ----------
    name : str
        Its name.
    width : int
        Its number of columns.
    looks_like_text : bool or None
        What rows that came along show; used where no step settles it.
    text : bool or None
        What it was read as; None as long as no step has read it.
    """

    name: str
    width: int
    looks_like_text: bool | None = None
    text: bool | None = None
    _numbers: str = ""

    def read(self, graph: Graph, text: bool) -> str:
        """Return the name of its texts, or of its numbers in double precision."""
        if self.text is None:
            self.text = text
        if self.text != text:
            raise ValueError(
                f"Input {self.name!r} is read as text by one step and as numbers by another, but "
                "an input of an ONNX graph is one or the other: fit the pipeline on a DataFrame, "
                "by a ColumnTransformer, with a column for each use."
            )
        if not text and not self._numbers:
            self._numbers = graph.double(self.name)
        return self.name if text else self._numbers


@dataclass(frozen=True)
class Unread:
    """Columns of an input."""

    source: Source
    positions: tuple[int, ...]

    @property
    def width(self) -> int:
        return len(self.positions)


@dataclass(frozen=True)
class Block:
    """Numbers in double precision, of shape (n, width)."""

    name: str
    width: int


@dataclass(frozen=True)
class Words:
    """Texts of shape (n, width).

    Attributes
    ----------
    meanings : tuple of dict
        For each column the texts that stand for something else: missing ones, for NaN or for what
        an imputer has put there.
    respelt : bool
        Whether a step has brought other spellings of a text to one.
    """

    name: str
    width: int
    meanings: tuple[dict[str, Any], ...] = field(default_factory=tuple)
    respelt: bool = False


Part = Block | Words | Unread
Parts = list[Part]


def as_numbers(graph: Graph, parts: Parts, reader: str) -> Block:
    """Read all columns as numbers and put them side by side."""
    blocks = []
    for part in parts:
        if isinstance(part, Words):
            raise ValueError(
                f"{reader} takes numbers, but an imputer before it has filled in texts: give "
                f"{reader} columns of numbers by a ColumnTransformer, or encode them first."
            )
        blocks.append(_read_numbers(graph, part) if isinstance(part, Unread) else part)
    if len(blocks) == 1:
        return blocks[0]
    name = graph.add("Concat", *(block.name for block in blocks), axis=1)
    return Block(name, width_of(blocks))


def as_words(graph: Graph, part: Part, reader: str) -> Words:
    """Read columns as texts."""
    if isinstance(part, Block):
        raise ValueError(
            f"{reader} has categories that are text, but the step before it gives numbers, which "
            "ONNX cannot express: encode the column as it is in the table."
        )
    if isinstance(part, Words):
        return part
    name = _picked(graph, part.source.read(graph, text=True), part.positions, part.source.width)
    return Words(name, part.width, tuple({MISSING_TEXT: MISSING} for _ in part.positions))


def pick(graph: Graph, parts: Parts, positions: Iterable[int]) -> Parts:
    """Return some of the columns, in the order asked for."""
    places = [(number, j) for number, part in enumerate(parts) for j in range(part.width)]
    chosen = [places[int(i)] for i in positions]
    return [
        _pick_from(graph, parts[number], [j for _, j in group])
        for number, group in groupby(chosen, key=lambda place: place[0])
    ]


def each_column(graph: Graph, parts: Parts) -> Iterator[Part]:
    """Yield the columns one by one."""
    for part in parts:
        for j in range(part.width):
            yield _pick_from(graph, part, [j])


def width_of(parts: Sequence[Part]) -> int:
    """Return the number of columns."""
    return sum(part.width for part in parts)


def _read_numbers(graph: Graph, part: Unread) -> Block:
    name = part.source.read(graph, text=False)
    return Block(_picked(graph, name, part.positions, part.source.width), part.width)


def _pick_from(graph: Graph, part: Part, columns: list[int]) -> Part:
    if isinstance(part, Unread):
        return Unread(part.source, tuple(part.positions[j] for j in columns))
    name = _picked(graph, part.name, columns, part.width)
    if isinstance(part, Block):
        return Block(name, len(columns))
    return Words(name, len(columns), tuple(part.meanings[j] for j in columns), part.respelt)


def _picked(graph: Graph, name: str, columns: Sequence[int], width: int) -> str:
    if list(columns) == list(range(width)):
        return name
    return graph.add("Gather", name, graph.constant(np.array(columns, dtype=np.int64)), axis=1)
