"""Many tasks in the dual, for any width, degree of sharing and reg.

One eigendecomposition per (sigma, sharing) serves every reg (mt-lspc, Lemma 1, in other variables);
of wide kernels, whose features have a small rank, one per task and sigma serves every sharing, too.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError

from kinlearn.kernels import Kernel, KernelMap
from kinlearn.problems.costs import WARN_TASK_ROWS, warn_if_many_task_rows
from kinlearn.problems.problem import Array, Axes, Point, Solution
from kinlearn.solvers import multitask_dual as dual
from kinlearn.solvers.multitask_held_out import held_out, leave_one_out_single
from kinlearn.solvers.multitask_wide import WideFeatures
from kinlearn.solvers.task_covariance import task_covariances, unseen_weight
from kinlearn.threads import side_by_side, threaded_blas
from kinlearn.training.centers import Centers
from kinlearn.training.splits import Splits
from kinlearn.training.training_set import TrainingSet

# Kept so that nothing is decomposed twice: decompositions up to this much memory, and beyond these
# the solutions for all regs, which are far smaller, up to this much.
KEPT_SOLUTIONS_MB = 512
KEPT_SPECTRA_MB = 512


def task_solution(
    sigmas: Array,
    coef: Array,
    shared: Array,
    used: list[tuple[Point, float]],
    weight_per_task: float,
) -> Solution:
    """A solution of tasks, with what a further task needs to know of the points in it.

    Parameters
    ----------
    sigmas : ndarray of shape (S,)
    coef : ndarray of shape (S, T, m, c)
    shared : ndarray of shape (points, m, c)
        What tasks share at every point with weight.
    used : list of (point, weight)
    weight_per_task : float
        N/T.
    """
    names = ("sigma", "sharing", "reg")
    mix = {f"mix_{name}s_": np.array([point[name] for point, _ in used]) for name in names}
    weights = np.array([weight for _, weight in used])
    own = mix["mix_sigmas_"] == sigmas[:, None]
    belongs = own * weights
    facts = {
        **mix,
        "mix_blocks_": own.argmax(axis=0),
        "mix_weights_": weights,
        "mix_shared_coef_": shared,
        "weight_per_task_": weight_per_task,
    }
    return Solution(sigmas, coef, np.tensordot(belongs, shared, axes=1), facts)


@dataclass
class TasksDual:
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
    weight_per_task : float
        N/T in the user's own weights, kept for tasks that are added later.
    """

    features: KernelMap
    measure: Array
    targets: Array
    weights: Array
    task: NDArray[np.intp]
    similarity: Array
    own: NDArray[np.intp] | None = None
    units: Array | None = None
    weight_per_task: float = 1.0
    _kept: dict[str, Array] = field(default_factory=dict)
    _sigma: float = float("nan")
    _spectra: dict[tuple[float, float], dual.TaskSpectrum] = field(default_factory=dict)
    _solutions: dict[tuple[float, float, float], Array] = field(default_factory=dict)
    _wide: dict[float, WideFeatures | None] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        features: KernelMap,
        data: TrainingSet,
        similarity: Array,
        *,
        own_centers: bool,
        n_decompositions: int = 1,
    ) -> TasksDual:
        """Measure the rows against the centres once; `own_centers` if these are all rows."""
        if data.n_rows > WARN_TASK_ROWS:
            warn_if_many_task_rows(data.n_rows, n_decompositions)
        own = None
        if own_centers:
            # a row seen in other tasks, too, stays a centre when it is held out of one
            place = data.by_features.member
            own = np.where(np.bincount(place)[place] == 1, place, -1)
        return cls(
            features,
            features.measure.block(data.X),
            data.targets,
            data.filled_weights,
            data.row_task,
            similarity,
            own,
            data.unit_targets,
            data.total_weight / len(similarity),
        )

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

    def _held_out_at(
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

    def _duals_of(self, sigma: float, sharing: float, reg: float) -> Array:
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

    def hold_out(self, sigma: float, sharing: float, reg: float, splits: Splits) -> Array:
        """Held-out scores of one point, (entries, c), by Cholesky where that serves."""
        _, gram = self.phi_and_gram(sigma)
        with threaded_blas(len(self.task)):
            return self._hold_out(gram, sigma, sharing, reg, splits)

    def _hold_out(
        self, gram: Array, sigma: float, sharing: float, reg: float, splits: Splits
    ) -> Array:
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
        return self._held_out_at(found, sigma, sharing, np.array([reg]), splits)[0]

    def parameters(self, sigma: float, sharing: float, duals: Array) -> tuple[Array, Array]:
        """θ_t of all tasks, (T, m, c), and the shared part β_0 = ψ·mean θ_t, (m, c)."""
        phi, _ = self.phi_and_gram(sigma)
        theta = dual.task_parameters(phi, duals, self.task, self.covariance(sharing))
        return theta, unseen_weight(self.similarity, sharing) * theta.mean(axis=0)

    # -- all points of a grid ---------------------------------------------------------------------

    def held_out(self, axes: Axes, splits: Splits) -> Array:
        """Return held-out scores of all combinations, reg fastest, then sharing, then sigma."""
        sharings, regs = axes["sharing"], axes["reg"]
        shape = (len(axes["sigma"]), len(sharings), len(regs))
        scores = np.empty((*shape, splits.n_rows_held_out, self.targets.shape[1]))
        for i, sigma in enumerate(axes["sigma"]):
            self.phi_and_gram(float(sigma))  # made once, before threads share it
            self._hold_out_width(float(sigma), sharings, regs, splits, scores[i])
        return scores.reshape(-1, *scores.shape[3:])

    def _hold_out_width(
        self, sigma: float, sharings: Array, regs: Array, splits: Splits, scores: Array
    ) -> None:
        wide = self._known_wide(sigma, regs, splits)
        if wide is not None:
            total = self.total_weight * splits.kept_share
            ridge = dual.ridges(regs, total, self.n_tasks)
        # What is kept is settled before threads finish in whatever order they do.
        size = 8 * len(self.task) ** 2
        held = sum(spectrum.nbytes for spectrum in self._spectra.values())
        fresh = [
            float(s)
            for s in sharings
            if (sigma, float(s)) not in self._spectra and (wide is None or s == 0.0)
        ]
        keep = set(fresh[: max(0, int(KEPT_SPECTRA_MB * 2**20 - held) // size)])
        # The other decompositions will be gone when the mix is known, so solutions are kept.
        room = KEPT_SOLUTIONS_MB * 2**20 // self.targets.nbytes - len(self._solutions)
        others = [sharing for sharing in fresh if sharing not in keep]
        solved = set(others[: max(0, int(room) // len(regs))])

        def one_pair(i: int) -> None:
            sharing = float(sharings[i])
            if wide is not None and sharing > 0.0:
                C = self.covariance(sharing)
                scores[i] = wide.leave_one_out(C, self.targets, ridge, splits, self.units)
                return
            found = self._known_spectrum(sigma, sharing)
            if sharing in keep:
                self._spectra[sigma, sharing] = found
            if sharing in solved:
                for reg, solution in zip(regs, self.duals(found, regs), strict=True):
                    self._solutions[sigma, sharing, float(reg)] = solution
            scores[i] = self._held_out_at(found, sigma, sharing, regs, splits)

        with side_by_side(len(sharings), side=len(self.task)) as each:
            list(each(one_pair, range(len(sharings))))

    def _known_wide(self, sigma: float, regs: Array, splits: Splits) -> WideFeatures | None:
        """Features of a small rank; None where the rank is large, or another formula is needed."""
        off_diagonal = self.similarity[~np.eye(self.n_tasks, dtype=bool)]
        alike = off_diagonal[0] > 0.0 and np.all(off_diagonal == off_diagonal[0])
        if not (alike and splits.leave_one_out and (regs > 0.0).all()):
            return None
        if sigma not in self._wide:
            phi, gram = self.phi_and_gram(sigma)
            self._wide[sigma] = WideFeatures.of(
                phi, gram, self.task, self.weights, self.own, len(regs)
            )
        return self._wide[sigma]

    def _known_spectrum(self, sigma: float, sharing: float) -> dual.TaskSpectrum:
        known = self._spectra.get((sigma, sharing))
        return self.spectrum(sigma, sharing) if known is None else known

    def mixed(self, points: list[Point], weights: Array) -> Solution:
        """Return all tasks' coefficients of a mix, and their shared part.

        θ is linear in the dual coefficients, so that per (sigma, sharing) all regs merge into one
        set of these; per sigma all degrees of sharing merge into one set of parameters.
        """
        used = [(points[p], float(weights[p])) for p in np.flatnonzero(weights)]
        sigmas = np.unique([point["sigma"] for point, _ in used])
        m, c = self.features.n_centers, self.targets.shape[1]
        coef = np.zeros((len(sigmas), self.n_tasks, m, c))
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
                duals = self._known_duals(float(sigma), sharing, regs)
                total = np.tensordot(mix, duals, axes=1)
                coef[i] += self.parameters(float(sigma), sharing, total)[0]
                shared[at] = self._shared_parts(float(sigma), sharing, duals)
        return task_solution(sigmas, coef, shared, used, self.weight_per_task)

    def _known_duals(self, sigma: float, sharing: float, regs: Array) -> Array:
        keys = [(sigma, sharing, float(reg)) for reg in regs]
        if all(key in self._solutions for key in keys):
            return np.stack([self._solutions[key] for key in keys])
        wide = self._wide.get(sigma)
        if wide is not None and sharing > 0.0:
            ridge = dual.ridges(regs, self.total_weight, self.n_tasks)
            return wide.dual_coefficients(self.covariance(sharing), self.targets, ridge)
        return self.duals(self._known_spectrum(sigma, sharing), regs)

    def _shared_parts(self, sigma: float, sharing: float, duals: Array) -> Array:
        """β_0 = (ψ/T) Σ_n (Σ_t C[t, t_n]) a_n φ_n of several points at once, (K, m, c)."""
        phi, _ = self.phi_and_gram(sigma)
        column = self.covariance(sharing).mean(axis=0)[self.task]
        factor = unseen_weight(self.similarity, sharing) * column
        return np.tensordot(duals * factor[:, None], phi, axes=(1, 0)).transpose(0, 2, 1)

    # -- one point --------------------------------------------------------------------------------

    def solve(self, point: Point, splits: Splits | None) -> tuple[Solution, Array | None]:
        """Return one solution and, if asked for, its held-out scores; nothing is decomposed."""
        sigma, sharing, reg = point["sigma"], point["sharing"], point["reg"]
        scores = None if splits is None else self.hold_out(sigma, sharing, reg, splits)
        with threaded_blas(len(self.task)):
            duals = self._duals_of(sigma, sharing, reg)
        theta, shared = self.parameters(sigma, sharing, duals)
        used = [(point, 1.0)]
        found = task_solution(
            np.array([sigma]), theta[None], shared[None], used, self.weight_per_task
        )
        return found, scores


@dataclass(frozen=True)
class DualPoser:
    """Poses the problem of tasks in the dual, in any kernel.

    Attributes
    ----------
    centers : Centers
    memory_mb : float
        Bound on the memory of kernel blocks.
    similarity : ndarray of shape (T, T)
    n_decompositions : int
        How many widths and degrees of sharing there are, of all kernels.
    """

    centers: Centers
    memory_mb: float
    similarity: Array
    n_decompositions: int

    def __call__(self, kernel: Kernel, data: TrainingSet) -> TasksDual:
        return TasksDual.of(
            KernelMap(kernel, self.centers.rows, self.memory_mb),
            data,
            self.similarity,
            own_centers=self.centers.everything,
            n_decompositions=self.n_decompositions,
        )
