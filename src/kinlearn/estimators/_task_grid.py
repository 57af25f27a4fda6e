"""Held-out scores and coefficients over (sigma, sharing, reg), one decomposition per pair."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn.estimators._task_design import TaskDesign
from kinlearn.solvers.multitask_dual import TaskSpectrum
from kinlearn.solvers.splits import Splits
from kinlearn.solvers.task_covariance import unseen_weight
from kinlearn.threads import run_in_threads

Array = NDArray[np.float64]
# Kept so that nothing is decomposed twice: decompositions up to this much memory, and beyond these
# the solutions for all regs, which are far smaller, up to this much.
KEPT_SOLUTIONS_MB = 512
KEPT_SPECTRA_MB = 512


class TaskGrid:
    """Evaluates blocks of grid points, and turns a mix of them into coefficients.

    Parameters
    ----------
    design : TaskDesign
        The problem.
    splits : Splits
        What is held out.
    """

    def __init__(self, design: TaskDesign, splits: Splits) -> None:
        self.design, self.splits = design, splits
        self.spectra: dict[tuple[float, float], TaskSpectrum] = {}
        self.solutions: dict[tuple[float, float, float], Array] = {}

    def evaluate(self, points: dict[str, Array]) -> Array:
        """Return held-out scores of all combinations, reg fastest, then sharing, then sigma."""
        sharings, regs = points["sharing"], points["reg"]
        n_classes = self.design.targets.shape[1]
        shape = (len(points["sigma"]), len(sharings), len(regs))
        scores = np.empty((*shape, self.splits.n_rows_held_out, n_classes))
        for i, sigma in enumerate(points["sigma"]):
            self.design.phi_and_gram(float(sigma))  # made once, before threads share it
            self._evaluate_width(float(sigma), sharings, regs, scores[i])
        return scores.reshape(-1, *scores.shape[3:])

    def _evaluate_width(self, sigma: float, sharings: Array, regs: Array, scores: Array) -> None:
        # What is kept is settled before threads finish in whatever order they do.
        size = 8 * len(self.design.task) ** 2
        held = sum(spectrum.nbytes for spectrum in self.spectra.values())
        fresh = [float(s) for s in sharings if (sigma, float(s)) not in self.spectra]
        keep = set(fresh[: max(0, int(KEPT_SPECTRA_MB * 2**20 - held) // size)])
        # The other decompositions will be gone when the mix is known, so solutions are kept.
        room = KEPT_SOLUTIONS_MB * 2**20 // self.design.targets.nbytes - len(self.solutions)
        others = [sharing for sharing in fresh if sharing not in keep]
        solved = set(others[: max(0, int(room) // len(regs))])

        def one_pair(i: int) -> None:
            sharing = float(sharings[i])
            found = self._spectrum(sigma, sharing)
            if sharing in keep:
                self.spectra[sigma, sharing] = found
            if sharing in solved:
                for reg, solution in zip(regs, self.design.duals(found, regs), strict=True):
                    self.solutions[sigma, sharing, float(reg)] = solution
            scores[i] = self.design.held_out(found, sigma, sharing, regs, self.splits)

        run_in_threads(one_pair, range(len(sharings)), side=len(self.design.task))

    def _spectrum(self, sigma: float, sharing: float) -> TaskSpectrum:
        known = self.spectra.get((sigma, sharing))
        return self.design.spectrum(sigma, sharing) if known is None else known

    def mixed(
        self, points: list[dict[str, float]], weights: Array
    ) -> tuple[Array, Array, Array, dict[str, Any]]:
        """Return widths, all tasks' coefficients, the shared part, and the points with weight.

        θ is linear in the dual coefficients, so that per (sigma, sharing) all regs merge into one
        set of these; per sigma all degrees of sharing merge into one set of parameters.
        """
        used = [(points[p], float(weights[p])) for p in np.flatnonzero(weights)]
        sigmas = np.unique([point["sigma"] for point, _ in used])
        m, c = self.design.features.n_centers, self.design.targets.shape[1]
        coef = np.zeros((len(sigmas), self.design.n_tasks, m, c))
        shared = np.empty((len(used), m, c))
        for i, sigma in enumerate(sigmas):
            pairs = {point["sharing"] for point, _ in used if point["sigma"] == sigma}
            for sharing in sorted(pairs):
                at = [
                    k
                    for k, (point, _) in enumerate(used)
                    if point["sigma"] == sigma and point["sharing"] == sharing
                ]
                regs = np.array([used[k][0]["reg"] for k in at])
                mix = np.array([used[k][1] for k in at])
                duals = self._duals(float(sigma), sharing, regs)
                total = np.tensordot(mix, duals, axes=1)
                coef[i] += self.design.parameters(float(sigma), sharing, total)[0]
                shared[at] = self._shared_parts(float(sigma), sharing, duals)
        kept = {
            "sigmas": np.array([point["sigma"] for point, _ in used]),
            "sharings": np.array([point["sharing"] for point, _ in used]),
            "regs": np.array([point["reg"] for point, _ in used]),
            "weights": np.array([weight for _, weight in used]),
            "shared_coef": shared,
        }
        belongs = (kept["sigmas"] == sigmas[:, None]) * kept["weights"]
        return sigmas, coef, np.tensordot(belongs, shared, axes=1), kept

    def _duals(self, sigma: float, sharing: float, regs: Array) -> Array:
        keys = [(sigma, sharing, float(reg)) for reg in regs]
        if all(key in self.solutions for key in keys):
            return np.stack([self.solutions[key] for key in keys])
        return self.design.duals(self._spectrum(sigma, sharing), regs)

    def _shared_parts(self, sigma: float, sharing: float, duals: Array) -> Array:
        """β_0 = (ψ/T) Σ_n (Σ_t C[t, t_n]) a_n φ_n of several points at once, (K, m, c)."""
        phi, _ = self.design.phi_and_gram(sigma)
        column = self.design.covariance(sharing).mean(axis=0)[self.design.task]
        factor = unseen_weight(self.design.similarity, sharing) * column
        return np.tensordot(duals * factor[:, None], phi, axes=(1, 0)).transpose(0, 2, 1)
