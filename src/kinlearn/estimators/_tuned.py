"""What the tuned estimators share: their grids, their folds, and what they keep of a search."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn.estimators._base import KernelClassifier
from kinlearn.estimators._checks import check_grid, check_sharing
from kinlearn.estimators._training_set import TrainingSet
from kinlearn.kernels import Kernel
from kinlearn.selection.folds import make_splits
from kinlearn.selection.grids import SHARINGS, default_regs, default_sigmas
from kinlearn.selection.search import GridSearch, Point
from kinlearn.solvers.splits import Splits


class GridTuned(KernelClassifier):
    """A kernel classifier tuned over widths and regs."""

    sigmas: Any
    regs: Any
    cv: Any

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

    def _task_splits(
        self, data: TrainingSet, task: NDArray[np.intp], groups: Any, cv: Any = None
    ) -> tuple[Splits, bool]:
        """Splits over distinct rows; folds are spread over tasks and, where possible, classes.

        A splitter or an iterable that the user gives sees the classes, as it expects.
        """
        labels, cv = data.labels, self.cv if cv is None else cv
        if isinstance(cv, (int, np.integer)) and not isinstance(cv, bool):
            labels = task * len(data.classes) + data.labels
            if np.bincount(labels[data.rows.first]).max() < cv:
                labels = task
        return make_splits(cv, data.rows, labels, groups)
