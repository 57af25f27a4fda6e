"""HandOver: what it promises holds, and what it cannot judge it hands over."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.stats import beta, binom
from sklearn.base import clone
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kinlearn
from kinlearn import LSPC, LSPCCV, HandOver, MultiTaskLSPC, MultiTaskLSPCCV
from kinlearn.estimators._cross_fitting import own_held_out
from kinlearn.posterior import Link
from kinlearn.selection.hand_over import choose_threshold, upper_bound

LEFT = "ignore:No threshold"


def draw(n, rng, apart=1.7):
    y = rng.integers(0, 2, n)
    return rng.normal(size=(n, 2)) + apart * y[:, None], y


# -- the guarantee ----------------------------------------------------------------------------


@pytest.mark.filterwarnings(LEFT)
@pytest.mark.parametrize(
    "estimator", [LSPC(sigma=2.0, reg=1e-2), GaussianNB()], ids=["leave-one-out", "folds"]
)
def test_error_among_answered_exceeds_the_target_no_more_often_than_stated(estimator):
    """200 training sets; the true error is that on 4,000 further cases."""
    n_repetitions, risk, target = 200, 0.1, 0.1
    exceeded, coverage = 0, []
    for seed in range(n_repetitions):
        rng = np.random.default_rng(seed)
        model = HandOver(estimator, max_error=target, confidence=1 - risk).fit(*draw(160, rng))
        X, y = draw(4000, rng)
        found = model.assess(X)
        coverage.append(found.answered.mean())
        if found.answered.any():
            exceeded += (found.predicted != y)[found.answered].mean() > target
    assert exceeded <= risk * n_repetitions
    assert np.mean(coverage) > 0.4


def test_threshold_rule_on_known_errors():
    """Confidences that are exactly right: the chosen threshold's true error is known."""
    exceeded = 0
    for seed in range(500):
        rng = np.random.default_rng(seed)
        confidence = 0.5 + 0.5 * rng.random(600) ** 0.3
        wrong = rng.random(600) > confidence
        chosen = choose_threshold(confidence, wrong, 0.1, 0.05)
        fresh = 0.5 + 0.5 * rng.random(20_000) ** 0.3
        answered = fresh > chosen.value
        exceeded += answered.any() and (1 - fresh[answered]).mean() > 0.1
    assert exceeded <= 0.05 * 500


def test_threshold_counts_agree_with_the_cases():
    rng = np.random.default_rng(0)
    confidence = np.round(rng.random(500), 2)  # with ties
    wrong = rng.random(500) > 0.2 + 0.8 * confidence
    chosen = choose_threshold(confidence, wrong, 0.2, 0.05)
    above = confidence > chosen.value
    assert chosen.n_answered == above.sum() > 0
    assert chosen.n_wrong == wrong[above].sum()
    assert binom.cdf(chosen.n_wrong, chosen.n_answered, 0.2) <= 0.05
    assert chosen.error <= chosen.error_bound <= 0.2


def test_upper_bound_is_clopper_and_pearsons():
    for n_wrong, n in [(0, 10), (3, 40), (7, 7)]:
        expected = 1.0 if n_wrong == n else beta.ppf(0.95, n_wrong + 1, n - n_wrong)
        assert upper_bound(n_wrong, n, 0.05) == pytest.approx(expected, rel=1e-10)


def test_sure_and_right_everywhere_answers_everything():
    chosen = choose_threshold(np.full(200, 0.99), np.zeros(200, bool), 0.05, 0.05)
    assert chosen.value == 0.0
    assert chosen.coverage == 1.0


def test_nothing_to_show_answers_nothing_and_says_so():
    X, y = draw(200, np.random.default_rng(0), apart=0.0)
    model = HandOver(LSPC())
    with pytest.warns(UserWarning, match=r"No threshold .* every case is handed over"):
        model.fit(X, y)
    assert model.threshold_ == np.inf
    assert model.coverage_ == 0.0
    assert np.isnan(model.expected_error_)
    assert not model.decide(X).any()
    assert set(model.assess(X).reason) <= {"unsure", "unfamiliar"}
    empty = choose_threshold(np.empty(0), np.empty(0, bool), 0.05, 0.05)
    assert empty.value == np.inf


# -- where calibration cases come from --------------------------------------------------------


def test_own_held_out_scores_are_used_and_equal_refitting():
    X, y = draw(40, np.random.default_rng(1))
    model = LSPC(sigma=2.0, reg=1e-2).fit(X, y)
    proba = model.held_out_proba()
    for i in (0, 7, 31):
        others = np.arange(40) != i
        again = LSPC(sigma=2.0, reg=1e-2).fit(X[others], y[others])
        link = Link(model.held_out_links_[i, 0])  # learnt from the other folds
        scores = again.model_.scores(X[[i]], 256)
        np.testing.assert_allclose(proba[i], link(scores)[0], atol=1e-10)


def test_supervised_steps_before_the_classifier_force_folds():
    X, y = draw(120, np.random.default_rng(1))
    plain = make_pipeline(StandardScaler(), LSPC()).fit(X, y)
    peeking = make_pipeline(SelectKBest(k=1), LSPC()).fit(X, y)
    assert own_held_out(plain) is not None
    assert own_held_out(peeking) is None
    assert own_held_out(LSPC(posterior="rounded_parameters").fit(X, y)) is None
    assert own_held_out(GaussianNB().fit(X, y)) is None
    with pytest.raises(ValueError, match="kept no held-out scores"):
        LSPC(posterior="rounded").fit(X, y).held_out_proba()


@pytest.mark.filterwarnings(LEFT)
def test_two_groups_and_one_column_of_two_values():
    """Without one of two groups nothing is left to hold out within the other."""
    X = np.repeat([0.0, 1.0], 7)[:, None]
    y = np.repeat(["no", "yes"], 7)
    careful = HandOver(LSPCCV(kernel="rbf")).fit(X, y)
    assert not careful.decide([[0.0], [1.0]]).any()  # seven times the same two rows vouch for none
    wide = np.random.default_rng(0).standard_normal((30, 2))
    model = LSPCCV(kernel="rbf").fit(wide, wide[:, 0] > 0, groups=np.arange(30) % 2)
    assert model.predict_proba(wide).shape == (30, 2)


def test_groups_are_held_out_together():
    rng = np.random.default_rng(0)
    centers, labels = draw(40, rng, apart=0.3)
    X = np.repeat(centers, 8, axis=0) + 0.01 * rng.normal(size=(320, 2))
    y, groups = np.repeat(labels, 8), np.repeat(np.arange(40), 8)
    careless = HandOver(LSPC(sigma=0.3)).fit(X, y)
    assert careless.coverage_ > 0.9  # repetitions vouch for each other
    with pytest.warns(UserWarning, match="No threshold"):
        HandOver(LSPC(sigma=0.3)).fit(X, y, groups=groups)
    with pytest.warns(UserWarning, match="No threshold"):
        HandOver(GaussianNB()).fit(X, y, groups=groups)


def test_folds_of_rare_classes():
    X, y = draw(150, np.random.default_rng(0), apart=4.0)
    y = y.astype(object)
    y[0] = 2
    model = HandOver(LogisticRegression(), max_error=0.1).fit(X, y.astype(int))
    assert model.coverage_ > 0.9
    assert model.n_calibration_ == 150


# -- familiarity ------------------------------------------------------------------------------

KERNELS = ["rbf", "laplacian", "exponential", "matern32", "chi2", "polynomial", "linear", "cosine"]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("n_centers", [None, 60])
def test_familiarity_is_a_quantile(kernel, n_centers):
    rng = np.random.default_rng(0)
    X = np.abs(rng.normal([4.0, 2.0, 1.0], size=(600, 3)))
    y = (X[:, 0] + rng.normal(size=600) > 4).astype(int)
    model = LSPC(kernel=kernel, n_centers=n_centers, random_state=0).fit(X[:300], y[:300])
    fresh = model.familiarity(X[300:])
    assert abs((fresh <= 0.1).mean() - 0.1) < 0.06
    assert abs((fresh <= 0.5).mean() - 0.5) < 0.12
    # far away in length, or for the cosine, which ignores that, in direction
    far = np.array([[1e3, 1e3, 1e3]]) if kernel != "cosine" else np.array([[0.0, 0.0, 1.0]])
    assert model.familiarity(far) == 0.0


def test_familiarity_equals_its_definition():
    rng = np.random.default_rng(2)
    X, y = draw(50, rng)
    model = LSPC().fit(X, y)
    new = rng.normal(size=(20, 2)) * 3
    distance = np.linalg.norm(X[:, None] - X[None], axis=2)
    own = np.sort(distance, axis=1)[:, 2]  # the second, the row itself not counted
    theirs = np.sort(np.linalg.norm(new[:, None] - X[None], axis=2), axis=1)[:, 1]
    expected = (own[None] >= theirs[:, None]).mean(axis=1)
    np.testing.assert_allclose(model.familiarity(new), expected)


def test_familiarity_of_kernel_values_and_sparse_rows():
    X, y = draw(60, np.random.default_rng(3))
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(2) / 2)
    by_values = LSPC(kernel="precomputed").fit(K, y).familiarity(K)
    by_rows = LSPC(sigma=1.0).fit(X, y).familiarity(X)
    # mutual neighbours are at one distance, and rounding then decides by a rank
    np.testing.assert_allclose(by_values, by_rows, atol=1.01 / 60)
    sparse = LSPC(sigma=1.0).fit(sp.csr_matrix(X), y).familiarity(sp.csr_matrix(X))
    np.testing.assert_allclose(sparse, by_rows, atol=1.01 / 60)


def test_far_away_is_handed_over_however_sure():
    X, y = draw(300, np.random.default_rng(0), apart=3.0)
    far = np.array([[40.0, 40.0], [-30.0, -30.0]])
    linear = LSPC(kernel="linear")
    careful = HandOver(make_pipeline(StandardScaler(), linear)).fit(X, y)
    found = careful.assess(far)
    assert (found.confidence > 0.99).all()
    assert (found.confidence > careful.threshold_).all()
    assert not found.answered.any()
    assert list(found.reason) == ["unfamiliar", "unfamiliar"]
    careless = clone(careful).set_params(min_familiarity=0).fit(X, y)
    assert careless.decide(far).all()
    assert list(careful.predict_or_hand_over(far, hand_over="?")) == ["?", "?"]


def test_other_classifiers_have_no_familiarity():
    X, y = draw(200, np.random.default_rng(0), apart=3.0)
    model = HandOver(GaussianNB()).fit(X, y)
    assert model.assess(X).familiarity is None
    with pytest.raises(AttributeError, match="GaussianNB does not tell how familiar"):
        model.familiarity(X)


# -- tasks ------------------------------------------------------------------------------------


def tasks_of_unequal_ease(rng, n=160):
    easy, y_easy = draw(n, rng, apart=4.0)
    hard, y_hard = draw(n, rng, apart=0.2)
    few, y_few = draw(12, rng, apart=4.0)
    task = np.repeat(["easy", "hard", "few"], [n, n, 12])
    return np.vstack([easy, hard, few]), np.concatenate([y_easy, y_hard, y_few]), task


def test_thresholds_by_task():
    X, y, task = tasks_of_unequal_ease(np.random.default_rng(0))
    model = HandOver(MultiTaskLSPC(sharing=0.0), per_task=True).fit(X, y, task=task)
    assert list(model.tasks_) == ["easy", "few", "hard"]
    assert model.task_coverages_[0] > 0.9
    assert np.isinf(model.task_thresholds_[1:]).all()
    answered = model.decide(X, task=task)
    assert answered[task == "easy"].mean() > 0.9
    assert not answered[task != "easy"].any()
    unseen = model.assess(X, task=np.full(len(X), "new"))
    assert set(unseen.reason) == {"unknown task"}
    assert model.error_bound_ <= 0.05
    assert model.coverage_ == pytest.approx(model.decide(X[:160], task[:160]).mean() / 2, abs=0.1)


def test_tasks_reach_estimators_that_take_them_and_no_others():
    X, y, task = tasks_of_unequal_ease(np.random.default_rng(1))
    for estimator in (MultiTaskLSPC(), make_pipeline(StandardScaler(), MultiTaskLSPC())):
        model = HandOver(estimator, max_error=0.3).fit(X, y, task=task)
        assert model.predict_proba(X, task=task).shape == (len(X), 2)
    model = HandOver(GaussianNB(), max_error=0.3, per_task=True).fit(X, y, task=task)
    assert model.decide(X, task=task).any()
    folds = HandOver(MultiTaskLSPC(), max_error=0.3, cv=4).fit(X, y, task=task)
    assert folds.n_calibration_ == len(X)


def test_task_column():
    X, y, task = tasks_of_unequal_ease(np.random.default_rng(1))
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(site=task)
    by_column = HandOver(MultiTaskLSPC(), max_error=0.3, task_column="site").fit(frame, y)
    by_argument = HandOver(MultiTaskLSPC(), max_error=0.3).fit(frame[["a", "b"]], y, task=task)
    assert by_column.threshold_ == by_argument.threshold_
    np.testing.assert_array_equal(
        by_column.decide(frame), by_argument.decide(frame[["a", "b"]], task=task)
    )
    np.testing.assert_array_equal(
        by_column.familiarity(frame), by_argument.familiarity(frame[["a", "b"]])
    )


# -- choices ----------------------------------------------------------------------------------


def test_refusals():
    X, y = draw(100, np.random.default_rng(0))
    for name, value in [("max_error", 0), ("confidence", 1.0), ("min_familiarity", -0.1)]:
        with pytest.raises(ValueError, match=f"{name} must lie between 0 and 1"):
            HandOver(LSPC(), **{name: value}).fit(X, y)
    with pytest.raises(TypeError, match="RidgeClassifier has no predict_proba"):
        HandOver(RidgeClassifier()).fit(X, y)
    with pytest.raises(ValueError, match="per_task=True needs task ids"):
        HandOver(LSPC(), per_task=True).fit(X, y)
    with pytest.raises(TypeError, match="takes no sample_weight"):
        HandOver(KNeighborsClassifier()).fit(X, y, sample_weight=np.ones(100))


def test_predictions_are_those_of_the_classifier():
    X, y = draw(200, np.random.default_rng(0), apart=3.0)
    model = HandOver(LSPCCV()).fit(X, np.array(["no", "yes"])[y])
    np.testing.assert_array_equal(model.predict(X), model.estimator_.predict(X))
    np.testing.assert_array_equal(model.predict_proba(X), model.estimator_.predict_proba(X))
    assert model.score(X, np.array(["no", "yes"])[y]) > 0.9
    told = model.predict_or_hand_over(X)
    answered = model.decide(X)
    assert all(value is None for value in told[~answered])
    np.testing.assert_array_equal(told[answered], model.predict(X)[answered])


@pytest.mark.parametrize("per_task", [False, True])
def test_saved_and_loaded(per_task, tmp_path):
    X, y, task = tasks_of_unequal_ease(np.random.default_rng(0))
    small = MultiTaskLSPCCV(sigmas=[0.5, 2.0, 9.0], sharings=[0.0, 0.5], regs=[1e-5, 1e-2, 3.0])
    pipeline = make_pipeline(StandardScaler(), small)
    model = HandOver(pipeline, max_error=0.1, per_task=per_task).fit(X, y, task=task)
    kinlearn.save(model, tmp_path / "m.kin")
    again = kinlearn.load(tmp_path / "m.kin")
    one, other = model.assess(X, task=task), again.assess(X, task=task)
    for name in vars(one):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    info = kinlearn.model_info(tmp_path / "m.kin")
    assert info["model"]["type"] == "HandOver"
    assert info["model"]["estimator"] == "MultiTaskLSPCCV"
    assert info["model"]["hand_over"]["max_error"] == 0.1
