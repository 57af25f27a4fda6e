"""Held-out log-odds over a grid by refitting, warm-started along the regs."""

from __future__ import annotations

import numpy as np

from kinlearn.estimators._logistic_designs import Array, Fold, MultiDesign, SingleDesign
from kinlearn.solvers.logistic_path import Stopping
from kinlearn.solvers.splits import Splits
from kinlearn.threads import run_in_threads


class LogisticGrid:
    """Evaluates blocks of grid points.

    Parameters
    ----------
    design : SingleDesign or MultiDesign
        The problem.
    splits : Splits
        What is held out.
    stopping : Stopping
        Which solver, and how far.
    """

    def __init__(
        self,
        design: SingleDesign | MultiDesign,
        splits: Splits,
        stopping: Stopping,
    ) -> None:
        self.design, self.splits, self.stopping = design, splits, stopping
        self.norms: dict[tuple[float, ...], float] = {}

    def evaluate(self, points: dict[str, Array]) -> Array:
        """Return held-out scores of all combinations, reg fastest, then sharing, then sigma."""
        shared = "sharing" in points
        sharings = points["sharing"] if shared else np.zeros(1)
        # from strong to weak: each solution is a start for the next
        regs = points["reg"][::-1]
        shape = (len(points["sigma"]), len(sharings), len(regs))
        scores = np.empty((*shape, self.splits.n_rows_held_out, self.design.n_classes))
        for i, sigma in enumerate(points["sigma"]):
            phi = self.design.features(float(sigma))
            parts = self.design.folds(self.splits)
            worst = np.zeros(shape[1:])

            def one_fold(part: tuple[slice, Fold], phi: Array = phi) -> tuple[slice, Array, Array]:
                return self._one_fold(phi, *part, sharings, regs)

            for out, held, norms in run_in_threads(one_fold, parts, side=phi.shape[1]):
                scores[i, :, :, out] = held[:, ::-1]
                worst = np.maximum(worst, norms)
            for at in np.ndindex(*worst.shape):
                values = (float(sharings[at[0]]),) if shared else ()
                self.norms[(float(sigma), *values, float(regs[at[1]]))] = float(worst[at])
        return scores.reshape(-1, *scores.shape[3:])

    def _one_fold(
        self, phi: Array, out: slice, fold: Fold, sharings: Array, regs: Array
    ) -> tuple[slice, Array, Array]:
        if fold.train.size == 0 or fold.centers.size == 0:  # a model without data scores 0
            shape = (len(sharings), len(regs), len(fold.test), self.design.n_classes)
            return out, np.zeros(shape), np.zeros(shape[:2])
        held, norms = self.design.held_out(phi, fold, sharings, regs, self.stopping)
        return out, held, norms

    def norms_of(self, points: list[dict[str, float]]) -> Array:
        """Largest gradient norm among the fits of each point."""
        return np.array([self.norms[tuple(point.values())] for point in points])
