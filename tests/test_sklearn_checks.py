"""scikit-learn's own checks, on every estimator over rows: none is expected to fail, none skipped.

One instance an estimator, and those options whose way through the code the checks can see. The
estimators over several tables (MTDA and its kin) take lists, which the checks do not know; nor do
some of them know that a precomputed kernel is square.
"""

import os
import subprocess
import sys

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import estimator_checks_generator

import kinlearn
from kinlearn import (
    LSPC,
    LSPCCV,
    HandOver,
    IndependentTasks,
    KernelLogisticRegression,
    KernelLogisticRegressionCV,
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

GRID = {"sigmas": [1.0, 4.0], "regs": [1e-4, 1e-2]}
SHARED = {**GRID, "sharings": [0.0, 0.5]}
OF_SEVERAL_TABLES = {"AggregateLDA", "HeterogeneousLSPC", "MTDA", "MTDAClassifier"}

ESTIMATORS = [
    LSPC(),
    LSPC(basis="classwise"),
    LSPC(n_centers=5, random_state=0),
    LSPC(solver="pcg"),
    LSPCCV(**GRID),
    KernelLogisticRegression(),
    KernelLogisticRegressionCV(**GRID),
    MultiTaskLSPC(),
    MultiTaskLSPCCV(**SHARED),
    MultiTaskKernelLogisticRegression(),
    MultiTaskKernelLogisticRegressionCV(**SHARED),
    MultiLabelLSPC(),
    MultiLabelLSPC(solver="cg"),
    MultiLabelLSPCCV(**SHARED),
    HandOver(LSPC()),
    PredictionSets(LSPC()),
    IndependentTasks(LogisticRegression()),
    PooledTasks(LogisticRegression()),
    RatioTraceLDA(),
    TraceRatioLDA(),
    TableFeatures(),
]

# One check needs a variable that SciPy reads when it is imported: it has a process of its own.
ELSEWHERE = "check_array_api_input"
PROGRAM = """
import warnings
import sklearn
from sklearn.utils.estimator_checks import estimator_checks_generator
from test_sklearn_checks import ELSEWHERE, ESTIMATORS, name_of
warnings.simplefilter("ignore")
done = 0
for model in ESTIMATORS:
    for estimator, check in estimator_checks_generator(model):
        if name_of(check) == ELSEWHERE:
            check(estimator)
            done += 1
asked = tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 9)  # not before
assert done == asked * len(ESTIMATORS), done
"""


def name_of(check):
    return getattr(check, "func", check).__name__


def checks():
    """Every estimator with every check of it."""
    for model in ESTIMATORS:
        for estimator, check in estimator_checks_generator(model):
            if name_of(check) != ELSEWHERE:
                name = "".join(repr(model).split())
                yield pytest.param(estimator, check, id=f"{name}-{name_of(check)}")


@pytest.mark.filterwarnings(
    "ignore:Columns spread",
    "ignore:n_centers=",
    "ignore:All training rows",
    "ignore:No threshold",
    "ignore:The best",
    "ignore:This .* was fitted by fit",
)
@pytest.mark.parametrize(("estimator", "check"), list(checks()))
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_every_public_estimator_over_rows_is_here():
    fitting = {name for name in kinlearn.__all__ if hasattr(getattr(kinlearn, name), "fit")}
    assert fitting == {type(model).__name__ for model in ESTIMATORS} | OF_SEVERAL_TABLES


def test_a_precomputed_kernel_is_tagged_as_one():
    assert get_tags(LSPC(kernel="precomputed")).input_tags.pairwise


def test_array_interfaces():
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, env=environment)
