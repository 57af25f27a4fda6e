"""What the tuned estimators share: their grids, their folds, and what they keep of a search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn.estimators._base import KernelClassifier
from kinlearn.estimators._checks import check_grid, check_sharing
from kinlearn.estimators._training_set import TrainingSet
from kinlearn.kernels import Kernel
from kinlearn.selection.grids import SHARINGS, default_regs, default_sigmas
from kinlearn.selection.mixture import Mixture, learn_mixture
from kinlearn.selection.reporting import reported_scores, with_own_share
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
        self,
        search: GridSearch,
        data: TrainingSet,
        class_scales: bool,
        search_without: Callable[[np.ndarray], GridSearch] | None = None,
    ) -> Mixture:
        """Combine the points and calibrate; keep it, and the held-out scores as reported.

        With `class_scales` a stack is refined and has a scale and an offset for each class.
        `search_without` repeats the search without some passed rows, where that is affordable.
        """
        scales = class_scales and self.posterior == "calibrated"

        def learn_from(judged: GridSearch) -> Mixture:
            return learn_mixture(judged, self.combine, self._balance(data), scales)

        def learn_without(passed: np.ndarray) -> Mixture:
            assert search_without is not None
            found = learn_from(search_without(passed))
            mixed = search.mixed_scores(found.weights)
            if scales and self.combine == "stack":
                mixed = with_own_share(mixed, search.rows)
            return replace(found, mixed=mixed)

        found = learn_from(search)
        self.weights_ = found.weights
        self._keep_link(found.calibration.link)
        self._keep_reported(
            reported_scores(
                search.rows,
                lambda rows: learn_from(search.on(rows)),
                score=lambda learnt: learnt.scores,
                numbers=lambda learnt: learnt.calibration.numbers(),
                learn_without=None if search_without is None else learn_without,
                n_scores=search.scores.size,
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
