"""ONNX graphs answer as the models do, in onnxruntime."""

import sys

import numpy as np
import onnxruntime
import pandas as pd
import pytest
import scipy.sparse as sp
import skl2onnx
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)

from kinlearn import (
    LSPC,
    LSPCCV,
    HandOver,
    KernelLogisticRegression,
    MultiLabelLSPC,
    MultiLabelLSPCCV,
    MultiTaskLSPC,
    MultiTaskLSPCCV,
    compress,
    to_onnx,
    with_prior,
)
from kinlearn.export import register_onnx_converters
from saved_models import CLASSES, NUMBERS, SMALL, SMALL_TASKS, TASK, X, Y

NEW = np.abs(np.random.default_rng(9).normal(1.0, 1.2, size=(50, 3)))
EDGE = pytest.mark.filterwarnings("ignore:The best")


def run(graph, **inputs):
    """Run a graph and return its outputs by name."""
    session = onnxruntime.InferenceSession(
        graph.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, inputs), strict=True))


def same(found, proba, label, atol=1e-7):
    np.testing.assert_allclose(found["probabilities"], proba, rtol=0, atol=atol)
    assert np.ptp(proba, axis=0).max() > 0.01  # answers that differ between rows
    assert found["label"].tolist() == np.asarray(label).tolist()


SINGLE = {
    "calibrated": LSPC(),
    "rounded": LSPC(posterior="rounded"),
    "rounded, prior": LSPC(posterior="rounded", fallback="prior", sigma=0.05),
    "parameters": LSPC(posterior="rounded_parameters"),
    "raw": LSPC(posterior="raw"),
    "classwise": LSPC(basis="classwise"),
    "subset": LSPC(n_centers=9, random_state=0),
    "given": LSPC(centers=X[:5]),
    "laplacian": LSPC(kernel="laplacian"),
    "exponential": LSPC(kernel="exponential"),
    "matern32": LSPC(kernel="matern32"),
    "chi2": LSPC(kernel="chi2"),
    "polynomial": LSPC(kernel="polynomial", degree=2, coef0=0.5),
    "linear": LSPC(kernel="linear"),
    "steps": LSPC(kernel="steps"),
    "cosine": LSPC(kernel="cosine"),
    "mix of widths": LSPCCV(),
    "mix of chi2": LSPCCV(kernel="chi2"),
    "logistic": KernelLogisticRegression(),
}


@EDGE
@pytest.mark.parametrize("name", SINGLE)
@pytest.mark.parametrize("classes", [CLASSES, Y[:, 0]], ids=["text", "numbers"])
def test_one_task(name, classes):
    model = SINGLE[name].fit(X, classes)
    found = run(to_onnx(model), X=NEW)
    same(found, model.predict_proba(NEW), model.predict(NEW))


def test_far_away_where_all_scores_round_to_zero():
    model = LSPC(posterior="rounded", fallback="prior", sigma=0.3).fit(X, CLASSES)
    rows = np.vstack([np.full((2, 3), 1e4), NEW])
    found = run(to_onnx(model), X=rows)
    np.testing.assert_allclose(found["probabilities"][:2], np.tile(model.prior_, (2, 1)))
    same(found, model.predict_proba(rows), model.predict(rows))


def test_rows_of_zeros():
    rows = np.vstack([np.zeros(3), NEW])
    for kernel in ("cosine", "chi2"):
        model = LSPC(kernel=kernel).fit(X, CLASSES)
        same(run(to_onnx(model), X=rows), model.predict_proba(rows), model.predict(rows))


def test_kernel_values_and_sparse_centers():
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(2) / 2)
    model = LSPC(kernel="precomputed").fit(K, CLASSES)
    same(run(to_onnx(model), X=K), model.predict_proba(K), model.predict(K))
    model = LSPC(kernel="cosine").fit(sp.csr_matrix(X), CLASSES)
    same(run(to_onnx(model), X=NEW), model.predict_proba(NEW), model.predict(NEW))


def test_single_precision_rows_and_distant_origin():
    """Distances are taken in double: rows far from the origin keep their digits."""
    shifted = X + 1e4
    model = LSPC().fit(shifted, CLASSES)
    rows = (NEW + 1e4).astype(np.float32)
    found = run(to_onnx(model, input_type="float"), X=rows)
    same(found, model.predict_proba(rows.astype(np.float64)), model.predict(rows), atol=1e-6)


def test_compressed_and_other_prevalence():
    small = compress(LSPC().fit(X, CLASSES), 12)
    same(run(to_onnx(small), X=NEW), small.predict_proba(NEW), small.predict(NEW))
    for model in (LSPC(), make_pipeline(StandardScaler(), LSPC())):
        rare = with_prior(model.fit(X, CLASSES), [0.05, 0.9, 0.05])
        same(run(to_onnx(rare), X=NEW), rare.predict_proba(NEW), rare.predict(NEW))


# -- tasks ------------------------------------------------------------------------------------

UNSEEN = np.array(["north", "south", "west", "east", "nowhere"])[np.arange(50) % 5]


@EDGE
@pytest.mark.parametrize(
    "model",
    [
        MultiTaskLSPC(),
        MultiTaskLSPC(posterior="rounded", sharing=0.9),
        MultiTaskLSPC(kernel="laplacian", n_centers=9, random_state=0),
        MultiTaskLSPCCV(**SMALL_TASKS),
    ],
)
def test_tasks_by_name_with_unseen_ones(model):
    model.fit(X, CLASSES, task=TASK)
    found = run(to_onnx(model), X=NEW, task=UNSEEN.astype(object))
    proba = model.predict_proba(NEW, task=UNSEEN)
    same(found, proba, model.predict(NEW, task=UNSEEN))
    assert np.ptp([model.predict_proba(NEW[:1], task=[t])[0, 0] for t in UNSEEN[:4]]) > 0


def test_tasks_by_number():
    model = MultiTaskLSPC().fit(X, Y[:, 0], task=NUMBERS)
    ids = np.array([0, 10, 20, 7, -1])[np.arange(50) % 5]
    found = run(to_onnx(model), X=NEW, task=ids)
    same(found, model.predict_proba(NEW, task=ids), model.predict(NEW, task=ids))


def test_unseen_tasks_as_errors():
    model = MultiTaskLSPC(unseen="error").fit(X, CLASSES, task=TASK)
    graph = to_onnx(model)
    known = np.array(["west"] * 50, dtype=object)
    same(
        run(graph, X=NEW, task=known),
        *(ask(NEW, task=known) for ask in (model.predict_proba, model.predict)),
    )
    with pytest.raises(Exception, match="GatherND"):
        run(graph, X=NEW, task=UNSEEN.astype(object))


def test_a_multi_task_model_without_tasks_has_no_such_input():
    model = MultiTaskLSPC().fit(X, CLASSES)
    same(run(to_onnx(model), X=NEW), model.predict_proba(NEW), model.predict(NEW))


def test_tasks_behind_a_pipeline():
    model = make_pipeline(StandardScaler(), MultiTaskLSPC())
    model.fit(X, CLASSES, multitasklspc__task=TASK)
    found = run(to_onnx(model), X=NEW, task=UNSEEN.astype(object))
    same(found, model.predict_proba(NEW, task=UNSEEN), model.predict(NEW, task=UNSEEN))


# -- labels -----------------------------------------------------------------------------------


def with_missing(Y):
    Y = Y.astype(float)
    Y[::7, 1] = np.nan
    return Y


@EDGE
@pytest.mark.filterwarnings("ignore:These labels cannot be learnt")
@pytest.mark.parametrize(
    ("model", "labels"),
    [
        (MultiLabelLSPC(), Y),
        (MultiLabelLSPC(posterior="rounded"), Y),
        (MultiLabelLSPC(posterior="rounded_parameters"), Y),
        (MultiLabelLSPC(threshold=0.3), Y),
        (MultiLabelLSPC(threshold="loo_f1"), Y),
        (MultiLabelLSPC(fallback="prior", posterior="rounded", sigma=0.1), Y),
        (MultiLabelLSPC(), with_missing(Y)),
        (MultiLabelLSPC(), np.column_stack([Y, np.zeros(len(Y), int)])),
        (MultiLabelLSPCCV(**SMALL_TASKS), Y),
    ],
)
def test_indicators(model, labels):
    model.fit(X, labels)
    found = run(to_onnx(model), X=NEW)
    same(found, model.predict_proba(NEW), model.predict(NEW))


def test_labels_of_several_classes():
    model = MultiLabelLSPC().fit(X, Y + 2 * Y[:, [1, 2, 0]])
    found = run(to_onnx(model), X=NEW)
    for t, proba in enumerate(model.predict_proba(NEW)):
        np.testing.assert_allclose(found[f"probabilities_{t}"], proba, atol=1e-9)
    assert found["label"].tolist() == model.predict(NEW).tolist()


def test_one_label():
    model = MultiLabelLSPC().fit(X, CLASSES)
    same(run(to_onnx(model), X=NEW), model.predict_proba(NEW), model.predict(NEW))


# -- pipelines --------------------------------------------------------------------------------


def table(n, seed):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(np.abs(rng.normal(1, 1, (n, 3))), columns=["age", "dose", "level"])
    frame.loc[rng.random(n) < 0.1, "age"] = np.nan
    frame["unit"] = np.array(["a", "b", "c", "d", np.nan], dtype=object)[rng.integers(0, 5, n)]
    frame["grade"] = np.array(["hi", "lo"], dtype=object)[rng.integers(0, 2, n)]
    frame["site"] = np.array(["north", "south", "west"], dtype=object)[np.arange(n) % 3]
    return frame.astype({"unit": object, "grade": object, "site": object})


def answers(frame):
    """Classes that numbers and text both tell something about."""
    known = frame["grade"] == "hi" if "grade" in frame else frame["unit"] == "a"
    return np.array(["high", "low", "mid"])[(frame["dose"] > 1).astype(int) + known.astype(int)]


def as_inputs(frame):
    """The columns of a table as a graph takes them."""
    text = [name for name in frame if frame[name].dtype == object]
    return {
        name: frame[[name]].fillna("").to_numpy(object)
        if name in text
        else frame[[name]].to_numpy()
        for name in frame
    }


def filled(encoder):
    return make_pipeline(SimpleImputer(strategy="constant", fill_value="?"), encoder)


def clinic(last, task=False):
    """Missing numbers flagged, missing text a category, rare categories together."""
    parts = [
        (
            "numbers",
            make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler()),
            ["age", "dose", "level"],
        ),
        (
            "categories",
            filled(OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=3)),
            ["unit"],
        ),
        (
            "grades",
            OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
            ["grade"],
        ),
    ]
    if task:
        site = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
        parts.insert(0, ("site", filled(site), ["site"]))
    return make_pipeline(ColumnTransformer(parts), last)


def test_missing_text_is_a_category_of_its_own():
    frame, new = table(36, 0)[["age", "unit"]], table(40, 1)[["age", "unit"]]
    front = make_column_transformer(
        (SimpleImputer(), ["age"]),
        (filled(OneHotEncoder(handle_unknown="ignore", sparse_output=False)), ["unit"]),
    )
    missing = frame["unit"].isna().to_numpy()
    model = make_pipeline(front, LSPC(sigma=1.0)).fit(frame, missing.astype(int))
    found = run(to_onnx(model), **as_inputs(new))
    same(found, model.predict_proba(new), model.predict(new))
    none = pd.Series(np.nan, index=new.index, dtype=object)
    odd = model.predict_proba(new.assign(unit="never")) - model.predict_proba(new.assign(unit=none))
    assert np.abs(odd).max() > 0.01


@EDGE
@pytest.mark.parametrize("given", [True, False])
def test_a_table_of_mixed_columns(given):
    frame, new = table(36, 0).drop(columns="site"), table(60, 1).drop(columns="site")
    new.loc[3, "unit"] = new.loc[4, "grade"] = "never seen"
    model = clinic(LSPCCV(**SMALL)).fit(frame, answers(frame))
    graph = to_onnx(model, frame if given else None)
    same(run(graph, **as_inputs(new)), model.predict_proba(new), model.predict(new))


def test_a_table_and_tasks_apart():
    frame, new = table(36, 0).drop(columns="site"), table(50, 1).drop(columns="site")
    model = clinic(MultiTaskLSPC()).fit(frame, answers(frame), multitasklspc__task=TASK)
    found = run(to_onnx(model), **as_inputs(new), task=UNSEEN.astype(object))
    same(found, model.predict_proba(new, task=UNSEEN), model.predict(new, task=UNSEEN))


@pytest.mark.parametrize("per_task", [False, True])
def test_a_table_with_a_column_of_tasks_and_hand_over(per_task):
    frame, new = table(400, 0), table(300, 1)
    y = np.where(frame["dose"] > 1, "high", "low")
    y[:20] = np.roll(y[:20], 3)
    rule = {"max_error": 0.2, "confidence": 0.9, "per_task": per_task}
    last = HandOver(MultiTaskLSPC(), task_column=0, **rule)
    model = clinic(last, task=True).fit(frame, y)
    new.loc[5, "site"], new.loc[7, ["dose", "level"]] = "east", 400.0
    rows = model[:-1].transform(new)
    expected = model[-1].assess(rows)
    found = run(to_onnx(model), **as_inputs(new))
    same(found, expected.proba, expected.predicted)
    assert found["answered"].tolist() == expected.answered.tolist()
    assert 0.1 < expected.answered.mean() < 1
    assert not found["answered"][7]


@pytest.mark.parametrize(
    "kernel", ["rbf", "laplacian", "matern32", "chi2", "linear", "steps", "polynomial", "cosine"]
)
def test_hand_over(kernel):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    rows = np.abs(rng.normal([2.0, 1.0, 1.0], 0.5, size=(300, 3)) + 1.5 * y[:, None] * [1, 0, 1])
    new = np.vstack([np.abs(rng.normal(2, 1.5, size=(200, 3))), np.full((1, 3), 1e3)])
    for estimator in (LSPC(kernel=kernel), make_pipeline(StandardScaler(with_mean=False), LSPC())):
        # length tells the classes apart, which the cosine does not see
        model = HandOver(estimator, max_error=0.3 if kernel == "cosine" else 0.1).fit(rows, y)
        expected = model.assess(new)
        found = run(to_onnx(model), X=new)
        same(found, expected.proba, expected.predicted, atol=1e-6)
        assert found["answered"].tolist() == expected.answered.tolist()
        assert 0 < expected.answered.mean() < 1


def test_hand_over_around_a_pipeline_on_a_table():
    frame, new = table(300, 0).drop(columns="site"), table(50, 1).drop(columns="site")
    y = (frame["dose"] > 1).to_numpy().astype(int)
    model = HandOver(clinic(LSPC()), max_error=0.2).fit(frame, y)
    expected = model.assess(new)
    found = run(to_onnx(model), **as_inputs(new))
    same(found, expected.proba, expected.predicted)
    assert found["answered"].tolist() == expected.answered.tolist()


def test_categories_that_are_numbers_and_unknown_ones_as_errors():
    rows = np.column_stack([X[:, 0], np.arange(36) % 3, np.arange(36) % 2])
    front = ColumnTransformer(
        [("codes", OneHotEncoder(sparse_output=False), [1, 2])], remainder="passthrough"
    )
    model = make_pipeline(front, LSPC()).fit(rows, CLASSES)
    graph = to_onnx(model)
    same(run(graph, X=rows), model.predict_proba(rows), model.predict(rows))
    with pytest.raises(Exception, match="Gather"):
        run(graph, X=np.array([[1.0, 7.0, 0.0]]))


def test_projections_and_ranges():
    front = make_column_transformer(
        (make_pipeline(StandardScaler(), PCA(2)), ["age", "dose"]),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["grade"]),
    )
    frame = table(36, 0).drop(columns=["site", "unit", "level"]).fillna({"age": 1.0})
    new = table(40, 1).drop(columns=["site", "unit", "level"]).fillna({"age": 1.0})
    model = make_pipeline(front, MultiTaskLSPC())
    model.fit(frame, answers(frame), multitasklspc__task=TASK)
    ids = UNSEEN[:40]
    found = run(to_onnx(model), **as_inputs(new), task=ids.astype(object))
    same(found, model.predict_proba(new, task=ids), model.predict(new, task=ids))
    model = make_pipeline(MinMaxScaler(), LSPC()).fit(X, CLASSES)
    same(run(to_onnx(model), X=NEW), model.predict_proba(NEW), model.predict(NEW))


@pytest.mark.parametrize("known", [True, False])
def test_columns_that_are_not_used_and_odd_names(known):
    scale = StandardScaler() if known else MinMaxScaler()
    front = make_column_transformer(
        (make_pipeline(SimpleImputer(), scale), ["age", "dose of drug (mg)"]),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["grade"]),
    )
    names = {"dose": "dose of drug (mg)"}
    frame, new = table(36, 0).rename(columns=names), table(40, 1).rename(columns=names)
    y = answers(table(36, 0))
    model = make_pipeline(front, LSPC()).fit(frame, y)
    graph = to_onnx(model, frame)
    wanted = {value.name for value in graph.graph.input}
    assert wanted == set(frame)
    found = run(graph, **as_inputs(new))
    same(found, model.predict_proba(new), model.predict(new))


def test_steps_that_nobody_knows():
    model = make_pipeline(FunctionTransformer(np.log1p), LSPC()).fit(X, CLASSES)
    with pytest.raises(ValueError, match=r"skl2onnx cannot convert .*FunctionTransformer"):
        to_onnx(model)


@pytest.mark.parametrize("kind", ["double", "float"])
def test_arrays_through_a_pipeline(kind):
    model = make_pipeline(StandardScaler(), LSPC()).fit(X, CLASSES)
    rows = NEW.astype(np.float64 if kind == "double" else np.float32)
    found = run(to_onnx(model, input_type=kind), X=rows)
    same(found, model.predict_proba(rows), model.predict(rows), atol=1e-5)


def test_registered_with_skl2onnx():
    register_onnx_converters()
    for estimator, labels in ((LSPC(), CLASSES), (MultiLabelLSPC(), Y), (LSPC(), Y[:, 0])):
        model = make_pipeline(StandardScaler(), estimator).fit(X, labels)
        found = run(skl2onnx.to_onnx(model, X), X=NEW)
        same(found, model.predict_proba(NEW), model.predict(NEW), atol=1e-5)
    chi2 = make_pipeline(SimpleImputer(), LSPC(kernel="chi2")).fit(X, CLASSES)
    rows = NEW.astype(np.float32)
    found = run(skl2onnx.to_onnx(chi2, rows), X=rows)
    same(found, chi2.predict_proba(NEW), chi2.predict(NEW), atol=1e-5)


# -- refusals ---------------------------------------------------------------------------------


def test_refusals(monkeypatch):
    with pytest.raises(ValueError, match="is a function, which ONNX cannot express"):
        to_onnx(LSPC(kernel=lambda A, B: A @ B.T).fit(X, CLASSES))
    with pytest.raises(TypeError, match="got a LogisticRegression"):
        to_onnx(LogisticRegression().fit(X, CLASSES))
    with pytest.raises(ValueError, match="input_type='half'"):
        to_onnx(LSPC().fit(X, CLASSES), input_type="half")
    with pytest.raises(ValueError, match="not whole numbers"):
        to_onnx(MultiTaskLSPC().fit(X, CLASSES, task=NUMBERS + 0.5))
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r'pip install "kinlearn\[onnx\]"'):
        to_onnx(LSPC())
