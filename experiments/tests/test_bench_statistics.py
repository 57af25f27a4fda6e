"""Ranks and tests of the benchmark agree with SciPy and with the formulas as written."""

import numpy as np
import pytest
from scipy import stats

from kinlearn_experiments.bench import statistics


def test_failed_methods_rank_worst(rng):
    losses = rng.random((4, 5))
    losses[2, 1] = np.nan
    found = statistics.ranks(losses)
    assert found[2, 1] == 5
    np.testing.assert_array_equal(found[0], losses[0].argsort().argsort() + 1)
    assert (found.sum(axis=1) == 15).all()


@pytest.mark.parametrize("tied", [False, True])
def test_friedman_is_scipys(rng, tied):
    losses = rng.random((9, 4))
    if tied:
        losses = losses.round(1)
    expected = stats.friedmanchisquare(*losses.T)
    found = statistics.friedman(statistics.ranks(losses))
    assert found.statistic == pytest.approx(expected.statistic)
    assert found.p_value == pytest.approx(expected.pvalue)


@pytest.mark.parametrize("shape", [(5, 2), (1, 5)])
def test_friedman_says_nothing_of_too_few(rng, shape):
    assert np.isnan(statistics.friedman(statistics.ranks(rng.random(shape))).p_value)


@pytest.mark.parametrize(("k", "q"), [(2, 1.960), (3, 2.343), (5, 2.728), (10, 3.164)])
def test_critical_difference_has_the_published_constants(k, q):
    # Table 5 of Demsar (2006)
    found = statistics.critical_difference(k, 20)
    assert found == pytest.approx(q * np.sqrt(k * (k + 1) / 120), abs=2e-3)


def test_cliques_join_exactly_what_is_near(rng):
    ranks = np.sort(1 + 9 * rng.random(10))
    found = statistics.cliques(list(ranks), 2.5)
    joined = {
        (i, j) for first, last in found for i in range(first, last + 1) for j in range(i, last + 1)
    }
    for i in range(10):
        for j in range(i + 1, 10):
            assert ((i, j) in joined) == (ranks[j] - ranks[i] < 2.5)


def test_wilcoxon_is_scipys_with_holm(rng):
    ours = rng.random(12)
    rivals = ours[:, None] + rng.normal(0.2, 0.3, size=(12, 3))
    raw = [stats.wilcoxon(ours, column).pvalue for column in rivals.T]
    order = np.argsort(raw)
    expected = np.empty(3)
    running = 0.0
    for position, m in enumerate(order):
        running = max(running, min(1.0, raw[m] * (3 - position)))
        expected[m] = running
    np.testing.assert_allclose(statistics.wilcoxon_holm(ours, rivals), expected)


def test_a_failure_is_the_worst_difference():
    ours = np.arange(8.0) / 10
    rival = ours + 0.01 * np.arange(1, 9)
    failed = np.where(np.arange(8) == 3, np.nan, rival)
    # Where the largest difference was already there, it only stays the largest.
    last = np.where(np.arange(8) == 7, np.nan, rival)
    assert statistics.wilcoxon_holm(ours, last[:, None]) == pytest.approx(
        statistics.wilcoxon_holm(ours, rival[:, None])
    )
    assert statistics.wilcoxon_holm(ours, failed[:, None])[0] < 0.05
    ours_failed = np.where(np.arange(8) == 3, np.nan, ours)
    assert statistics.wilcoxon_holm(ours_failed, rival[:, None])[0] > 0.05
    assert statistics.wilcoxon_holm(failed, failed[:, None])[0] == 1.0


def test_paired_outcome_is_the_t_test(rng):
    for _ in range(50):
        a = rng.normal(size=5)
        b = a + rng.normal(0.3, 0.4, size=5)
        p = stats.ttest_rel(a, b).pvalue
        expected = "tie" if p > 0.05 else ("win" if a.mean() < b.mean() else "loss")
        assert statistics.paired_outcome(a, b) == expected


def test_paired_outcome_of_failures_and_constants():
    assert statistics.paired_outcome([1, np.nan], [1, 2]) == "loss"
    assert statistics.paired_outcome([1, 2], [1, np.nan]) == "win"
    assert statistics.paired_outcome([np.nan], [np.nan]) == "tie"
    assert statistics.paired_outcome([1, 2], [1, 2]) == "tie"
    assert statistics.paired_outcome([1, 2], [2, 3]) == "win"
    assert statistics.paired_outcome([1], [2]) == "win"
    assert statistics.paired_outcome([1], [0.9]) == "loss"
    assert statistics.paired_outcome([1], [1.01]) == "tie"
    assert statistics.paired_outcome([-0.9], [-0.95]) == "loss"
