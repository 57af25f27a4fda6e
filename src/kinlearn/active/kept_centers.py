"""From many labels on, the centres of one fit are those of the next: a label costs O(n m).

Centres are chosen anew when settings are; between, a label is a row more in sums that are kept, and
what the kernel says of the rows of the table against the centres is computed once.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kinlearn.estimators.lspc import LSPC
from kinlearn.kernels import KernelMap, resolve_kernel
from kinlearn.problems.kept_centers import KeptCenters
from kinlearn.solvers.added_rows import AddedRows
from kinlearn.sums.row_hash import first_equal, row_hashes
from kinlearn.threads import own_threads
from kinlearn.training.centers import AUTO_CENTERS, choose_centers
from kinlearn.training.copies import find_distinct_rows
from kinlearn.training.training_set import TrainingSet

Array: TypeAlias = NDArray[np.float64]
Index: TypeAlias = NDArray[np.intp]

# From so many labels on.
KEPT_FROM = 800
# Up to so many labels more or fewer, sums are brought up to date; beyond, made anew.
MOST_STEPS = 20
# After so many updates sums are made anew, for the sake of their last digits.
MOST_UPDATES = 1_000


def may_keep(estimator: Any, X: Any) -> bool:
    """Whether the centres of an estimator's fits to rows of X are ours to choose and to keep."""
    plain = isinstance(X, np.ndarray) or (sp.issparse(X) and X.format == "csr")
    own = estimator.centers is None and estimator.n_centers == "auto"
    closed = estimator.posterior == "calibrated" and estimator.class_weight is None
    names = estimator.kernel if isinstance(estimator.kernel, (list, tuple)) else [estimator.kernel]
    known = all(isinstance(name, str) and name != "precomputed" for name in names)
    simple = plain and own and closed and known and estimator.basis == "full"
    return bool(simple and X.dtype == np.float64)


def centers_among(estimator: Any, X: Any, rows: Index, settings: dict[str, Any]) -> list[int]:
    """Which of some rows are the centres: all that differ, or as many as an estimator chooses."""
    own = X[rows]
    distinct = find_distinct_rows(own)
    chosen = distinct.first
    if distinct.n_distinct > AUTO_CENTERS:
        positions = choose_centers(
            own[chosen],
            AUTO_CENTERS,
            estimator.center_selection,
            resolve_kernel(settings["kernel"], estimator.degree, estimator.coef0),
            settings["sigma"],
            np.random.RandomState(0),
            distinct.canonical,
        )
        chosen = chosen[positions]
    return [int(row) for row in rows[chosen]]


class KeptRows:
    """Rows of a table against the centres of some settings, and sums over the labelled ones.

    Parameters
    ----------
    estimator : LSPCCV
        As the user gave it.
    X : array or CSR matrix
        All rows of the table.
    settings : dict
        With ``"centers"``.
    """

    def __init__(self, estimator: Any, X: Any, settings: dict[str, Any]) -> None:
        self.X, self.settings = X, settings
        kernel = resolve_kernel(settings["kernel"], estimator.degree, estimator.coef0)
        centers = X[np.asarray(settings["centers"], dtype=np.intp)]
        self.map = KernelMap(kernel, centers, estimator.memory_mb)
        self._own = first_equal(row_hashes(X), row_hashes(centers))
        self.most = int(estimator.memory_mb * 2**20 / (8 * self.map.n_centers))
        self._forget()
        self._rows: Index = np.zeros(0, dtype=np.intp)
        self._sums: AddedRows | None = None

    def _forget(self) -> None:
        self._place = np.full(self.X.shape[0], -1, dtype=np.intp)
        self._known = np.empty((0, self.map.n_centers))
        self._n_known = 0

    def features(self, rows: Index) -> Array:
        """Features of rows of the table; computed once, of as many as the memory allows."""
        new = rows[self._place[rows] < 0]
        if self._n_known + len(new) > self.most:
            self._forget()
            new = rows
        if len(new) > self.most:
            return self.map.features(self.X[rows], self.settings["sigma"])
        if len(new):
            end = self._n_known + len(new)
            if end > len(self._known):
                room = np.empty((min(self.most, end + end // 4), self.map.n_centers))
                room[: self._n_known] = self._known[: self._n_known]
                self._known = room
            found = self.map.features(self.X[new], self.settings["sigma"])
            self._known[self._n_known : end] = found
            self._place[new] = np.arange(self._n_known, end)
            self._n_known = end
        return self._known[self._place[rows]]

    def fit(self, model: LSPC, rows: Index, y: NDArray) -> None:
        """Fit a model to labelled rows: with these centres, of which rows held out take theirs."""
        sums = self._sums_over(rows)

        def pose(data: TrainingSet, features: KernelMap, *_: Any) -> KeptCenters:
            return KeptCenters(features, data, sums)

        with own_threads(model.n_jobs):
            model._fit_posed(self.X[rows], y, None, np.arange(len(rows)), pose)

    def _sums_over(self, rows: Index) -> AddedRows:
        n = min(len(rows), len(self._rows))
        apart = np.flatnonzero(rows[:n] != self._rows[:n])
        same = int(apart[0]) if apart.size else n
        steps = len(rows) + len(self._rows) - 2 * same
        if self._sums is not None and steps <= MOST_STEPS and self._moved(rows, same):
            self._rows = rows.copy()
            return self._sums
        sums = AddedRows(self.features(rows), self.settings["ridge"], self._own[rows])
        if same < len(rows):  # not for an earlier model, beside the one that goes on
            self._sums, self._rows = sums, rows.copy()
        return sums

    def _moved(self, rows: Index, same: int) -> bool:
        """Bring the sums to other rows, the first ones being the same; False where they cannot."""
        sums = self._sums
        assert sums is not None
        if sums.n_updates > MOST_UPDATES:
            self._rows, self._sums = self._rows[:0], None
            return False
        while sums.n_rows > same:
            if not sums.can_drop:
                self._rows, self._sums = self._rows[:0], None
                return False
            sums.drop_last()
        new = rows[same:]
        for phi, own in zip(self.features(new), self._own[new].tolist(), strict=True):
            sums.add(phi, own)
        return True

    def proba(self, model: LSPC, rows: Index) -> Array:
        """Probabilities of rows of the table by a model with these centres."""
        fitted = model.model_
        scores = fitted.calibration.offset_of(None) + self.features(rows) @ fitted.coef[0]
        return np.asarray(fitted.proba(scores))
