"""Which rows are left out together: the one description of a validation all solvers share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Splits:
    """A way of holding rows out.

    Any split in which a model trained on some rows is tested on others is covered: a block of rows
    is removed (all rows not trained on) and some of the removed ones are tested.

    Attributes
    ----------
    n_rows : int
        Number of distinct rows.
    blocks : list of (removed, tested) arrays
        Rows removed together, and which of those (as positions in `removed`) are tested; empty for
        leave-one-out.
    rows : ndarray
        The rows tested, block after block; a row may occur more than once or never.
    starts : ndarray
        Where each block's part of `rows` begins, with the total at the end.
    """

    n_rows: int
    blocks: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)
    rows: np.ndarray = field(default_factory=lambda: np.empty(0, np.intp))
    starts: np.ndarray = field(default_factory=lambda: np.zeros(1, np.intp))

    @property
    def leave_one_out(self) -> bool:
        return not self.blocks

    @property
    def n_rows_held_out(self) -> int:
        return int(self.rows.size)

    def __iter__(self) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        for i, (removed, tested) in enumerate(self.blocks):
            yield slice(int(self.starts[i]), int(self.starts[i + 1])), removed, tested

    @classmethod
    def one_out(cls, n_rows: int) -> Splits:
        """Leave one distinct row out at a time."""
        return cls(n_rows, rows=np.arange(n_rows))

    @classmethod
    def from_train_test(cls, n_rows: int, pairs: Iterable[tuple[np.ndarray, np.ndarray]]) -> Splits:
        """Turn (train, test) positions into blocks to remove."""
        blocks, rows, starts = [], [], [0]
        for train, test in pairs:
            removed = np.setdiff1d(np.arange(n_rows), train)
            test = np.unique(test)
            blocks.append((removed, np.searchsorted(removed, test)))
            rows.append(test)
            starts.append(starts[-1] + test.size)
        return cls(n_rows, blocks, np.concatenate(rows), np.array(starts))

    @classmethod
    def from_groups(cls, groups: np.ndarray) -> Splits:
        """Leave one group out at a time; groups of one row each are leave-one-out."""
        n_rows = groups.size
        order = np.argsort(groups, kind="stable")
        edges = np.flatnonzero(np.diff(groups[order])) + 1
        members = np.split(order, edges)
        if len(members) == n_rows:
            return cls.one_out(n_rows)
        blocks = [(np.sort(rows), np.arange(rows.size)) for rows in members]
        starts = np.concatenate([[0], np.cumsum([rows.size for rows in members])])
        return cls(n_rows, blocks, np.concatenate([rows for rows, _ in blocks]), starts)
