"""What the tuned estimators share: their grids, their folds, and what they keep of a search."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn.estimators._base import KernelClassifier
from kinlearn.estimators._checks import check_grid, check_sharing
from kinlearn.estimators._training_set import TrainingSet
from kinlearn.kernels import Kernel
from kinlearn.selection.grids import SHARINGS, default_regs, default_sigmas
from kinlearn.selection.mixture import Mixture, learn_mixture
from kinlearn.selection.reporting import reported_scores
from kinlearn.selection.scoring import HeldOutRows
from kinlearn.selection.search import GridSearch, Point


class GridTuned(KernelClassifier):
    """A kernel classifier tuned over widths and regs."""

    sigmas: Any
    regs: Any
    cv: Any
    combine: str

    def _sigma_grid(self, kernel: Kernel, median: float) -> np.ndarray:
        if not kernel.has_width:
            return np.ones(1)
        return default_sigmas(median) if self.sigmas is None else check_grid("sigmas", self.sigmas)

    def _reg_grid(self, kernel: Kernel, data: TrainingSet, sigma: float) -> np.ndarray:
        if self.regs is not None:
            return check_grid("regs", self.regs)
        return default_regs(self._mean_diagonal(data, kernel, sigma))

    def _keep_search(self, search: GridSearch, scoring: Any) -> None:
        self.cv_results_ = search.results()
        self.best_index_ = search.best
        self.best_score_ = float(search.mean_scores[search.best])
        best: Point = search.points[search.best]
        self.sigma_, self.reg_ = best["sigma"], best["reg"]
        self.scoring_ = scoring


    def _keep_mixture(
        self, search: GridSearch, data: TrainingSet, class_scales: bool
    ) -> Mixture:
        """Combine the points and calibrate; keep it, and the held-out scores as reported.

        With `class_scales` a stack is refined and has a scale and an offset for each class.
        """
        stacked = class_scales and self.combine == "stack" and self.posterior == "calibrated"
        by_class = stacked and self.class_weight is None

        def learn(rows: HeldOutRows) -> Mixture:
            judged = search if rows is search.rows else search.on(rows)
            return learn_mixture(judged, self.combine, self._balance(data), by_class, stacked)

        found = learn(search.rows)
        self.weights_ = found.weights
        self._keep_calibration(found.calibration)
        self._keep_reported(
            reported_scores(
                search.rows,
                learn,
                score=lambda learnt: learnt.scores,
                beta=lambda learnt: np.append(learnt.calibration.beta, learnt.calibration.shift),
            )
        )
        return found


class TaskGridTuned(GridTuned):
    """The same over degrees of sharing, too."""

    sharings: Any

    def _sharing_grid(self) -> NDArray[np.float64]:
        if self.sharings is None:
            return SHARINGS
        values = np.ravel(self.sharings).tolist()
        if not values:
            raise ValueError("sharings is empty: give at least one degree of sharing in [0, 1].")
        return np.unique([check_sharing(value, "Each of sharings") for value in values])
