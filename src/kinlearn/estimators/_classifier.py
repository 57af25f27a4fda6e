"""What every kernel estimator shares: reading what it is given, and answering by its model."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from kinlearn.all_or_nothing import drop_fit
from kinlearn.distributed.prediction import is_dask, predict_partitions
from kinlearn.estimators._checks import (
    check_model_choices,
    check_precomputed,
    check_several_kernels,
    kernel_list,
    warn_if_spread_differs,
)
from kinlearn.estimators._familiarity import familiarity
from kinlearn.estimators._held_out_proba import held_out_proba
from kinlearn.familiarity import reference_support
from kinlearn.kernels import Kernel, resolve_kernel
from kinlearn.kernels.measures import Rows
from kinlearn.model import KernelModel, Labels
from kinlearn.posterior import Calibration
from kinlearn.problems.problem import Solution
from kinlearn.threads import on_own_threads
from kinlearn.training.centers import Centers, place_centers
from kinlearn.training.copies import DistinctRows
from kinlearn.training.label_table import LabelTable, read_classes, refuse_mixed_labels
from kinlearn.training.training_set import TrainingSet, make_training_set

# Leave-one-out scores of this many rows settle one number, or the weights of a grid.
MAX_HELD_OUT_ROWS = 20_000
ACCEPTED: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}


def are_collections(*values: Any) -> bool:
    """Whether any of the values is a Dask collection; whoever holds one has imported Dask."""
    return "dask.base" in sys.modules and is_dask(*values)


def view(
    doc: str,
    of: Callable[[KernelModel], Any],
    absent: Callable[[KernelModel], bool] | None = None,
) -> Any:
    """A fitted attribute that is part of the model; it does not exist where `absent` says so."""

    def read(self: KernelClassifier) -> Any:
        if absent is not None and absent(self.model_):
            raise AttributeError("This fit has no such attribute.")
        return of(self.model_)

    return property(read, doc=doc)


def _no_floor(model: KernelModel) -> bool:
    return not model.calibration.common.floor < 1.0


class KernelClassifier(ClassifierMixin, BaseEstimator):
    """A classifier whose answers are those of a :class:`~kinlearn.model.KernelModel`."""

    kernel: Any
    sigma: Any
    degree: float
    coef0: float
    n_centers: Any
    centers: Any
    center_selection: str
    class_weight: Any
    random_state: Any
    n_jobs: int | None
    verbose: bool
    memory_mb: float
    posterior: str = "calibrated"
    fallback: str = "uniform"
    basis: str = "full"
    many_labels = False
    limit_at_zero_reg = False  # whether reg=0 has a meaning: the minimum-norm limit

    model_: KernelModel

    centers_ = view("Centres; for a precomputed kernel, their columns.", lambda m: m.centers)
    n_centers_ = view("Number of centres.", lambda m: m.n_centers)
    kept_sigmas_ = view("Widths in use.", lambda m: m.sigmas)
    kept_kernels_ = view(
        "The kernel of each of these widths.", lambda m: [kernel.name for kernel in m.kernels]
    )
    coef_ = view("Coefficients of each width.", lambda m: m.coef)
    intercept_ = view("What is added to the scores.", lambda m: m.calibration.offset)
    class_scale_ = view("Scale of each class's scores.", lambda m: m.calibration.class_scale)
    beta_ = view("Calibration of all scores.", lambda m: float(m.calibration.common.beta))
    gamma_ = view(
        "Where most rows are copies of others: the power of the scores in the posterior.",
        lambda m: m.calibration.common.gamma,
        absent=_no_floor,
    )
    score_floor_ = view(
        "The least score that this power is taken of.",
        lambda m: m.calibration.common.floor,
        absent=_no_floor,
    )
    prior_shift_ = view(
        "With a class weight: what brings probabilities back to the prevalence.",
        lambda m: m.calibration.shift,
        absent=lambda m: not m.calibration.leans,
    )
    support_ = view(
        "Support of training rows, kept where the centres are a subset.",
        lambda m: m.support,
        absent=lambda m: m.support is None,
    )
    classes_ = view("Class labels.", lambda m: m.labels.class_names)
    prior_ = view("Share of each class.", lambda m: m.labels.prior)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        given = kernel_list(self.kernel)
        tags.input_tags.pairwise = "precomputed" in given
        tags.input_tags.positive_only = "chi2" in given
        tags.target_tags.multi_output = self.many_labels
        tags.classifier_tags.multi_label = self.many_labels
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        # a stream that was interrupted leaves its sums, which are yet to be solved
        return hasattr(self, "model_")

    familiarity = familiarity
    held_out_proba = held_out_proba

    # -- before the solve -------------------------------------------------------------------------

    def _begin(self) -> Kernel:
        """Forget an earlier fit, check the parameters and return the kernel."""
        drop_fit(self)
        check_model_choices(self)
        return self._kernel()

    def _kernel(self) -> Kernel:
        """The kernel, of several the first."""
        return self._kernels()[0]

    def _kernels(self) -> list[Kernel]:
        if not isinstance(self.kernel, (list, tuple)):
            return [resolve_kernel(self.kernel, self.degree, self.coef0)]
        check_several_kernels(self, tuned=hasattr(self, "combine"))
        return [resolve_kernel(each, self.degree, self.coef0) for each in self.kernel]

    def _begin_several(self) -> list[Kernel]:
        """As :meth:`_begin`, for estimators that weigh kernels."""
        self._begin()
        return self._kernels()

    def _read_classes(
        self,
        kernel: Kernel | list[Kernel],
        X: Any,
        y: Any,
        sample_weight: Any,
        task: NDArray[np.intp] | None = None,
    ) -> TrainingSet:
        """Validate rows and classes, and merge equal rows."""
        refuse_mixed_labels(y)
        X, y = validate_data(self, X, y, y_numeric=False, **ACCEPTED)
        table = read_classes(y, type(self).__name__)
        return self._training_set(kernel, X, table, sample_weight, task)

    def _training_set(
        self,
        kernel: Kernel | list[Kernel],
        X: Rows,
        table: LabelTable,
        sample_weight: Any,
        task: NDArray[np.intp] | None = None,
    ) -> TrainingSet:
        names = getattr(self, "feature_names_in_", None)
        kernels = kernel if isinstance(kernel, list) else [kernel]
        for each in kernels:
            each.check(X, names)
        if kernels[0].name == "precomputed":
            check_precomputed(X, X.shape[0])
        data = make_training_set(
            X,
            table,
            sample_weight,
            self.class_weight,
            type(self).__name__,
            task,
            any_class_weight=self.many_labels,
        )
        warn_if_spread_differs(data.X, kernels[0], names)
        self._say(f"{data.n_passed} rows, {data.n_rows} of them distinct.")
        return data

    def _width(self, data: TrainingSet, kernel: Kernel) -> float:
        """The width given, or the median distance."""
        return data.median_width(kernel) if isinstance(self.sigma, str) else float(self.sigma)

    def _place_centers(
        self,
        X: Rows,
        rows: DistinctRows,
        kernel: Kernel,
        sigma: float,
        automatic: int | None = None,
    ) -> Centers:
        return place_centers(
            X,
            rows,
            kernel,
            sigma,
            n_centers=self.n_centers,
            given=self.centers,
            selection=self.center_selection,
            random_state=self.random_state,
            automatic=automatic,
        )

    def _polish_options(self, passes: int) -> dict[str, Any]:
        """How far a polish goes."""
        return {"max_passes": passes}

    def _seed(self) -> int:
        """Seed of the draw of folds: fixed, unless a random_state is given."""
        if self.random_state is None:
            return 0
        return int(check_random_state(self.random_state).randint(2**31 - 2))

    # -- the model --------------------------------------------------------------------------------

    def _model(
        self,
        kernel: Kernel,
        data: TrainingSet,
        centers: Centers,
        solution: Solution,
        calibration: Calibration,
        tasks: NDArray | None = None,
    ) -> KernelModel:
        """The value that a fit to rows comes to."""
        table, support = data.table, None
        if not centers.everything or kernel.name == "precomputed":
            canonical = data.rows.canonical
            rows = data.X
            if data.task is not None:
                distinct = data.by_features
                rows, canonical = data.X[distinct.first], distinct.canonical
            support = reference_support(kernel, rows, centers.rows, centers.positions, canonical)
        return KernelModel(
            kernel=kernel,
            centers=centers.rows,
            sigmas=solution.sigmas,
            coef=solution.coef,
            calibration=calibration,
            labels=Labels(
                table.classes,
                table.names,
                data.priors,
                np.isin(np.arange(table.n_labels), data.active),
                table.indicator,
                table.single,
            ),
            rule=self.posterior,
            fallback=self.fallback,
            shared=solution.shared,
            tasks=tasks,
            support=support,
            several=solution.kernels,
        ).finished()

    def _keep(self, model: KernelModel, **facts: Any) -> None:
        """Become the fitted estimator."""
        for name, value in facts.items():
            setattr(self, name, value)
        self.model_ = model
        if "best_params_" in facts:
            best = ", ".join(
                f"{name}={value if isinstance(value, str) else format(value, '.4g')}"
                for name, value in self.best_params_.items()
            )
            n_points, n_kept = len(self.weights_), np.count_nonzero(self.weights_)
            self._say(f"{n_points} points tried, {n_kept} in the mix; the best alone: {best}.")
        else:
            self._say(f"{model.n_centers} centers, solved.")

    def _say(self, text: str) -> None:
        """Print progress, where that was asked for."""
        if self.verbose:
            print(f"{type(self).__name__}: {text}", flush=True)

    # -- after the solve --------------------------------------------------------------------------

    def _rows(self, X: Any) -> Rows:
        """Rows to answer for, checked."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, **ACCEPTED)
        for kernel, _ in self.model_.by_kernel():
            kernel.check(X, getattr(self, "feature_names_in_", None))
        return X

    def _scores(self, X: Any) -> NDArray[np.float64]:
        X = self._rows(X)
        return self.model_.scores(X, self.memory_mb)

    @on_own_threads
    def decision_function(self, X: Any) -> Any:
        """Return unrounded scores.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows; for a precomputed kernel, their values with all training rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            ``q_1 - q_0`` for two classes, one column a class beyond. Of many labels: one such
            answer each, for indicators as the columns of an array.
        """
        if are_collections(X):
            return predict_partitions(self, "decision_function", X)
        scores = self._scores(X)
        return self.model_.labels.decisions(scores)

    @on_own_threads
    def predict_proba(self, X: Any) -> Any:
        """Return class probabilities under the chosen posterior rule.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            One column a class, in the order of ``classes_``. Of many labels: P(label = 1) of each
            indicator in a column, or else a list with one array for each label.
        """
        if are_collections(X):
            return predict_partitions(self, "predict_proba", X)
        scores = self._scores(X)
        return self.model_.proba(scores)

    @on_own_threads
    def predict_log_proba(self, X: Any) -> Any:
        """Return the logarithm of :meth:`predict_proba`.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray or list of ndarrays
            As :meth:`predict_proba`.
        """
        if are_collections(X):
            return predict_partitions(self, "predict_log_proba", X)
        proba = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return [np.log(p) for p in proba] if isinstance(proba, list) else np.log(proba)

    @on_own_threads
    def predict(self, X: Any) -> np.ndarray:
        """Return the class of the largest score.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_labels) of many labels
            Class labels; indicators are on where the probability exceeds ``thresholds_``.
        """
        if are_collections(X):
            return predict_partitions(self, "predict", X)
        scores = self._scores(X)
        return self.model_.predicted(scores)

    def _without_task_column(self, X: Any) -> Any:
        return X
