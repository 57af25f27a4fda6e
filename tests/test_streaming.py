"""Models from sums: streaming equals batch, forgetting equals never having seen."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import softmax
from sklearn.base import clone
from sklearn.metrics import log_loss

from kinlearn import LSPC, MultiLabelLSPC, MultiTaskLSPC, NormalEquations
from kinlearn.datasets import make_rotated_labels
from kinlearn.solvers.label_sums import correlation_of_sums
from kinlearn.sums.subtraction import NeverAddedError


def make(seed, n=90, n_tasks=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.array(["lo", "mid", "up"])[(X[:, 0] > 0).astype(int) + (X[:, 1] > 0.8)]
    task = rng.integers(n_tasks, size=n)
    weights = rng.integers(1, 4, size=n).astype(float)
    return X, y, task, weights


@pytest.fixture
def query():
    return np.random.default_rng(99).normal(size=(40, 3))


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_streamed_merged_and_batch_models_agree(data):
    seed = data.draw(st.integers(0, 1000))
    rng = np.random.default_rng(seed)
    X, y, _, weights = make(seed)
    X[3] = X[4]  # a row seen twice
    centers, query = rng.normal(size=(12, 3)), rng.normal(size=(20, 3))
    params = {"centers": centers, "sigma": 1.4, "reg": data.draw(st.sampled_from([1e-4, 1e-2]))}
    batch = LSPC(**params).fit(X, y, sample_weight=weights)
    # sorted by label, new classes appear late
    order = np.argsort(y) if data.draw(st.booleans()) else rng.permutation(len(y))
    parts = np.split(order, np.sort(rng.integers(0, len(y), size=data.draw(st.integers(0, 5)))))
    parts = [rows for rows in parts if rows.size]
    streamed, pieces = LSPC(**params), []
    for rows in parts:
        streamed.partial_fit(X[rows], y[rows], sample_weight=weights[rows])
        piece = NormalEquations(centers, sigma=1.4)
        pieces.append(piece.update(X[rows], y[rows], sample_weight=weights[rows]))
    rng.shuffle(pieces)
    merged = LSPC(**params).fit_statistics(sum(pieces))
    for model in (streamed, merged):
        np.testing.assert_array_equal(model.classes_, batch.classes_)
        np.testing.assert_allclose(
            model.decision_function(query), batch.decision_function(query), atol=1e-8
        )
        np.testing.assert_allclose(model.prior_, batch.prior_)
        assert model.beta_ == pytest.approx(batch.beta_, rel=1e-7)
        np.testing.assert_allclose(
            model.predict_proba(query), batch.predict_proba(query), atol=1e-8
        )


@settings(max_examples=20, deadline=None)
@given(st.data())
def test_streamed_tasks_agree_with_batch(data):
    seed = data.draw(st.integers(0, 1000))
    rng = np.random.default_rng(seed)
    X, y, task, weights = make(seed, n_tasks=data.draw(st.integers(1, 6)))
    n_tasks = len(np.unique(task))
    # few centres: sums H_t; many: tasks are kept in the span of their rows
    centers = rng.normal(size=(data.draw(st.sampled_from([8, 50])), 3))
    sharing = data.draw(st.sampled_from([0.0, 0.3, 0.9, 1.0]))
    similarity = "uniform"
    if data.draw(st.booleans()):
        similarity = rng.random((n_tasks, n_tasks))
        similarity = similarity + similarity.T
    params = {"centers": centers, "sigma": 1.4, "sharing": sharing, "similarity": similarity}
    batch = MultiTaskLSPC(**params).fit(X, y, task=task, sample_weight=weights)
    # sorted by task, tasks arrive one after the other
    order = np.argsort(task, kind="stable") if data.draw(st.booleans()) else rng.permutation(len(y))
    streamed = MultiTaskLSPC(**{**params, "similarity": "uniform"})
    for rows in np.array_split(order, data.draw(st.integers(1, 4))):
        streamed.partial_fit(X[rows], y[rows], task=task[rows], sample_weight=weights[rows])
    streamed.set_params(similarity=similarity).refit()
    query, ids = rng.normal(size=(20, 3)), rng.integers(n_tasks + 1, size=20)
    np.testing.assert_allclose(
        streamed.decision_function(query, task=ids),
        batch.decision_function(query, task=ids),
        atol=1e-8,
    )
    np.testing.assert_allclose(streamed.shared_score(query), batch.shared_score(query), atol=1e-8)
    assert streamed.beta_ == pytest.approx(batch.beta_, rel=1e-6)
    assert {k: v.tolist() for k, v in streamed.task_classes_.items()} == {
        k: v.tolist() for k, v in batch.task_classes_.items()
    }


@pytest.mark.parametrize("similarity", ["correlation", "signed", "uniform"])
@pytest.mark.parametrize("sharing", [0.0, 0.6, 1.0])
def test_streamed_labels_agree_with_batch(similarity, sharing):
    X, Y = make_rotated_labels(150, n_labels=5, n_features=3, random_state=1)
    params = {"centers": X[:30], "sigma": 2.0, "similarity": similarity, "sharing": sharing}
    batch = MultiLabelLSPC(**params, threshold="loo_f1").fit(X, Y)
    streamed = MultiLabelLSPC(**params, threshold="loo_f1")
    for rows in np.array_split(np.arange(150), 4):
        streamed.partial_fit(X[rows], Y[rows])
    np.testing.assert_allclose(streamed.similarity_, batch.similarity_, atol=1e-10)
    np.testing.assert_allclose(streamed.coef_, batch.coef_, atol=1e-8)
    np.testing.assert_allclose(streamed.betas_, batch.betas_, rtol=1e-5)
    np.testing.assert_allclose(streamed.predict_proba(X), batch.predict_proba(X), atol=1e-6)
    np.testing.assert_allclose(streamed.thresholds_, batch.thresholds_, atol=1e-6)
    left = streamed.forget(X[100:], Y[100:])
    again = MultiLabelLSPC(**params, threshold="loo_f1").fit(X[:100], Y[:100])
    np.testing.assert_allclose(left.decision_function(X), again.decision_function(X), atol=1e-6)


def test_labels_of_one_column_are_lspc_and_constants_get_their_prior(rng):
    X, Y = make_rotated_labels(80, n_labels=3, n_features=3, random_state=1)
    y = Y[:, 0] + 2 * Y[:, 1]
    single = MultiLabelLSPC(centers=X[:20], sigma=2.0).partial_fit(X, y)
    plain = LSPC(centers=X[:20], sigma=2.0).fit(X, y)
    np.testing.assert_allclose(single.predict_proba(X), plain.predict_proba(X), atol=1e-10)
    Y[:, 2] = 0
    streamed = MultiLabelLSPC(centers=X[:20], sigma=2.0).partial_fit(X, Y)
    with pytest.warns(UserWarning, match="answered by their prior"):
        batch = MultiLabelLSPC(centers=X[:20], sigma=2.0).fit(X, Y)
    np.testing.assert_allclose(streamed.predict_proba(X), batch.predict_proba(X), atol=1e-8)
    with pytest.raises(ValueError, match="class_weight"):
        MultiLabelLSPC(class_weight={1: 2.0}).partial_fit(X, Y)
    with pytest.raises(ValueError, match="needs the rows"):
        MultiLabelLSPC(similarity=lambda Y: np.ones((3, 3))).partial_fit(X, Y)


def test_correlation_from_sums_is_that_of_the_rows(rng):
    Y = rng.integers(2, size=(50, 4)).astype(float)
    weights = rng.random(50)
    Z = np.column_stack([np.ones(50), Y])
    expected = np.cov(Y.T, aweights=weights, ddof=0)
    scale = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    np.testing.assert_allclose(correlation_of_sums(Z.T @ (weights[:, None] * Z)), expected / scale)


@pytest.mark.parametrize("class_weight", [None, {"mid": 3.0}])
def test_class_weights_shape_the_fit_but_not_the_calibration(class_weight, query):
    X, y, _, _ = make(0)
    params = {"centers": X[:15], "sigma": 1.5, "class_weight": class_weight}
    batch = LSPC(**params).fit(X, y)
    streamed = LSPC(**params).partial_fit(X[:40], y[:40]).partial_fit(X[40:], y[40:])
    np.testing.assert_allclose(
        streamed.predict_proba(query), batch.predict_proba(query), atol=1e-10
    )
    with pytest.raises(ValueError, match="depends on all rows"):
        LSPC(class_weight="balanced").partial_fit(X, y)


@pytest.mark.parametrize("posterior", ["rounded", "rounded_parameters", "raw"])
def test_every_posterior_rule_streams(posterior, query):
    X, y, _, _ = make(0)
    params = {"centers": X[:15], "sigma": 1.5, "posterior": posterior}
    batch = LSPC(**params).fit(X, y)
    streamed = LSPC(**params).partial_fit(X, y)
    np.testing.assert_allclose(streamed.predict_proba(query), batch.predict_proba(query), atol=1e-8)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000), st.booleans())
def test_forgetting_equals_refitting_without(seed, with_tasks):
    rng = np.random.default_rng(seed)
    X, y, task, weights = make(seed)
    gone = rng.random(len(y)) < 0.4
    query, centers = rng.normal(size=(20, 3)), rng.normal(size=(15, 3))
    if with_tasks:
        model = MultiTaskLSPC(centers=centers, sigma=1.4)
        model.partial_fit(X, y, task=task, sample_weight=weights)
        model.forget(X[gone], y[gone], task=task[gone], sample_weight=weights[gone])
        again = MultiTaskLSPC(centers=centers, sigma=1.4)
        again.fit(X[~gone], y[~gone], task=task[~gone], sample_weight=weights[~gone])
        ids = rng.choice(task[~gone], size=20)
        one, other = (m.predict_proba(query, task=ids) for m in (model, again))
    else:
        model = LSPC(centers=centers, sigma=1.4).partial_fit(X, y, sample_weight=weights)
        model.forget(X[gone], y[gone], sample_weight=weights[gone])
        again = LSPC(centers=centers, sigma=1.4)
        again.fit(X[~gone], y[~gone], sample_weight=weights[~gone])
        one, other = model.predict_proba(query), again.predict_proba(query)
    np.testing.assert_allclose(one, other, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("with_tasks", [False, True])
def test_a_thousand_random_steps_leave_no_trace(with_tasks):
    rng = np.random.default_rng(7)
    X, y, task, _ = make(7, n=300)
    centers, query = X[:25], rng.normal(size=(30, 3))
    sums = NormalEquations(centers, sigma=1.4)
    inside = np.zeros(300, dtype=bool)
    for _ in range(1000):
        add = not inside.any() or (rng.random() < 0.55 and not inside.all())
        rows = rng.choice(np.flatnonzero(~inside if add else inside), size=1)
        ids = task[rows] if with_tasks else None
        (sums.update if add else sums.downdate)(X[rows], y[rows], task=ids)
        inside[rows] = add
    ids = task[inside] if with_tasks else None
    if with_tasks:
        model = MultiTaskLSPC().fit_statistics(sums)
        again = MultiTaskLSPC(centers=centers, sigma=1.4).fit(X[inside], y[inside], task=ids)
        where = {"task": rng.choice(ids, size=30)}
    else:
        model, where = LSPC().fit_statistics(sums), {}
        again = LSPC(centers=centers, sigma=1.4).fit(X[inside], y[inside])
    np.testing.assert_allclose(
        model.decision_function(query, **where), again.decision_function(query, **where), atol=1e-6
    )
    np.testing.assert_allclose(
        model.predict_proba(query, **where), again.predict_proba(query, **where), atol=1e-6
    )


def test_what_was_never_seen_is_not_forgotten(query):
    X, y, task, _ = make(0)
    model = LSPC(centers=X[:15], sigma=1.5).partial_fit(X, y)
    before = model.decision_function(query)
    with pytest.raises(NeverAddedError, match="never added"):
        model.forget(query[:1], y[:1])
    np.testing.assert_array_equal(model.decision_function(query), before)
    tasks = MultiTaskLSPC(centers=X[:15], sigma=1.5).partial_fit(X, y, task=task)
    own = task == 2
    tasks.forget(X[own], y[own], task=task[own])
    assert 2 not in tasks.tasks_.tolist()


def test_three_sites_share_sums_and_no_rows(query):
    X, y, _, _ = make(3, n=150)
    centers = np.random.default_rng(5).normal(size=(20, 3))  # agreed upon, nobody's patients
    messages = []
    for site in np.array_split(np.argsort(X[:, 2]), 3):
        sums = NormalEquations(centers, sigma=1.4, n_held_out=0).update(X[site], y[site])
        messages.append(sums.condense())
    pooled = LSPC(centers=centers, sigma=1.4, posterior="rounded").fit(X, y)
    merged = LSPC(posterior="rounded").fit_statistics(sum(messages))
    np.testing.assert_allclose(merged.predict_proba(query), pooled.predict_proba(query), atol=1e-10)
    # without rows there is nothing to calibrate on, until a site lends its own
    with pytest.warns(UserWarning, match="keep no rows to calibrate on"):
        merged = LSPC().fit_statistics(sum(messages))
    assert np.isnan(merged.beta_)
    calibrated = LSPC(centers=centers, sigma=1.4).fit(X, y)
    assert merged.calibrate(X, y).beta_ == pytest.approx(calibrated.beta_, rel=1e-2)


def test_parameters_change_without_the_data(query):
    X, y, task, _ = make(0)
    model = MultiTaskLSPC(centers=X[:15], sigma=1.5).partial_fit(X, y, task=task)
    for change in ({"reg": 0.1}, {"sharing": 0.9}, {"posterior": "rounded"}):
        model.set_params(**change).refit()
        fresh = clone(model).fit(X, y, task=task)
        where = {"task": np.arange(40) % 4}
        np.testing.assert_allclose(
            model.predict_proba(query, **where), fresh.predict_proba(query, **where), atol=1e-8
        )
    with pytest.raises(ValueError, match=r"sigma=3\.0, but the sums were made with 1\.5"):
        model.set_params(sigma=3.0).refit()
    with pytest.raises(ValueError, match="kernel='laplacian'"):
        model.set_params(sigma=1.5, kernel="laplacian").refit()


def test_centers_come_from_the_first_rows():
    X, y, _, _ = make(0)
    model = LSPC(n_centers=10, random_state=0).partial_fit(X[:40], y[:40])
    assert model.n_centers_ == 10
    centers = model.centers_
    model.partial_fit(X[40:], y[40:])
    np.testing.assert_array_equal(model.centers_, centers)
    assert {tuple(c) for c in centers} <= {tuple(x) for x in X[:40]}
    with pytest.raises(ValueError, match="n_centers=None"):
        LSPC(n_centers=None).partial_fit(X, y)
    assert not hasattr(LSPC(kernel="precomputed"), "partial_fit")
    assert not hasattr(LSPC(basis="classwise"), "partial_fit")


def test_a_fit_and_a_stream_do_not_mix(query):
    X, y, _, _ = make(0)
    model = LSPC(centers=X[:15], sigma=1.5).fit(X[:50], y[:50])
    with pytest.warns(UserWarning, match="starts anew"):
        model.partial_fit(X[50:], y[50:])
    assert model.statistics_.n_rows == 40
    model.fit(X, y)
    assert not hasattr(model, "statistics_")


def test_declared_classes_are_known_and_one_class_is_enough_to_start(query):
    X, y, _, _ = make(0)
    first = y == "lo"
    model = LSPC(centers=X[:15], sigma=1.5).partial_fit(X[first], y[first])
    assert model.predict(query).tolist() == ["lo"] * 40
    model = LSPC(centers=X[:15], sigma=1.5)
    model.partial_fit(X[first], y[first], classes=["lo", "mid", "up"])
    assert model.predict_proba(query).shape == (40, 3)
    model.partial_fit(X[~first], y[~first])
    batch = LSPC(centers=X[:15], sigma=1.5).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(query), batch.predict_proba(query), atol=1e-8)


def test_a_sample_stands_in_for_all_rows_when_calibrating():
    X, y, _, _ = make(0, n=3000)
    whole = LSPC(centers=X[:30], sigma=1.5).fit(X, y)
    sampled = LSPC().fit_statistics(NormalEquations(X[:30], sigma=1.5, n_held_out=500).update(X, y))
    assert sampled.statistics_.held_out_sample().size == 500
    assert sampled.beta_ == pytest.approx(whole.beta_, rel=0.1)
    np.testing.assert_allclose(
        sampled.decision_function(X[:50]), whole.decision_function(X[:50]), atol=1e-8
    )


def test_the_held_out_loss_is_that_of_the_leave_one_out_probabilities(query):
    X, y, task, _ = make(0)
    batch = LSPC(centers=X[:15], sigma=1.5, reg=1e-2).fit(X, y)
    streamed = LSPC(centers=X[:15], sigma=1.5, reg=1e-2).partial_fit(X, y)
    proba = softmax(batch.beta_ * batch.held_out_scores_, axis=1)
    assert streamed.held_out_log_loss_ == pytest.approx(log_loss(y, proba), rel=1e-6)
    tasks = MultiTaskLSPC(centers=X[:15], sigma=1.5).partial_fit(X, y, task=task)
    losses = {s: tasks.set_params(sharing=s).refit().held_out_log_loss_ for s in (0.0, 0.9)}
    assert losses[0.9] < losses[0.0]  # the tasks are one and the same
    Y = np.column_stack([y == "lo", X[:, 2] > 0]).astype(int)
    labels = MultiLabelLSPC(centers=X[:15], sigma=1.5).partial_fit(X, Y)
    assert 0.0 < labels.held_out_log_loss_ < np.log(2)
