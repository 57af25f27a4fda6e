"""Model files made to do harm, with checksums that fit: refused, or models that answer.

Whatever a file says, reading it takes no more memory than its size explains, and nothing that is
read makes compiled code reach beyond an array.
"""

import io
import json
import os
import tracemalloc
import warnings
import zipfile
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

import kinlearn
from forged_files import forge, members_of, write_members
from kinlearn import (
    LSPC,
    IndependentTasks,
    KinFileError,
    MultiLabelLSPC,
    MultiTaskLSPC,
    NormalEquations,
)
from kinlearn.archives.archive import MANIFEST, TREE
from saved_models import CLASSES, MODELS, TASK, Fitted, X, Y, edited

N_MUTATIONS, N_SEEDS = 1000, 2
SPARSE = sp.csr_matrix(X * (X > 1.0))
FUZZED = ("LSPC state", "multi-task", "multi-label CV", "heterogeneous shared", "table", "pooled")


FEW = {"n_centers": 9, "random_state": 0}
# Models that hold sums, which compiled code works on when they learn on.
STREAMS = Fitted(
    {
        "sparse": lambda: (
            LSPC(**FEW).partial_fit(SPARSE[:20], CLASSES[:20]),
            (SPARSE, CLASSES),
            {},
        ),
        "tasks": lambda: (
            MultiTaskLSPC(**FEW).partial_fit(SPARSE, CLASSES, task=TASK),
            (SPARSE, CLASSES),
            {"task": TASK},
        ),
        "labels": lambda: (MultiLabelLSPC(**FEW).partial_fit(X, Y), (X, Y), {}),
    }
)


def peak_of(function, *arguments):
    """Return what a function gives or raises, and the most memory it took."""
    tracemalloc.start()
    try:
        return function(*arguments), tracemalloc.get_traced_memory()[1]
    except ValueError as error:
        return error, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def assert_refused_in_bounds(path, function=kinlearn.load):
    found, peak = peak_of(function, path)
    assert isinstance(found, ValueError), found
    assert peak < 4 * os.path.getsize(path) + 50e6


@pytest.fixture
def saved(tmp_path):
    kinlearn.save(MODELS["LSPC subset"][0], tmp_path / "model.kin")
    return tmp_path / "model.kin"


def with_arrays(path, target, node, *arrays):
    """Copy a file with further arrays and an attribute, whose node is made of their numbers."""
    members = members_of(path)
    first = sum(name.startswith("arrays/") for name in members)
    for i, array in enumerate(arrays):
        stream = io.BytesIO()
        np.save(stream, array, allow_pickle=False)
        members[f"arrays/{first + i}.npy"] = stream.getvalue()
    tree = json.loads(members[TREE])
    tree["objects"][-1]["state"]["extra_"] = node(*range(first, first + len(arrays)))
    members[TREE] = json.dumps(tree).encode()
    return write_members(target, members)


def an_array(number, n_axes=1):
    return {"array": [number, list(range(n_axes))]}


BOMBS = {
    "a wide type": (
        lambda a: {"masked": [an_array(a), False, {"dtype": "<U500000"}]},
        np.zeros(1000, dtype="<U1"),
    ),
    "a number as a table": (
        lambda a: {"frame": [1.0, an_array(a), an_array(a)]},
        np.arange(20_000, dtype=np.int16),
    ),
    "small numbers made large, many times": (
        lambda a: {"list": [{"scalar": ["<f8", an_array(a)]}] * 2000},
        np.zeros(100_000, dtype=np.int8),
    ),
    "one table, many times": (
        lambda a: {
            "list": [{"frame": [an_array(a, 2), {"objects": [[1], [0]]}, {"objects": [[1], [0]]}]}]
            * 20_000
        },
        np.zeros((1, 1)),
    ),
    "lists of nothing": (lambda: {"list": [{"list": []}] * 1_000_000},),
    "random states": (
        lambda a: {"list": [{"random_state": ["MT19937", an_array(a), 0, 0, 0.0]}] * 50_000},
        np.zeros(624, dtype=np.uint32),
    ),
}


@pytest.mark.parametrize("name", BOMBS)
def test_no_small_file_takes_much_memory(name, saved, tmp_path):
    node, *arrays = BOMBS[name]
    assert_refused_in_bounds(with_arrays(saved, tmp_path / "bomb", node, *arrays))


def test_one_sparse_matrix_many_times(saved, tmp_path):
    parts = np.ones(50_000), np.zeros(50_000, dtype=np.int64), np.array([0, 50_000])

    def node(a, b, c):
        one = {"sparse": ["csr_matrix", [1, 5], *map(an_array, (a, b, c))]}
        return {"list": [one] * 1000}

    assert_refused_in_bounds(with_arrays(saved, tmp_path / "bomb", node, *parts))


@pytest.mark.filterwarnings("ignore:The number of unique classes")
def test_arrays_that_would_stretch_along_each_other(tmp_path):
    model = LSPC(n_centers=2, random_state=0).fit(X, np.arange(len(X)))
    calibration = replace(model.model_.calibration, offset=np.ones((500_000, 1)))
    model.model_ = replace(model.model_, calibration=calibration)
    kinlearn.save(model, tmp_path / "m")
    assert_refused_in_bounds(tmp_path / "m")


def test_a_random_state_beyond_its_words_is_refused(tmp_path):
    kinlearn.save(MODELS["LSPC state"][0], tmp_path / "m")

    def beyond(content):
        tree = json.loads(content)
        tree["objects"][-1]["state"]["random_state"]["random_state"][2] = 2**30
        return json.dumps(tree).encode()

    with pytest.raises(KinFileError, match="random state at the position 1073741824"):
        kinlearn.load(edited(tmp_path / "m", tmp_path / "forged", beyond))


@pytest.mark.parametrize("name", ["predict", "fit", "get_params"])
def test_methods_are_not_replaced_by_values(name, saved, tmp_path):
    def change(content):
        tree = json.loads(content)
        tree["objects"][-1]["state"][name] = 1
        return json.dumps(tree).encode()

    with pytest.raises(KinFileError, match="not allowed"):
        kinlearn.load(edited(saved, tmp_path / "forged", change))


@pytest.mark.parametrize("at", [-1, 3, 10**6])
def test_indices_of_rows_in_sums_are_inside(at, tmp_path):
    model, _, _ = STREAMS["sparse"]
    sums = model.statistics_
    sums._sample.X.indices[-1], kept = at, sums._sample.X.indices[-1]
    try:
        kinlearn.save(model, tmp_path / "m")
        sums.save(tmp_path / "sums")
    finally:
        sums._sample.X.indices[-1] = kept
    with pytest.raises(KinFileError, match="sparse matrix that does not fit together"):
        kinlearn.load(tmp_path / "m")
    with pytest.raises(ValueError, match="sparse matrix that does not fit together"):
        NormalEquations.load(tmp_path / "sums")


def test_sums_are_read_within_the_same_bounds(tmp_path):
    path = tmp_path / "sums"
    STREAMS["tasks"][0].statistics_.save(path)
    with np.load(path) as stored:
        arrays = dict(stored)
    changes = {
        "packed": lambda a: a[:, :-1] if a.ndim > 1 else np.zeros((3, 2)),
        "h": lambda a: a[:, :-1],
        "counts": lambda a: a.astype(np.float32),
        "sample_task": lambda a: a + 10**6,
        "sample_limit": lambda a: a[:0],
        "sample_targets": lambda a: np.full_like(a, np.nan),
        "sample_X_indptr": lambda a: a[::-1],
        "centers_shape": lambda a: a * 10**6,
        "thin_sizes": lambda a: a + 10**9,
        "header": lambda a: a[:-1],
    }
    for name, change in changes.items():
        np.savez(tmp_path / "forged.npz", **{**arrays, name: change(arrays[name])})
        assert_refused_in_bounds(tmp_path / "forged.npz", NormalEquations.load)
        left = {other: array for other, array in arrays.items() if other != name}
        np.savez(tmp_path / "forged.npz", **left)
        assert_refused_in_bounds(tmp_path / "forged.npz", NormalEquations.load)
    np.savez_compressed(tmp_path / "forged.npz", **arrays, more=np.zeros(20_000_000))
    assert_refused_in_bounds(tmp_path / "forged.npz", NormalEquations.load)


def test_headers_of_sums_are_not_believed(tmp_path):
    path = tmp_path / "sums"
    NormalEquations(X[:4]).update(X, CLASSES).save(path)
    members = members_of(path)
    members["h.npy"] = members["h.npy"].replace(b"(1, 4, 3)", b"(9999999)")
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    assert_refused_in_bounds(path, NormalEquations.load)


@pytest.mark.parametrize("change", ["versions", "features", "model", "answers"])
@pytest.mark.parametrize("value", [None, 5, [], {}, "a"])
def test_a_manifest_that_says_something_else(change, value, saved, tmp_path):
    def edit(content):
        return json.dumps({**json.loads(content), change: value}).encode()

    path = edited(saved, tmp_path / "forged", edit, MANIFEST)
    try:
        assert len(kinlearn.load(path).predict(X)) == len(X)
    except KinFileError:
        return


def test_what_could_not_be_read_is_not_written(tmp_path):
    model = LSPC(n_centers=2, random_state=0).fit(X, CLASSES)
    model.notes_ = [str(i) for i in range(800_000)]
    with pytest.raises(ValueError, match="MB of names and settings"):
        kinlearn.save(model, tmp_path / "m")
    model.notes_ = model.notes_[:300_000]
    kinlearn.save(model, tmp_path / "m")
    again, peak = peak_of(kinlearn.load, tmp_path / "m")
    assert again.notes_ == model.notes_
    assert peak < 4 * os.path.getsize(tmp_path / "m") + 50e6


def test_a_file_of_some_size_is_read_within_the_bound(tmp_path):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(2500, 500)).astype(np.float32)
    model = LSPC(n_centers=2000, sigma=20.0, random_state=0)
    model.partial_fit(rows, (rows[:, 0] > 0).astype(int))
    kinlearn.save(model, tmp_path / "m")
    assert os.path.getsize(tmp_path / "m") > 20e6
    again, peak = peak_of(kinlearn.load, tmp_path / "m")
    assert peak < 4 * os.path.getsize(tmp_path / "m") + 50e6
    np.testing.assert_array_equal(again.predict(rows[:9]), model.predict(rows[:9]))


STEPS = [
    KBinsDiscretizer(3),
    MaxAbsScaler(),
    MinMaxScaler(),
    Normalizer(),
    PolynomialFeatures(3),
    PowerTransformer(),
    QuantileTransformer(n_quantiles=10),
    RobustScaler(with_centering=False),
    StandardScaler(with_mean=False),
    PCA(2, whiten=True),
    TruncatedSVD(2),
    FeatureUnion([("a", PCA(2)), ("b", StandardScaler())]),
    OneHotEncoder(handle_unknown="ignore"),
    LinearDiscriminantAnalysis(),
]
CLASSIFIERS = [
    LinearDiscriminantAnalysis(),
    LogisticRegression(fit_intercept=False),
    RidgeClassifier(),
    GaussianNB(),
    DummyClassifier(),
]


@pytest.mark.filterwarnings("ignore:Bins whose width", "ignore:The columns", "ignore:Features")
@pytest.mark.parametrize("step", STEPS)
def test_steps_of_scikit_learn_fit_together(step, tmp_path):
    model = make_pipeline(step, LSPC()).fit(X, CLASSES)
    kinlearn.save(model, tmp_path / "m")
    assert kinlearn.model_info(tmp_path / "m")["answers"]
    again = kinlearn.load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("y", [CLASSES, Y[:, 0]])
@pytest.mark.parametrize("classifier", CLASSIFIERS)
def test_classifiers_of_scikit_learn_fit_together(classifier, y, tmp_path):
    model = IndependentTasks(classifier).fit(X, y, task=TASK)
    kinlearn.save(model, tmp_path / "m")
    assert kinlearn.model_info(tmp_path / "m")["answers"]
    again = kinlearn.load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict(X, task=TASK), model.predict(X, task=TASK))


def test_a_model_that_refuses_the_made_up_row_is_loaded_untried(tmp_path):
    rows = X + 5.0
    model = make_pipeline(MinMaxScaler(), LSPC(kernel="chi2")).fit(rows, CLASSES)
    kinlearn.save(model, tmp_path / "m")
    assert not kinlearn.model_info(tmp_path / "m")["answers"]
    assert (kinlearn.load(tmp_path / "m").predict(rows) == model.predict(rows)).all()


def test_sums_of_all_kinds_come_back(tmp_path):
    for model, _, _ in STREAMS.values():
        sums = model.statistics_
        sums.save(tmp_path / "sums")
        again = NormalEquations.load(tmp_path / "sums")
        np.testing.assert_array_equal(again.gram(), sums.gram())
        assert again.n_rows == sums.n_rows


def ask(name, model):
    """Ask for predictions, which must come; and for all else, which must not crash."""
    if name in STREAMS:
        _, (rows, targets), given = STREAMS[name]
        assert len(model.predict(rows, **given)) == len(targets)
    else:
        rows, targets, given = X, CLASSES, {}
        if name in ("LSPC state", "multi-label CV"):
            model.predict(X)
        else:
            MODELS[name][1](model)
    calls = {
        "predict_proba": lambda: model.predict_proba(rows, **given),
        "familiarity": lambda: model.familiarity(rows),
        "refit": lambda: model.refit(),
        "partial_fit": lambda: model.partial_fit(rows[:9], targets[:9], **given_first(given)),
    }
    for call, function in calls.items():
        if hasattr(model, call):
            try:
                function()
            except Exception:  # a sentence is fine; a crash would end the tests
                continue


def given_first(given):
    return {name: values[:9] for name, values in given.items()}


@pytest.mark.parametrize("seed", range(N_SEEDS))
def test_forged_files_are_refused_or_answer(seed, tmp_path):
    rng = np.random.default_rng(seed)
    models = {name: MODELS[name][0] for name in FUZZED}
    models.update({name: stream[0] for name, stream in STREAMS.items()})
    files = {}
    for name, model in models.items():
        kinlearn.save(model, tmp_path / "m")
        files[name] = members_of(tmp_path / "m")
        assert json.loads(files[name][MANIFEST])["answers"]
    loaded, names = 0, list(models)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i in range(N_MUTATIONS // N_SEEDS):
            name = names[i % len(names)]
            path = write_members(tmp_path / "forged", forge(files[name], rng))
            model, peak = peak_of(kinlearn.load, path)
            assert peak < 4 * os.path.getsize(path) + 50e6
            if isinstance(model, Exception):
                assert isinstance(model, KinFileError)
            else:
                loaded += 1
                ask(name, model)
    assert 0.05 < loaded * N_SEEDS / N_MUTATIONS < 0.5
