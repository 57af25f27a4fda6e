"""Grids, criteria and the combination of grid points."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score, log_loss, roc_auc_score

from kinlearn.posterior import Link
from kinlearn.selection.class_scales import fit_class_scales
from kinlearn.selection.combine import refined_weights, stack_weights, within_se_weights
from kinlearn.selection.links import fit_beta, log_loss_rows, smooth
from kinlearn.selection.scoring import weighted_auc, why_undefined
from naive.lspc import one_hot
from naive.posterior import naive_class_calibration, naive_refined_weights, naive_stack_weights
from one_kernel import LSPCCV


@pytest.fixture
def noisy(rng):
    y = rng.integers(0, 3, size=90)
    return rng.normal(size=(90, 2)) + y[:, None] * [0.8, -0.4], y


def search(**settings):
    return LSPCCV(sigmas=[0.7, 1.5], regs=[1e-4, 1e-2, 0.1], store_cv_scores=True, **settings)


class TestScoring:
    pytestmark = pytest.mark.filterwarnings("ignore:The best")

    def check(self, scoring, X, y, criterion):
        model = search(scoring=scoring).fit(X, y)
        expected = [criterion(y, scores) for scores in model.cv_scores_]
        np.testing.assert_allclose(model.cv_results_["mean_test_score"], expected, atol=1e-10)
        assert model.best_score_ == pytest.approx(max(expected))
        return model

    def test_squared_error(self, noisy):
        X, y = noisy
        self.check("squared_error", X, y, lambda y, q: -np.mean((one_hot(y) - q) ** 2))

    @pytest.mark.parametrize("name", ["accuracy"])
    def test_accuracy(self, name, noisy):
        X, y = noisy
        self.check(name, X, y, lambda y, q: accuracy_score(y, q.argmax(axis=1)))

    @pytest.mark.parametrize("name", ["f1", "f1_macro"])
    def test_f1(self, name, noisy):
        X, y = noisy
        self.check(name, X, y, lambda y, q: f1_score(y, q.argmax(axis=1), average="macro"))
        y = (y == 2).astype(int)
        self.check("f1", X, y, lambda y, q: f1_score(y, q.argmax(axis=1), zero_division=0))

    def test_roc_auc(self, noisy):
        X, y = noisy
        binary = (y == 2).astype(int)
        self.check("roc_auc", X, binary, lambda y, q: roc_auc_score(y, q[:, 1] - q[:, 0]))
        macro = lambda y, q: np.mean([roc_auc_score(y == k, q[:, k]) for k in range(3)])  # noqa: E731
        self.check("roc_auc", X, y, macro)

    @pytest.mark.parametrize("name", ["log_loss", "neg_log_loss", "brier", "neg_brier_score"])
    def test_losses_are_of_the_calibrated_posterior(self, name, noisy):
        X, y = noisy
        from kinlearn.selection.links import fit_beta

        def criterion(y, q):
            p = Link(fit_beta(q, one_hot(y)))(q)
            return -log_loss(y, p) if "log" in name else -np.mean(((one_hot(y) - p) ** 2).sum(1))

        self.check(name, X, y, criterion)

    def test_a_function_sees_labels_and_decision_values(self, noisy):
        X, y = noisy
        labels = np.array(["no", "yes"])[(y == 2).astype(int)]
        seen = []

        def criterion(y_true, scores):
            seen.append((set(y_true), scores.shape))
            return roc_auc_score(y_true, scores)

        model = search(scoring=criterion).fit(X, labels)
        # all rows of every point; weights of a stack do not ask for a criterion again
        assert seen == [({"no", "yes"}, (90,))] * 6
        named = search(scoring="roc_auc").fit(X, labels)
        np.testing.assert_allclose(
            model.cv_results_["mean_test_score"], named.cv_results_["mean_test_score"]
        )

    def test_weights_count_in_the_criterion(self, noisy, rng):
        X, y = noisy
        weights = rng.integers(1, 4, size=90)
        model = search(scoring="accuracy").fit(X, y, sample_weight=weights)
        expected = [
            accuracy_score(y, q.argmax(axis=1), sample_weight=weights) for q in model.cv_scores_
        ]
        np.testing.assert_allclose(model.cv_results_["mean_test_score"], expected)

    def test_unknown_scoring_lists_the_choices(self, noisy):
        with pytest.raises(ValueError, match=r"scoring='auc' is not known.*'roc_auc'"):
            LSPCCV(scoring="auc").fit(*noisy)

    def test_folds_of_one_class_are_left_out_of_the_auc(self, noisy):
        X, y = noisy
        y = (np.arange(90) < 4).astype(int)
        cv = [(np.arange(30, 90), np.arange(30)), (np.arange(60), np.arange(60, 90))]
        with pytest.raises(ValueError, match="one class"):
            LSPCCV().fit(X[10:], y[10:])
        model = search(scoring="roc_auc", cv=cv).fit(X, y)
        assert np.isnan(model.cv_results_["split1_test_score"]).all()
        assert np.isfinite(model.best_score_)


def test_weighted_auc_equals_scikit_learns(rng):
    values = rng.integers(0, 10, size=200).astype(float)
    y, weights = rng.integers(0, 2, size=200), rng.uniform(size=200)
    ours = weighted_auc(values, weights * y, weights * (1 - y))
    assert ours == pytest.approx(roc_auc_score(y, values, sample_weight=weights))
    assert np.isnan(weighted_auc(values, np.zeros(200), weights))


class TestCombination:
    @pytest.mark.parametrize("n", [10, 50, 2000])
    def test_stacking_is_non_negative_least_squares_near_the_best(self, n, rng):
        targets = np.eye(3)[rng.integers(0, 3, size=n)]
        scores = targets + rng.normal(size=(6, n, 3)) * np.linspace(2, 0.8, 6)[:, None, None]
        weights = rng.uniform(0.5, 2, size=n)
        found = stack_weights(scores, targets, weights)
        expected = naive_stack_weights(scores, targets, weights)
        np.testing.assert_allclose(found, expected, atol=2e-3)
        assert found.sum() == pytest.approx(1.0)

    def test_points_alike_have_one_answer(self, rng):
        targets = np.eye(2)[rng.integers(0, 2, size=60)]
        first = targets + rng.normal(size=(60, 2))
        scores = np.stack([first, first + 1e-9 * rng.normal(size=(60, 2)), targets - 0.5 * first])
        weights = stack_weights(scores, targets, np.ones(60))
        moved = scores + 1e-8 * rng.normal(size=scores.shape)
        np.testing.assert_allclose(stack_weights(moved, targets, np.ones(60)), weights, atol=1e-5)

    def test_a_point_of_huge_scores_hides_no_other(self, rng):
        targets = np.eye(2)[rng.integers(0, 2, size=60)]
        scores = targets + rng.normal(size=(3, 60, 2))
        huge = 1e12 * rng.normal(size=(1, 60, 2))
        found = stack_weights(np.concatenate([scores, huge]), targets, np.ones(60))
        expected = stack_weights(scores, targets, np.ones(60))
        np.testing.assert_allclose(found, np.append(expected, 0.0), atol=1e-9)

    @pytest.mark.filterwarnings("ignore:The best")
    def test_few_rows_are_stacked_and_averaged(self, noisy):
        X, y = (part[:40] for part in noisy)
        few = search(posterior="rounded").fit(X, y)
        targets = np.eye(few.classes_.size)[np.searchsorted(few.classes_, y)][few.cv_rows_]
        stacked = stack_weights(few.cv_scores_, targets, np.ones(40))
        errors = -np.square(few.cv_scores_ - targets).mean(axis=2)
        averaged = within_se_weights(errors, np.ones(40), errors.mean(axis=1).argmax())
        share = 1 / (1 + (40 / 35) ** 2)
        expected = (1 - share) * stacked + share * averaged
        np.testing.assert_allclose(few.weights_, expected, atol=1e-9)

    def test_scores_worse_than_nothing_get_no_weight(self):
        targets = np.eye(2)[[0, 1, 0]]
        assert not stack_weights(-targets[None], targets, np.ones(3)).any()

    def test_within_se_keeps_the_indistinguishable(self, rng):
        best = rng.normal(size=100)
        close, far = best - 1e-3 * rng.normal(size=100), best - 1.0
        weights = within_se_weights(np.stack([far, best, close]), np.ones(100), best=1)
        np.testing.assert_allclose(weights, [0.0, 0.5, 0.5])

    @pytest.mark.filterwarnings("ignore:The best")
    @pytest.mark.parametrize("combine", ["stack", "within_se", "best"])
    def test_the_mix_is_the_weighted_sum_of_models(self, combine, noisy):
        from kinlearn import LSPC

        X, y = noisy
        model = search(combine=combine).fit(X, y)
        assert model.weights_.sum() == pytest.approx(1.0)
        total = sum(
            weight * LSPC(sigma=p["sigma"], reg=p["reg"], posterior="raw").fit(X, y)._scores(X)
            for p, weight in zip(model.cv_results_["params"], model.weights_, strict=True)
        )
        total = total * model.class_scale_ + model.intercept_
        np.testing.assert_allclose(model.decision_function(X), total, atol=1e-9)
        if combine != "stack":
            np.testing.assert_array_equal(model.class_scale_, 1.0)
            np.testing.assert_array_equal(model.intercept_, 0.0)
        if combine == "best":
            assert model.weights_[model.best_index_] == 1.0


class TestGrid:
    def test_results_have_grid_search_keys(self, noisy):
        model = LSPCCV(cv=3).fit(*noisy)
        n_points = len(model.cv_results_["params"])
        assert n_points >= 120
        for key in (
            "param_sigma",
            "param_reg",
            "mean_test_score",
            "std_test_score",
            "rank_test_score",
            "mean_fit_time",
            "split0_test_score",
            "split2_test_score",
        ):
            assert len(model.cv_results_[key]) == n_points
        splits = [model.cv_results_[f"split{i}_test_score"] for i in range(3)]
        np.testing.assert_allclose(model.cv_results_["mean_test_score"], np.mean(splits, axis=0))
        assert model.cv_results_["rank_test_score"][model.best_index_] == 1

    def test_a_default_grid_widens_towards_its_optimum(self, rng):
        X = rng.uniform(-1, 1, size=(200, 1))
        y = (np.sin(20 * X[:, 0]) > 0).astype(int)
        model = LSPCCV().fit(X, y)
        widths = np.unique(model.cv_results_["param_sigma"])
        assert widths.size > 6
        assert model.sigma_ < np.median(np.abs(X - X.T)) / 4

    def test_regs_widen_upwards(self, rng):
        X, y = rng.normal(size=(60, 3)), rng.integers(0, 2, size=60)
        model = LSPCCV(sigmas=[100.0, 200.0, 400.0]).fit(X, y)
        assert np.isfinite(model.best_score_)
        assert model.cv_results_["param_reg"].max() >= 10**0.5 * (1 - 1e-12)

    @pytest.mark.parametrize(
        ("grid", "message"),
        [
            (
                {"sigmas": [20.0, 40.0]},
                r"best sigma is the smallest of the grid \(20\): add smaller",
            ),
            ({"regs": [1.0, 10.0]}, r"best reg is the smallest of the grid \(1\): add smaller"),
            (
                {"sigmas": [0.01, 0.02]},
                r"best sigma is the largest of the grid \(0.02\): add larger",
            ),
        ],
    )
    def test_a_given_grid_warns_which_way_to_widen(self, grid, message, rng):
        X = rng.normal(size=(150, 2))
        y = (X[:, 0] * X[:, 1] > 0).astype(int)
        with pytest.warns(UserWarning, match=message):
            model = LSPCCV(**grid).fit(X, y)
        assert set(grid.get("sigmas", [])) <= set(model.cv_results_["param_sigma"])

    def test_default_regs_follow_the_scale_of_the_kernel(self, rng):
        X = rng.normal(size=(80, 3))
        y = (X[:, 0] > 0).astype(int)
        small, large = (LSPCCV(kernel="linear").fit(scale * X, y) for scale in (1.0, 1000.0))
        np.testing.assert_allclose(
            large.cv_results_["param_reg"] / small.cv_results_["param_reg"], 1e12, rtol=1e-6
        )
        np.testing.assert_allclose(large.predict_proba(1000 * X), small.predict_proba(X), atol=1e-6)

    def test_progress_is_shown_on_request(self, noisy, capsys):
        LSPCCV(verbose=True).fit(*noisy)
        said = capsys.readouterr().out
        assert "LSPCCV: trying 120 points (6 sigmas × 20 regs)." in said
        assert "in the mix; the best alone: sigma=" in said
        LSPCCV().fit(*noisy)
        assert not capsys.readouterr().out

    def test_widths_side_by_side_give_the_same(self, noisy):
        X, y = noisy
        one, two = LSPCCV(n_jobs=1).fit(X, y), LSPCCV(n_jobs=2).fit(X, y)
        np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X), atol=1e-12)


class TestRefinement:
    @staticmethod
    def problem(rng, n_points=4):
        targets = np.eye(3)[rng.integers(0, 3, size=80)]
        spread = np.linspace(0.4, 1.5, n_points)[:, None, None]
        scores = targets + rng.normal(size=(n_points, 80, 3)) * spread
        weights = rng.uniform(0.5, 1.5, size=80)
        return scores, targets, weights, stack_weights(scores, targets, weights)

    def test_minimises_the_objective(self, rng):
        scores, targets, weights, start = self.problem(rng)
        beta = fit_beta(np.tensordot(start, scores, axes=1), targets, weights)
        expected = naive_refined_weights(scores, targets, weights, start, beta)
        found = refined_weights(scores, targets, weights, start, 80)
        np.testing.assert_allclose(found, expected, atol=1e-4)

    def test_offsets_are_part_of_the_objective(self, rng):
        scores, targets, weights, start = self.problem(rng)
        beta = fit_beta(np.tensordot(start, scores, axes=1), targets, weights, 80)
        expected = naive_refined_weights(scores, targets, weights, start, beta, offsets=True)
        found = refined_weights(scores, targets, weights, start, 80, offsets=True)
        np.testing.assert_allclose(found, expected, atol=1e-4)

    def test_lowers_the_log_loss_of_the_mix(self, rng):
        scores, targets, weights, start = self.problem(rng)
        refined = refined_weights(scores, targets, weights, start, 80)

        def loss(mix):
            mixed = np.tensordot(mix, scores, axes=1)
            beta = fit_beta(mixed, targets, weights)
            return weights @ log_loss_rows(mixed, beta, smooth(targets, 80))

        assert loss(refined) <= loss(start)

    def test_scores_that_tell_nothing_keep_their_weights(self):
        targets = np.eye(2)[[0, 1, 0, 1]]
        start = np.array([0.25, 0.75])
        same = np.zeros((2, 4, 2))
        np.testing.assert_array_equal(refined_weights(same, targets, np.ones(4), start, 4), start)

    def test_only_the_calibrated_posterior_is_refined(self, noisy):
        X, y = noisy
        kept = {
            rule: LSPCCV(posterior=rule).fit(X, y).weights_ for rule in ("calibrated", "rounded")
        }
        assert not (kept["calibrated"] > 0)[kept["rounded"] == 0].any()
        assert not np.allclose(kept["calibrated"], kept["rounded"])


class TestClassCalibration:
    def problem(self, rng):
        targets = np.eye(3)[rng.choice(3, size=70, p=[0.7, 0.2, 0.1])]
        scores = 0.4 * targets + 0.3 * rng.normal(size=(70, 3)) * [1.0, 0.4, 2.0]
        return scores, targets, rng.uniform(0.5, 1.5, size=70)

    def test_it_minimises_what_it_says(self, rng):
        scores, targets, weights = self.problem(rng)
        beta = fit_beta(scores, targets, weights, 70)
        expected = naive_class_calibration(scores, targets, weights, beta)
        scales, offsets = fit_class_scales(scores, targets, weights, beta, 70)
        np.testing.assert_allclose(scales, expected[0], atol=1e-4)
        np.testing.assert_allclose(offsets, expected[1], atol=1e-4)

    def test_it_shrinks_to_one_number_when_rows_weigh_little(self, rng):
        scores, targets, weights = self.problem(rng)
        scales, offsets = fit_class_scales(scores, targets, 1e-9 * weights, 5.0, 70)
        np.testing.assert_allclose(scales, 5.0, atol=1e-6)
        np.testing.assert_allclose(offsets, 0.0, atol=1e-6)

    def test_probabilities_are_the_softmax_of_scores(self, noisy):
        X, y = noisy
        model = LSPCCV().fit(X, y)
        scores = model.decision_function(X)
        np.testing.assert_allclose(model.predict_proba(X), Link(model.beta_)(scores))
        np.testing.assert_array_equal(model.predict(X), model.predict_proba(X).argmax(axis=1))

    def test_features_that_tell_nothing_leave_the_frequencies(self, rng):
        X, y = rng.normal(size=(200, 3)), np.repeat([0, 1], [160, 40])
        share = LSPCCV().fit(X, y).predict_proba(rng.normal(size=(50, 3)))[:, 1].mean()
        assert 0.1 < share < 0.35


def test_a_criterion_without_a_value_says_what_is_wrong(rng):
    X = rng.normal(size=(30, 3))
    y = (X[:, 0] > 0).astype(int)
    one = np.flatnonzero(y == 1)
    alone = [(np.setdiff1d(np.arange(30), one[:2]), one[:2])]
    with pytest.raises(ValueError, match=r"'roc_auc' is not defined .* two classes .*larger parts"):
        LSPCCV(scoring="roc_auc", cv=alone).fit(X, y)
    with pytest.raises(ValueError, match="returned NaN on every held-out part"):
        LSPCCV(scoring=lambda y_true, scores: np.nan).fit(X, y)


@pytest.mark.parametrize("scoring", ["squared_error", "log_loss", "brier", "accuracy", "roc_auc"])
def test_no_message_recommends_what_was_given(scoring):
    nothing = why_undefined(scoring, np.full((2, 3, 2), np.nan))
    assert "not finite" in nothing
    assert scoring not in nothing
    said = why_undefined(scoring, np.zeros((2, 3, 2)))
    assert f'"{scoring}"' not in said
