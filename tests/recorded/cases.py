"""Every estimator over its options on small data: what it answers, as arrays by name."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_info

import kinlearn as kin
from kinlearn.datasets import make_related_tasks, make_rotated_labels

Arrays = dict[str, np.ndarray]
FEW = {"sigmas": [1.0, 3.0], "regs": [1e-4, 1e-3, 1e-2, 1e-1]}
# What is answered about rows, and what is kept of a fit.
ANSWERS = ("decision_function", "predict_proba", "predict")
KEPT = (
    "held_out_scores_",
    "held_out_links_",
    "weights_",
    "beta_",
    "betas_",
    "gamma_",
    "prior_shift_",
    "class_scale_",
    "intercept_",
    "thresholds_",
    "similarity_",
    "best_score_",
    "sigma_",
    "reg_",
    "sharing_",
    "kept_sigmas_",
    "held_out_log_loss_",
    "prior_",
    "threshold_",
    "coverage_",
    "error_bound_",
)


def blas_kernels() -> str:
    """Which kernels BLAS computes by, the same on machines that round alike."""
    found = {(one["internal_api"], one.get("architecture")) for one in threadpool_info()}
    return str(sorted(str(one) for one in found if one[0] != "openmp"))


def classes(n: int = 60, c: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of overlapping classes, their labels, and further rows."""
    rng = np.random.default_rng(0)
    y = np.arange(n + 20) % c
    X = rng.normal(size=(n + 20, 3)) + 1.3 * np.eye(3)[y % 3]
    return X[:n], y[:n], X[n:]


def weights(n: int = 60) -> np.ndarray:
    return np.random.default_rng(1).uniform(0.5, 2.0, n)


def answers(model: Any, *about: Any, **given: Any) -> Arrays:
    """What a fitted model says."""
    found: Arrays = {}
    for name in ANSWERS:
        if hasattr(model, name):
            value = getattr(model, name)(*about, **given)
            parts = value if isinstance(value, list) else [value]
            for i, part in enumerate(parts):
                found[f"{name}/{i}"] = np.asarray(part)
    for name in KEPT:
        value = getattr(model, name, None)
        if isinstance(value, list):
            value = np.concatenate([np.ravel(part) for part in value])
        if value is not None:
            found[name] = np.asarray(value, dtype=float)
    if hasattr(model, "cv_results_"):
        found["mean_test_score"] = model.cv_results_["mean_test_score"]
    if hasattr(model, "held_out_proba"):
        with suppress(ValueError):  # rules and labels that have none
            found["held_out_proba"] = model.held_out_proba()
    if hasattr(model, "familiarity"):
        found["familiarity"] = model.familiarity(about[0])
    return found


def one_task(name: str, **options: Any) -> Callable[[], Any]:
    """Fit on classes; `rows` and `given` in the options change what is passed."""
    how = options.pop("how", "plain")

    def fit() -> tuple[Any, tuple, dict]:
        X, y, new = classes(c=2 if how == "two" else 3)
        given: dict[str, Any] = {}
        if how == "weights":
            given["sample_weight"] = weights()
        if how == "groups":
            given["groups"] = np.arange(60) // 3
        if how == "copies":
            X, y = np.round(X), y
            new = np.round(new)
        if how == "category":
            X, new = np.round(X[:, :1] / 2), np.round(new[:, :1] / 2)
        if how == "sparse":
            X, new = sp.csr_matrix(np.maximum(X, 0)), sp.csr_matrix(np.maximum(new, 0))
        if how == "precomputed":
            X, new = X @ X.T, new @ X.T
        if how == "positive":
            X, new = np.abs(X), np.abs(new)
        return tuned_alone(name, options).fit(X, y, **given), (new,), {}

    return fit


def tuned_alone(name: str, options: dict[str, Any]) -> Any:
    """An estimator with one kernel in the plain metric, where it could weigh several."""
    kind = getattr(kin, name)
    if "metric" in kind._get_param_names():
        options = {"kernel": "rbf", "metric": None, **options}
    return kind(**options)


def streamed(name: str, tasks: bool = False, labels: bool = False, **options: Any) -> Callable:
    def fit() -> tuple[Any, tuple, dict]:
        X, y, new = classes()
        given: dict[str, Any] = {}
        model = getattr(kin, name)(n_centers=12, random_state=0, **options)
        if tasks:
            X, y, task = make_related_tasks(n_tasks=3, n_samples=20, random_state=0)
            new = X[:20]
            given = {"task": task[:20]}
        if labels:
            X, y = make_rotated_labels(60, n_labels=4, n_features=3, random_state=0)
            new = X[:20]
        for part in (slice(0, 30), slice(30, 60)):
            model.partial_fit(X[part], y[part], **({"task": task[part]} if tasks else {}))
        some = slice(40, 45)
        model.forget(X[some], y[some], **({"task": task[some]} if tasks else {}))
        return model, (new,), given

    return fit


def related(name: str, **options: Any) -> Callable:
    how = options.pop("how", "plain")

    def fit() -> tuple[Any, tuple, dict]:
        X, y, task = make_related_tasks(n_tasks=4, n_samples=18, random_state=0)
        given: dict[str, Any] = {}
        if how == "weights":
            given["sample_weight"] = weights(len(y))
        if how == "groups":
            given["groups"] = np.arange(len(y)) // 3
        if how == "copies":
            X = np.round(X)
        if how == "one":
            return tuned_alone(name, options).fit(X, y), (X[:20],), {}
        chosen = options
        if options.get("similarity") == "given":
            W = np.random.default_rng(2).uniform(size=(4, 4))
            chosen = {**options, "similarity": W + W.T}
        model = tuned_alone(name, chosen).fit(X, y, task=task, **given)
        asked = task[:20].copy()
        asked[:3] = 99  # a task never seen
        if name in ("IndependentTasks", "PooledTasks", "HandOver"):
            asked = task[:20]
        return model, (X[:20],), {"task": asked}

    return fit


def labelled(name: str, **options: Any) -> Callable:
    how = options.pop("how", "plain")

    def fit() -> tuple[Any, tuple, dict]:
        X, Y = make_rotated_labels(60, n_labels=4, n_features=3, random_state=0)
        given: dict[str, Any] = {}
        Y = Y.astype(float)
        if how == "weights":
            given["sample_weight"] = weights()
        if how == "groups":
            given["groups"] = np.arange(60) // 3
        if how == "copies":
            X = np.round(X)
        if how == "unobserved":
            Y[np.random.default_rng(3).random(Y.shape) < 0.2] = np.nan
        if how == "classes":
            Y[:, 0] += Y[:, 1]
        if how == "constant":
            Y[:, 2] = 1
        if how == "single":
            X, Y, _ = classes()
        if how == "many":
            Y = np.vstack([Y[:30]] * 2)
        return tuned_alone(name, options).fit(X, Y, **given), (X[:20],), {}

    return fit


def added() -> tuple[Any, tuple, dict]:
    X, y, task = make_related_tasks(n_tasks=4, n_samples=18, random_state=0)
    old = task < 3
    model = tuned_alone("MultiTaskLSPCCV", FEW).fit(X[old], y[old], task=task[old])
    model.add_task(X[~old], y[~old], task=3)
    return model, (X[-10:],), {"task": task[-10:]}


def derived(how: str) -> Callable:
    """Models made of other models."""

    def fit() -> tuple[Any, tuple, dict]:
        X, y, new = classes()
        if how == "compressed":
            return (
                kin.compress(tuned_alone("LSPCCV", FEW).fit(X, y), 10, random_state=0),
                (new,),
                {},
            )
        if how == "prior":
            return (
                kin.with_prior(tuned_alone("LSPCCV", FEW).fit(X, y), [0.6, 0.3, 0.1]),
                (new,),
                {},
            )
        if how == "handed over":
            model = kin.HandOver(tuned_alone("LSPCCV", FEW), max_error=0.4, confidence=0.8)
            return model.fit(X, y), (new,), {}
        if how == "handed over, pipeline":
            pipe = make_pipeline(StandardScaler(), kin.LSPC())
            return kin.HandOver(pipe, max_error=0.4, confidence=0.8).fit(X, y), (new,), {}
        Xs = [X[:30], np.hstack([X[30:], X[30:, :1] ** 2])]
        model = kin.HeterogeneousLSPC(estimator=tuned_alone("LSPCCV", {}), random_state=0).fit(
            Xs, [y[:30], y[30:]]
        )
        return model, (Xs,), {}

    return fit


CASES: dict[str, Callable[[], tuple[Any, tuple, dict]]] = {
    "LSPC": one_task("LSPC"),
    "LSPC two": one_task("LSPC", how="two"),
    "LSPC weights": one_task("LSPC", how="weights"),
    "LSPC groups": one_task("LSPC", how="groups"),
    "LSPC copies": one_task("LSPC", how="copies"),
    "LSPC category": one_task("LSPC", how="category"),
    "LSPC sparse": one_task("LSPC", how="sparse"),
    "LSPC precomputed": one_task("LSPC", how="precomputed", kernel="precomputed"),
    "LSPC laplacian": one_task("LSPC", kernel="laplacian", sigma=1.5),
    "LSPC chi2": one_task("LSPC", how="positive", kernel="chi2"),
    "LSPC polynomial": one_task("LSPC", kernel="polynomial", degree=2),
    "LSPC linear": one_task("LSPC", kernel="linear", reg=0.1),
    "LSPC rounded": one_task("LSPC", posterior="rounded", fallback="prior"),
    "LSPC rounded_parameters": one_task("LSPC", posterior="rounded_parameters"),
    "LSPC raw": one_task("LSPC", posterior="raw"),
    "LSPC classwise": one_task("LSPC", basis="classwise"),
    "LSPC classwise few": one_task("LSPC", basis="classwise", n_centers=20, random_state=0),
    "LSPC few": one_task("LSPC", n_centers=15, random_state=0),
    "LSPC leverage": one_task("LSPC", n_centers=15, center_selection="leverage", random_state=0),
    "LSPC given": one_task("LSPC", centers=np.eye(3)),
    "LSPC balanced": one_task("LSPC", class_weight={0: 3.0}),
    "LSPC pcg": one_task("LSPC", solver="pcg", tol=1e-10),
    "LSPC pcg few": one_task("LSPC", solver="pcg", tol=1e-10, n_centers=15, random_state=0),
    "LSPCCV": one_task("LSPCCV"),
    "LSPCCV two": one_task("LSPCCV", how="two"),
    "LSPCCV weights": one_task("LSPCCV", how="weights", **FEW),
    "LSPCCV groups": one_task("LSPCCV", how="groups", **FEW),
    "LSPCCV copies": one_task("LSPCCV", how="copies", **FEW),
    "LSPCCV category": one_task("LSPCCV", how="category"),
    "LSPCCV folds": one_task("LSPCCV", cv=4, **FEW),
    "LSPCCV best": one_task("LSPCCV", combine="best", scoring="log_loss", **FEW),
    "LSPCCV within_se": one_task("LSPCCV", combine="within_se", scoring="roc_auc", **FEW),
    "LSPCCV accuracy": one_task("LSPCCV", scoring="accuracy", **FEW),
    "LSPCCV f1": one_task("LSPCCV", scoring="f1", combine="best", **FEW),
    "LSPCCV brier": one_task("LSPCCV", scoring="brier", combine="within_se", **FEW),
    "LSPCCV rounded": one_task("LSPCCV", posterior="rounded", **FEW),
    "LSPCCV classwise": one_task("LSPCCV", basis="classwise", **FEW),
    "LSPCCV few": one_task("LSPCCV", n_centers=15, random_state=0, **FEW),
    "LSPCCV balanced": one_task("LSPCCV", class_weight="balanced", **FEW),
    "LSPCCV laplacian": one_task("LSPCCV", kernel="laplacian", **FEW),
    "LSPCCV linear": one_task("LSPCCV", kernel="linear"),
    "KLR": one_task("KernelLogisticRegression"),
    "KLR two weights": one_task("KernelLogisticRegression", how="weights", reg=0.01),
    "KLR lbfgs": one_task("KernelLogisticRegression", solver="lbfgs", reg=0.01, tol=1e-9),
    "KLRCV": one_task("KernelLogisticRegressionCV", **FEW),
    "KLRCV copies": one_task("KernelLogisticRegressionCV", how="copies", **FEW),
    "KLRCV within_se": one_task("KernelLogisticRegressionCV", combine="within_se", **FEW),
    "tasks": related("MultiTaskLSPC"),
    "tasks weights": related("MultiTaskLSPC", how="weights"),
    "tasks copies": related("MultiTaskLSPC", how="copies"),
    "tasks one": related("MultiTaskLSPC", how="one"),
    "tasks similar": related("MultiTaskLSPC", similarity="given"),
    "tasks few": related("MultiTaskLSPC", n_centers=10, random_state=0),
    "tasks primal": related("MultiTaskLSPC", n_centers=3, random_state=0),
    "tasks rounded": related("MultiTaskLSPC", posterior="rounded"),
    "tasks balanced": related("MultiTaskLSPC", class_weight={0: 2.0}),
    "tasks CV": related("MultiTaskLSPCCV", **FEW),
    "tasks CV copies": related("MultiTaskLSPCCV", how="copies", **FEW),
    "tasks CV groups": related("MultiTaskLSPCCV", how="groups", **FEW),
    "tasks CV one": related("MultiTaskLSPCCV", how="one", **FEW),
    "tasks CV folds": related("MultiTaskLSPCCV", cv=3, scoring="roc_auc", average="tasks", **FEW),
    "tasks CV stack": related("MultiTaskLSPCCV", combine="stack", **FEW),
    "tasks CV similar": related("MultiTaskLSPCCV", similarity="given", **FEW),
    "tasks CV primal": related("MultiTaskLSPCCV", n_centers=3, random_state=0, **FEW),
    "tasks added": added,
    "KLR-MT": related("MultiTaskKernelLogisticRegression", reg=0.01),
    "KLR-MT one": related("MultiTaskKernelLogisticRegression", how="one", reg=0.01),
    "KLR-MT CV": related("MultiTaskKernelLogisticRegressionCV", sharings=[0, 0.5, 1], **FEW),
    "KLR-MT CV one": related("MultiTaskKernelLogisticRegressionCV", how="one", **FEW),
    "IndependentTasks": related("IndependentTasks", estimator=kin.LSPC()),
    "PooledTasks": related("PooledTasks", estimator=kin.LSPC()),
    "HandOver tasks": related(
        "HandOver", estimator=kin.MultiTaskLSPC(), max_error=0.4, confidence=0.7, per_task=True
    ),
    "labels": labelled("MultiLabelLSPC"),
    "labels weights": labelled("MultiLabelLSPC", how="weights"),
    "labels copies": labelled("MultiLabelLSPC", how="copies"),
    "labels unobserved": labelled("MultiLabelLSPC", how="unobserved"),
    "labels classes": labelled("MultiLabelLSPC", how="classes"),
    "labels single": labelled("MultiLabelLSPC", how="single"),
    "labels cg": labelled("MultiLabelLSPC", solver="cg", tol=1e-12),
    "labels direct": labelled("MultiLabelLSPC", solver="direct"),
    "labels f1": labelled("MultiLabelLSPC", threshold="loo_f1"),
    "labels rounded_parameters": labelled("MultiLabelLSPC", posterior="rounded_parameters"),
    "labels balanced": labelled("MultiLabelLSPC", class_weight="balanced"),
    "labels few": labelled("MultiLabelLSPC", n_centers=10, random_state=0),
    "labels CV": labelled("MultiLabelLSPCCV", **FEW),
    "labels CV weights": labelled("MultiLabelLSPCCV", how="weights", **FEW),
    "labels CV groups": labelled("MultiLabelLSPCCV", how="groups", **FEW),
    "labels CV copies": labelled("MultiLabelLSPCCV", how="copies", **FEW),
    "labels CV classes": labelled("MultiLabelLSPCCV", how="classes", **FEW),
    "labels CV single": labelled("MultiLabelLSPCCV", how="single", **FEW),
    "labels CV f1": labelled("MultiLabelLSPCCV", scoring="f1_macro", threshold="loo_f1", **FEW),
    "labels CV within_se": labelled(
        "MultiLabelLSPCCV", combine="within_se", scoring="log_loss", **FEW
    ),
    "labels CV auc": labelled("MultiLabelLSPCCV", combine="best", scoring="roc_auc", **FEW),
    "labels CV unobserved": labelled(
        "MultiLabelLSPCCV", how="unobserved", sharings=[0, 0.5], tol=1e-12, **FEW
    ),
    "labels CV few": labelled("MultiLabelLSPCCV", n_centers=10, random_state=0, **FEW),
    "stream": streamed("LSPC"),
    "stream tasks": streamed("MultiTaskLSPC", tasks=True),
    "stream labels": streamed("MultiLabelLSPC", labels=True),
    "compressed": derived("compressed"),
    "prior": derived("prior"),
    "handed over": derived("handed over"),
    "handed over, pipeline": derived("handed over, pipeline"),
    "heterogeneous": derived("heterogeneous"),
}


def run(name: str) -> tuple[Any, Callable[[Any], Arrays], Arrays]:
    """Fit a case; return the model, what asks any model the same, and all that this one says."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, about, given = CASES[name]()

        def ask(other: Any) -> Arrays:
            if isinstance(about[0], list):  # tasks with features of their own
                return {
                    f"predict_proba/{t}": np.asarray(other.predict_proba(X, task=t))
                    for t, X in enumerate(about[0])
                }
            return answers(other, *about, **given)

        return model, ask, ask(model)
