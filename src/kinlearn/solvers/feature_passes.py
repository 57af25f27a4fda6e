"""Products with ``Phi`` and ``Phiᵀ`` in passes over blocks of rows, made as they are needed.

A pass serves several problems at once: the whole data and the data without each of some folds. The
features, which are the cost, are made once for all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from kinlearn.kernels.evaluation import row_blocks
from kinlearn.solvers.held_out_copies import remaining
from kinlearn.threads import room, side_by_side
from kinlearn.training.splits import Splits

Array: TypeAlias = NDArray[np.float64]

# Large enough for matrix products to run at full speed, small enough for a few to be in work.
BLOCK_BYTES = 24 << 20


class FoldedTargets:
    """Targets of the whole problem and of those with one block left out, side by side.

    Problem 0 is the whole, problem j+1 leaves block j of the splits out: rows, or some of the
    copies that a row stands for.

    Parameters
    ----------
    Z : ndarray of shape (n, c)
        Targets.
    weights : ndarray of shape (n,) or None
        Weights of rows; None when equal.
    splits : Splits, optional
        What is left out; nothing when left out.
    units : ndarray of shape (U, c), optional
        Targets of the copies, where some leave alone.
    """

    def __init__(
        self,
        Z: Array,
        weights: Array | None,
        splits: Splits | None = None,
        units: Array | None = None,
    ) -> None:
        self.Z, self.weights, self.splits = Z, weights, splits
        blocks = [] if splits is None else splits.blocks
        self.n_folds = len(blocks)
        self.stays = np.ones((Z.shape[0], self.n_folds + 1))
        partly, problem, left = [], [], []
        for j, block in enumerate(blocks):
            if block.leaving is None:
                self.stays[block.removed, j + 1] = 0.0
                continue
            assert units is not None
            share, whole = block.leaving.share, block.leaving.whole
            self.stays[block.removed, j + 1] = np.where(whole, 0.0, 1.0 - share)
            some = block.removed[~whole]
            partly.append(some)
            problem.append(np.full(some.size, j + 1))
            left.append(remaining(Z[block.removed], block.leaving, units)[0][~whole])
        none = np.empty(0, np.intp)
        self.partly, self.problem = (np.concatenate([none, *part]) for part in (partly, problem))
        self.left = np.concatenate([Z[:0], *left])

    @property
    def n_columns(self) -> int:
        return (self.n_folds + 1) * self.Z.shape[1]

    def totals(self) -> Array:
        """Return the sum of weights each problem trains on, shape (k+1,)."""
        filled = np.ones(self.Z.shape[0]) if self.weights is None else self.weights
        return filled @ self.stays

    def targets(self, rows: slice) -> NDArray:
        """Return the targets of some rows for every problem, (b, (k+1)·c)."""
        tiled = np.tile(self.Z[rows], self.n_folds + 1)
        here = (self.partly >= rows.start) & (self.partly < rows.stop)
        if here.any():
            by_problem = tiled.reshape(len(tiled), self.n_folds + 1, -1)
            by_problem[self.partly[here] - rows.start, self.problem[here]] = self.left[here]
        return tiled

    def weigh(self, values: NDArray, rows: slice) -> NDArray:
        """Multiply (b, (k+1)·c) values by D, zero where the problem leaves the row out."""
        if self.weights is not None:
            values *= self.weights[rows].astype(values.dtype)[:, None]
        by_problem = values.reshape(len(values), self.n_folds + 1, -1)
        by_problem *= self.stays[rows].astype(values.dtype)[:, :, None]
        return values


class FeaturePasses:
    """Features of training rows, made block by block in every pass.

    Parameters
    ----------
    make : callable
        Returns the features of the rows of a slice, (b, m), in memory of their own.
    n_rows, n_centers : int
        The shape of Phi.
    dtype : dtype
        Precision of the features and of products with them; sums are kept in double.
    memory_mb : float
        Bound on the memory of features: blocks that fit beside those in work are kept.
    """

    def __init__(
        self,
        make: Callable[[slice], NDArray],
        n_rows: int,
        n_centers: int,
        dtype: type = np.float64,
        memory_mb: float = 256,
    ) -> None:
        self.make, self.n_rows, self.n_centers, self.dtype = make, n_rows, n_centers, dtype
        itemsize = np.dtype(dtype).itemsize
        allowed = memory_mb * 2**20
        self.n_threads = room()
        # a block in work takes about three times its size while it is being made
        size = min(BLOCK_BYTES, allowed / (6 * self.n_threads))
        self.blocks = row_blocks(n_rows, itemsize * n_centers, int(size))
        self.kept: list[NDArray | None] = [None] * len(self.blocks)
        one = itemsize * n_centers * (self.blocks[0].stop - self.blocks[0].start)
        everything = one * len(self.blocks) + one * self.n_threads <= allowed
        spare = allowed - 3 * self.n_threads * one
        self.n_kept = len(self.blocks) if everything else int(max(0, spare // one))

    def _block(self, i: int) -> NDArray:
        found = self.kept[i]
        if found is None:
            found = self.make(self.blocks[i])
            if found.dtype != self.dtype:
                found = found.astype(self.dtype)
            if i < self.n_kept:
                self.kept[i] = found
        return found

    def _run(self, work: Callable[[int, slice, NDArray], None]) -> None:
        """Call ``work(thread, rows, Phi)`` for every block, always with the same thread number."""

        def share(thread: int) -> None:
            for i in range(thread, len(self.blocks), self.n_threads):
                work(thread, self.blocks[i], self._block(i))

        with side_by_side(self.n_threads) as each:
            list(each(share, range(self.n_threads)))

    def right_hand_side(self, data: FoldedTargets, nearest: bool) -> tuple[Array, Array]:
        """Return ``PhiᵀDZ`` of every problem and, if asked for, the weight nearest each centre."""
        sums = np.zeros((self.n_threads, self.n_centers, data.n_columns))
        gathered = np.zeros((self.n_threads, self.n_centers))

        def work(thread: int, rows: slice, Phi: NDArray) -> None:
            Z = data.weigh(data.targets(rows).astype(self.dtype), rows)
            sums[thread] += Phi.T @ Z
            if nearest:
                weights = None if data.weights is None else data.weights[rows]
                own = Phi.argmax(axis=1)
                gathered[thread] += np.bincount(own, weights, minlength=self.n_centers)

        self._run(work)
        return sums.sum(axis=0), gathered.sum(axis=0)

    def normal_product(self, A: Array, data: FoldedTargets) -> Array:
        """Return ``PhiᵀD(Phi A)``, each problem without its fold."""
        sums = np.zeros((self.n_threads, *A.shape))
        factor: NDArray = A.astype(self.dtype, copy=False)

        def work(thread: int, rows: slice, Phi: NDArray) -> None:
            sums[thread] += Phi.T @ data.weigh(Phi @ factor, rows)

        self._run(work)
        return sums.sum(axis=0)

    def held_out_scores(self, A: Array, data: FoldedTargets) -> Array:
        """Return the scores of all entries of the splits under the problem without them, (E, c)."""
        assert data.splits is not None
        scores = np.empty((data.splits.n_rows_held_out, data.Z.shape[1]))
        entry_row = data.splits.rows
        problem = np.repeat(np.arange(data.n_folds) + 1, np.diff(data.splits.starts))
        factor: NDArray = A.astype(self.dtype, copy=False)

        def work(thread: int, rows: slice, Phi: NDArray) -> None:
            here = np.flatnonzero((entry_row >= rows.start) & (entry_row < rows.stop))
            found = (Phi @ factor).reshape(len(Phi), data.n_folds + 1, -1)
            scores[here] = found[entry_row[here] - rows.start, problem[here]]

        self._run(work)
        return scores
