"""Calibration and risk-coverage figures against the formulas written out case by case."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import brier_score_loss

from kinlearn.metrics import (
    area_under_risk_coverage,
    brier_score,
    expected_calibration_error,
    reliability_curve,
    risk_coverage_curve,
)
from naive.metrics import naive_ece, naive_risk

CLASSES = np.array(["ant", "bee", "cow", "dog"])
ALL = [expected_calibration_error, reliability_curve, risk_coverage_curve, brier_score]


def make_case(n=200, seed=0, levels=None):
    """Labels, probabilities (rounded to ``levels`` values to force ties) and whole weights."""
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.full(4, 0.7), size=n)
    if levels:
        proba = np.floor(proba * levels) + 1
        proba /= proba.sum(axis=1, keepdims=True)
    y = np.array([rng.choice(CLASSES, p=row) for row in proba])
    return y, proba, rng.integers(0, 4, size=n)


@pytest.mark.parametrize("n_bins", [1, 7, 15])
@pytest.mark.parametrize("weighted", [False, True])
def test_ece_is_the_formula(n_bins, weighted):
    y, proba, weight = make_case()
    weight = weight if weighted else np.ones(len(y))
    found = expected_calibration_error(
        y, proba, n_bins=n_bins, classes=CLASSES, sample_weight=weight if weighted else None
    )
    assert found == pytest.approx(naive_ece(y, proba, CLASSES, n_bins, weight), abs=1e-12)


def test_quantile_bins_hold_equal_numbers_of_cases():
    y, proba, _ = make_case(n=300)
    curve = reliability_curve(y, proba, n_bins=10, classes=CLASSES, strategy="quantile")
    np.testing.assert_allclose(curve.share, 0.1)
    inner = np.quantile(proba.max(axis=1), np.arange(1, 10) / 10, method="inverted_cdf")
    np.testing.assert_array_equal(curve.edges, np.concatenate([[0], inner, [1]]))


def test_a_calibrated_forecast_has_a_small_error_and_an_overconfident_one_has_not():
    y, proba, _ = make_case(n=20_000)
    sharp = proba**3 / (proba**3).sum(axis=1, keepdims=True)
    assert expected_calibration_error(y, proba, classes=CLASSES) < 0.02
    assert expected_calibration_error(y, sharp, classes=CLASSES) > 0.1


def test_a_confidence_on_an_edge_belongs_to_the_bin_below():
    for k in range(8, 16):
        curve = reliability_curve([0, 1], [1 - k / 15, k / 15], n_bins=15)
        assert curve.share.tolist() == [1.0]
        nearly = reliability_curve([0, 1], [1 - (k - 0.5) / 15, k / 15], n_bins=15)
        assert nearly.share.tolist() == [1.0]


def test_empty_bins_are_left_out_and_shares_sum_to_one():
    curve = reliability_curve([0, 1, 1], [0.05, 0.95, 0.93], n_bins=10)
    np.testing.assert_allclose(curve.confidence, [(0.95 + 0.95 + 0.93) / 3])
    np.testing.assert_allclose(curve.accuracy, [1.0])
    np.testing.assert_allclose(curve.share, [1.0])
    assert len(curve.edges) == 11


@pytest.mark.parametrize("levels", [None, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_risk_coverage_is_the_formula_at_every_confidence(levels, weighted):
    y, proba, weight = make_case(levels=levels)
    weight = weight if weighted else np.ones(len(y))
    curve = risk_coverage_curve(y, proba, CLASSES, weight if weighted else None)
    confidence = proba.max(axis=1)
    np.testing.assert_array_equal(curve.threshold, np.unique(confidence[weight > 0])[::-1])
    for coverage, risk, threshold in zip(*curve, strict=True):
        answered = weight[confidence >= threshold].sum() / weight.sum()
        assert coverage == pytest.approx(answered, abs=1e-12)
        assert risk == pytest.approx(naive_risk(y, proba, CLASSES, weight, threshold), abs=1e-12)
    kept = weight > 0
    risks = [naive_risk(y, proba, CLASSES, weight, threshold) for threshold in confidence[kept]]
    area = np.average(risks, weights=weight[kept])
    found = area_under_risk_coverage(y, proba, CLASSES, weight if weighted else None)
    assert found == pytest.approx(area, abs=1e-12)


def test_the_order_of_tied_cases_does_not_matter():
    y, proba, _ = make_case(levels=2)
    order = np.random.default_rng(1).permutation(len(y))
    for here, there in zip(
        risk_coverage_curve(y, proba, CLASSES),
        risk_coverage_curve(y[order], proba[order], CLASSES),
        strict=True,
    ):
        np.testing.assert_allclose(here, there, atol=1e-12)


def test_without_information_the_area_is_the_error_rate():
    y = np.array([0, 0, 0, 1])
    proba = np.tile([0.6, 0.4], (4, 1))
    curve = risk_coverage_curve(y, proba)
    np.testing.assert_allclose([curve.coverage, curve.risk], [[1.0], [0.25]])
    assert area_under_risk_coverage(y, proba) == 0.25


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    strategy=st.sampled_from(["uniform", "quantile"]),
    n_bins=st.integers(1, 20),
    levels=st.sampled_from([None, 2, 5]),
)
def test_a_weight_is_a_repetition(seed, strategy, n_bins, levels):
    y, proba, weight = make_case(n=40, seed=seed, levels=levels)
    weight[0] += 1
    rows = np.repeat(np.arange(len(y)), weight)
    options = {"n_bins": n_bins, "classes": CLASSES, "strategy": strategy}
    weighted = expected_calibration_error(y, proba, sample_weight=weight, **options)
    repeated = expected_calibration_error(y[rows], proba[rows], **options)
    assert weighted == pytest.approx(repeated, abs=1e-12)
    assert 0 <= weighted <= 1
    for function in (area_under_risk_coverage, brier_score):
        assert function(y, proba, CLASSES, weight) == pytest.approx(
            function(y[rows], proba[rows], CLASSES), abs=1e-12
        )


@pytest.mark.parametrize("weighted", [False, True])
def test_brier_is_the_formula(weighted):
    y, proba, weight = make_case()
    one_hot = (y[:, None] == CLASSES).astype(float)
    expected = np.average(
        ((proba - one_hot) ** 2).sum(axis=1), weights=weight if weighted else None
    )
    found = brier_score(y, proba, CLASSES, weight if weighted else None)
    assert found == pytest.approx(expected, abs=1e-12)


def test_brier_of_two_classes_is_twice_scikit_learns():
    rng = np.random.default_rng(0)
    y, p = rng.integers(0, 2, 50), rng.random(50)
    assert brier_score(y, p) == pytest.approx(2 * brier_score_loss(y, p))


def test_brier_keeps_the_digits_of_very_good_predictions():
    assert brier_score([0, 1], [[1 - 1e-12, 1e-12], [0, 1]]) == pytest.approx(1e-24, rel=1e-3)


def test_classes_may_come_in_any_order_and_be_missing_from_the_labels():
    y, proba, _ = make_case()
    order = [2, 0, 3, 1]
    kept = y != "dog"
    for function in (expected_calibration_error, area_under_risk_coverage, brier_score):
        plain = function(y[kept], proba[kept], classes=CLASSES)
        shuffled = function(y[kept], proba[kept][:, order], classes=CLASSES[order])
        assert plain == pytest.approx(shuffled, abs=1e-12)


def test_tables_and_lists_are_taken():
    y, proba, weight = make_case()
    frame = pd.DataFrame(proba, columns=CLASSES)
    for function in (expected_calibration_error, area_under_risk_coverage, brier_score):
        expected = function(y, proba, sample_weight=weight)
        assert function(pd.Series(y), frame, sample_weight=pd.Series(weight)) == expected
        assert function(y.tolist(), proba.tolist(), sample_weight=weight.tolist()) == expected
        assert function(y[:, None], proba, sample_weight=weight) == expected


def test_one_column_is_the_probability_of_the_second_class():
    y, p = np.array(["no", "yes", "yes"]), np.array([0.2, 0.7, 0.4])
    for function in (expected_calibration_error, area_under_risk_coverage, brier_score):
        assert function(y, p) == function(y, np.column_stack([1 - p, p]))


@pytest.mark.parametrize("function", ALL)
@pytest.mark.parametrize(
    ("y", "proba", "options", "sentence"),
    [
        ([], np.empty((0, 2)), {}, "There are no cases"),
        ([0, 1], [0.1, 0.2, 0.3], {}, "y_true has 2 cases and proba has 3 rows"),
        ([[0, 1], [1, 0]], [0.1, 0.2], {}, r"in one dimension; its shape is \(2, 2\)"),
        ([0, 1], [[1.0], [1.0]], {}, r"one column per class.*its shape is \(2, 1\)"),
        ([0, 1], [0.1, np.nan], {}, "proba must be finite; row 1 holds"),
        ([0, 1], np.full((2, 3), 1 / 3), {}, "2 different labels but proba has 3 columns"),
        ([0, 1], [0.1, 0.2], {"classes": [0, 1, 2]}, r"classes has shape \(3,\) but proba has 2"),
        ([0, 5], [0.1, 0.2], {"classes": [0, 1]}, r"y_true holds \[5\], not among the classes"),
        ([0, 1], [0.1, 0.2], {"sample_weight": [1]}, r"each of the 2 cases; its shape is \(1,\)"),
        ([0, 1], [0.1, 0.2], {"sample_weight": [1, -1]}, "not negative and not all zero.*-1 to 1"),
        ([0, 1], [0.1, 0.2], {"sample_weight": [0, 0]}, "not all zero; seen are values from 0"),
    ],
)
def test_bad_input_is_told_in_a_sentence(function, y, proba, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        function(y, proba, **options)


def test_values_that_are_no_probabilities_are_refused_where_they_matter():
    scores = np.array([[-0.4, 1.4], [0.2, 0.8]])
    with pytest.raises(ValueError, match=r'from 0.8 to 1.4.*only "raw" leaves'):
        expected_calibration_error([0, 1], scores)
    with pytest.raises(ValueError, match=r"row 1 sums to 3\. Give predict_proba"):
        brier_score([0, 1], [[0.5, 0.5], [1.0, 2.0]])
    np.testing.assert_allclose(risk_coverage_curve([0, 1], scores).risk, [1.0, 0.5])
    assert brier_score([0, 1], scores) == pytest.approx((1.4**2 * 2 + 0.2**2 * 2) / 2)


@pytest.mark.parametrize("n_bins", [0, -3, 2.5, True])
def test_a_wrong_number_of_bins_is_told(n_bins):
    with pytest.raises(ValueError, match="n_bins must be a whole number of at least 1; got"):
        expected_calibration_error([0, 1], [0.1, 0.9], n_bins=n_bins)


def test_an_unknown_strategy_is_told():
    with pytest.raises(ValueError, match='"uniform" or "quantile"; got \'equal\''):
        reliability_curve([0, 1], [0.1, 0.9], strategy="equal")
