"""What LSPC and LSPCCV share: preparing a fit, and everything after it."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from kinlearn.centers import choose_centers, take_centers
from kinlearn.distributed.prediction import by_partition
from kinlearn.estimators._checks import (
    check_for_kernel,
    check_model_choices,
    check_precomputed,
    count_centers,
    warn_if_indefinite,
    warn_if_large,
    warn_if_spread_differs,
)
from kinlearn.estimators._designs import (
    ClasswiseFixedDesign,
    Design,
    FixedDesign,
    FullDesign,
    square_design,
)
from kinlearn.estimators._training_set import TrainingSet, make_training_set
from kinlearn.familiarity import familiarity, reference_support, support
from kinlearn.kernels import Kernel, KernelMap, median_width, resolve_kernel
from kinlearn.kernels.measures import Rows
from kinlearn.labels import refuse_mixed_labels
from kinlearn.posterior import Link, posterior
from kinlearn.rows import DistinctRows, find_distinct_rows
from kinlearn.selection.folds import Validation
from kinlearn.selection.mixture import Calibration, calibrate, link_of
from kinlearn.selection.reporting import reported_scores
from kinlearn.selection.scoring import HeldOutRows
from kinlearn.threads import on_own_threads

# Leave-one-out scores of this many rows settle one number, or the weights of a grid.
MAX_HELD_OUT_ROWS = 20_000


class KernelClassifier(ClassifierMixin, BaseEstimator):
    """A classifier whose scores are a sum over widths of kernel features times coefficients."""

    kernel: Any
    degree: float
    coef0: float
    n_centers: Any
    centers: Any
    center_selection: str
    class_weight: Any
    random_state: Any
    posterior: str
    fallback: str
    basis: str
    memory_mb: float
    limit_at_zero_reg = False  # whether reg=0 has a meaning: the minimum-norm limit

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.positive_only = self.kernel == "chi2"
        return tags

    # -- before the solve ---------------------------------------------------------------------

    def _prepare(
        self, X: Any, y: Any, sample_weight: Any, task: np.ndarray | None = None
    ) -> TrainingSet:
        """Validate everything and merge rows."""
        self._drop_stream()
        check_model_choices(self)
        if self.basis not in ("full", "classwise"):
            raise ValueError(f'basis={self.basis!r} is not known. Choose "full" or "classwise".')
        kernel = self._kernel()
        refuse_mixed_labels(y)
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], y_numeric=False
        )
        check_for_kernel(X, kernel, self)
        if kernel.name == "precomputed":
            check_precomputed(X, X.shape[0])
        data = make_training_set(X, y, sample_weight, self.class_weight, type(self).__name__, task)
        warn_if_spread_differs(data.X, kernel, getattr(self, "feature_names_in_", None))
        self.classes_ = data.classes
        self.prior_ = data.prior
        return data

    def _drop_stream(self) -> None:
        """A fit anew does not add to an earlier stream, nor answer by an earlier fit's links."""
        streamed = ("statistics_", "held_out_log_loss_")
        learnt = ("held_out_scores_", "held_out_links_", "gamma_", "score_floor_", "prior_shift_")
        for name in (*streamed, *learnt):
            self.__dict__.pop(name, None)

    def _kernel(self) -> Kernel:
        return resolve_kernel(self.kernel, self.degree, self.coef0)

    def _median(self, data: TrainingSet, kernel: Kernel) -> float:
        return median_width(data.X, kernel, data.rows.canonical)

    def _mean_diagonal(self, data: TrainingSet, kernel: Kernel, sigma: float) -> float:
        """Return the mean of k(x, x) over (at most 500 of) the training rows."""
        if kernel.unit_diagonal:
            return 1.0
        some = np.unique(np.linspace(0, data.n_rows - 1, 500).astype(np.intp))
        if kernel.name == "precomputed":
            diagonal = np.asarray(data.X[some, data.rows.first[some]]).ravel()
        else:
            diagonal = np.diagonal(KernelMap(kernel, data.X[some]).square(sigma))
        return max(float(np.abs(diagonal).mean()), np.finfo(np.float64).tiny ** 0.25)

    def _design(
        self,
        data: TrainingSet,
        kernel: Kernel,
        sigma: float,
        n_decompositions: int,
        keep: bool = False,
    ) -> Design:
        """Choose the centres (at width `sigma`, where that matters) and set the problem up.

        With `keep` the problem can be posed again on some of the rows after it was decomposed.
        """
        X, Z, weights = data.X, data.fit_targets, data.fit_weights
        classwise = self.basis == "classwise"
        positions = self._place_centers(X, data.rows, kernel, sigma)
        features = KernelMap(kernel, self.centers_, self.memory_mb)
        iterative = self._iterative_design(data, features, positions)
        if iterative is not None:
            return iterative
        if positions is None or positions.size < data.n_rows:
            if not classwise:
                return FixedDesign(features, X, Z, weights)
            if positions is None:
                refuse_given_centers()
            return ClasswiseFixedDesign(features, X, Z, weights, Z[positions])
        warn_if_large(data.n_rows, n_decompositions, classwise or weights is not None)
        measure = features.square_measure(X)
        keep = keep or n_decompositions > 1
        return square_design(features, measure, Z, weights, classwise, keep)

    def _iterative_design(
        self, data: TrainingSet, features: KernelMap, positions: np.ndarray | None
    ) -> Design | None:
        """Return a design solved by iteration, where an estimator has one and it applies."""
        return None

    def _place_centers(
        self,
        X: Rows,
        rows: DistinctRows,
        kernel: Kernel,
        sigma: float,
        automatic: int | None = None,
    ) -> np.ndarray | None:
        """Set ``centers_`` and return which distinct rows they are; None for given centres.

        `automatic` is what ``n_centers="auto"`` means, where that is not a matter of the rows.
        """
        n_rows = rows.n_distinct
        count = count_centers(self.n_centers, n_rows, self.centers)
        if automatic is not None and count is None and self.centers is None:
            count = automatic if automatic < n_rows else None
        positions: np.ndarray | None = None
        if self.centers is not None:
            self.centers_ = self._given_centers(X, kernel)
        else:
            if count is None:
                positions = np.arange(n_rows)
            else:
                rng = check_random_state(self.random_state)
                # kernel values have a column for every row the user passed, distinct or not
                drawn = X[:, rows.first] if kernel.name == "precomputed" else X
                positions = choose_centers(
                    drawn, count, self.center_selection, kernel, sigma, rng, rows.canonical
                )
            self.centers_ = take_centers(X, positions, kernel)
            if kernel.name == "precomputed":  # columns as the user numbers them
                self.centers_ = rows.first[positions]
        self.n_centers_ = int(self.centers_.shape[0])
        if positions is None or positions.size < n_rows or kernel.name == "precomputed":
            self.support_ = reference_support(kernel, X, self.centers_, positions, rows.canonical)
        elif hasattr(self, "support_"):  # an earlier fit's: where all rows are centres, these tell
            del self.support_
        return positions

    def _given_centers(self, X: Rows, kernel: Kernel) -> Rows:
        if kernel.name == "precomputed":
            raise ValueError(
                "A precomputed kernel has no rows to use as centers: leave centers out "
                "and set n_centers to have some of the training columns chosen."
            )
        centers = check_array(
            self.centers, accept_sparse="csr", dtype=np.float64, input_name="centers"
        )
        if centers.shape[1] != X.shape[1]:
            raise ValueError(f"centers has {centers.shape[1]} features, but X has {X.shape[1]}.")
        check_for_kernel(centers, kernel)
        return centers

    def _warn_if_indefinite(self, data: TrainingSet, design: Design) -> None:
        """Check a kernel matrix the user is responsible for."""
        if (
            isinstance(design, FullDesign)
            and design.measure is not None
            and (self.kernel == "precomputed" or callable(self.kernel))
        ):
            warn_if_indefinite(design.measure)

    def _seed(self) -> int:
        """Seed of the draw of folds: fixed, unless a random_state is given."""
        if self.random_state is None:
            return 0
        return int(check_random_state(self.random_state).randint(2**31 - 2))

    def _held_out_rows(self, data: TrainingSet, validation: Validation) -> HeldOutRows:
        """Describe the copies of rows that held-out scores speak of."""
        units, factors = data.unit_targets, data.balance[data.labels[data.units.first]]
        targets = units[validation.unit]

        def expand(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return data.classes[data.labels], validation.spread(scores)

        return HeldOutRows(
            targets=targets,
            weights=validation.weights(),
            fit_targets=targets,
            fit_weights=validation.weights(factors),
            n_smooth=validation.n_copies,
            starts=None if validation.pooled else validation.splits.starts,
            validation=validation,
            expand=expand,
        )

    def _balance(self, data: TrainingSet) -> np.ndarray | None:
        """Factors of the classes, where there is a class weight."""
        return None if self.class_weight is None else data.balance

    def _calibrate(self, data: TrainingSet, rows: HeldOutRows, scores: np.ndarray) -> None:
        """Fit beta on held-out scores, and keep them as they are reported."""

        def learn(others: HeldOutRows) -> Calibration:
            return calibrate(scores, others, self._balance(data))

        self._keep_link(learn(rows).link)
        self._keep_reported(
            reported_scores(rows, learn, score=lambda _: scores, numbers=Calibration.numbers)
        )

    def _keep_link(self, link: Link) -> None:
        """Keep how scores become probabilities."""
        self.beta_ = float(link.beta)
        for name in ("gamma_", "score_floor_", "prior_shift_"):
            self.__dict__.pop(name, None)
        if link.floor < 1.0:  # rows repeat
            self.gamma_, self.score_floor_ = link.gamma, link.floor
        if self.class_weight is not None:
            self.prior_shift_ = np.broadcast_to(link.shift, self.classes_.shape).copy()

    @property
    def _link(self) -> Link:
        return Link(
            self.beta_,
            getattr(self, "gamma_", 0.0),
            getattr(self, "score_floor_", 1.0),
            getattr(self, "prior_shift_", 0.0),
        )

    def _keep_reported(self, reported: tuple[np.ndarray, np.ndarray]) -> None:
        """Keep held-out scores of the passed rows, with the link that each of them has."""
        self.held_out_scores_, self.held_out_links_ = reported

    def _keep(self, sigmas: np.ndarray, coefs: np.ndarray) -> None:
        """Keep the model: widths in use and a coefficient matrix for each."""
        if self.posterior == "rounded_parameters":
            coefs = np.maximum(coefs, 0.0)
        self.kept_sigmas_ = sigmas
        self.coef_ = coefs

    # -- after the solve ----------------------------------------------------------------------

    def _scores(self, X: Any) -> np.ndarray:
        """Return unrounded scores, one column a class."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        kernel = self._kernel()
        check_for_kernel(X, kernel, self)
        features = KernelMap(kernel, self.centers_, self.memory_mb)
        return features.scores(X, self.kept_sigmas_, self.coef_)

    @by_partition
    def decision_function(self, X: Any) -> np.ndarray:
        """Return unrounded scores.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows; for a precomputed kernel, their values with all training rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            ``q_1 - q_0`` for two classes, one column a class beyond.
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    @by_partition
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return class probabilities under the chosen posterior rule.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            One column a class, in the order of ``classes_``.
        """
        return self._posterior(self._scores(X))

    def _posterior(self, scores: np.ndarray) -> np.ndarray:
        fallback = self.prior_ if self.fallback == "prior" else None
        return posterior(scores, self.posterior, self._link, fallback)

    def held_out_proba(self) -> np.ndarray:
        """Return the probabilities of the training rows from scores that have not seen them.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            From ``held_out_scores_``; NaN for rows never held out.
        """
        check_is_fitted(self)
        if not hasattr(self, "held_out_scores_") or self.posterior == "rounded_parameters":
            raise ValueError(
                f"This {type(self).__name__} kept no held-out scores of its posterior "
                f'({self.posterior!r}): use posterior="calibrated", or cross_val_predict.'
            )
        if self.posterior == "calibrated":
            proba = self._held_out_posterior()
        else:
            proba = self._posterior(self.held_out_scores_)
        proba[np.isnan(self.held_out_scores_).any(axis=1)] = np.nan
        return proba

    def _held_out_posterior(self) -> np.ndarray:
        """Every row by the link that was learnt without it."""
        return link_of(self.held_out_links_)(self.held_out_scores_)

    @on_own_threads
    def familiarity(self, X: Any) -> np.ndarray:
        """Return how well training rows support each row, as a quantile of their own support.

        The support of a row is the nearness of its second-nearest centre, in the kernel's measure.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Share of (500 of) the training rows whose support, without themselves, is no better: 0
            for a row farther out than all, evenly spread over [0, 1] for rows of their kind.
        """
        check_is_fitted(self)
        X = self._without_task_column(X)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        kernel = self._kernel()
        check_for_kernel(X, kernel, self)
        return familiarity(support(kernel, X, self.centers_), self._reference_support())

    def _reference_support(self) -> np.ndarray:
        """Return the support of training rows, or of the centres where only those are known."""
        reference = getattr(self, "support_", None)
        if reference is not None:
            return reference
        centers = find_distinct_rows(self.centers_)
        everything = np.arange(self.n_centers_)
        return reference_support(
            self._kernel(), self.centers_, self.centers_, everything, centers.canonical
        )

    def _without_task_column(self, X: Any) -> Any:
        return X

    @by_partition
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithm of :meth:`predict_proba`.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            One column a class, in the order of ``classes_``.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    @by_partition
    def predict(self, X: Any) -> np.ndarray:
        """Return the class of the largest score.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Class labels.
        """
        scores = self._scores(X)
        return self.classes_[scores.argmax(axis=1)]


def refuse_given_centers() -> NoReturn:
    """Say why each class cannot have its own centres."""
    raise ValueError(
        'basis="classwise" needs centers of known class: leave centers out, or use basis="full".'
    )
