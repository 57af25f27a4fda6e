"""From training rows to the systems of a multi-label fit, one per width."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinlearn.estimators._label_training_set import LabelTrainingSet
from kinlearn.kernels import KernelMap
from kinlearn.solvers.label_fits import IterativeFit, LabelFit, LabelSystem, MaskedFit
from kinlearn.solvers.label_problems import LabelProblem

# Selecting needs far less accuracy than the model itself.
SEARCH_TOL = 1e-5
# Decompositions kept for the refit, instead of being made again, up to this much memory.
KEPT_FITS_MB = 1024


class LabelDesign:
    """Rows, centres and targets; the features of any width.

    Parameters
    ----------
    features : KernelMap
        Kernel at the centres.
    data : LabelTrainingSet
    problems : list of LabelProblem
    own_centers : bool
        Whether the centres are the rows.
    keep : bool
        Whether several widths will be asked for.
    """

    def __init__(
        self,
        features: KernelMap,
        data: LabelTrainingSet,
        problems: list[LabelProblem],
        *,
        own_centers: bool,
        keep: bool,
    ) -> None:
        self.features = features
        self.data = data
        self.problems = problems
        self.own_centers = own_centers
        self.keep = keep
        self.complete = data.complete
        self._measure: Any = None
        self._fits: dict[float, LabelFit] = {}

    def system(self, sigma: float) -> LabelSystem:
        """The system of one width."""
        data = self.data
        return LabelSystem(
            features=self._features(sigma),
            problems=self.problems,
            n_labels=len(data.active),
            own_centers=self.own_centers,
            copies=data.copies,
            row_weights=data.row_weights if self.complete else None,
            pair_weights=None if self.complete else data.fit_weights,
        )

    def fit(self, sigma: float, solver: str, tol: float, max_iter: int) -> LabelFit:
        """A fit of one width by the named solver (``"direct"`` is held out spectrally)."""
        system = self.system(sigma)
        if not self.complete:
            return MaskedFit(system, tol=tol, max_iter=max_iter)
        if solver == "cg":
            return IterativeFit(system, tol=tol, max_iter=max_iter)
        return LabelFit(system)

    def search_fit(self, sigma: float, max_iter: int) -> LabelFit:
        """A fit to select by, kept for the model when memory allows."""
        if sigma in self._fits:
            return self._fits[sigma]
        fit = self.fit(sigma, "auto", SEARCH_TOL, max_iter)
        size = 3 * 8 * fit.system.features.size
        if self.complete and (len(self._fits) + 1) * size <= KEPT_FITS_MB * 2**20:
            self._fits[sigma] = fit
        return fit

    def _features(self, sigma: float) -> np.ndarray:
        if not self.own_centers:
            return self.features.features(self.data.X, sigma)
        measure = self._measure
        if measure is None:
            measure = self.features.square_measure(self.data.X)
            if self.keep:
                self._measure = measure
        out = np.empty_like(measure) if self.keep else measure
        return self.features.kernel.profile(measure, sigma, out)
