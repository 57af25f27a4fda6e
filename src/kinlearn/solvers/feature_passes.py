"""Products with ``Phi`` and ``Phiᵀ`` in passes over blocks of rows, made as they are needed.

A pass serves several problems at once: the whole data and the data without each of some folds. The
features, which are the cost, are made once for all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from kinlearn.kernels.evaluation import row_blocks
from kinlearn.threads import blas_threads, single_threaded_blas

Array: TypeAlias = NDArray[np.float64]

# Large enough for matrix products to run at full speed, small enough for a few to be in work.
BLOCK_BYTES = 24 << 20


@dataclass(frozen=True)
class FoldedTargets:
    """Targets of the whole problem and of those with one fold left out, side by side.

    Attributes
    ----------
    Z : ndarray of shape (n, c)
        Targets.
    weights : ndarray of shape (n,) or None
        Weights of rows; None when equal.
    fold : ndarray of shape (n,)
        The fold a row is held out in; -1 for a row that is always trained on.
    n_folds : int
        k; problem 0 is the whole, problem j+1 leaves fold j out.
    """

    Z: Array
    weights: Array | None
    fold: NDArray[np.intp]
    n_folds: int

    @property
    def n_columns(self) -> int:
        return (self.n_folds + 1) * self.Z.shape[1]

    def totals(self) -> Array:
        """Return the sum of weights each problem trains on, shape (k+1,)."""
        filled = np.ones(len(self.fold)) if self.weights is None else self.weights
        held = self.fold >= 0
        sums = np.bincount(self.fold[held], filled[held], minlength=self.n_folds)
        return filled.sum() - np.concatenate([[0.0], sums])

    def targets(self, rows: slice) -> NDArray:
        """Return the targets of some rows repeated for every problem, (b, (k+1)·c)."""
        return np.tile(self.Z[rows], self.n_folds + 1)

    def weigh(self, values: NDArray, rows: slice) -> NDArray:
        """Multiply (b, (k+1)·c) values by D, zero where the problem leaves the row out."""
        if self.weights is not None:
            values *= self.weights[rows].astype(values.dtype)[:, None]
        fold = self.fold[rows]
        held = np.flatnonzero(fold >= 0)
        by_problem = values.reshape(len(fold), self.n_folds + 1, -1)
        by_problem[held, fold[held] + 1] = 0.0
        return values

    def held_out(self, scores: NDArray, rows: slice) -> NDArray:
        """Of (b, (k+1)·c) scores, keep those of the problem that leaves each row out."""
        fold = self.fold[rows]
        return scores.reshape(len(fold), self.n_folds + 1, -1)[np.arange(len(fold)), fold + 1]


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
        self.n_threads = blas_threads()
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

        if self.n_threads == 1:
            share(0)
            return
        with single_threaded_blas(), ThreadPoolExecutor(self.n_threads) as pool:
            # consuming the results raises what a thread raised
            for _ in pool.map(share, range(self.n_threads)):
                pass

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
        """Return each row's scores under the problem that leaves it out, (n, c)."""
        scores = np.empty((self.n_rows, data.Z.shape[1]))
        factor: NDArray = A.astype(self.dtype, copy=False)

        def work(thread: int, rows: slice, Phi: NDArray) -> None:
            scores[rows] = data.held_out(Phi @ factor, rows)

        self._run(work)
        return scores
