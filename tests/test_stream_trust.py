"""Streams that can be trusted: weights are copies both ways, calls are whole, rows one by one."""

import copy

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from interrupts import interrupted
from kinlearn import LSPC, MultiLabelLSPC, MultiTaskLSPC, NormalEquations
from kinlearn.persistence.kernel_models import state_of
from kinlearn.sums.subtraction import NeverAddedError
from naive.held_out import held_out_at_centers
from naive.lspc import one_hot
from naive.posterior import naive_log_loss

N = 60


def rows(n=N, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.array(["lo", "mid", "up"])[(X[:, 0] > 0).astype(int) + (X[:, 1] > 0.8)]
    return X, y, rng.integers(3, size=n), np.column_stack([y == "lo", X[:, 2] > 0]).astype(int)


CENTERS = rows(12, seed=5)[0]
QUERY = rows(25, seed=9)[0]


class One:
    """LSPC, and how its rows are given."""

    def model(self, **params):
        return LSPC(**{"centers": CENTERS, "sigma": 1.4, **params})

    def given(self, some=slice(None), n=N, seed=0):
        X, y, _, _ = rows(n, seed)
        return {"X": X[some], "y": y[some]}

    def proba(self, model):
        return model.predict_proba(QUERY)


class Tasks(One):
    def model(self, **params):
        return MultiTaskLSPC(**{"centers": CENTERS, "sigma": 1.4, **params})

    def given(self, some=slice(None), n=N, seed=0):
        X, y, task, _ = rows(n, seed)
        return {"X": X[some], "y": y[some], "task": task[some]}

    def proba(self, model):
        return model.predict_proba(QUERY, task=np.arange(len(QUERY)) % 3)


class ThinTasks(Tasks):
    """Tasks of fewer rows than centres, which keep their rows' features."""

    def model(self, **params):
        return super().model(**{"centers": rows(80, seed=5)[0], **params})


class Labels(One):
    def model(self, **params):
        return MultiLabelLSPC(**{"centers": CENTERS, "sigma": 1.4, **params})

    def given(self, some=slice(None), n=N, seed=0):
        X, _, _, Y = rows(n, seed)
        return {"X": X[some], "y": Y[some]}


@pytest.fixture(params=[One, Tasks, ThinTasks, Labels], ids=lambda kind: kind.__name__)
def kind(request):
    return request.param()


def joined(*parts):
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def weight(value, some):
    return np.full(len(some["X"]), float(value))


def state(model):
    """Every fitted attribute, sums as what is stored of them."""
    from kinlearn.sums.storage import to_arrays

    found = {k: v for k, v in state_of(model).items() if k.endswith("_")}
    if "statistics_" in found:
        found.update(to_arrays(found.pop("statistics_")))
    return copy.deepcopy(found)


def assert_unchanged(model, before):
    after = state(model)
    assert sorted(after) == sorted(before)
    for name, value in before.items():
        np.testing.assert_equal(after[name], value, err_msg=name)


# -- weights are copies ---------------------------------------------------------------------------


@pytest.mark.parametrize("capacity", [2000, 20, 0])
def test_what_was_added_twice_is_forgotten_at_once_and_the_other_way_round(kind, capacity):
    rest, some = kind.given(slice(0, 50)), kind.given(slice(50, N))
    # of a sample that was full, rows that were dropped for those forgotten do not come back
    posterior = "calibrated" if capacity == 2000 else "rounded"

    def streamed():
        fresh = kind.model(posterior=posterior)
        sums = NormalEquations(fresh.centers, sigma=1.4, n_held_out=capacity)
        return fresh.fit_statistics(sums.update(**rest))

    without = streamed()
    ways = [
        ([some, some], [({**some, "sample_weight": weight(2, some)})]),
        ([{**some, "sample_weight": weight(2, some)}], [some, some]),
        ([{**some, "sample_weight": weight(3, some)}], [joined(some, some, some)]),
        ([joined(some, some)], [some, some]),
        (
            [{**some, "sample_weight": weight(0.7, some)}],
            [{**some, "sample_weight": weight(0.35, some)}] * 2,
        ),
    ]
    for added, removed in ways:
        model = streamed()
        for part in added:
            model.partial_fit(**part)
        for part in removed:
            model.forget(**part)
        np.testing.assert_allclose(kind.proba(model), kind.proba(without), atol=1e-9)
        assert model.statistics_.weight == pytest.approx(50)
        if capacity == 2000:
            assert model.statistics_.n_rows == 50
            np.testing.assert_array_equal(
                model.statistics_.class_counts(), without.statistics_.class_counts()
            )


def test_half_of_a_row_can_be_forgotten(kind):
    some = kind.given()
    model = kind.model().partial_fit(**some, sample_weight=weight(3, some))
    model.forget(**some, sample_weight=weight(1, some))
    twice = kind.model().partial_fit(**some, sample_weight=weight(2, some))
    np.testing.assert_allclose(kind.proba(model), kind.proba(twice), atol=1e-9)
    with pytest.raises(NeverAddedError, match="weight"):
        model.forget(**some, sample_weight=weight(2.5, some))


# -- nothing is left ------------------------------------------------------------------------------


def test_forgetting_everything_leaves_an_unfitted_model(kind):
    some = kind.given()
    model = kind.model().partial_fit(**some)
    assert model.forget(**some) is model
    with pytest.raises(NotFittedError, match="not fitted yet"):
        kind.proba(model)
    for call in (model.refit, lambda: model.forget(**some), lambda: model.familiarity(QUERY)):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            call()
    other = kind.given(seed=3)
    model.partial_fit(**other)
    np.testing.assert_array_equal(kind.proba(model), kind.proba(kind.model().partial_fit(**other)))


def test_sums_of_nothing_can_be_added_to_again():
    X, y, _, _ = rows()
    sums = NormalEquations(CENTERS).update(X, y).downdate(X, y)
    assert sums.n_rows == 0
    assert sums.weight == 0.0
    with pytest.raises(ValueError, match="hold no rows"):
        LSPC().fit_statistics(sums)
    again, fresh = sums.update(X[:30], y[:30]), NormalEquations(CENTERS).update(X[:30], y[:30])
    np.testing.assert_allclose(again.gram(), fresh.gram(), atol=1e-12)


# -- batches without weight -----------------------------------------------------------------------


def test_a_batch_of_zero_weights_is_a_batch(kind):
    some, strange = kind.given(), kind.given(seed=7)
    strange["X"] = strange["X"] + 50.0
    nothing = {**strange, "sample_weight": weight(0, strange)}
    plain = kind.model(centers=None, sigma="median", n_centers=10, random_state=0)
    model = kind.model(centers=None, sigma="median", n_centers=10, random_state=0)
    assert model.partial_fit(**nothing) is model
    with pytest.raises(NotFittedError):
        kind.proba(model)
    model.partial_fit(**some)
    np.testing.assert_array_equal(kind.proba(model), kind.proba(plain.partial_fit(**some)))
    before = state(model)
    model.partial_fit(**nothing)
    assert_unchanged(model, before)
    model.forget(**nothing)
    assert_unchanged(model, before)
    # rows without weight beside others choose no centres either
    both = {**joined(strange, some), "sample_weight": np.repeat([0.0, 1.0], N)}
    mixed = kind.model(centers=None, sigma="median", n_centers=10, random_state=0)
    np.testing.assert_array_equal(kind.proba(mixed.partial_fit(**both)), kind.proba(model))


def test_classes_of_a_first_batch_without_weight_are_asked_for_again():
    X, y, _, _ = rows()
    model = LSPC(centers=CENTERS, sigma=1.4)
    with pytest.warns(UserWarning, match="give classes again"):
        model.partial_fit(X, y, classes=["lo", "mid", "up"], sample_weight=np.zeros(N))


# -- refused calls --------------------------------------------------------------------------------


def refusals(kind):
    some = kind.given()
    bad = {**some, "X": np.where(np.arange(3 * N).reshape(N, 3) == 7, np.nan, some["X"])}
    wide = {**some, "X": np.column_stack([some["X"], some["X"]])}
    new = kind.given(seed=8)
    cases = [
        ("partial_fit", {}, bad),
        ("partial_fit", {}, wide),
        ("partial_fit", {}, {**new, "sample_weight": -np.ones(N)}),
        ("partial_fit", {}, {**new, "sample_weight": np.ones(N - 1)}),
        ("partial_fit", {}, {**new, "sample_weight": np.full(N, np.nan)}),
        ("partial_fit", {}, {**new, "y": new["y"][:-1]}),
        ("partial_fit", {}, {**new, "classes": [1, 2]}),
        ("partial_fit", {"reg": -1.0}, new),
        ("partial_fit", {"sigma": 3.0}, new),
        ("partial_fit", {"posterior": "none"}, new),
        ("forget", {}, bad),
        ("forget", {}, new),
        ("forget", {"reg": -1.0}, {name: value[:5] for name, value in some.items()}),
        ("forget", {"sigma": 3.0}, {name: value[:5] for name, value in some.items()}),
        ("forget", {}, {**some, "sample_weight": np.full(N, 2.0)}),
        ("refit", {"reg": 0.0}, {}),
        ("refit", {"sigma": 3.0}, {}),
        ("refit", {"kernel": "laplacian"}, {}),
        ("calibrate", {}, bad),
        ("fit_stream", {}, {"source": [tuple(bad.values())]}),
        ("fit_stream", {"reg": -1.0}, {"source": [tuple(new.values())]}),
    ]
    if isinstance(kind, Labels):
        cases += [
            ("partial_fit", {}, {**new, "y": 2 * new["y"]}),
            ("partial_fit", {}, {**new, "y": new["y"][:, 0]}),
            ("partial_fit", {"similarity": "none"}, new),
            ("partial_fit", {"sharing": 2.0}, new),
            ("partial_fit", {"threshold": "none"}, new),
        ]
    else:
        unknown = {**some, "y": np.where(np.arange(N) == 3, "never", some["y"])}
        cases += [
            ("partial_fit", {}, {**new, "y": np.arange(N) % 2}),
            ("partial_fit", {"class_weight": "balanced"}, new),
            ("partial_fit", {"class_weight": {"lo": 0.0}}, new),
            ("forget", {}, unknown),
            ("calibrate", {}, unknown),
        ]
    if isinstance(kind, Tasks):
        cases += [
            ("partial_fit", {}, {**new, "task": None}),
            ("partial_fit", {}, {**new, "task": [0, 1]}),
            ("partial_fit", {"sharing": 2.0}, new),
            ("partial_fit", {"similarity": np.ones((2, 2))}, new),
            ("forget", {}, {**some, "task": np.full(N, 77)}),
        ]
    return cases


def test_a_refused_call_changes_nothing(kind):
    for method, params, arguments in refusals(kind):
        model = kind.model().partial_fit(**kind.given())
        answers, before = kind.proba(model), state(model)
        usual = {name: getattr(model, name) for name in params}
        with pytest.raises((ValueError, TypeError)):
            getattr(model.set_params(**params), method)(**arguments)
        assert_unchanged(model, before)
        model.set_params(**usual)
        np.testing.assert_array_equal(kind.proba(model), answers)


def test_a_refused_first_call_leaves_an_unfitted_model(kind):
    for method, params, arguments in refusals(kind):
        if method != "partial_fit" or params.keys() & {"sigma"}:
            continue
        model = kind.model(**params)
        try:
            model.partial_fit(**arguments)
        except (ValueError, TypeError):
            assert state(model) == {}, (params, list(arguments))


def test_the_users_own_sums_are_left_alone(kind):
    some = kind.given()
    model = kind.model()
    sums = NormalEquations(model.centers, sigma=1.4).update(**some)
    before = sums.gram()
    model.fit_statistics(sums).partial_fit(**kind.given(seed=2))
    np.testing.assert_array_equal(sums.gram(), before)
    assert sums.n_rows == N


# -- Ctrl-C ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["partial_fit", "forget", "refit", "forget all"])
def test_an_interrupted_call_changes_nothing_or_everything(kind, what):
    some, new = kind.given(), kind.given(seed=8)
    first = kind.model().partial_fit(**some)
    part = {name: value[:9] for name, value in some.items()}

    def act(model):
        if what == "refit":
            model.refit()
        elif what == "partial_fit":
            model.partial_fit(**new)
        else:
            model.forget(**(part if what == "forget" else some))

    def make():
        model = copy.deepcopy(first)
        return model.set_params(reg=0.05) if what == "refit" else model

    before, done = state(make()), make()
    act(done)
    after = state(done)
    for at, model in interrupted(make, act, n_places=40):
        found = state(model)
        expected = after if found.keys() != before.keys() or _differs(found, before) else before
        assert_unchanged(model, expected)
        assert at


def _differs(found, before):
    return not np.array_equal(found["coef_"], before["coef_"])


@pytest.mark.filterwarnings(
    "ignore:.*unclosed file", "ignore::pytest.PytestUnraisableExceptionWarning"
)
@pytest.mark.parametrize("with_tasks", [False, True])
def test_interrupted_sums_hold_whole_updates(with_tasks, tmp_path):
    from kinlearn.sums.storage import to_arrays

    X, y, task, _ = rows()
    ids = task if with_tasks else None
    start = NormalEquations(rows(80, seed=5)[0], n_held_out=20).update(X, y, task=ids)
    other = start.empty_copy().update(X + 1.0, np.append(y[1:], "new"), task=ids)

    def add_in_place(sums):
        sums += other

    path = tmp_path / "sums.npz"
    acts = {
        "update": lambda sums: sums.update(X + 2.0, y[::-1], task=ids),
        "downdate": lambda sums: sums.downdate(X[:7], y[:7], task=None if ids is None else ids[:7]),
        "merge": lambda sums: sums.merge(other),
        "add": lambda sums: sums + other,
        "add in place": add_in_place,
        "declare": lambda sums: sums.declare(["else"]),
        "condense": lambda sums: sums.condense(),
        "save": lambda sums: sums.copy().save(path),
    }
    theirs = to_arrays(other)
    for name, act in acts.items():
        before, done = to_arrays(start), start.copy()
        act(done)
        after = to_arrays(done)
        for at, sums in interrupted(start.copy, act, n_places=25):
            found = to_arrays(sums)
            whole = before if found["header"].tobytes() == before["header"].tobytes() else after
            if name in ("update", "downdate", "condense"):
                whole = before if _equal(found, before) else after
            assert _equal(found, whole), (name, at)
            assert _equal(to_arrays(start), before), (name, at)
            assert _equal(to_arrays(other), theirs), (name, at)
            if name == "save":
                assert NormalEquations.load(path).n_rows == N
                assert [p.name for p in tmp_path.iterdir()] == ["sums.npz"]


def _equal(one, other):
    return one.keys() == other.keys() and all(np.array_equal(one[k], other[k]) for k in one)


# -- familiarity ----------------------------------------------------------------------------------


def test_familiarity_rests_on_all_rows_seen():
    rng = np.random.default_rng(0)
    first, later = rng.normal(size=(400, 2)), rng.normal(size=(400, 2)) + np.array([6.0, 0.0])
    X, y = np.vstack([first, later]), (np.arange(800) % 2)
    both = LSPC(n_centers=40, random_state=0).partial_fit(first, y[:400])
    assert np.median(both.familiarity(later)) == 0.0
    both.partial_fit(later, y[400:])
    assert np.median(both.familiarity(later)) > 0.1
    # the same rows in another order, with the same centres, are as familiar
    sums = NormalEquations(both.centers_, sigma=both.sigma_)
    for part in np.array_split(np.random.default_rng(1).permutation(800), 5):
        sums.update(X[part], y[part])
    other = LSPC().fit_statistics(sums)
    np.testing.assert_array_equal(other.familiarity(later), both.familiarity(later))
    assert (
        np.abs(np.quantile(both.familiarity(X), [0.25, 0.5, 0.75]) - [0.25, 0.5, 0.75]).max() < 0.1
    )
    # those forgotten do not count any more
    both.forget(later, y[400:])
    assert np.median(both.familiarity(later)) == 0.0


def test_familiarity_of_a_stream_is_that_of_the_rows_at_once(kind):
    some = kind.given()
    batch = kind.model().fit(**some)
    streamed = kind.model()
    for part in np.array_split(np.random.default_rng(0).permutation(N), 3):
        streamed.partial_fit(**{name: value[part] for name, value in some.items()})
    np.testing.assert_array_equal(streamed.familiarity(QUERY), batch.familiarity(QUERY))


# -- one copy at a time ---------------------------------------------------------------------------


def coarse(seed=0, n=400):
    """Few distinct rows, whose copies differ in their labels."""
    rng = np.random.default_rng(seed)
    X = rng.integers(2, size=(n, 3)).astype(float)
    chance = np.array([0.15, 0.4, 0.6, 0.8])[X.sum(axis=1).astype(int)]
    y = (rng.random(n) < chance).astype(int)
    return X, y, rng.integers(2, size=n), np.column_stack([y, rng.random(n) < 0.5]).astype(int)


def coarse_of(kind, some):
    X, y, task, Y = coarse()
    found = {"X": X[some], "y": (Y if isinstance(kind, Labels) else y)[some]}
    return {**found, "task": task[some]} if isinstance(kind, Tasks) else found


@pytest.mark.parametrize("posterior", ["calibrated"])
def test_the_scale_of_weights_does_not_matter(kind, posterior):
    for some in (kind.given(), coarse_of(kind, slice(None))):
        n = len(some["X"])
        once = kind.model(posterior=posterior).partial_fit(**some)
        others = [
            kind.model().partial_fit(**some).partial_fit(**some),
            kind.model().partial_fit(**some, sample_weight=np.full(n, 2.0)),
            kind.model().partial_fit(**some, sample_weight=np.full(n, 1000.0)),
            kind.model().partial_fit(**some, sample_weight=np.full(n, 0.001)),
        ]
        small = np.tile([1.0, 2.0, 3.0], n)[:n]
        weighted = kind.model().partial_fit(**some, sample_weight=small)
        heavier = kind.model().partial_fit(**some, sample_weight=1000.0 * small)
        repeated = np.repeat(np.arange(n), small.astype(int))
        copies = kind.model().partial_fit(**{k: v[repeated] for k, v in some.items()})
        for model, like in [
            *((other, once) for other in others),
            (heavier, weighted),
            (copies, weighted),
        ]:
            assert model.beta_ == pytest.approx(like.beta_, rel=1e-6)
            assert model.held_out_log_loss_ == pytest.approx(like.held_out_log_loss_, rel=1e-6)
            np.testing.assert_allclose(kind.proba(model), kind.proba(like), atol=1e-7)


def test_the_held_out_loss_is_that_of_leaving_single_copies_out():
    """The formula as written: every row of the stream left out once, the centres kept."""
    X, y, _, _ = coarse(n=60)
    model = LSPC(centers=CENTERS, sigma=1.4, reg=1e-2).partial_fit(X[:25], y[:25])
    model.partial_fit(X[25:], y[25:])
    phi = model.statistics_.features().features(X, 1.4)
    scores = held_out_at_centers(phi, one_hot(y), 1e-2, np.arange(60)[:, None])
    expected = naive_log_loss(scores, model.beta_, y)
    assert model.held_out_log_loss_ == pytest.approx(expected, rel=1e-8)


def test_random_labels_on_coarse_rows_are_not_thought_predictable():
    rng = np.random.default_rng(3)
    losses = []
    for _ in range(20):
        X, y = rng.integers(3, size=(120, 1)).astype(float), rng.permutation(np.arange(120) % 2)
        losses.append(
            LSPC(centers=[[0.0], [1.0], [2.0]], sigma=1.0).partial_fit(X, y).held_out_log_loss_
        )
    assert np.mean(losses) >= np.log(2) - 1e-3
