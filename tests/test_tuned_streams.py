"""Tuned estimators from sums: what `fit` tunes on the same centres at the same width."""

import numpy as np
import pytest

import kinlearn
from kinlearn import NormalEquations
from kinlearn.datasets import make_related_tasks, make_rotated_labels
from one_kernel import LSPCCV, MultiLabelLSPCCV, MultiTaskLSPCCV

N = 120
pytestmark = pytest.mark.filterwarnings("ignore:The best", "ignore:This .* was fitted by fit")


class Classes:
    Estimator = staticmethod(LSPCCV)

    def __init__(self):
        X, y, _ = make_related_tasks(n_tasks=3, n_samples=40, random_state=0)
        self.rows = {"X": X, "y": y}

    def asked(self):
        return {"X": self.rows["X"][:30]}


class Tasks(Classes):
    Estimator = staticmethod(MultiTaskLSPCCV)

    def __init__(self):
        X, y, task = make_related_tasks(n_tasks=3, n_samples=40, random_state=0)
        order = np.random.default_rng(0).permutation(N)
        self.rows = {"X": X[order], "y": y[order], "task": task[order]}

    def asked(self):
        return {name: self.rows[name][:30] for name in ("X", "task")}


class OneTask(Classes):
    Estimator = staticmethod(MultiTaskLSPCCV)


class Labels(Classes):
    Estimator = staticmethod(MultiLabelLSPCCV)

    def __init__(self):
        X, Y = make_rotated_labels(N, n_labels=4, n_features=3, random_state=0)
        self.rows = {"X": X, "y": Y}


@pytest.fixture(params=[Classes, Tasks, OneTask, Labels], ids=lambda kind: kind.__name__)
def kind(request):
    return request.param()


def settings(kind, **more):
    return {"centers": kind.rows["X"][::8] + 0.05, "sigmas": [1.5], **more}


def some(given, rows):
    return {name: values[rows] for name, values in given.items()}


def assert_same(streamed, fitted, kind):
    # stacked points are nearly collinear: held-out scores that agree to 1e-11 are weighed alike to
    # 1e-5, and give the same probabilities to 1e-6; sums of labels square features, `fit` does not
    stacked_labels = isinstance(kind, Labels) and fitted.combine == "stack"
    for name in ("predict_proba", "decision_function"):
        found, expected = (getattr(m, name)(**kind.asked()) for m in (streamed, fitted))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 if stacked_labels else 1e-7)
    np.testing.assert_allclose(
        streamed.weights_, fitted.weights_, atol=1e-4 if stacked_labels else 1e-6
    )
    assert streamed.best_params_ == pytest.approx(fitted.best_params_)


@pytest.mark.parametrize("combine", ["stack", "within_se", "best"])
@pytest.mark.parametrize("weighted", [False, True])
def test_partial_fit_is_the_fit_to_all_rows(kind, combine, weighted):
    given = dict(kind.rows)
    if weighted:
        given["sample_weight"] = np.random.default_rng(1).integers(1, 4, N).astype(float)
    fitted = kind.Estimator(**settings(kind, combine=combine)).fit(**given)
    streamed = kind.Estimator(**settings(kind, combine=combine))
    for rows in (slice(0, 50), slice(50, 51), slice(51, N)):
        streamed.partial_fit(**some(given, rows))
    assert_same(streamed, fitted, kind)


def test_what_is_forgotten_was_never_there(kind):
    given = kind.rows
    fitted = kind.Estimator(**settings(kind)).fit(**some(given, slice(0, 90)))
    streamed = kind.Estimator(**settings(kind)).partial_fit(**given)
    assert_same(streamed.forget(**some(given, slice(90, N))), fitted, kind)


def test_a_stream_with_a_checkpoint(kind, tmp_path):
    given, path = kind.rows, tmp_path / "sums.npz"
    whole = kind.Estimator(**settings(kind)).fit(**given)
    begun = kind.Estimator(**settings(kind))
    source = tuple(given.values())
    half = tuple(values[:64] for values in source)
    begun.fit_stream(half, batch_rows=16, checkpoint=path)
    resumed = kind.Estimator(**settings(kind)).fit_stream(source, batch_rows=16, checkpoint=path)
    assert_same(resumed, whole, kind)


def test_solving_again_without_rows(kind):
    model = kind.Estimator(**settings(kind)).partial_fit(**kind.rows)
    fitted = kind.Estimator(**settings(kind, combine="best")).fit(**kind.rows)
    assert_same(model.set_params(combine="best").refit(), fitted, kind)


def test_a_streamed_model_is_saved_and_loaded(kind, tmp_path):
    model = kind.Estimator(**settings(kind)).partial_fit(**kind.rows)
    kinlearn.save(model, tmp_path / "m.kin")
    again = kinlearn.load(tmp_path / "m.kin")
    np.testing.assert_array_equal(
        again.predict_proba(**kind.asked()), model.predict_proba(**kind.asked())
    )
    more = some(kind.rows, slice(0, 10))
    np.testing.assert_allclose(
        again.partial_fit(**more).predict_proba(**kind.asked()),
        model.partial_fit(**more).predict_proba(**kind.asked()),
    )


def test_dask_collections_are_added():
    da = pytest.importorskip("dask.array")
    kind = Classes()
    X, y = (da.from_array(values, chunks=40) for values in kind.rows.values())
    fitted = LSPCCV(**settings(kind)).fit(**kind.rows)
    assert_same(LSPCCV(**settings(kind)).partial_fit(X, y), fitted, kind)
    assert_same(LSPCCV(**settings(kind)).fit(X, y), fitted, kind)
    with pytest.raises(ValueError, match="one width, but sigmas holds 2"):
        LSPCCV(sigmas=[1.0, 2.0]).fit(X, y)


def test_the_width_is_the_median_unless_given(kind):
    model = kind.Estimator(n_centers=15, random_state=0).partial_fit(**kind.rows)
    assert len(model.kept_sigmas_) == 1
    assert set(model.cv_results_["param_sigma"]) == {model.sigma_}
    assert model.held_out_log_loss_ > 0


def test_several_widths_cannot_be_streamed(kind):
    model = kind.Estimator(sigmas=[1.0, 2.0])
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError) as refused:
        model.partial_fit(**kind.rows)
    assert "one width" in str(refused.value.__cause__)


def test_sums_without_rows_cannot_be_tuned_on():
    kind = Classes()
    X = kind.rows["X"]
    sums = NormalEquations(X[:10], sigma=1.5, n_held_out=0).update(**kind.rows)
    with (
        pytest.warns(UserWarning, match="keep no rows"),
        pytest.raises(ValueError, match="needs rows to tune on"),
    ):
        LSPCCV(centers=X[:10]).fit_statistics(sums)


def test_a_criterion_of_ones_own_needs_the_rows():
    kind = Classes()
    model = LSPCCV(**settings(kind), scoring=lambda y, scores: 0.0)
    with pytest.raises(ValueError, match="cannot score rows that only sums know"):
        model.partial_fit(**kind.rows)


def test_rows_one_at_a_time(kind):
    n_rows = 40
    given = some(kind.rows, slice(0, n_rows))
    fitted = kind.Estimator(**settings(kind)).fit(**given)
    model = kind.Estimator(**settings(kind))
    classes = {} if isinstance(kind, Labels) else {"classes": np.unique(given["y"])}
    first = 0
    while isinstance(kind, Labels) and np.ptp(given["y"][: first + 1], axis=0).max() == 0:
        first += 1  # a label must be on in some row and off in another
    model.partial_fit(**some(given, slice(0, first + 1)), **classes)
    for i in range(first + 1, n_rows):
        model.partial_fit(**some(given, slice(i, i + 1)))
    np.testing.assert_allclose(
        model.predict_proba(**kind.asked()), fitted.predict_proba(**kind.asked()), atol=1e-5
    )


def test_folds_are_not_held_out_of_sums(kind):
    with pytest.raises(ValueError, match="cv=5 cannot be held out of sums"):
        kind.Estimator(**settings(kind, cv=5)).partial_fit(**kind.rows)


@pytest.mark.parametrize("Estimator", [kinlearn.MultiLabelLSPC, MultiLabelLSPCCV])
def test_one_column_of_indicators_is_one_label(Estimator):
    kind = Labels()
    X, Y = kind.rows["X"], kind.rows["y"][:, :1]
    sigma = {"sigmas": [1.5]} if Estimator is MultiLabelLSPCCV else {"sigma": 1.5}
    fitted = Estimator(centers=X[::8], **sigma).fit(X, Y)
    streamed = Estimator(centers=X[::8], **sigma).partial_fit(X, Y)
    np.testing.assert_allclose(streamed.predict_proba(X), fitted.predict_proba(X), atol=1e-6)
    np.testing.assert_array_equal(streamed.predict(X), fitted.predict(X))
