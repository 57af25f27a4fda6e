"""scikit-learn's own checks on the multi-label estimators."""

import numpy as np
from sklearn.utils.estimator_checks import parametrize_with_checks

from kinlearn import MultiLabelLSPC, MultiLabelLSPCCV

SMALL = {"regs": np.logspace(-4, 0, 4), "sharings": [0.0, 0.5], "combine": "best"}


@parametrize_with_checks(
    [
        MultiLabelLSPC(),
        MultiLabelLSPC(solver="cg", posterior="rounded"),
        MultiLabelLSPC(threshold="loo_f1"),
        MultiLabelLSPCCV(),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
