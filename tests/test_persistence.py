"""Model files: what is saved is what is loaded, and what cannot be saved is refused."""

import io
import json
import stat
import zipfile
from dataclasses import replace

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import kinlearn
from kinlearn import LSPC, LSPCCV, HandOver, IndependentTasks, KinFileError, MultiTaskLSPC
from kinlearn.archives.archive import MANIFEST, TREE, Archive
from kinlearn.persistence.allowed_types import find_type
from saved_models import (
    CLASSES,
    FRAME,
    MODELS,
    SMALL,
    TASK,
    X,
    edited,
    state,
    table_pipeline,
)


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "model.kin"
    kinlearn.save(MODELS["LSPC"][0], path)
    return path


@pytest.mark.parametrize("name", MODELS)
def test_round_trip_is_bit_equal(name, tmp_path):
    model, ask = MODELS[name]
    kinlearn.save(model, tmp_path / "model.kin")
    again = kinlearn.load(tmp_path / "model.kin")
    for one, other in zip(ask(model), ask(again), strict=True):
        assert np.asarray(one).dtype == np.asarray(other).dtype
        np.testing.assert_array_equal(one, other)
    assert type(again) is type(model)
    assert state(again) == state(model)
    assert set(clone(again).get_params()) == set(model.get_params())


def test_a_loaded_model_can_be_fitted_again(tmp_path):
    model = table_pipeline(LSPCCV(**SMALL)).fit(FRAME, CLASSES)
    kinlearn.save(model, tmp_path / "m")
    again = clone(kinlearn.load(tmp_path / "m")).fit(FRAME, CLASSES)
    np.testing.assert_array_equal(again.predict_proba(FRAME), model.predict_proba(FRAME))
    assert list(kinlearn.load(tmp_path / "m").feature_names_in_) == list(FRAME.columns)


def test_layout_in_memory_is_kept(tmp_path):
    model = LSPC().fit(X, CLASSES)
    model.model_ = replace(
        model.model_,
        coef=np.asfortranarray(model.coef_),
        centers=np.repeat(model.centers_, 2, axis=1)[:, ::2],
    )
    kinlearn.save(model, tmp_path / "m")
    again = kinlearn.load(tmp_path / "m")
    assert again.coef_.flags.f_contiguous
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_arrays_shared_inside_a_model_are_stored_once(tmp_path):
    model = MODELS["heterogeneous"][0]
    kinlearn.save(model, tmp_path / "m")
    again = kinlearn.load(tmp_path / "m")
    assert again._model.model is again.estimators_
    assert again._own.models[0] is again.own_estimators_[0]


def test_metadata_requests_survive(tmp_path):
    with sklearn.config_context(enable_metadata_routing=True):
        model = LSPC().set_fit_request(sample_weight=True).fit(X, CLASSES)
        kinlearn.save(model, tmp_path / "m")
        again = kinlearn.load(tmp_path / "m")
        assert again.get_metadata_routing().fit.requests["sample_weight"] is True


def test_models_that_learn_on_after_loading(tmp_path):
    model = MultiTaskLSPC().fit(X, CLASSES, task=TASK)
    kinlearn.save(model, tmp_path / "m")
    again = kinlearn.load(tmp_path / "m")
    for each in (model, again):
        each.add_task(X[:9], CLASSES[:9], "east")
    ids = np.full(len(X), "east")
    np.testing.assert_array_equal(
        again.predict_proba(X, task=ids), model.predict_proba(X, task=ids)
    )


def test_info_without_arrays(tmp_path):
    model = table_pipeline(LSPCCV(**SMALL)).fit(FRAME, CLASSES)
    kinlearn.save(model, tmp_path / "m", facts={"rows": 36}, feature_types={"age": "years"})
    info = kinlearn.model_info(tmp_path / "m")
    assert info["schema"] == 1
    assert info["versions"]["scikit-learn"] == sklearn.__version__
    assert info["model"]["estimator"] == "LSPCCV"
    assert info["model"]["steps"] == ["ColumnTransformer", "LSPCCV"]
    assert info["model"]["classes"] == ["high", "low", "mid"]
    assert info["facts"] == {"rows": 36}
    assert info["training_rows_held"] == 36
    types = {feature["name"]: feature["type"] for feature in info["features"]}
    assert types == {
        "age": "years",
        "dose": "number",
        "level": "number",
        "unit": "category",
        "grade": "category",
    }


def test_info_counts_rows_held_and_lists_tasks(tmp_path):
    held = {}
    for name in ("LSPC", "LSPC subset", "LSPC given", "LSPC precomputed", "MTDA classifier"):
        kinlearn.save(MODELS[name][0], tmp_path / "m")
        held[name] = kinlearn.model_info(tmp_path / "m")["training_rows_held"]
    assert list(held.values()) == [36, 7, 0, 0, 48]
    kinlearn.save(MODELS["multi-task"][0], tmp_path / "m")
    info = kinlearn.model_info(tmp_path / "m")
    assert info["model"]["tasks"] == ["north", "south", "west"]
    assert info["features"][1] == {"name": "x1", "type": "number"}


def test_what_a_file_cannot_hold_is_refused(tmp_path):
    path = tmp_path / "m"
    with pytest.raises(TypeError, match=r"LSPC\.kernel is a function, .* kernel with a name"):
        kinlearn.save(LSPC(kernel=lambda A, B: A @ B.T).fit(X, CLASSES), path)
    with pytest.raises(TypeError, match=r"FunctionTransformer, which is not among"):
        kinlearn.save(make_pipeline(FunctionTransformer(np.log1p), LSPC()).fit(X, CLASSES), path)
    forest = IndependentTasks(RandomForestClassifier(2)).fit(X, CLASSES, task=TASK)
    with pytest.raises(TypeError, match=r"IndependentTasks\.estimator is a .*RandomForest"):
        kinlearn.save(forest, path)
    with pytest.raises(TypeError, match="not among the types"):
        kinlearn.save({"a": 1}, path)
    with pytest.raises(NotFittedError):
        kinlearn.save(LSPC(), path)
    with pytest.raises(ValueError, match="facts must be of JSON values"):
        kinlearn.save(MODELS["LSPC"][0], path, facts={"a": {1, 2}})
    with pytest.raises(ValueError, match="feature_types names 'z'"):
        kinlearn.save(MODELS["LSPC"][0], path, feature_types={"z": "number"})
    assert list(tmp_path.iterdir()) == []


def test_every_estimator_has_a_name_and_nothing_else_has():
    for name in kinlearn.__all__:
        found = getattr(kinlearn, name)
        if isinstance(found, type) and issubclass(found, BaseEstimator):
            assert find_type(f"kinlearn.{name}") is found
    for name in ("kinlearn.save", "kinlearn.KinFileError", "kinlearn.estimators", "os.system", ""):
        assert find_type(name) is None


def test_a_subclass_is_not_taken_for_its_base(tmp_path):
    class Mine(LogisticRegression):
        pass

    model = IndependentTasks(Mine()).fit(X, CLASSES, task=TASK)
    with pytest.raises(TypeError, match="Mine"):
        kinlearn.save(model, tmp_path / "m")


def test_a_failed_save_leaves_the_old_file(saved, monkeypatch):
    before = saved.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        kinlearn.save(MODELS["LSPCCV"][0], saved)
    assert saved.read_bytes() == before
    assert [p.name for p in saved.parent.iterdir()] == ["model.kin"]


def test_links_and_permissions_are_kept(saved):
    saved.chmod(0o640)
    link = saved.with_name("link.kin")
    link.symlink_to(saved)
    kinlearn.save(MODELS["LSPC subset"][0], link)
    assert link.is_symlink()
    assert stat.S_IMODE(saved.stat().st_mode) == 0o640
    assert kinlearn.load(saved).n_centers_ == 7


@pytest.mark.parametrize("function", [kinlearn.load, kinlearn.model_info])
def test_files_of_other_kinds(function, tmp_path):
    path = tmp_path / "file"
    other = io.BytesIO()
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("a", "b")
    for content in (b"", b"a,b\n1,2\n", b"\x80\x04\x95", other.getvalue()):
        path.write_bytes(content)
        with pytest.raises(KinFileError, match=r"file cannot be loaded: .*\.$"):
            function(path)
    with pytest.raises(FileNotFoundError):
        function(tmp_path / "none")


def test_a_newer_schema_is_named(saved, tmp_path):
    def newer(content):
        return json.dumps({**json.loads(content), "schema": 2}).encode()

    newer_file = edited(saved, tmp_path / "newer", newer, MANIFEST)
    for function in (kinlearn.load, kinlearn.model_info):
        with pytest.raises(KinFileError, match="reads up to schema 1: upgrade kinlearn"):
            function(newer_file)


def test_an_edit_is_seen_by_the_checksum(saved, tmp_path):
    with zipfile.ZipFile(saved) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
        comment = archive.comment
    for name in (TREE, MANIFEST):
        changed = dict(members)
        changed[name] = members[name].replace(b"LSPC", b"LSPX", 1)
        with zipfile.ZipFile(tmp_path / "m", "w") as archive:
            for other, content in changed.items():
                archive.writestr(other, content)
            archive.comment = comment
        with pytest.raises(KinFileError, match="changed after it was written"):
            kinlearn.load(tmp_path / "m")


def test_another_version_of_scikit_learn_warns(tmp_path):
    kinlearn.save(MODELS["scaled"][0], tmp_path / "m")

    def older(content):
        manifest = json.loads(content)
        manifest["versions"]["scikit-learn"] = "1.2.3"
        return json.dumps(manifest).encode()

    with pytest.warns(UserWarning, match=r"steps of scikit-learn 1\.2\.3"):
        kinlearn.load(edited(tmp_path / "m", tmp_path / "older", older, MANIFEST))


def replace_state(name, node):
    def change(content):
        tree = json.loads(content)
        tree["objects"][-1]["state"][name] = node
        return json.dumps(tree).encode()

    return change


def test_nothing_but_known_types_is_made(saved, tmp_path):
    def other_type(content):
        return content.replace(b'"kinlearn.LSPC"', b'"subprocess.Popen"')

    def deep(content):
        return b'{"root": 0, "objects": [' + b'{"list": [' * 100_000 + b"]}" * 100_000 + b"]}"

    nodes = [
        {"type": "os.system"},
        {"call": ["os.system", "true"]},
        {"object": 5},
        {"dtype": "V8"},
        {"scalar": ["O", 1]},
        {"array": [99, [0]]},
        {"array": ["../model", [0]]},
        {"dict": [[{"list": []}, 1]]},
        {"objects": [[10**12, 10**12], [1]]},
        {"sparse": ["csr_matrix", [2, 10**15], {"array": [0, [0]]}, 1, 2]},
        {"sparse": ["lil_matrix", [2, 2], 1, 1, 2]},
    ]
    changes = [other_type, deep, replace_state("__class__", 1), replace_state("a b", 1)]
    for change in changes + [replace_state("sigma", node) for node in nodes]:
        with pytest.raises(KinFileError):
            kinlearn.load(edited(saved, tmp_path / "m", change))


def npy(header, payload):
    text = header.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + payload


@pytest.mark.parametrize(
    "content",
    [
        npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,)}", b"\0" * 8),
        npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", b"\x80\x04N."),
        npy("{'descr': '<U0', 'fortran_order': False, 'shape': (1000000000000,)}", b""),
        npy("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,)}", b"\0" * 8),
        npy("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}", b"\0" * 8),
        b"\x93NUMPY\x02\x00",
        b"",
    ],
)
def test_headers_of_arrays_are_not_believed(saved, tmp_path, content):
    with pytest.raises(KinFileError):
        kinlearn.load(edited(saved, tmp_path / "m", lambda _: content, "arrays/0.npy"))


def test_compressed_members_are_refused(saved, tmp_path):
    bomb = tmp_path / "bomb.kin"
    with zipfile.ZipFile(saved) as archive, zipfile.ZipFile(bomb, "w") as target:
        target.comment = archive.comment
        for info in archive.infolist():
            if info.filename == "arrays/0.npy":
                target.writestr(info.filename, bytes(50_000_000), zipfile.ZIP_DEFLATED)
            else:
                target.writestr(info.filename, archive.read(info))
    with pytest.raises(KinFileError, match="larger than the file"):
        kinlearn.load(bomb)


def test_every_member_is_listed(saved):
    with open(saved, "rb") as file, zipfile.ZipFile(saved) as raw:
        assert set(raw.namelist()) == {*Archive(file).manifest["members"], MANIFEST}
        assert not any(info.compress_type for info in raw.infolist())


def test_info_tells_the_rule_of_hand_over_wherever_it_is(tmp_path):
    model = make_pipeline(StandardScaler(), HandOver(LSPC(), max_error=0.4)).fit(X, CLASSES)
    kinlearn.save(model, tmp_path / "m")
    info = kinlearn.model_info(tmp_path / "m")
    assert info["model"]["hand_over"]["max_error"] == 0.4
    assert info["model"]["estimator"] == "LSPC"
    assert info["model"]["classes"] == ["high", "low", "mid"]
