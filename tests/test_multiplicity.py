"""Weights are multiplicities up to a common unit, and a table joined to itself is that table."""

import numpy as np
import pytest

from kinlearn import LSPC, LSPCCV, KernelLogisticRegressionCV, MultiTaskLSPC, MultiTaskLSPCCV
from kinlearn.training.copies import common_unit, find_distinct_rows, find_units

pytestmark = pytest.mark.filterwarnings("ignore:The best")
GRID = {"sigmas": [0.5, 1.0, 3.0], "regs": [1e-4, 1e-3, 1e-2, 0.1, 1.0]}
MODELS = [
    LSPC(),
    LSPC(centers=np.random.default_rng(7).normal(size=(6, 2))),
    LSPC(class_weight="balanced"),
    LSPCCV(**GRID),
    LSPCCV(**GRID, class_weight="balanced"),
    LSPCCV(**GRID, scoring="log_loss", combine="within_se"),
    MultiTaskLSPC(),
    MultiTaskLSPCCV(**GRID, sharings=[0.0, 0.5, 1.0]),
]


@pytest.fixture(params=["continuous", "coarse"])
def data(request):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(45, 2)) if request.param == "continuous" else rng.integers(0, 4, (45, 2))
    return X.astype(float), rng.integers(0, 3, size=45), rng.integers(0, 3, size=45)


def probabilities(model, data, rows=slice(None), weights=None):
    """Fit to some rows and return the probabilities of all."""
    X, y, task = data
    given = {"task": task[rows]} if isinstance(model, MultiTaskLSPC | MultiTaskLSPCCV) else {}
    model.fit(X[rows], y[rows], sample_weight=weights, **given)
    return model.predict_proba(X, **({"task": task} if given else {}))


@pytest.mark.parametrize("model", [*MODELS, LSPCCV()], ids=repr)
def test_a_table_joined_to_itself_is_the_same_table(model, data):
    rows = np.tile(np.arange(45), 2)
    np.testing.assert_allclose(
        probabilities(model, data, rows), probabilities(model, data), atol=1e-9
    )


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_weights_are_repetitions(model, data):
    counts = np.random.default_rng(2).integers(1, 4, size=45)
    rows = np.repeat(np.arange(45), counts)
    np.testing.assert_allclose(
        probabilities(model, data, weights=counts), probabilities(model, data, rows), atol=1e-9
    )


def test_weights_of_leave_one_out_logistic_regression_are_repetitions(data):
    X, y, _ = (part[:20] for part in data)
    counts = np.random.default_rng(2).integers(1, 4, size=20)
    model = KernelLogisticRegressionCV(sigmas=[1.0, 3.0], regs=[1e-2, 0.1], cv="loo")
    weighted = model.fit(X, y, sample_weight=counts).predict_proba(X)
    repeated = model.fit(np.repeat(X, counts, axis=0), np.repeat(y, counts)).predict_proba(X)
    np.testing.assert_allclose(weighted, repeated, atol=1e-6)


@pytest.mark.parametrize("integers", [True, False])
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_the_scale_of_weights_does_not_matter(model, integers, data):
    rng = np.random.default_rng(2)
    weights = rng.integers(1, 4, size=45).astype(float) if integers else rng.uniform(0.2, 2, 45)
    expected = probabilities(model, data, weights=weights)
    for scaled in (1000 * weights, 0.37 * weights, weights / weights.sum()):
        found = probabilities(model, data, weights=scaled)
        np.testing.assert_allclose(found, expected, atol=1e-7)  # links are found by iteration


@pytest.mark.parametrize(
    ("values", "unit"),
    [
        ([2, 4, 6], 2.0),
        ([1, 2, 3], 1.0),
        ([7], 7.0),
        ([0.37], 0.37),
        ([0.37, 0.74, 1.11], 0.37),
        ([0.5, 1.5], 0.5),
        ([1 / 7, 3 / 7], 1 / 7),
        ([3000, 4500], 1500.0),
        ([0.1, 0.2, 0.3, 0.7], 0.1),
        ([1, 10**9], 1.0),
        ([1.0, 2**0.5], None),
        ([1.0, 1.0 + 1e-7], None),
        ([1e-8, 0.9], None),
        ([np.pi, np.e, 1.0], None),
    ],
)
def test_common_unit(values, unit):
    assert common_unit(np.array(values, float)) == (unit and pytest.approx(unit, rel=1e-9))


def test_units_group_the_copies_of_a_row_by_class():
    X, y = np.array([[0.0], [0.0], [1.0], [0.0], [2.0]]), np.array([1, 1, 0, 0, 1])
    weights = np.array([1.0, 2.0, 4.0, 1.0, 0.0])
    units = find_units(find_distinct_rows(X, weights), y, weights)
    np.testing.assert_array_equal(units.row, [0, 0, 1])
    np.testing.assert_array_equal(units.of, [1, 1, 2, 0, -1])
    np.testing.assert_array_equal(units.mass, [1.0, 3.0, 4.0])
    np.testing.assert_array_equal(units.one, [1.0, 1.0, 1.0])
    np.testing.assert_array_equal(units.whole, [False, False, False])
    assert units.count == 8
    passed = find_units(find_distinct_rows(X, weights), y, weights, counted=False)
    np.testing.assert_array_equal(passed.one, [1.0, 1.5, 4.0])
    np.testing.assert_array_equal(passed.whole, [False, False, True])
    assert passed.count == 4
