"""A smaller model from a fitted one, and what that costs."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, log_loss
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from kinlearn.estimators._add_task import mix_blocks
from kinlearn.estimators._checks import check_choice
from kinlearn.estimators._classifier import KernelClassifier
from kinlearn.familiarity import reference_support
from kinlearn.kernels import KernelMap
from kinlearn.model import KernelModel
from kinlearn.pipelines import last_step
from kinlearn.solvers.fewer_centers import project_coefficients
from kinlearn.threads import own_threads
from kinlearn.training.centers import METHODS, choose_centers

# What speaks of single training rows, and would outlive the rows that compression drops.
ROW_BY_ROW = ("held_out_scores_", "held_out_links_", "held_out_codes_", "cv_scores_", "cv_rows_")


@own_threads()
def compress(
    model: Any,
    n_centers: int,
    X: Any = None,
    y: Any = None,
    *,
    task: Any = None,
    center_selection: str = "kmeans++",
    random_state: Any = 0,
) -> Any:
    """Return a copy of a kernel model with fewer centres: smaller, faster, holding fewer rows.

    The coefficients of the centres that stay are those whose scores come closest, in least squares,
    to the scores of the full model at its own centres; calibration is kept. No training data is
    needed. What it costs is measured and kept in ``compression_`` of the result: on `X` (and `y`),
    best rows the model was not fitted on, or else on its own centres.

    Parameters
    ----------
    model : estimator
        A fitted kernel estimator of kinlearn, or a pipeline that ends in one.
    n_centers : int
        Number of centres that stay.
    X : array-like or DataFrame, optional
        Rows to compare the two models on, as the model takes them.
    y : array-like, optional
        Their labels.
    task : array-like, optional
        Their tasks; of a multi-task model, the comparison needs them.
    center_selection : {"kmeans++", "random", "leverage"}, default="kmeans++"
        Which stay.
    random_state : int, RandomState or None, default=0
        For choosing them.

    Returns
    -------
    estimator
        The smaller model, without held-out scores. ``compression_`` is a dict with ``n_centers``
        before and after, ``n_rows`` compared, ``agreement`` (share of equal predictions),
        ``mean_change`` and ``max_change`` of probabilities and, with y, ``accuracy`` and
        ``log_loss`` before and after; the log-loss only for one label of several classes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kinlearn import LSPC, compress
    >>> X, y = load_iris(return_X_y=True)
    >>> small = compress(LSPC().fit(X[::2], y[::2]), 20, X[1::2], y[1::2])
    >>> small.n_centers_
    20
    >>> small.compression_["accuracy_after"] > 0.9
    True
    """
    check_is_fitted(model)
    last = last_step(model)
    if not isinstance(last, KernelClassifier):
        raise TypeError(
            f"compress takes kinlearn's kernel estimators and pipelines that end in one, but got a "
            f"{type(last).__name__}: compress the estimator inside, before it is wrapped."
        )
    if last.kernel == "precomputed":
        raise ValueError(
            "A model on precomputed kernel values has no rows to choose centers from: fit it anew "
            "with n_centers set."
        )
    check_choice("center_selection", center_selection, METHODS)
    if isinstance(n_centers, bool) or not 1 <= int(n_centers) <= last.n_centers_:
        raise ValueError(
            f"n_centers must lie between 1 and {last.n_centers_}, the number of centers the model "
            f"has, but {n_centers!r} was given."
        )
    small = _with_last(model, _fewer_centers(last, int(n_centers), center_selection, random_state))
    report = {"n_centers_before": int(last.n_centers_), "n_centers_after": int(n_centers)}
    if X is None:
        # its own rows, which are already what the pipeline makes of rows
        before, after = _asked_directly(last), _asked_directly(last_step(small))
        report.update(_compare(before, after, last.centers_, None, _some_tasks(last)))
    else:
        report.update(_compare(model, small, X, y, task))
    last_step(small).compression_ = report
    if small is not last_step(small):
        small.compression_ = report
    return small


def _fewer_centers(estimator: Any, n_centers: int, selection: str, random_state: Any) -> Any:
    model = estimator.model_
    kernel, rows = model.kernel, model.centers
    sigma = float(np.median(model.sigmas))
    rng = check_random_state(random_state)
    positions = choose_centers(rows, n_centers, selection, kernel, sigma, rng)
    small = copy.copy(estimator)
    for name in ROW_BY_ROW:
        vars(small).pop(name, None)
    everything = np.arange(rows.shape[0])
    shared, memory = model.shared, estimator.memory_mb
    few = replace(model, centers=rows[positions])
    small.model_ = replace(
        few,
        support=reference_support(kernel, rows, rows[positions], positions, everything),
        coef=_projected(model, few, model.coef, memory),
        shared=None if shared is None else _projected(model, few, shared, memory),
    )
    if hasattr(estimator, "mix_shared_coef_"):
        blocks = mix_blocks(estimator)
        small.mix_shared_coef_ = np.concatenate(
            [
                _project(
                    KernelMap(model.kernels[at], rows, memory),
                    KernelMap(model.kernels[at], few.centers, memory),
                    rows,
                    model.sigmas[[at]],
                    shared_part[None],
                )
                for at, shared_part in zip(blocks, estimator.mix_shared_coef_, strict=True)
            ]
        )
    return small


def _projected(model: KernelModel, few: KernelModel, coef: NDArray, memory_mb: float) -> NDArray:
    """Coefficients on fewer centres whose scores come closest, kernel by kernel."""
    found = [
        _project(
            KernelMap(kernel, model.centers, memory_mb),
            KernelMap(kernel, few.centers, memory_mb),
            model.centers,
            model.sigmas[own],
            coef[own],
        )
        for kernel, own in model.by_kernel()
    ]
    return np.concatenate(found)


def _project(full: KernelMap, few: KernelMap, rows: Any, sigmas: NDArray, coef: NDArray) -> NDArray:
    """Project coefficients of shape (S, m, c), or of all tasks, (S, T, m, c)."""
    if coef.ndim == 3:
        return project_coefficients(full, few, rows, sigmas, coef)
    n_sigmas, n_tasks, n_full, n_classes = coef.shape
    side_by_side = coef.transpose(0, 2, 1, 3).reshape(n_sigmas, n_full, n_tasks * n_classes)
    found = project_coefficients(full, few, rows, sigmas, side_by_side)
    found = found.reshape(n_sigmas, few.n_centers, n_tasks, n_classes)
    return np.ascontiguousarray(found.transpose(0, 2, 1, 3))


def _with_last(model: Any, last: Any) -> Any:
    if not isinstance(model, Pipeline):
        return last
    outer = copy.copy(model)
    name, step = model.steps[-1]
    outer.steps = [*model.steps[:-1], (name, _with_last(step, last))]
    return outer


def _asked_directly(model: Any) -> Any:
    """The model without a column for tasks, which its own rows lack."""
    if getattr(model, "task_column", None) is None:
        return model
    model = copy.copy(model)
    model.task_column = None
    return model


def _some_tasks(model: Any) -> NDArray | None:
    """A task for each of the model's own rows: each of them in turn."""
    tasks = getattr(model, "tasks_", None)
    return None if tasks is None else tasks[np.arange(model.n_centers_) % len(tasks)]


def _compare(before: Any, after: Any, X: Any, y: Any, task: Any) -> dict[str, Any]:
    """How two models differ on rows."""
    given = {} if task is None else {"task": task}
    old, new = before.predict_proba(X, **given), after.predict_proba(X, **given)
    pairs = list(zip(old, new, strict=True)) if isinstance(old, list) else [(old, new)]
    changes = np.concatenate([np.abs(p - q).ravel() for p, q in pairs])
    one, other = before.predict(X, **given), after.predict(X, **given)
    report: dict[str, Any] = {
        "n_rows": len(one),
        "agreement": float(np.mean(one == other)),
        "mean_change": float(changes.mean()),
        "max_change": float(changes.max()),
    }
    if y is None:
        return report
    truth = np.asarray(y)
    for name, predicted, proba in (("before", one, old), ("after", other, new)):
        report[f"accuracy_{name}"] = float(accuracy_score(truth, predicted))
        if truth.ndim == 1 and not isinstance(proba, list):
            report[f"log_loss_{name}"] = float(log_loss(truth, proba, labels=before.classes_))
    return report
