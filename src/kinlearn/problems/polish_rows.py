"""What a polish needs of sums, and of batches of rows that are not kept between passes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn.problems.coding import Coding
from kinlearn.problems.hashed_rows import held_count
from kinlearn.problems.polish import Polish
from kinlearn.problems.polish_coordinates import HeldRows, OneTaskCoordinates, RowSums
from kinlearn.solvers.log_loss_pass import FeatureBlock, log_loss_pass
from kinlearn.sums import NormalEquations
from kinlearn.sums.batch import read_batch

Array = NDArray[np.float64]


class NewClassError(ValueError):
    """A class that the sums have not seen.

    Attributes
    ----------
    row : int
        Its first row, from 0, among those given.
    """

    def __init__(self, message: str, row: int = 0) -> None:
        super().__init__(message)
        self.row = row


@dataclass(frozen=True)
class SumsToPolish:
    """Sums, and how their targets become columns of the log-loss.

    Attributes
    ----------
    sums : NormalEquations
        Of one task.
    coding : Coding
    learnt : ndarray of bool of shape (T,), or None
        Of indicators, which labels vary.
    factors : ndarray of shape (k,)
        Of a class weight.
    """

    sums: NormalEquations
    coding: Coding
    learnt: NDArray[np.bool_] | None
    factors: Array

    @classmethod
    def of(cls, sums: NormalEquations, factors: Array) -> SumsToPolish:
        """Of classes, or of indicators."""
        if sums.kind == "classes":
            return cls(sums, Coding.of_classes(len(sums.classes)), None, factors)
        products = sums.target_sums()
        on = np.diagonal(products)[1:]
        learnt = (on > 0) & (on < (1 - 1e-12) * products[0, 0])
        return cls(sums, Coding(True, indicators=True), learnt, factors)

    def _chosen(self, Z: Array) -> Array:
        """The targets that are learnt; indicators lead with ones."""
        return Z if self.learnt is None else Z[:, 1:][:, self.learnt]

    def row_sums(self) -> RowSums:
        """Gram matrix and moments of all rows."""
        h = self.sums.moments()
        everything = None if self.learnt is None else h[:, 0]
        moments = self.coding.moments(self._chosen(h), everything)
        return RowSums(self.sums.gram(), moments, self.sums.weight)

    def held(self, everything: bool = False) -> tuple[HeldRows, Array, Array] | None:
        """Rows that say when to stop, their targets and weights as users know them.

        None where the sums keep too few of them; with `everything` all they keep, which then only
        say how certain rows are.
        """
        sample = self.sums.held_out_sample()
        if sample is None:
            return None
        targets = sample.targets / sample.weights[:, None]
        plain, total = sample.weights, self.sums.weight
        if self.learnt is None:
            plain = plain / (targets @ self.factors)
            total = float((self.sums.target_sums() / self.factors).sum())
        order = np.argsort(sample.keys)
        order = order[: None if everything else held_count(plain[order], total)]
        if not order.size:
            return None
        own = self._chosen(targets[order])
        phi = self.sums.features().features(sample.X[order], self.sums.sigma)
        held = HeldRows(phi, self.coding.targets(own), sample.weights[order])
        return held, own, plain[order]

    def polish(self, held: HeldRows, reg: float, **options: Any) -> Polish:
        """A polish that has not been told anything yet; to convergence, as ridge regression."""
        norm = None
        if "tol" not in options:
            norm = self.sums.features().norm(self.sums.sigma)
        coordinates = OneTaskCoordinates(self.row_sums(), reg, norm)
        return Polish(coordinates, held, self.coding, **options)


@dataclass(frozen=True)
class BatchLoss:
    """The log-loss of batches of rows; small enough to go to other machines.

    Attributes
    ----------
    empty : NormalEquations
        Sums of no rows, for the features.
    names : list
        Classes, or names of labels, in the order of the columns.
    coding : Coding
    learnt : ndarray of bool, or None
        As in :class:`SumsToPolish`.
    """

    empty: NormalEquations
    names: list[Any]
    coding: Coding
    learnt: NDArray[np.bool_] | None

    @classmethod
    def of(cls, to_polish: SumsToPolish) -> BatchLoss:
        sums = to_polish.sums
        return cls(sums.empty_copy(), sums.classes.tolist(), to_polish.coding, to_polish.learnt)

    def __call__(self, coef: Array, X: Any, y: Any, weights: Any) -> tuple[float, Array]:
        """Return the loss and its gradient, summed over the rows of positive weight."""
        read = read_batch(X, y, None, weights, self.empty.n_features)
        if read.n_rows == 0:
            return 0.0, np.zeros(coef.shape)
        known = {name: k for k, name in enumerate(self.names)}
        for code, name in enumerate(read.targets.names):
            if name not in known:
                codes = read.targets.codes
                row = 0 if codes is None else int(np.flatnonzero(codes == code)[0])
                raise NewClassError(
                    f"The class {name!r} was not among the rows that the sums are of: a source "
                    "must give the same rows in every pass.",
                    row,
                )
        shift = 0 if self.learnt is None else 1
        columns = np.array([known[name] + shift for name in read.targets.names], dtype=np.intp)
        features, n_columns = self.empty.features(), len(self.names) + shift

        def blocks() -> Iterator[FeatureBlock]:
            for rows, phi in features.feature_blocks(read.X, self.empty.sigma):
                some = np.arange(rows.start, rows.stop)
                Z = read.targets.dense(some, columns, n_columns)
                own = Z if self.learnt is None else Z[:, 1:][:, self.learnt]
                w = None if read.weights is None else read.weights[rows]
                yield phi, self.coding.targets(own), w

        return log_loss_pass(blocks(), coef, self.coding.sigmoids)
