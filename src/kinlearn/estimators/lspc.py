"""LSPC: class probabilities from one regularised least-squares fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from kinlearn.estimators import _streaming as streaming
from kinlearn.estimators._checks import check_choice, check_count, check_positive
from kinlearn.estimators._classifier import MAX_HELD_OUT_ROWS, KernelClassifier, are_collections
from kinlearn.estimators._polish import (
    TOO_FEW,
    PolishChoice,
    check_polish,
    choose_polish,
    polish_obstacles,
    polish_of_sums,
    polish_source,
)
from kinlearn.kernels import KernelMap
from kinlearn.kernels.evaluation import DEFAULT_MEMORY_MB
from kinlearn.problems.basis import Basis
from kinlearn.problems.fixed_basis import RowFeatures
from kinlearn.problems.from_sums import OneTaskOfSums, Posed, class_labels
from kinlearn.problems.one_task import OneTask, one_task_basis, refuse_given_centers
from kinlearn.problems.pcg_basis import CALIBRATION_FOLDS, PcgBasis, PcgSettings
from kinlearn.problems.problem import Point, Solution
from kinlearn.problems.sample_rows import SampleRows
from kinlearn.selection.fit_point import fit_point
from kinlearn.solvers.solver_choice import SOLVERS, SolverChoice, choose_solver
from kinlearn.sums import NormalEquations
from kinlearn.threads import on_own_threads
from kinlearn.training.centers import Centers
from kinlearn.training.folds import Validation
from kinlearn.training.training_set import TrainingSet, check_groups

# A polish forms the matrix of so many centres where the solver is left open.
MOST_POLISHED = 10_000
FORMED = "A polish starts from sums over the rows, the matrix of centers among them."


class LSPC(KernelClassifier):
    """Least-squares probabilistic classifier.

    Minimises, for each class y with targets ``z = 1[label = y]`` and kernel features
    ``phi(x) = (k(x, c_1), ..., k(x, c_m))``::

        1/(2n) Σ_i (aᵀ phi(x_i) - z_i)² + reg/2 ||a||²

    (Eqs. 2-3 of [2]_), so that all classes come from one linear solve
    ``(PhiᵀPhi + n·reg·I) A = PhiᵀZ``, and turns the scores ``Aᵀ phi(x)`` into probabilities.

    Parameters
    ----------
    kernel : str or callable, default="rbf"
        ``"rbf"`` exp(-||x-x'||²/(2 sigma²)), ``"laplacian"`` exp(-||x-x'||₁/sigma),
        ``"exponential"`` exp(-||x-x'||/sigma), ``"matern32"`` (1 + √3||x-x'||/sigma)
        exp(-√3||x-x'||/sigma), ``"chi2"``
        exp(-χ²/sigma), ``"polynomial"`` (xᵀx'/sigma² + coef0)^degree, ``"linear"``, ``"cosine"``,
        ``"steps"`` (thresholds of single columns that both rows reach), ``"precomputed"``, or a
        function of two arrays of rows.
    sigma : float or "median", default="median"
        Width; ``"median"`` is the median distance between training rows.
    reg : float, default=1e-3
        Strength of the regularisation.
    n_centers : "auto", int or None, default="auto"
        Number of training rows used as centres. ``"auto"``: all of them up to 3000, a subset of
        1500 beyond; None: always all.
    centers : array-like of shape (m, n_features), optional
        The centres themselves.
    center_selection : {"kmeans++", "random", "leverage"}, default="kmeans++"
        How a subset is chosen.
    basis : {"full", "classwise"}, default="full"
        ``"classwise"`` lets class y use only centres of class y (the original paper's cheap form).
    posterior : {"calibrated", "rounded", "rounded_parameters", "raw"}, default="calibrated"
        ``"calibrated"``: softmax(beta·q), the one beta fitted on leave-one-out scores of this same
        fit. ``"rounded"``: LSPC-new, Eq. 6 of [1]_. ``"rounded_parameters"``: the original LSPC,
        Eq. 4. ``"raw"``: Eq. 5, which may leave [0, 1].
    fallback : {"uniform", "prior"}, default="uniform"
        What a rounding rule answers where all scores round to zero.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes in the fit. They move scores and decisions; the calibrated posterior is
        shifted back (``prior_shift_``), so that probabilities stay at the data's prevalence.
    solver : {"auto", "direct", "pcg"}, default="auto"
        ``"direct"`` forms and decomposes the matrix of centres, O(m²) a row. ``"pcg"``: conjugate
        gradients that make the features again in every step, for many centres. ``"auto"`` takes the
        cheaper one from 5000 centres on (``solver_reason_`` tells); "direct" below that, where all
        rows are centres, and for a polish, of up to 10,000 centres. Under "pcg", calibration and
        ``held_out_scores_`` are of five folds fitted in the same passes instead of leave-one-out.
    precision : {"double", "single"}, default="double"
        Arithmetic of the features under ``"pcg"``: single precision takes half the memory and
        less time, and stops at a `tol` of 1e-5; for regs of 1e-5 and above. The direct
        solver works in double.
    tol : float, default=1e-7
        Where ``"pcg"`` stops: relative error of the training scores, root mean square, as estimated
        by the preconditioned residual.
    max_iter : int, default=200
        Most steps of ``"pcg"``.
    polish : "auto", int or None, default="auto"
        From the closed form to the least log-loss of the same scores, by a few passes over the
        rows that cost O(m) a row each (see :doc:`/large`). It is iterative, and stopped where the
        log-loss of held-out rows ends to fall. ``"auto"``: from 5000 rows on, where they are
        three times as many as the centres; never where all rows are centres. A number bounds the
        passes; None keeps the closed form. Only with ``posterior="calibrated"``.
    verbose : bool, default=False
        Whether to print the choice of solver and the progress of ``"pcg"``.
    degree, coef0 : float, default=3 and 1
        Of the polynomial kernel.
    memory_mb : float, default=256
        Bound on the memory of kernel blocks in work; ``"pcg"`` keeps those that fit between steps.
    random_state : int, RandomState or None, default=None
        For choosing a subset of centres.
    n_jobs : int, optional
        Threads; as many as there are cores when left out, and 1 for none beside the caller's. The
        number changes no result.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    coef_ : ndarray of shape (1, n_centers_, n_classes)
        Coefficients.
    centers_ : array or CSR matrix of shape (n_centers_, n_features)
        Centres; for a precomputed kernel, the positions of their columns.
    n_centers_ : int
        Number of centres.
    sigma_ : float
        Width in use; 1 for kernels without one.
    beta_ : float
        Calibration; NaN when the rule needs none or only one distinct row was seen.
    gamma_, score_floor_ : float
        Where most rows are copies of others: the posterior is proportional to
        ``exp(beta_ q) max(q, score_floor_)**gamma_``.
    prior_shift_ : ndarray of shape (n_classes,)
        With a class_weight: added to ``beta_`` times the scores in the posterior.
    prior_ : ndarray of shape (n_classes,)
        Share of each class.
    held_out_codes_ : ndarray of shape (n_samples,)
        Class number of each of these rows, in the order of ``classes_``.
    held_out_links_ : ndarray of shape (n_samples, 3 + n_classes)
        How each training row's held-out scores become probabilities, learnt without its fold: beta,
        gamma, score floor, and a shift for each class.
    held_out_scores_ : ndarray of shape (n_samples, n_classes)
        Leave-one-out scores of the training rows (``posterior="calibrated"``); NaN for rows without
        weight and, beyond 20,000 rows with a subset of centres, for rows not drawn. Five-fold
        scores under ``solver_ == "pcg"``.
    solver_, solver_reason_ : str
        The solver in use and the reason.
    n_iter_ : int
        Steps taken by ``"pcg"``, or passes of the polish; 1 for the closed form.
    polish_path_ : ndarray of shape (n_steps + 1,)
        Where the fit was polished: log-loss of the held-out rows at the start, a closed form
        without them, and after every step. The model is at the least of them; where that is the
        start, it is the closed form.
    polish_penalty_ : float
        The log-loss is minimised with ``polish_penalty_/2 aᵀKa``, K the kernel between the centres
        (of a function, ``||a||²``): ``√(reg/m)`` times the mean curvature of the log-loss at the
        start, which smooths about as much as `reg` does beside squares, and so much that the term
        is at most a fiftieth of the log-loss at the start.
    polish_reason_ : str
        Why the fit was polished, or was not.
    statistics_ : NormalEquations
        Sums over the rows, after ``partial_fit``, ``fit_stream`` or ``fit_statistics``; then
        ``held_out_log_loss_`` takes the place of ``held_out_scores_``.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray
        Names of features, when X had such.
    held_out_log_loss_ : float
        Log-loss of leave-one-out probabilities of the sample of rows that ``statistics_`` carries.
    kept_sigmas_ : ndarray of shape (1,)
        ``sigma_``, as tuned models keep several.
    kept_kernels_ : list of str
        The kernel of that width.
    support_ : ndarray
        Support of training rows, which :meth:`familiarity` compares with; kept where the centres
        are a subset.
    intercept_, class_scale_ : ndarray
        What is added to the scores, and the scale of each class's: zeros and ones here.
    model_ : KernelModel
        The fitted model as a value, of which other attributes show parts.

    References
    ----------
    .. [1] Yamada, Sugiyama, Wichern, Simm (2011). Improving the accuracy of least-squares
       probabilistic classifiers. IEICE Trans. Inf. & Syst.
    .. [2] Simm, Sugiyama, Kato (2011). Computationally efficient multi-task learning with
       least-squares probabilistic classifiers. IPSJ Trans. CVA 3.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import StandardScaler
    >>> from kinlearn import LSPC
    >>> X, y = load_iris(return_X_y=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> model = LSPC().fit(X, y)
    >>> model.predict_proba(X[:1]).round(2)
    array([[1., 0., 0.]])
    """

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        sigma: float | str = "median",
        reg: float = 1e-3,
        n_centers: int | str | None = "auto",
        centers: Any = None,
        center_selection: str = "kmeans++",
        basis: str = "full",
        posterior: str = "calibrated",
        fallback: str = "uniform",
        class_weight: Any = None,
        solver: str = "auto",
        precision: str = "double",
        tol: float = 1e-7,
        max_iter: int = 200,
        polish: Any = "auto",
        verbose: bool = False,
        degree: float = 3,
        coef0: float = 1.0,
        memory_mb: float = DEFAULT_MEMORY_MB,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.sigma = sigma
        self.reg = reg
        self.n_centers = n_centers
        self.centers = centers
        self.center_selection = center_selection
        self.basis = basis
        self.posterior = posterior
        self.fallback = fallback
        self.class_weight = class_weight
        self.solver = solver
        self.precision = precision
        self.tol = tol
        self.max_iter = max_iter
        self.polish = polish
        self.verbose = verbose
        self.degree = degree
        self.coef0 = coef0
        self.memory_mb = memory_mb
        self.random_state = random_state
        self.n_jobs = n_jobs

    partial_fit = streaming.partial_fit
    forget = streaming.forget
    calibrate = streaming.calibrate
    fit_stream = streaming.fit_stream
    fit_statistics = streaming.fit_statistics
    refit = streaming.refit

    @on_own_threads
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> LSPC:
        """Fit the model.

        Parameters
        ----------
        X : array-like, CSR matrix or Dask collection of shape (n_samples, n_features)
            Training rows; for a precomputed kernel, the square kernel matrix.
        y : array-like or Dask collection of shape (n_samples,)
            Class labels of any type.
        sample_weight : array-like of shape (n_samples,), optional
            Weights; a weight of 2 is the same as the row twice.
        groups : array-like of shape (n_samples,), optional
            Rows of one group (repeated measurements of one patient) are held out together when
            calibrating.

        Returns
        -------
        LSPC
            The fitted model.
        """
        check_choice("solver", self.solver, SOLVERS)
        check_choice("precision", self.precision, ("double", "single"))
        check_positive("tol", self.tol)
        check_count("max_iter", self.max_iter)
        if are_collections(X, y, sample_weight, groups):
            return streaming.fit_collections(self, X, y, sample_weight, groups)
        return self._fit_posed(X, y, sample_weight, groups, one_task_basis)

    def _fit_posed(
        self, X: Any, y: Any, sample_weight: Any, groups: Any, pose: Callable[..., Basis]
    ) -> LSPC:
        """Fit as ``fit`` does, with a basis made of what :func:`one_task_basis` is given."""
        check_polish(self.polish)
        kernel = self._begin()
        data = self._read_classes(kernel, X, y, sample_weight)
        groups = check_groups(groups, data.n_passed)
        data.warn_of_copies(groups)
        sigma = self._width(data, kernel)
        centers = self._place_centers(data.X, data.rows, kernel, sigma)
        features = KernelMap(kernel, centers.rows, self.memory_mb)
        obstacles = polish_obstacles(self, kernel)
        if self.solver == "pcg":
            obstacles.append("Conjugate gradients form no sums, which a polish starts from")
        if self.solver == "auto" and features.n_centers > MOST_POLISHED:
            obstacles.append(
                f"A polish forms the matrix of its centers, and {features.n_centers} are more than "
                f"the {MOST_POLISHED} for which that is done without solver='direct'"
            )
        polish = choose_polish(
            self.polish,
            data.n_passed,
            features.n_centers,
            everything=centers.everything,
            obstacles=obstacles,
        )
        facts: dict[str, Any] = {"sigma_": sigma, "polish_reason_": polish.reason}
        if polish.passes is not None:
            self._say(f"solver direct. {FORMED}")
            source = RowFeatures(features, data.X, sigma)
            found = polish_source(source, data, float(self.reg), polish.passes, self._say, groups)
            facts |= {"polish_reason_": TOO_FEW} if found is None else found.facts
            if found is not None and found.helped:
                solution = Solution(np.array([sigma]), found.coef[None])
                model = self._model(kernel, data, centers, solution, found.calibration)
                self._keep(model, solver_="direct", solver_reason_=FORMED, **facts)
                return self
        choice = self._choose_solver(data, features, centers)
        self._say(f"solver {choice.solver}. {choice.reason}")
        facts |= {"solver_": choice.solver, "solver_reason_": choice.reason}
        if choice.solver == "pcg":
            basis: Basis = self._pcg_basis(data, features, centers)
        else:
            basis = pose(data, features, centers, self.basis, 1)
        validation = None
        if self.posterior == "calibrated" and data.n_rows > 1:
            validation = self._calibration(data, basis, groups)
        point = {"sigma": sigma, "reg": float(self.reg)}
        fitted = fit_point(OneTask(basis, data), point, data, validation)
        model = self._model(kernel, data, centers, fitted.solution, fitted.calibration)
        self._keep(model, **facts, **fitted.held_out, **fitted.solution.facts)
        return self

    def _refuse_collections(self, groups: Any) -> None:
        """Say what Dask collections cannot be fitted with."""
        if self.solver == "pcg":
            raise ValueError(
                'solver="pcg" goes over all rows in every step, which Dask collections are not '
                'for: use solver="auto", which takes one pass.'
            )

    def _pose(self, sums: NormalEquations, rows: SampleRows | None, factors: np.ndarray) -> Posed:
        """The problem that sums pose."""
        reason = "Sums over rows are solved directly."
        facts = {"solver_": "direct", "solver_reason_": reason, "n_iter_": 1}
        labels = class_labels(sums, factors, type(self).__name__)
        return Posed(OneTaskOfSums(sums, rows), labels, rows, facts=facts)

    def _stream_point(self, sums: NormalEquations) -> Point:
        return {"sigma": sums.sigma, "reg": float(self.reg)}

    def _polish_choice(self, sums: NormalEquations) -> PolishChoice:
        """Whether a fit from sums is polished."""
        return polish_of_sums(self, sums)

    def _check_stream_parameters(self) -> None:
        check_positive("reg", self.reg)

    def _calibration(
        self, data: TrainingSet, basis: Basis, groups: np.ndarray | None
    ) -> Validation:
        """What is held out to calibrate on; a few folds where leave-one-out is out of reach."""
        if isinstance(basis, PcgBasis):
            n_groups = np.inf if groups is None else np.unique(groups).size
            if n_groups > 1:
                folds = int(min(CALIBRATION_FOLDS, data.n_rows, n_groups))
                found = data.validation(folds, groups, seed=self._seed())
                return replace(found, pooled=True)
        limit = MAX_HELD_OUT_ROWS if basis.fixed_centers else None
        return data.validation("loo", groups, max_rows=limit, seed=self._seed())

    def _pcg_basis(self, data: TrainingSet, features: KernelMap, centers: Centers) -> PcgBasis:
        allowed = None
        if self.basis == "classwise":
            if centers.positions is None:
                refuse_given_centers()
            allowed = data.targets[centers.positions] > 0
        given = centers.positions is None
        return PcgBasis(
            features,
            data.X,
            data.targets,
            data.weights,
            PcgSettings(
                tol=float(self.tol),
                max_iter=int(self.max_iter),
                single=self.precision == "single",
                report=self._say if self.verbose else None,
            ),
            center_rows=centers.rows if given else data.X[centers.positions],
            own=np.arange(data.n_rows) if centers.everything else None,
            allowed=allowed,
        )

    def _choose_solver(
        self, data: TrainingSet, features: KernelMap, centers: Centers
    ) -> SolverChoice:
        n, m = data.n_rows, features.n_centers
        itemsize = 4 if self.precision == "single" else 8
        calibrated = self.posterior == "calibrated"
        return choose_solver(
            self.solver,
            n_rows=n,
            n_centers=m,
            n_features=data.X.nnz / n if sp.issparse(data.X) else data.X.shape[1],
            n_columns=data.sizes[0] * (1 + CALIBRATION_FOLDS * calibrated),
            held_out_rows=min(n, MAX_HELD_OUT_ROWS) if calibrated else 0,
            kept_share=min(1.0, self.memory_mb * 2**20 / (itemsize * n * m)),
            all_rows=centers.everything,
        )
