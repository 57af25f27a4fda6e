"""The multi-task problem over training rows, for any width, degree of sharing and reg."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError

from kinlearn.kernels import KernelMap
from kinlearn.kernels.measures import Rows
from kinlearn.solvers import multitask_dual as dual
from kinlearn.solvers.multitask_held_out import held_out, leave_one_out_single
from kinlearn.solvers.splits import Splits
from kinlearn.solvers.task_covariance import task_covariances, unseen_weight

Array = NDArray[np.float64]


@dataclass
class TaskDesign:
    """Rows, tasks and targets, with the features of the last width asked for.

    Attributes
    ----------
    features : KernelMap
        The kernel against the centres.
    measure : ndarray of shape (n, m)
        What all widths share: distances of rows to centres.
    targets, weights : ndarrays of shape (n, c) and (n,)
        Z and the diagonal of D.
    task : ndarray of shape (n,)
        Task number of each row.
    similarity : ndarray of shape (T, T)
        W.
    own : ndarray of shape (n,) or None
        Which centre each row is, -1 for a row that is none; None keeps all centres when rows are
        held out.
    units : ndarray of shape (U, c) or None
        Targets of the copies that rows stand for.
    """

    features: KernelMap
    measure: Array
    targets: Array
    weights: Array
    task: NDArray[np.intp]
    similarity: Array
    own: NDArray[np.intp] | None = None
    units: Array | None = None
    _kept: dict[str, Array] = field(default_factory=dict)
    _sigma: float = float("nan")

    @classmethod
    def of(
        cls,
        features: KernelMap,
        X: Rows,
        targets: Array,
        weights: Array | None,
        task: NDArray[np.intp],
        similarity: Array,
        own: NDArray[np.intp] | None = None,
        units: Array | None = None,
    ) -> TaskDesign:
        """Measure the rows against the centres once."""
        filled = np.ones(len(task)) if weights is None else weights
        measure = features.measure.block(X)
        return cls(features, measure, targets, filled, task, similarity, own, units)

    @property
    def n_tasks(self) -> int:
        return int(self.similarity.shape[0])

    @property
    def total_weight(self) -> float:
        """N."""
        return float(self.weights.sum())

    def covariance(self, sharing: float) -> Array:
        """The task covariance C for reg = 1."""
        return task_covariances(self.similarity, np.array([sharing]))[0]

    def phi_and_gram(self, sigma: float) -> tuple[Array, Array]:
        """Phi and Phi Phiᵀ, kept until another width is asked for."""
        if sigma != self._sigma:
            out = np.empty_like(self.measure)
            phi = self.features.kernel.profile(self.measure, sigma, out)
            self._kept = {"phi": phi, "gram": phi @ phi.T}
            self._sigma = sigma
        return self._kept["phi"], self._kept["gram"]

    def spectrum(self, sigma: float, sharing: float) -> dual.TaskSpectrum:
        """One eigendecomposition: every reg of a (sigma, sharing)."""
        _, gram = self.phi_and_gram(sigma)
        return dual.spectrum(gram, self.covariance(sharing), self.task, self.weights)

    def held_out(
        self, found: dual.TaskSpectrum, sigma: float, sharing: float, regs: Array, splits: Splits
    ) -> Array:
        """Held-out scores for every reg, shape (R, entries, c)."""
        own = self._own_features(sigma, sharing)
        return held_out(found, self.targets, regs, self.n_tasks, splits, own, self.units)

    def _own_features(self, sigma: float, sharing: float) -> Array | None:
        if self.own is None:
            return None
        phi, _ = self.phi_and_gram(sigma)
        return dual.own_features(phi, self.own, self.covariance(sharing), self.task)

    def duals(self, found: dual.TaskSpectrum, regs: Array) -> Array:
        """Dual coefficients for every reg, shape (R, n, c)."""
        ridge = dual.ridges(regs, self.total_weight, self.n_tasks)
        return dual.dual_coefficients(found, self.targets, ridge)

    def solve(self, sigma: float, sharing: float, reg: float) -> Array:
        """Dual coefficients of one point, without an eigendecomposition."""
        phi, gram = self.phi_and_gram(sigma)
        if reg == 0.0 and sharing == 0.0:
            return self._minimum_norm(phi)
        ridge = float(dual.ridges(np.array([reg]), self.total_weight, self.n_tasks)[0])
        covariance = self.covariance(sharing)
        return dual.solve(gram, covariance, self.task, self.weights, self.targets, ridge)

    def _minimum_norm(self, phi: Array) -> Array:
        """a with Phi_tᵀa_t = pinv(Phi_t) Z_t for each task: Phi is not squared on the way.

        With D½Phi_t = P diag(s) Qᵀ, θ_t = Q diag(1/s) Pᵀ D½Z_t = Phi_tᵀ · D½P diag(1/s²) Pᵀ D½Z_t.
        """
        solution = np.empty_like(self.targets)
        root = np.sqrt(self.weights)[:, None]
        for t in np.unique(self.task):
            rows = np.flatnonzero(self.task == t)
            P, s, _ = np.linalg.svd(root[rows] * phi[rows], full_matrices=False)
            alive = s > s[0] * max(len(rows), phi.shape[1]) * np.finfo(float).eps
            P, s = P[:, alive], s[alive]
            inner = P.T @ (root[rows] * self.targets[rows])
            solution[rows] = root[rows] * (P @ (inner / s[:, None] ** 2))
        return solution

    def held_out_once(self, sigma: float, sharing: float, reg: float, splits: Splits) -> Array:
        """Held-out scores of one point, (entries, c), by Cholesky where that serves."""
        _, gram = self.phi_and_gram(sigma)
        if reg > 0.0 and splits.leave_one_out and splits.whole_rows:
            try:
                return leave_one_out_single(
                    gram,
                    self.covariance(sharing),
                    self.task,
                    self.weights,
                    self.targets,
                    reg,
                    self._own_features(sigma, sharing),
                    splits.kept_share,
                )[splits.rows]
            except LinAlgError:
                pass  # The ridge drowns in rounding: the eigendecomposition below bears that.
        found = self.spectrum(sigma, sharing)
        return self.held_out(found, sigma, sharing, np.array([reg]), splits)[0]

    def parameters(self, sigma: float, sharing: float, duals: Array) -> tuple[Array, Array]:
        """θ_t of all tasks, (T, m, c), and the shared part β_0 = ψ·mean θ_t, (m, c)."""
        phi, _ = self.phi_and_gram(sigma)
        theta = dual.task_parameters(phi, duals, self.task, self.covariance(sharing))
        return theta, unseen_weight(self.similarity, sharing) * theta.mean(axis=0)
