"""The basis of a fit whose rows are few more or fewer than those of the fit before."""

from __future__ import annotations

import numpy as np

from kinlearn.kernels import KernelMap
from kinlearn.problems.fixed_basis import FixedBasis
from kinlearn.solvers.added_rows import AddedRows
from kinlearn.solvers.held_out_copies import without_one_copy
from kinlearn.training.splits import Splits
from kinlearn.training.training_set import TrainingSet


class KeptCenters(FixedBasis):
    """Given centres, with sums over the rows as passed that were kept and brought up to date.

    Parameters
    ----------
    features : KernelMap
        The kernel against the centres.
    data : TrainingSet
        The rows, of equal weight, with one label.
    rows : AddedRows
        The same rows as they were passed, equal ones one by one.
    """

    def __init__(self, features: KernelMap, data: TrainingSet, rows: AddedRows) -> None:
        super().__init__(features, data.X, data.targets, data.weights)
        self.rows, self.first = rows, data.rows.first
        self.copies = np.bincount(data.rows.member, minlength=data.n_rows)
        self.passed = np.eye(data.sizes[0])[data.passed_codes]

    def fit_and_hold_out(
        self, sigma: float, reg: float, splits: Splits, units: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        rows, n = self.rows, self.rows.n_rows
        same = np.isclose(reg * n * splits.kept_share, rows.ridge, rtol=1e-9, atol=0.0)
        if not (splits.leave_one_out and same):
            return super().fit_and_hold_out(sigma, reg, splits, units)
        A, entries = rows.solution(self.passed), splits.rows
        at = self.first[entries]
        scores = rows.held_out(A, self.passed)[at]
        if splits.leaving is not None:  # where copies of a row remain, its centre does, too
            assert units is not None
            part = ~splits.leaving.whole
            leverage = (rows.leverage[at] * self.copies[entries])[part]
            share, targets = splits.leaving.share[part], splits.leaving.targets(units)[part]
            scores[part] = without_one_copy(rows.Phi[at[part]] @ A, leverage, share, targets)
        return rows.at(A, reg * n), scores
