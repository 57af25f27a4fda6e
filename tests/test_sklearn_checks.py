"""scikit-learn's own checks, on every estimator and several of their settings."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from kinlearn import (
    LSPC,
    LSPCCV,
    KernelLogisticRegression,
    KernelLogisticRegressionCV,
    MultiTaskKernelLogisticRegression,
    MultiTaskKernelLogisticRegressionCV,
    MultiTaskLSPC,
    MultiTaskLSPCCV,
)

GRID = {"sigmas": [1.0, 4.0], "regs": [1e-4, 1e-2]}

ESTIMATORS = [
    LSPC(),
    LSPC(posterior="rounded"),
    LSPC(kernel="laplacian"),
    LSPC(basis="classwise"),
    LSPC(n_centers=5, random_state=0),
    LSPCCV(),
    LSPCCV(cv=3, combine="within_se"),
    LSPCCV(combine="best", scoring="log_loss"),
    KernelLogisticRegression(),
    KernelLogisticRegression(solver="lbfgs"),
    KernelLogisticRegressionCV(**GRID),
    KernelLogisticRegressionCV(**GRID, cv=3, combine="within_se", solver="lbfgs"),
    MultiTaskKernelLogisticRegression(),
    MultiTaskKernelLogisticRegressionCV(**GRID),
    MultiTaskLSPC(),
    MultiTaskLSPCCV(),
]


@pytest.mark.filterwarnings(
    "ignore:Columns spread", "ignore:n_centers=", "ignore:All training rows", "ignore:The best"
)
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
