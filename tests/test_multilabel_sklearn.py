"""scikit-learn's own checks on the multi-label estimators."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from kinlearn import MultiLabelLSPC, MultiLabelLSPCCV


@parametrize_with_checks(
    [
        MultiLabelLSPC(),
        MultiLabelLSPC(solver="cg", similarity="signed"),
        MultiLabelLSPCCV(),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
