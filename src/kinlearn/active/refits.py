"""How a classifier is fitted again and again: seldom tuned, fitted after every label.

Most of the time of a tuned fit goes into its settings, which few more labels hardly move. So an
:class:`~kinlearn.LSPCCV` finds kernel, width and regularisation when the labels have grown by a
quarter; between, every label is followed by the exact closed-form fit of an
:class:`~kinlearn.LSPC` at these settings, calibrated by its own leave-one-out. Any other classifier
is fitted anew after each label. Steps of a pipeline that see no labels are fitted once, on all
rows of the table. From many labels on, the centres stay those of the last tuning
(:mod:`kinlearn.active.kept_centers`).
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from kinlearn.active.kept_centers import KEPT_FROM, KeptRows, centers_among, may_keep
from kinlearn.estimators._cross_fitting import N_FOLDS, cross_fitted, own_held_out, sees_labels
from kinlearn.estimators.lspc import LSPC
from kinlearn.estimators.lspc_cv import LSPCCV
from kinlearn.estimators.task_wrapper import take_rows
from kinlearn.kernels import resolve_kernel
from kinlearn.kernels.library import median_width
from kinlearn.pipelines import fit_arguments, last_step

Array: TypeAlias = NDArray[np.float64]
Index: TypeAlias = NDArray[np.intp]
Settings: TypeAlias = dict[str, Any]

# Settings are looked for from so many labels on, and again when there are a quarter more.
FIRST_TUNING, GROWTH = 10, 1.25
# Before that: the median distance of the table's rows, and a strong reg.
FIRST_REG = 0.01
# Parameters that an LSPC shares with the LSPCCV that found its settings.
SHARED = (
    "n_centers",
    "centers",
    "center_selection",
    "basis",
    "posterior",
    "fallback",
    "class_weight",
    "degree",
    "coef0",
    "memory_mb",
    "n_jobs",
    "random_state",
)


class Refits:
    """A classifier over the rows of one table, some of which are labelled.

    Parameters
    ----------
    estimator : classifier
        As the user gave it.
    X : table
        All rows.
    task : ndarray or None
        Task ids of all rows.
    """

    def __init__(self, estimator: Any, X: Any, task: NDArray | None) -> None:
        self.task = task
        self.before: Pipeline | None = None
        self.estimator = estimator
        if isinstance(estimator, Pipeline) and len(estimator.steps) > 1:
            steps = estimator.steps[:-1]
            if not any(sees_labels(step) for _, step in steps):
                self.before = clone(Pipeline(steps))
                X = self.before.fit_transform(X)
                self.estimator = estimator.steps[-1][1]
        self.X = X
        last = last_step(self.estimator)
        self.tunes = type(last) is LSPCCV and last is self.estimator
        self._kept: KeptRows | None = None
        if task is not None and not has_fit_parameter(last, "task"):
            raise TypeError(
                f"{type(last).__name__} takes no task, so task= cannot be given with it: use "
                "MultiTaskLSPCCV, or leave task= out."
            )

    def due(self, n_labels: int, counts: Index, last: int | None) -> bool:
        """Whether settings are to be found on so many labels, when last found on `last`."""
        if not self.tunes or n_labels < FIRST_TUNING or np.sum(counts > 1) < 2:
            return False
        return last is None or n_labels >= math.ceil(GROWTH * last)

    def first_settings(self) -> Settings:
        """Settings that need no labels."""
        name = self.estimator.kernel
        name = name[0] if isinstance(name, (list, tuple)) else name
        kernel = resolve_kernel(name, self.estimator.degree, self.estimator.coef0)
        sigma = median_width(self.X, kernel)
        return {"kernel": name, "sigma": sigma, "ridge": FIRST_REG * FIRST_TUNING}

    def tuned(self, rows: Index, y: NDArray) -> Settings:
        """The best single point by held-out scores of the labelled rows."""
        search = clone(self.estimator).set_params(metric=None, combine="best", verbose=False)
        try:
            with quiet():
                search.fit(take_rows(self.X, rows), y, **self._given(search, rows))
        except ValueError:
            if _all_equal(take_rows(self.X, rows)):  # nothing to tune on
                return self.first_settings()
            raise
        name = getattr(search, "kernel_", search.kept_kernels_[0])
        if not isinstance(self.estimator.kernel, (list, tuple)):
            name = self.estimator.kernel
        found = {"kernel": name, "sigma": search.sigma_, "ridge": search.reg_ * len(rows)}
        if len(rows) >= KEPT_FROM and may_keep(self.estimator, self.X):
            found["centers"] = centers_among(self.estimator, self.X, rows, found)
        return found

    def at(self, settings: Settings | None, n_labels: int) -> Any:
        """The estimator that is fitted to so many labels: its clone fits the same model anew."""
        if settings is None:
            return clone(self.estimator)
        shared = {name: getattr(self.estimator, name) for name in SHARED}
        # with centres that are kept, it is leave-one-out that has the same ridge for every n
        n = n_labels
        if "centers" in settings:
            n = max(n_labels - 1, 1)
            shared |= {"centers": take_rows(self.X, np.array(settings["centers"])), "polish": None}
        return LSPC(
            kernel=settings["kernel"], sigma=settings["sigma"], reg=settings["ridge"] / n, **shared
        )

    def fit(self, settings: Settings | None, rows: Index, y: NDArray) -> Fit:
        """The exact fit on labelled rows."""
        model, kept = self.at(settings, len(rows)), self._kept_at(settings)
        with quiet():
            if kept is not None:
                kept.fit(model, rows, y)
            else:
                model.fit(take_rows(self.X, rows), y, **self._given(model, rows))
        return Fit(self, model, rows, y, kept)

    def _kept_at(self, settings: Settings | None) -> KeptRows | None:
        """What is kept from fit to fit at these settings."""
        if settings is None or "centers" not in settings:
            return None
        if self._kept is None or self._kept.settings is not settings:
            self._kept = KeptRows(self.estimator, self.X, settings)
        return self._kept

    def _given(self, model: Any, rows: Index) -> dict[str, Any]:
        """Further arguments of fit; every row of the table is a case of its own, equal or not."""
        own = np.arange(len(rows)) if has_fit_parameter(last_step(model), "groups") else None
        return fit_arguments(model, {"task": take_rows(self.task, rows), "groups": own})

    def whole(self, model: Any) -> Any:
        """The model with the steps before it, for rows as users have them."""
        if self.before is None:
            return model
        return Pipeline([*self.before.steps, (type(model).__name__.lower(), model)])


def _all_equal(X: Any) -> bool:
    values = X.toarray() if sp.issparse(X) else np.asarray(X)
    return bool((values == values[:1]).all())


@dataclass(frozen=True)
class Fit:
    """A model and what it was fitted on.

    Attributes
    ----------
    refits : Refits
    model : classifier
        Fitted.
    rows : ndarray of shape (n,)
        Labelled rows.
    y : ndarray of shape (n,)
        Their classes.
    kept : KeptRows or None
        Rows of the table against centres that are kept.
    """

    refits: Refits
    model: Any
    rows: Index
    y: NDArray
    kept: KeptRows | None = None

    def proba(self, rows: Index) -> Array:
        """Probabilities of rows of the table, in the order of the model's classes."""
        if self.kept is not None:
            return self.kept.proba(self.model, rows)
        X, task = take_rows(self.refits.X, rows), take_rows(self.refits.task, rows)
        with quiet():
            return self.model.predict_proba(X, **({} if task is None else {"task": task}))

    def held_out(self) -> Array:
        """Probabilities of the labelled rows from models that have not seen them."""
        with quiet():
            proba = own_held_out(self.model)
            if proba is None:
                proba = self._by_folds()
        missing = np.isnan(proba).any(axis=1)
        proba[missing] = 1.0 / proba.shape[1]
        return proba

    def _by_folds(self) -> Array:
        X, given = take_rows(self.refits.X, self.rows), {}
        if self.refits.task is not None:
            given["task"] = take_rows(self.refits.task, self.rows)
        folds = min(N_FOLDS, len(self.y))
        unfitted = clone(self.model)
        try:
            return cross_fitted(unfitted, X, self.y, self.model.classes_, folds, None, given)
        except ValueError:  # a fold without the only row of a second class
            return np.full((len(self.y), len(self.model.classes_)), np.nan)


class quiet(warnings.catch_warnings):
    """Warnings of a fit are for who fits once; here they would come with every label."""

    def __enter__(self) -> None:
        super().__enter__()
        warnings.simplefilter("ignore")
