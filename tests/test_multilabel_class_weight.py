"""Class weights of labels: decisions lean, probabilities stay at the prevalence of the data."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq
from scipy.special import expit
from sklearn.metrics import log_loss

from kinlearn import LSPC, MultiLabelLSPC, MultiLabelLSPCCV, load, save, to_onnx

pytestmark = pytest.mark.filterwarnings("ignore:The best (sigma|reg)")
GRID = {"sigmas": [2.0, 6.0], "regs": [1e-3, 1e-1], "sharings": [0.0]}


@pytest.fixture(scope="module")
def rare():
    """2,000 rows and as many new ones; labels of prevalence .05 and .10."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 4))
    odds = X @ rng.standard_normal((4, 2))
    for t, share in enumerate((0.05, 0.10)):
        odds[:, t] += brentq(lambda c, t=t, s=share: expit(odds[:, t] + c).mean() - s, -20, 20)
    Y = (rng.random(odds.shape) < expit(odds)).astype(int)
    return X[:2000], Y[:2000], X[2000:], Y[2000:]


def losses(model, X, Y):
    proba = model.predict_proba(X)
    return np.array([log_loss(Y[:, t], proba[:, t]) for t in range(2)])


@pytest.mark.parametrize(
    "make",
    [
        lambda **given: MultiLabelLSPC(n_centers=200, **given),
        lambda **given: MultiLabelLSPCCV(n_centers=100, **GRID, **given),
    ],
    ids=["one fit", "search"],
)
@pytest.mark.parametrize("class_weight", ["balanced", {1: 8.0}], ids=["balanced", "dict"])
def test_probabilities_stay_at_the_prevalence(rare, make, class_weight):
    X, Y, X_new, Y_new = rare
    plain = make().fit(X, Y)
    model = make(class_weight=class_weight).fit(X, Y)
    assert_allclose(model.predict_proba(X).mean(axis=0), Y.mean(axis=0), rtol=0.1)
    assert_allclose(model.predict_proba(X_new).mean(axis=0), Y_new.mean(axis=0), rtol=0.1)
    assert (losses(model, X_new, Y_new) <= 1.05 * losses(plain, X_new, Y_new)).all()
    assert (model.predict(X_new).mean(axis=0) > 2 * plain.predict(X_new).mean(axis=0)).all()
    assert ((model.decision_function(X_new) > 0) == model.predict(X_new)).all()
    assert model.prior_shift_.shape == (4,)
    assert not hasattr(plain, "prior_shift_")
    assert_allclose(model.held_out_proba().mean(axis=0), Y.mean(axis=0), rtol=0.1)


def test_one_label_is_shifted_as_a_task(rare):
    X, Y, X_new, _ = rare
    X, y = X[:400], Y[:400, 1]
    task = LSPC(class_weight="balanced").fit(X, y)
    one = MultiLabelLSPC(class_weight="balanced").fit(X, y)
    assert_allclose(one.prior_shift_, task.prior_shift_, atol=1e-6)
    assert_allclose(one.predict_proba(X_new), task.predict_proba(X_new), atol=1e-6)
    column = MultiLabelLSPC(class_weight="balanced").fit(X, y[:, None])
    assert_allclose(column.predict_proba(X_new)[:, 0], task.predict_proba(X_new)[:, 1], atol=1e-6)


def test_balanced_counts_weights_as_repetition(rare):
    X, Y, X_new, _ = rare
    weights = np.random.default_rng(0).integers(1, 4, 150)
    again = np.repeat(np.arange(150), weights)
    settings = {"class_weight": "balanced", "posterior": "raw", "tol": 1e-11}
    weighted = MultiLabelLSPC(**settings).fit(X[:150], Y[:150], sample_weight=weights)
    repeated = MultiLabelLSPC(**settings).fit(X[again], Y[again])
    assert_allclose(weighted.decision_function(X_new), repeated.decision_function(X_new), atol=1e-6)


def test_a_refit_without_class_weight_forgets_the_shift(rare):
    X, Y, X_new, _ = rare
    model = MultiLabelLSPC(class_weight="balanced").fit(X[:200], Y[:200])
    model.set_params(class_weight=None).fit(X[:200], Y[:200])
    plain = MultiLabelLSPC().fit(X[:200], Y[:200])
    assert_allclose(model.predict_proba(X_new), plain.predict_proba(X_new))


def kept(rare, kind):
    X, Y = rare[0][:120], rare[1][:120]
    if kind == "copies":  # most rows repeat: links have a power, too
        return np.sign(X), (Y | (X[:, :2] > 1)).astype(int), None
    if kind == "classes":
        return X, np.column_stack([np.digitize(X[:, 0], [-0.5, 1.2]), Y[:, 1] + 4]), "balanced"
    return X, Y | (X[:, :2] > 1.3), "balanced"


@pytest.mark.parametrize("kind", ["indicators", "classes", "copies"])
def test_links_survive_export_and_a_file(rare, kind, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    X, Y, class_weight = kept(rare, kind)
    model = MultiLabelLSPC(class_weight=class_weight).fit(X, Y)
    assert hasattr(model, "gammas_") == (kind == "copies")
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    session = runtime.InferenceSession(to_onnx(model).SerializeToString())
    answers = session.run(None, {session.get_inputs()[0].name: X})
    expected, stored = model.predict_proba(X), again.predict_proba(X)
    if kind != "classes":
        expected, stored = [expected], [stored]
    for one, two, three in zip(expected, stored, answers[1:], strict=True):
        assert_allclose(two, one)
        assert_allclose(three, one, atol=1e-6)
