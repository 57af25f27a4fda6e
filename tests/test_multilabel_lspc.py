"""MultiLabelLSPC: what its fit means, label by label."""

import warnings

import numpy as np
import pandas
import polars
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from kinlearn import LSPC, MultiLabelLSPC
from kinlearn.datasets import make_rotated_labels
from kinlearn.solvers.label_similarity import label_similarity
from naive.kernels import naive_kernel
from naive.labels import naive_label_scores
from naive.lspc import naive_coefficients


@pytest.fixture
def labels():
    return make_rotated_labels(90, n_labels=5, n_features=4, random_state=0)


def with_gaps(Y, share=0.3, seed=1):
    Y = Y.astype(float)
    Y[np.random.default_rng(seed).random(Y.shape) < share] = np.nan
    return Y


@pytest.mark.parametrize("solver", ["spectral", "cg", "direct"])
def test_complete_labels_equal_the_naive_solution(labels, solver):
    X, Y = labels
    params = {"sigma": 2.0, "reg": 1e-2, "sharing": 0.8, "posterior": "raw"}
    model = MultiLabelLSPC(solver=solver, tol=1e-10, **params).fit(X[:60], Y[:60])
    W = label_similarity(Y[:60].astype(float))
    q = naive_label_scores(X[:60], Y[:60].astype(float), X[60:], 2.0, 1e-2, 0.8, W)
    assert_allclose(model.decision_function(X[60:]), q[:, :, 1] - q[:, :, 0], atol=1e-7)
    assert_allclose(model.predict_proba(X[60:]), q[:, :, 1] / q.sum(-1), atol=1e-6)
    assert_allclose(model.similarity_, W)


@pytest.mark.parametrize("solver", ["auto", "cg", "direct"])
def test_missing_labels_equal_the_naive_solution(labels, solver):
    X, Y = labels
    Y = with_gaps(Y)[:60]
    model = MultiLabelLSPC(
        sigma=2.0, reg=1e-2, sharing=0.8, posterior="raw", solver=solver, tol=1e-10
    ).fit(X[:60], Y)
    W = label_similarity(np.nan_to_num(Y), pair_weights=(~np.isnan(Y)).astype(float))
    q = naive_label_scores(X[:60], Y, X[60:], 2.0, 1e-2, 0.8, W)
    assert_allclose(model.decision_function(X[60:]), q[:, :, 1] - q[:, :, 0], atol=1e-6)
    assert_allclose(model.predict_proba(X[60:]), q[:, :, 1] / q.sum(-1), atol=1e-5)


def test_missing_labels_calibrate_by_folds(labels):
    X, Y = labels
    model = MultiLabelLSPC().fit(X, with_gaps(Y))
    assert model.beta_ > 0
    assert model.held_out_scores_.shape == (90, 10)
    assert 1 <= model.n_iter_ <= 200
    assert model.residual_ <= 1e-8
    assert ((model.predict(X) == Y).mean()) > 0.9


def test_iterations_are_reported_and_failure_is_said(labels):
    X, Y = labels
    model = MultiLabelLSPC(solver="cg", tol=1e-6).fit(X, Y)
    assert model.n_iter_ > 5
    assert 0 < model.residual_ <= 1e-6
    with pytest.warns(ConvergenceWarning, match=r"above tol=1e-08, after 3 steps"):
        MultiLabelLSPC(solver="cg", max_iter=3, posterior="rounded").fit(X, Y)


def test_without_sharing_labels_are_separate_lspcs(labels):
    X, Y = labels
    model = MultiLabelLSPC(sharing=0.0).fit(X, Y)
    for t in range(5):
        alone = LSPC().fit(X, Y[:, t])
        assert_allclose(model.decision_function(X)[:, t], alone.decision_function(X), atol=1e-8)


def test_full_sharing_gives_similar_labels_one_model(labels):
    X, Y = labels
    model = MultiLabelLSPC(sharing=1.0, similarity="uniform").fit(X, Y)
    scores = model.decision_function(X)
    assert_allclose(scores, np.repeat(scores[:, :1], 5, axis=1), atol=1e-9)
    alone = MultiLabelLSPC(sharing=1.0, similarity=np.zeros((5, 5))).fit(X, Y)
    assert_allclose(
        alone.decision_function(X),
        MultiLabelLSPC(sharing=0.0).fit(X, Y).decision_function(X),
        atol=1e-9,
    )


@pytest.mark.parametrize("posterior", ["calibrated", "rounded", "rounded_parameters", "raw"])
@pytest.mark.parametrize("binary", [True, False])
def test_one_label_equals_lspc(posterior, binary):
    X, y = load_iris(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    names = np.array(["a", "b", "c"])[y]
    if binary:
        names, y = np.where(y == 2, "c", "a"), (y == 2).astype(int)
    reference = LSPC(posterior=posterior).fit(X, names)
    model = MultiLabelLSPC(posterior=posterior).fit(X, names)
    assert_allclose(model.predict_proba(X), reference.predict_proba(X), atol=1e-9)
    assert_allclose(model.decision_function(X), reference.decision_function(X), atol=1e-9)
    assert (model.predict(X) == reference.predict(X)).all()
    assert model.score(X, names) == reference.score(X, names)
    column = MultiLabelLSPC(posterior=posterior).fit(X, y[:, None])
    proba = reference.predict_proba(X)
    if binary:
        assert column.predict_proba(X).shape == (150, 1)
        assert_allclose(column.predict_proba(X)[:, 0], proba[:, 1], atol=1e-9)
    else:
        assert_allclose(column.predict_proba(X)[0], proba, atol=1e-9)
    assert column.predict(X).shape == (150, 1)


def test_columns_of_classes_without_sharing_are_separate_lspcs():
    X, y = load_iris(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    Y = np.column_stack([y, 4 - y, (y > 0) * 7])
    model = MultiLabelLSPC(sharing=0.0).fit(X, Y)
    assert [c.tolist() for c in model.classes_] == [[0, 1, 2], [2, 3, 4], [0, 7]]
    proba, scores = model.predict_proba(X), model.decision_function(X)
    assert [p.shape for p in proba] == [(150, 3), (150, 3), (150, 2)]
    assert [s.shape for s in scores] == [(150, 3), (150, 3), (150,)]
    for t in range(3):
        alone = LSPC().fit(X, Y[:, t])
        assert_allclose(scores[t], alone.decision_function(X), atol=1e-8)
        assert (model.predict(X)[:, t] == alone.predict(X)).all()
        assert_allclose(proba[t].sum(axis=1), 1.0)
        assert_allclose(np.exp(model.predict_log_proba(X)[t]), proba[t])


def test_columns_of_classes_share_class_by_class():
    """Classes tie the labels that know them; one seen in a single label is learnt alone."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    first = np.digitize(X[:, 0], [-0.5, 0.5])
    second = np.digitize(X[:, 0] + 0.3 * X[:, 1], [-0.5, 0.5])
    second[X[:, 1] > 1.2] = 9
    Y = np.column_stack([first, second])
    model = MultiLabelLSPC(sharing=0.9, sigma=1.0, reg=1e-2).fit(X, Y)
    assert [w.shape for w in model.similarity_] == [(2, 2), (2, 2), (2, 2), (1, 1)]
    K = naive_kernel("rbf", X, X, 1.0)
    z = (second == 9).astype(float)
    own = (K @ naive_coefficients(K, z[:, None], 1e-2))[:, 0]
    assert_allclose(model.decision_function(X)[1][:, 3], own, atol=1e-8)
    indicators = np.column_stack([first == 0, second == 0]).astype(float)
    W = label_similarity(indicators)
    assert W[0, 1] > 0.3
    q = naive_label_scores(X, indicators, X, 1.0, 1e-2, 0.9, W)
    assert_allclose(model.decision_function(X)[0][:, 0], q[:, 0, 1], atol=1e-8)
    gaps = Y.astype(float)
    gaps[::7, 0] = np.nan
    partly = MultiLabelLSPC(sharing=0.9, sigma=1.0).fit(X, gaps)
    assert (partly.predict(X) == Y).mean() > 0.8
    assert partly.score(X, gaps) > 0.6


def test_weights_are_repeated_rows(labels):
    X, Y = labels
    counts = np.random.default_rng(0).integers(0, 3, len(X))
    again = np.repeat(np.arange(len(X)), counts)
    weighted = MultiLabelLSPC().fit(X, Y, sample_weight=counts)
    repeated = MultiLabelLSPC().fit(X[again], Y[again])
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-7)
    Y = with_gaps(Y)
    weighted = MultiLabelLSPC(posterior="raw", tol=1e-11).fit(X, Y, sample_weight=counts)
    repeated = MultiLabelLSPC(posterior="raw", tol=1e-11).fit(X[again], Y[again])
    assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-6)


def test_class_weight_moves_scores_but_not_calibration(labels):
    X, Y = labels
    plain = MultiLabelLSPC(reg=1e-1).fit(X, Y)
    even = MultiLabelLSPC(reg=1e-1, class_weight={0: 1.0, 1: 1.0}).fit(X, Y)
    assert_allclose(plain.predict_proba(X), even.predict_proba(X))
    heavy = MultiLabelLSPC(reg=1e-1, class_weight={0: 1.0, 1: 20.0}).fit(X, Y)
    assert (heavy.decision_function(X) - plain.decision_function(X)).mean() > 0.05
    balanced = MultiLabelLSPC(class_weight="balanced").fit(X, Y)
    assert (balanced.predict(X) == Y).mean() > 0.9
    with pytest.raises(ValueError, match="gives some training rows no weight"):
        MultiLabelLSPC(class_weight={0: 0.0}).fit(X, Y)


def test_constant_and_unobserved_labels_answer_with_their_prior(labels):
    X, Y = labels
    Y = Y.astype(float)
    Y[:, 1], Y[:, 3] = 1.0, np.nan
    with pytest.warns(UserWarning, match=r"one class only: 1; no observed value: 3") as caught:
        model = MultiLabelLSPC().fit(X, Y)
    assert len(caught) == 1
    proba = model.predict_proba(X)
    assert_allclose(proba[:, 1], 1 - 0.5 / 91)
    assert_allclose(proba[:, 3], 0.5)
    assert (model.predict(X)[:, 1] == 1).all()
    assert model.learnt_.tolist() == [True, False, True, False, True]
    assert ((model.decision_function(X) > 0) == model.predict(X)).all()
    others = MultiLabelLSPC().fit(X, Y[:, [0, 2, 4]])
    assert_allclose(proba[:, [0, 2, 4]], others.predict_proba(X), atol=1e-10)
    matrix = MultiLabelLSPC(similarity=np.ones((5, 5)))
    with pytest.warns(UserWarning, match="answered by their prior"):
        matrix.fit(X, Y)
    assert matrix.similarity_[1].sum() == 0


def test_constant_column_of_classes(labels):
    X, Y = labels
    Y = np.column_stack([Y[:, 0] + Y[:, 1], np.full(len(X), 6)])
    with pytest.warns(UserWarning, match="one class only: 1"):
        model = MultiLabelLSPC().fit(X, Y)
    assert (model.predict(X)[:, 1] == 6).all()
    assert_allclose(model.predict_proba(X)[1], 1.0)


@pytest.mark.parametrize(
    ("Y", "message"),
    [
        ([[0.5, 1.0], [1.0, 0.0], [0.0, 1.0]], r"Y holds 0.5 in row 0 of label 0"),
        ([[np.inf, 1.0], [1.0, 0.0], [0.0, 1.0]], r"Y holds inf in row 0"),
        ([["a", "b"], ["b", "a"], ["a", "a"]], "Y holds 'a', which is not a number"),
        (np.zeros((3, 0)), r"Y has shape \(3, 0\)"),
        (np.zeros((3, 2, 2)), r"Y has shape \(3, 2, 2\)"),
        (np.zeros((3, 2)), "needs a label with at least two classes"),
        (np.full((3, 2), np.nan), "needs a label with at least two classes"),
        ([[np.nan, 2], [np.nan, 3], [np.nan, 4]], "Label 0 has no observed value"),
        ([[0, 1], [1, 0]], "inconsistent numbers of samples: X has 3 rows, but Y has 2"),
        ([[1, 2], [1], [2]], "MultiLabelBinarizer"),
    ],
)
def test_bad_labels_are_refused(Y, message):
    X = np.random.default_rng(0).standard_normal((3, 2))
    with pytest.raises(ValueError, match=message):
        MultiLabelLSPC().fit(X, Y)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"sharing": 1.5}, "sharing must lie between 0"),
        ({"sharing": "much"}, "sharing must lie between 0"),
        ({"solver": "magic"}, "solver='magic' is not known"),
        ({"threshold": 2}, "threshold must be a number between 0 and 1"),
        ({"threshold": "f1"}, "threshold must be a number between 0 and 1"),
        ({"tol": -1}, "tol must be a positive number"),
        ({"reg": 0}, "reg must be a positive number"),
        ({"similarity": "cosine"}, "similarity='cosine' is unknown"),
        ({"similarity": np.ones((2, 2))}, r"shape \(2, 2\), but Y has 5 labels"),
        ({"similarity": lambda Y: -np.ones((5, 5))}, "negative entry"),
        ({"n_similar": 0}, "n_similar must be a positive integer"),
    ],
)
def test_bad_parameters_are_refused(labels, params, message):
    with pytest.raises(ValueError, match=message):
        MultiLabelLSPC(**params).fit(*labels)


def test_spectral_refuses_gaps(labels):
    X, Y = labels
    with pytest.raises(ValueError, match='solver="spectral" needs every label observed'):
        MultiLabelLSPC(solver="spectral").fit(X, with_gaps(Y))


def test_callable_similarity_sees_the_labels_as_given(labels):
    X, Y = labels
    Y = with_gaps(Y)
    seen = []
    model = MultiLabelLSPC(similarity=lambda Z: seen.append(Z) or np.ones((5, 5))).fit(X, Y)
    assert_allclose(seen[0], Y)
    assert model.similarity_.sum() == 20


def test_strongest_similarities_only(labels):
    X, Y = labels
    model = MultiLabelLSPC(n_similar=1, similarity="signed").fit(X, Y)
    assert (np.count_nonzero(model.similarity_, axis=1) >= 1).all()
    assert np.count_nonzero(model.similarity_) < 20


def test_frames_keep_label_names(labels):
    X, Y = labels
    names = ["drum", "noise", "voice", "rain", "wind"]
    expected = MultiLabelLSPC().fit(X, Y).predict_proba(X)
    for frame in (pandas.DataFrame(Y, columns=names), polars.DataFrame(Y, schema=names)):
        model = MultiLabelLSPC().fit(X, frame)
        assert model.label_names_.tolist() == names
        assert_allclose(model.predict_proba(X), expected)
    nullable = pandas.DataFrame(Y, columns=names).astype("Int64")
    nullable.iloc[0, 0] = pandas.NA
    gaps = Y.astype(float)
    gaps[0, 0] = np.nan
    assert_allclose(
        MultiLabelLSPC().fit(X, nullable).predict_proba(X),
        MultiLabelLSPC().fit(X, gaps).predict_proba(X),
    )
    assert MultiLabelLSPC().fit(X, Y).label_names_.tolist() == [0, 1, 2, 3, 4]


def test_sparse_labels_and_rows(labels):
    X, Y = labels
    expected = MultiLabelLSPC().fit(X, Y).predict_proba(X)
    assert_allclose(MultiLabelLSPC().fit(X, sp.csr_matrix(Y)).predict_proba(X), expected)
    assert_allclose(
        MultiLabelLSPC().fit(sp.csr_matrix(X), Y).predict_proba(sp.csr_matrix(X)),
        expected,
        atol=1e-6,
    )


def test_thresholds_maximise_f1_of_held_out_probabilities(labels):
    X, Y = labels
    Y = make_rotated_labels(90, 5, 4, random_state=0)[0][:, [0]] + X[:, 1:2] > [1, 1.2, 0, 0, 0.5]
    Y = Y.astype(int) | (np.random.default_rng(0).random(Y.shape) < 0.1)
    model = MultiLabelLSPC(threshold="loo_f1").fit(X, Y)
    held_out = 1 / (1 + np.exp(-model.betas_ * model.held_out_scores_[:, :5]))
    for t in range(5):
        tried = [f1_score(Y[:, t], held_out[:, t] > level) for level in np.linspace(0, 0.95, 20)]
        reached = f1_score(Y[:, t], held_out[:, t] > model.thresholds_[t])
        assert reached >= max(tried) - 1e-12
    assert (model.predict(X) == (model.predict_proba(X) > model.thresholds_)).all()
    lower = MultiLabelLSPC(threshold=0.2).fit(X, Y)
    assert (lower.predict(X) == (lower.predict_proba(X) > 0.2)).all()


def test_every_label_has_a_beta_near_the_common_one(labels):
    """Each minimises its own log-loss and a pull towards the beta of all labels."""
    X, Y = labels
    Y = np.where(np.random.default_rng(0).random(Y.shape) < [0, 0, 0.05, 0.2, 0.4], 1 - Y, Y)
    model = MultiLabelLSPC(reg=1e-2).fit(X, Y)
    targets = (1 - 1 / 91) * Y + 0.5 / 91
    assert model.betas_[0] > model.beta_ > model.betas_[4] > 0
    for t in range(5):
        d = model.held_out_scores_[:, t]

        def objective(beta, d=d, z=targets[:, t]):
            pull = 5.0 * np.log(beta / model.beta_) ** 2
            return (np.logaddexp(0, beta * d) - z * beta * d).sum() + pull

        best = objective(model.betas_[t])
        assert best <= objective(0.99 * model.betas_[t])
        assert best <= objective(1.01 * model.betas_[t])
        expected = 1 / (1 + np.exp(-model.betas_[t] * model.decision_function(X)[:, t]))
        assert_allclose(model.predict_proba(X)[:, t], expected)


def test_fallback_prior_and_rounding(labels):
    X, Y = labels
    far = np.full((1, 4), 1e3)
    Y = Y.copy()
    Y[:30, 0] = 1
    even = MultiLabelLSPC(posterior="rounded").fit(X, Y)
    prior = MultiLabelLSPC(posterior="rounded", fallback="prior").fit(X, Y)
    assert_allclose(even.predict_proba(far), 0.5)
    assert_allclose(prior.predict_proba(far)[0], Y.mean(axis=0))
    q = even.predict_proba(X)
    assert q.min() >= 0
    assert q.max() <= 1


def test_subset_of_centres_and_given_centres(labels):
    X, Y = labels
    some = MultiLabelLSPC(n_centers=20, random_state=0, sharing=0.8).fit(X, Y)
    assert some.coef_.shape == (1, 20, 6)
    given = MultiLabelLSPC(centers=some.centers_, sharing=0.8, sigma=some.sigma_).fit(X, Y)
    assert_allclose(given.predict_proba(X), some.predict_proba(X), atol=1e-8)
    direct = MultiLabelLSPC(
        centers=some.centers_, sharing=0.8, sigma=some.sigma_, solver="direct"
    ).fit(X, Y)
    assert_allclose(given.predict_proba(X), direct.predict_proba(X), atol=1e-6)


def test_precomputed_and_callable_kernels(labels):
    X, Y = labels
    expected = MultiLabelLSPC(sigma=2.0).fit(X, Y).predict_proba(X)
    K = naive_kernel("rbf", X, X, 2.0)
    assert_allclose(
        MultiLabelLSPC(kernel="precomputed").fit(K, Y).predict_proba(K), expected, atol=1e-7
    )
    called = MultiLabelLSPC(kernel=lambda A, B: naive_kernel("rbf", A, B, 2.0)).fit(X, Y)
    assert_allclose(called.predict_proba(X), expected, atol=1e-7)


def test_groups_are_held_out_together(labels):
    X, Y = labels
    groups = np.arange(len(X)) // 3
    model = MultiLabelLSPC(sigma=2.0, similarity="uniform").fit(X, Y, groups=groups)
    kept = groups != 4
    rest = MultiLabelLSPC(sigma=2.0, similarity="uniform").fit(X[kept], Y[kept])
    assert_allclose(model.held_out_scores_[~kept, :5], rest.decision_function(X[~kept]), atol=1e-8)


def test_groups_and_gaps_together(labels):
    X, Y = labels
    groups = np.arange(len(X)) % 3
    model = MultiLabelLSPC(similarity="uniform", sigma=2.0, tol=1e-10).fit(
        X, with_gaps(Y), groups=groups
    )
    kept = groups != 1
    rest = MultiLabelLSPC(similarity="uniform", sigma=2.0, tol=1e-10).fit(
        X[kept], with_gaps(Y)[kept]
    )
    assert_allclose(model.held_out_scores_[~kept, :5], rest.decision_function(X[~kept]), atol=1e-6)


def test_works_inside_scikit_learn(labels):
    X, Y = labels
    pipeline = make_pipeline(StandardScaler(), MultiLabelLSPC())
    proba = cross_val_predict(pipeline, X, Y, method="predict_proba", cv=3)
    assert proba.shape == Y.shape
    predicted = cross_val_predict(pipeline, X, Y, cv=3)
    assert ((proba > 0.5) == predicted).all()
    decision = cross_val_predict(pipeline, X, Y, cv=3, method="decision_function")
    assert ((decision > 0) == predicted).all()
    search = GridSearchCV(
        pipeline, {"multilabellspc__sharing": [0.0, 0.9]}, cv=3, scoring="f1_macro"
    ).fit(X, Y)
    assert search.best_score_ > 0.8
    tags = get_tags(MultiLabelLSPC())
    assert tags.classifier_tags.multi_label
    assert tags.target_tags.multi_output
    assert clone(MultiLabelLSPC(sharing=0.3)).sharing == 0.3


def test_identical_rows_are_answered_by_their_frequencies():
    X, Y = np.zeros((4, 2)), np.array([[0, 1], [1, 1], [1, 0], [1, 0]])
    with pytest.warns(UserWarning, match="All training rows are identical"):
        model = MultiLabelLSPC(reg=1e-9).fit(X, Y)
    assert_allclose(model.predict_proba(X[:1]), [[0.75, 0.5]], atol=1e-6)


@pytest.mark.slow
def test_wide_label_sets_stay_within_memory():
    """T = 200 labels: no array with more than a few times nT + n² + T² entries."""
    import tracemalloc

    rng = np.random.default_rng(0)
    n, T = 100, 200
    X = rng.standard_normal((n, 5))
    Y = sp.csr_matrix((X @ rng.standard_normal((5, T)) > 2).astype(int))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        tracemalloc.start()
        model = MultiLabelLSPC(n_similar=10).fit(X, Y)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 8 * 25 * (n * T + n**2 + T**2)
    assert model.predict_proba(X).shape == (n, T)
