"""Which rows are left out together: the one description of a validation all solvers share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp


@dataclass(frozen=True)
class Leaving:
    """Part of some rows' copies, where a row stands for several: what of it leaves.

    Attributes
    ----------
    share : ndarray of shape (k,)
        Share of the row's weight that leaves, in (0, 1]; with 1 its centre leaves, too.
    copies : CSR matrix of shape (k, units)
        Which units' targets leave; every row adds up to one.
    """

    share: np.ndarray
    copies: sp.csr_matrix

    @property
    def whole(self) -> np.ndarray:
        """Which of the rows leave altogether."""
        return self.share == 1.0

    def targets(self, units: np.ndarray) -> np.ndarray:
        """Targets of what leaves, (k, c), from the targets of all units."""
        return np.asarray(self.copies @ units).astype(units.dtype, copy=False)


@dataclass(frozen=True)
class Block:
    """Rows that leave together, and which of them (as positions in `removed`) are tested.

    `leaving` is None where all of them leave altogether.
    """

    removed: np.ndarray
    tested: np.ndarray
    leaving: Leaving | None = None


@dataclass(frozen=True)
class Splits:
    """A way of holding rows out.

    Any split in which a model trained on some copies of rows is tested on others is covered: a
    block of copies is removed (all not trained on) and some of the removed ones are tested.

    Attributes
    ----------
    n_rows : int
        Number of distinct rows.
    blocks : list of Block
        What is removed together; empty for leave-one-out.
    rows : ndarray of shape (E,)
        The distinct row of each entry tested, block after block; a row may occur more than once or
        never.
    starts : ndarray
        Where each block's part of `rows` begins, with the total at the end.
    leaving : Leaving, optional
        Of leave-one-out: what leaves at each entry; None where all rows leave altogether.
    kept : float, optional
        Of leave-one-out: the share of all weight that remains; (n-1)/n when left out.
    """

    n_rows: int
    blocks: list[Block] = field(default_factory=list)
    rows: np.ndarray = field(default_factory=lambda: np.empty(0, np.intp))
    starts: np.ndarray = field(default_factory=lambda: np.zeros(1, np.intp))
    leaving: Leaving | None = None
    kept: float | None = None

    @property
    def leave_one_out(self) -> bool:
        return not self.blocks

    @property
    def n_rows_held_out(self) -> int:
        return int(self.rows.size)

    @property
    def n_fits(self) -> int:
        """How many models it takes where each has to be fitted."""
        return self.n_rows_held_out if self.leave_one_out else len(self.blocks)

    @property
    def kept_share(self) -> float:
        """The share of all weight that remains when one is left out."""
        return (self.n_rows - 1) / self.n_rows if self.kept is None else self.kept

    @property
    def whole_rows(self) -> bool:
        """Whether every row that leaves does so with all its copies."""
        parts = [self.leaving, *(block.leaving for block in self.blocks)]
        return all(part is None for part in parts)

    def __iter__(self) -> Iterator[tuple[slice, Block]]:
        for i, block in enumerate(self.blocks):
            yield slice(int(self.starts[i]), int(self.starts[i + 1])), block

    @classmethod
    def one_out(cls, n_rows: int) -> Splits:
        """Leave one distinct row out at a time."""
        return cls(n_rows, rows=np.arange(n_rows))

    @classmethod
    def of_blocks(cls, n_rows: int, blocks: list[Block]) -> Splits:
        """Leave blocks out, one after the other."""
        rows = [block.removed[block.tested] for block in blocks]
        starts = np.concatenate([[0], np.cumsum([part.size for part in rows])])
        return cls(n_rows, blocks, np.concatenate(rows), starts)

    @classmethod
    def from_train_test(cls, n_rows: int, pairs: Iterable[tuple[np.ndarray, np.ndarray]]) -> Splits:
        """Turn (train, test) positions of distinct rows into blocks to remove."""
        blocks = []
        for train, test in pairs:
            removed = np.setdiff1d(np.arange(n_rows), train)
            blocks.append(Block(removed, np.searchsorted(removed, np.unique(test))))
        return cls.of_blocks(n_rows, blocks)
