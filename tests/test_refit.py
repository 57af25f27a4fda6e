"""A refit is a fresh fit: nothing of the parameters or rows of before is left in a model."""

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

import kinlearn
from kinlearn import (
    LSPC,
    LSPCCV,
    MTDA,
    AggregateLDA,
    HandOver,
    HeterogeneousLSPC,
    IndependentTasks,
    KernelLogisticRegression,
    KernelLogisticRegressionCV,
    MTDAClassifier,
    MultiLabelLSPC,
    MultiLabelLSPCCV,
    MultiTaskKernelLogisticRegression,
    MultiTaskKernelLogisticRegressionCV,
    MultiTaskLSPC,
    MultiTaskLSPCCV,
    PooledTasks,
    PredictionSets,
    RatioTraceLDA,
    TableFeatures,
    TraceRatioLDA,
)
from kinlearn.datasets import make_heterogeneous_tasks, make_related_tasks, make_rotated_labels

pytestmark = pytest.mark.filterwarnings(
    "ignore:The best",
    "ignore:No threshold",
    "ignore:n_centers=",
    "ignore:This .* was fitted by fit",
)
TOLERANCE = 1e-12

# -- data: by name, arguments of fit ------------------------------------------------------------


def rows(n, n_classes, seed, n_features=2):
    """Overlapping classes."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    X = rng.normal(size=(n, n_features)) + np.eye(n_classes, n_features)[y]
    return {"X": X, "y": y}


def tasks(n_tasks, n_classes, seed, **more):
    X, y, task = make_related_tasks(
        n_tasks=n_tasks, n_samples=14, n_classes=n_classes, n_features=2, random_state=seed
    )
    return {"X": X, "y": y, "task": task, **more}


def labels(n, n_labels, seed, gaps=0.0):
    X, Y = make_rotated_labels(n, n_labels=n_labels, n_features=3, random_state=seed)
    Y = Y.astype(float)
    Y[np.random.default_rng(seed).random(Y.shape) < gaps] = np.nan
    return {"X": X, "y": Y}


def spaces(widths, seed):
    Xs, ys = make_heterogeneous_tasks(n_features=widths, n_samples=18, random_state=seed)
    return {"Xs": Xs, "ys": ys}


def named(given, classes):
    return {**given, "y": np.array(classes)[given["y"]]}


DATA = {
    "30 rows": lambda: rows(30, 3, 0),
    "20 rows": lambda: rows(20, 2, 1, n_features=3),
    "60 rows": lambda: rows(60, 3, 2),
    "names": lambda: named(rows(24, 2, 3), ["no", "yes"]),
    "weights": lambda: {**rows(30, 3, 0), "sample_weight": np.linspace(0.5, 2.0, 30)},
    "groups": lambda: {**rows(30, 3, 0), "groups": np.arange(30) // 3},
    "copies": lambda: {**rows(20, 2, 1), "X": np.round(rows(20, 2, 1)["X"])},
    "sparse": lambda: {**rows(30, 3, 0), "X": sp.csr_matrix(np.maximum(rows(30, 3, 0)["X"], 0))},
    "4 tasks": lambda: tasks(4, 3, 0),
    "2 tasks": lambda: tasks(2, 2, 1),
    "no tasks": lambda: rows(24, 2, 3),
    "tasks in groups": lambda: tasks(3, 2, 2, groups=np.arange(42) // 2),
    "4 labels": lambda: labels(30, 4, 0),
    "2 labels": lambda: labels(24, 2, 1),
    "gaps": lambda: labels(30, 3, 2, gaps=0.2),
    "one answer": lambda: rows(24, 2, 3),
    "3 spaces": lambda: spaces((4, 6, 5), 0),
    "2 spaces": lambda: spaces((5, 7), 1),
}

FEW = {"sigmas": [1.0, 3.0], "regs": [1e-3, 1e-1]}
FEWER = {"sigmas": [2.0], "regs": [1e-2, 1.0]}
SHARED = {**FEW, "sharings": [0.0, 0.5]}
LESS_SHARED = {**FEWER, "sharings": [0.8]}

# -- cases: an estimator, what it was, what it becomes -------------------------------------------
# Each is (estimator, parameters before, data before, parameters after, data after).

CASES = {
    # one task
    "LSPC rounded": (LSPC, {}, "30 rows", {"posterior": "rounded"}, "20 rows"),
    "LSPC parameters": (LSPC, {}, "30 rows", {"posterior": "rounded_parameters"}, "20 rows"),
    "LSPC raw": (LSPC, {}, "30 rows", {"posterior": "raw"}, "names"),
    "LSPC calibrated": (
        LSPC,
        {"posterior": "rounded"},
        "20 rows",
        {"posterior": "calibrated"},
        "names",
    ),
    "LSPC other rows": (LSPC, {}, "30 rows", {}, "20 rows"),
    "LSPC pcg to direct": (
        LSPC,
        {"solver": "pcg", "n_centers": 10, "random_state": 0},
        "60 rows",
        {"solver": "direct"},
        "30 rows",
    ),
    "LSPC direct to pcg": (
        LSPC,
        {"solver": "direct"},
        "30 rows",
        {"solver": "pcg", "n_centers": 10, "random_state": 0},
        "60 rows",
    ),
    "LSPC pcg to classwise": (
        LSPC,
        {"solver": "pcg"},
        "30 rows",
        {"solver": "auto", "basis": "classwise"},
        "20 rows",
    ),
    "LSPC classwise to full": (
        LSPC,
        {"basis": "classwise"},
        "30 rows",
        {"basis": "full"},
        "20 rows",
    ),
    "LSPC given centers": (
        LSPC,
        {"centers": [[0.0, 0.0], [1.0, 1.0]]},
        "30 rows",
        {"centers": None},
        "20 rows",
    ),
    "LSPC balanced": (
        LSPC,
        {"class_weight": "balanced"},
        "30 rows",
        {"class_weight": None},
        "names",
    ),
    "LSPC unbalanced": (LSPC, {}, "30 rows", {"class_weight": "balanced"}, "names"),
    "LSPC prior": (LSPC, {"fallback": "prior"}, "30 rows", {"fallback": "uniform"}, "20 rows"),
    "LSPC weights": (LSPC, {}, "weights", {"sigma": 2.0}, "copies"),
    "LSPC groups": (LSPC, {}, "groups", {"reg": 0.1}, "20 rows"),
    "LSPC linear": (LSPC, {}, "30 rows", {"kernel": "linear"}, "sparse"),
    "LSPC rbf": (LSPC, {"kernel": "linear"}, "sparse", {"kernel": "rbf"}, "20 rows"),
    "LSPCCV rounded": (LSPCCV, FEW, "30 rows", {**FEWER, "posterior": "rounded"}, "20 rows"),
    "LSPCCV raw": (LSPCCV, FEW, "30 rows", {**FEWER, "posterior": "raw"}, "names"),
    "LSPCCV best": (
        LSPCCV,
        {**FEW, "store_cv_scores": True},
        "30 rows",
        {**FEWER, "combine": "best", "store_cv_scores": False},
        "names",
    ),
    "LSPCCV within_se": (LSPCCV, FEW, "30 rows", {"combine": "within_se", "cv": 3}, "20 rows"),
    "LSPCCV stack": (
        LSPCCV,
        {**FEW, "combine": "best", "scoring": "log_loss"},
        "groups",
        {"combine": "stack", "scoring": None},
        "20 rows",
    ),
    "LSPCCV classwise": (LSPCCV, FEW, "30 rows", {"basis": "classwise"}, "names"),
    "table": (TableFeatures, {}, "30 rows", {"max_categories": 5}, "names"),
    "KLR": (KernelLogisticRegression, {}, "30 rows", {"solver": "lbfgs"}, "20 rows"),
    "KLR newton": (
        KernelLogisticRegression,
        {"solver": "lbfgs"},
        "20 rows",
        {"solver": "newton"},
        "weights",
    ),
    "KLRCV": (KernelLogisticRegressionCV, FEW, "30 rows", FEWER, "names"),
    "KLRCV within_se": (
        KernelLogisticRegressionCV,
        {**FEW, "combine": "within_se", "store_cv_scores": True},
        "30 rows",
        {"combine": "best", "store_cv_scores": False, "cv": 3},
        "20 rows",
    ),
    # tasks
    "tasks": (MultiTaskLSPC, {}, "4 tasks", {"sharing": 0.2}, "2 tasks"),
    "tasks rounded": (MultiTaskLSPC, {}, "4 tasks", {"posterior": "rounded"}, "2 tasks"),
    "tasks to none": (MultiTaskLSPC, {}, "4 tasks", {"posterior": "raw"}, "no tasks"),
    "tasks from none": (MultiTaskLSPC, {}, "no tasks", {}, "tasks in groups"),
    "tasks similarity": (
        MultiTaskLSPC,
        {"similarity": np.ones((4, 4))},
        "4 tasks",
        {"similarity": "uniform", "n_centers": 8, "random_state": 0},
        "2 tasks",
    ),
    "tasks CV": (MultiTaskLSPCCV, SHARED, "4 tasks", LESS_SHARED, "2 tasks"),
    "tasks CV rounded": (MultiTaskLSPCCV, SHARED, "4 tasks", {"posterior": "rounded"}, "no tasks"),
    "tasks CV best": (
        MultiTaskLSPCCV,
        {**SHARED, "store_cv_scores": True},
        "4 tasks",
        {**LESS_SHARED, "combine": "best", "store_cv_scores": False},
        "2 tasks",
    ),
    "KLR tasks": (MultiTaskKernelLogisticRegression, {}, "4 tasks", {"solver": "lbfgs"}, "2 tasks"),
    "KLR tasks to none": (
        MultiTaskKernelLogisticRegression,
        {},
        "4 tasks",
        {"sharing": 0.9},
        "no tasks",
    ),
    "KLR tasks CV": (
        MultiTaskKernelLogisticRegressionCV,
        SHARED,
        "4 tasks",
        LESS_SHARED,
        "2 tasks",
    ),
    "KLR tasks CV best": (
        MultiTaskKernelLogisticRegressionCV,
        {**SHARED, "combine": "within_se", "store_cv_scores": True},
        "4 tasks",
        {**LESS_SHARED, "combine": "best", "store_cv_scores": False},
        "2 tasks",
    ),
    "independent": (
        IndependentTasks,
        {"estimator": LogisticRegression()},
        "4 tasks",
        {"estimator": GaussianNB(), "unseen": "error"},
        "2 tasks",
    ),
    "independent of LSPC": (
        IndependentTasks,
        {"estimator": LSPC()},
        "4 tasks",
        {"estimator__posterior": "rounded"},
        "2 tasks",
    ),
    "pooled": (
        PooledTasks,
        {"estimator": LogisticRegression()},
        "4 tasks",
        {"estimator": GaussianNB(), "unseen": "error"},
        "2 tasks",
    ),
    # labels
    "labels": (MultiLabelLSPC, {}, "4 labels", {"sharing": 0.9}, "2 labels"),
    "labels rounded": (MultiLabelLSPC, {}, "4 labels", {"posterior": "rounded"}, "2 labels"),
    "labels thresholds": (
        MultiLabelLSPC,
        {"threshold": "loo_f1"},
        "4 labels",
        {"threshold": 0.5, "solver": "direct"},
        "gaps",
    ),
    "labels cg": (MultiLabelLSPC, {"solver": "cg"}, "gaps", {"solver": "auto"}, "4 labels"),
    "labels to one": (MultiLabelLSPC, {}, "4 labels", {"posterior": "raw"}, "one answer"),
    "labels from one": (MultiLabelLSPC, {}, "one answer", {}, "gaps"),
    "labels CV": (MultiLabelLSPCCV, SHARED, "4 labels", LESS_SHARED, "gaps"),
    "labels CV best": (
        MultiLabelLSPCCV,
        {**SHARED, "store_cv_scores": True, "threshold": "loo_f1"},
        "4 labels",
        {**LESS_SHARED, "combine": "best", "store_cv_scores": False, "threshold": 0.5},
        "2 labels",
    ),
    "labels CV to one": (
        MultiLabelLSPCCV,
        SHARED,
        "4 labels",
        {"posterior": "rounded"},
        "one answer",
    ),
    # handing over
    "hand over": (
        HandOver,
        {"estimator": LSPC(), "max_error": 0.3},
        "60 rows",
        {"estimator": GaussianNB(), "max_error": 0.4, "cv": 3},
        "names",
    ),
    "hand over LSPC": (
        HandOver,
        {"estimator": GaussianNB(), "max_error": 0.3},
        "60 rows",
        {"estimator": LSPC(), "max_error": 0.4},
        "30 rows",
    ),
    "hand over tasks": (
        HandOver,
        {"estimator": MultiTaskLSPC(), "max_error": 0.3, "per_task": True},
        "4 tasks",
        {"per_task": False, "max_error": 0.4},
        "2 tasks",
    ),
    "hand over tasks to none": (
        HandOver,
        {"estimator": MultiTaskLSPC(), "max_error": 0.3, "per_task": True},
        "4 tasks",
        {"estimator": LSPC(), "per_task": False},
        "60 rows",
    ),
    "prediction sets": (
        PredictionSets,
        {"estimator": LSPC(), "cv": 3},
        "60 rows",
        {"cv": None, "coverage": 0.8},
        "30 rows",
    ),
    # discriminants
    "RatioTraceLDA": (RatioTraceLDA, {}, "30 rows", {"shrinkage": 0, "n_components": 1}, "20 rows"),
    "TraceRatioLDA": (TraceRatioLDA, {"shrinkage": "auto"}, "30 rows", {"shrinkage": 0}, "20 rows"),
    "MTDA": (
        MTDA,
        {"solver": "alternating", "random_state": 0, "init": "random"},
        "3 spaces",
        {"solver": "joint", "n_components": 1},
        "2 spaces",
    ),
    "MTDA alternating": (
        MTDA,
        {},
        "3 spaces",
        {"solver": "alternating", "n_components": 1, "n_intermediate": 2},
        "2 spaces",
    ),
    "AggregateLDA": (
        AggregateLDA,
        {},
        "3 spaces",
        {"n_components": 1, "shrinkage": 0.3},
        "2 spaces",
    ),
    "MTDAClassifier": (
        MTDAClassifier,
        {},
        "3 spaces",
        {"reducer": RatioTraceLDA(n_components=1), "n_neighbors": 3},
        "2 spaces",
    ),
    "HeterogeneousLSPC": (
        HeterogeneousLSPC,
        {"random_state": 0},
        "3 spaces",
        {"reducer": RatioTraceLDA(n_components=1), "estimator": MultiTaskLSPC(), "cv": None},
        "2 spaces",
    ),
    "HeterogeneousLSPC folds": (
        HeterogeneousLSPC,
        {"reducer": RatioTraceLDA(n_components=1), "estimator": MultiTaskLSPC(), "cv": None},
        "3 spaces",
        {"reducer": None, "cv": 2, "random_state": 0},
        "2 spaces",
    ),
}

# Streams: rows come in two batches by partial_fit, and then others by fit.
STREAMS = {
    "LSPC": (
        LSPC,
        {"n_centers": 8, "random_state": 0},
        "30 rows",
        {"posterior": "rounded"},
        "20 rows",
    ),
    "LSPC full": (
        LSPC,
        {"n_centers": 8, "random_state": 0},
        "30 rows",
        {"n_centers": None},
        "names",
    ),
    "tasks": (
        MultiTaskLSPC,
        {"n_centers": 8, "random_state": 0},
        "4 tasks",
        {"posterior": "rounded"},
        "2 tasks",
    ),
    "tasks full": (
        MultiTaskLSPC,
        {"n_centers": 8, "random_state": 0},
        "4 tasks",
        {"n_centers": None},
        "no tasks",
    ),
    "labels": (
        MultiLabelLSPC,
        {"n_centers": 8, "random_state": 0},
        "4 labels",
        {"posterior": "rounded"},
        "2 labels",
    ),
    "labels full": (
        MultiLabelLSPC,
        {"n_centers": 8, "random_state": 0},
        "4 labels",
        {"n_centers": None},
        "gaps",
    ),
    "CV": (
        LSPCCV,
        {"n_centers": 8, "random_state": 0},
        "30 rows",
        {"combine": "best"},
        "20 rows",
    ),
    "tasks CV": (
        MultiTaskLSPCCV,
        {"n_centers": 8, "random_state": 0},
        "4 tasks",
        {"combine": "stack"},
        "2 tasks",
    ),
    "labels CV": (
        MultiLabelLSPCCV,
        {"n_centers": 8, "random_state": 0},
        "4 labels",
        {"combine": "best", **FEW},
        "2 labels",
    ),
}

# -- comparing ------------------------------------------------------------------------------------


def state(model):
    """What a fit has left, in private, too: all but the parameters."""
    given = model.get_params(deep=False)
    return {name: value for name, value in vars(model).items() if name not in given}


def parts(value):
    """An object's parts by name, or None for what has none."""
    if isinstance(value, BaseEstimator):
        return {**value.get_params(deep=False), **state(value)}
    if isinstance(value, dict):
        return {str(key): one for key, one in value.items() if "time" not in str(key)}
    if isinstance(value, (list, tuple)):
        return {str(i): one for i, one in enumerate(value)}
    if sp.issparse(value):
        return {"shape": value.shape, "dense": value.toarray()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {one.name: getattr(value, one.name) for one in dataclasses.fields(value)}
    if type(value).__module__.startswith("kinlearn") and hasattr(value, "__dict__"):
        return vars(value)
    return None


def differences(found, expected, name="model"):
    """Names of parts that differ."""
    if type(found) is not type(expected):
        return [f"{name}: {type(found).__name__} for {type(expected).__name__}"]
    one, other = parts(found), parts(expected)
    if one is not None:
        missing = [f"{name}.{part} is left over" for part in one.keys() - other.keys()]
        missing += [f"{name}.{part} is missing" for part in other.keys() - one.keys()]
        shared = [part for part in one if part in other]
        deeper = [differences(one[part], other[part], f"{name}.{part}") for part in shared]
        return sum(deeper, missing)
    if callable(found) or isinstance(found, np.random.RandomState):
        return []
    a, b = np.asarray(found), np.asarray(expected)
    if a.dtype == object or a.dtype.kind not in "fciub":
        return [] if a.shape == b.shape and np.all(a == b) else [f"{name} differs"]
    scale = max(1.0, np.abs(b[np.isfinite(b)]).max(initial=0.0)) if b.size else 1.0
    same = a.shape == b.shape and np.allclose(a, b, rtol=0, atol=TOLERANCE * scale, equal_nan=True)
    return [] if same else [f"{name} differs"]


def held_out(model):
    """Probabilities of the rows fitted to, or the words in which they are refused."""
    try:
        return model.held_out_proba()
    except (AttributeError, ValueError) as refusal:
        return str(refusal)


def assert_fresh(model, fresh):
    assert differences(model, fresh) == []
    if hasattr(fresh, "held_out_proba"):
        assert differences(held_out(model), held_out(fresh), "held_out_proba()") == []


def cases(table):
    return [pytest.param(*case, id=name) for name, case in table.items()]


# -- tests ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("Estimator", "before", "first", "after", "second"), cases(CASES))
def test_a_refit_is_a_fresh_fit(Estimator, before, first, after, second):
    model = clone(Estimator(**before)).fit(**DATA[first]()).set_params(**after)
    fresh = clone(model).fit(**DATA[second]())
    assert_fresh(model.fit(**DATA[second]()), fresh)


def test_held_out_probabilities_are_never_of_rows_of_before():
    model = LSPC().fit(**DATA["30 rows"]())
    assert len(model.held_out_proba()) == 30
    model.set_params(posterior="rounded").fit(**DATA["20 rows"]())
    assert len(model.predict_proba(DATA["20 rows"]()["X"])) == 20
    answer = held_out(model)
    assert isinstance(answer, str) or len(answer) == 20


def in_two_batches(model, given):
    half = len(given["y"]) // 2
    for part in (slice(None, half), slice(half, None)):
        model.partial_fit(**{name: values[part] for name, values in given.items()})
    return model


@pytest.mark.parametrize(("Estimator", "before", "first", "after", "second"), cases(STREAMS))
def test_a_fit_after_a_stream_is_a_fresh_fit(Estimator, before, first, after, second):
    model = in_two_batches(Estimator(**before), DATA[first]()).set_params(**after)
    fresh = clone(model).fit(**DATA[second]())
    assert_fresh(model.fit(**DATA[second]()), fresh)


def test_every_public_estimator_is_here():
    fitting = {name for name in kinlearn.__all__ if hasattr(getattr(kinlearn, name), "fit")}
    assert fitting == {case[0].__name__ for case in CASES.values()}
    streaming = {name for name in fitting if hasattr(getattr(kinlearn, name), "partial_fit")}
    assert streaming == {case[0].__name__ for case in STREAMS.values()}
