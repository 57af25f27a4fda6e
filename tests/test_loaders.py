"""Loaders of the user's files: what they give, and what they say of files they cannot use."""

from __future__ import annotations

import gzip
import os
import struct
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from kinlearn.datasets import (
    DataFileChanged,
    DataFileError,
    DataFileMissing,
    load_ar,
    load_esc50,
    load_fashion_mnist,
    load_landmine,
    load_multilabel,
    load_office_caltech,
    load_orl,
    load_pie,
    load_umist,
    load_vowel,
)
from kinlearn.datasets._images import resampling, resized

LOADERS = {
    "landmine/LandmineData.mat": load_landmine,
    "umist/umist.npz": load_umist,
    "orl/orl_112x92.npz": load_orl,
    "pie/PIE_pose27.mat": load_pie,
    "ar/AR_100_32x32.mat": load_ar,
    "multilabel/emotions.npz": lambda **k: load_multilabel("emotions", **k),
    "multilabel/corel5k.npz": lambda **k: load_multilabel("corel5k", **k),
    "esc50/esc50_features.npz": load_esc50,
    "esc50/esc50_fsd_multilabel.npz": lambda **k: load_esc50("tags", **k),
    "office_caltech10/amazon_SURF_L10.mat": load_office_caltech,
    "fashion_mnist/t10k-images-idx3-ubyte.gz": lambda **k: load_fashion_mnist(subset="test", **k),
    "single_task/vowel.npz": load_vowel,
}


@pytest.fixture
def store(tmp_path):
    """Write a generated file to where a loader looks for it."""

    def write(path, **arrays):
        target = tmp_path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.endswith(".mat"):
            savemat(target, arrays)
        else:
            np.savez(target, **arrays)
        return target

    return write


def fields(n_features=9, n_rows=12):
    feature, label = np.empty((1, 29), dtype=object), np.empty((1, 29), dtype=object)
    rng = np.random.default_rng(0)
    for t in range(29):
        feature[0, t] = rng.normal(size=(n_rows, n_features))
        label[0, t] = (np.arange(n_rows)[:, None] % 3 == 0).astype(np.uint8)
    return {"feature": feature, "label": label}


@pytest.mark.parametrize("path", LOADERS)
def test_missing_file_says_its_name_and_content_and_who_supplies_it(path, tmp_path):
    with pytest.raises(DataFileMissing) as caught:
        LOADERS[path](data_home=tmp_path)
    message = str(caught.value)
    assert str(tmp_path / path) in message
    assert "must contain" in message
    assert "you supply it yourself" in message


def test_without_a_folder_the_variable_is_named(monkeypatch):
    monkeypatch.delenv("KINLEARN_DATA", raising=False)
    with pytest.raises(DataFileMissing, match="set KINLEARN_DATA or data_home="):
        load_landmine()


def test_the_variable_names_the_folder(monkeypatch, tmp_path, store):
    store("landmine/LandmineData.mat", **fields())
    monkeypatch.setenv("KINLEARN_DATA", str(tmp_path))
    assert load_landmine(verify=False).data.shape == (29 * 12, 9)


@pytest.mark.parametrize("path", LOADERS)
def test_truncated_file_is_named_with_the_remedy(path, tmp_path, store):
    rng = np.random.default_rng(0)
    if path.endswith(".gz"):
        target = tmp_path / path
        target.parent.mkdir()
        target.write_bytes(gzip.compress(rng.bytes(5000)))
    else:
        target = store(path, anything=rng.normal(size=(40, 40)))
    content = target.read_bytes()
    target.write_bytes(content[: len(content) // 2])
    with pytest.raises(DataFileError) as caught:
        LOADERS[path](data_home=tmp_path)
    assert str(target) in str(caught.value)
    assert "Put a complete copy in its place" in str(caught.value)


@pytest.mark.parametrize(
    ("path", "arrays", "words"),
    [
        ("pie/PIE_pose27.mat", {"fea": np.zeros((5, 7)), "gnd": np.zeros((5, 1))}, "5 × 7"),
        ("ar/AR_100_32x32.mat", {"faces": np.zeros((5, 7))}, "but not 'fea'"),
        ("orl/orl_112x92.npz", {"X": np.zeros((3, 112, 92)), "y": np.zeros(3)}, "3 × 112 × 92"),
        ("single_task/vowel.npz", {"X": np.zeros(4), "y": np.zeros(4)}, "'X' is 4 where"),
        ("landmine/LandmineData.mat", fields(n_features=4), "field 1 has features of shape"),
    ],
)
def test_wrong_content_is_named(path, arrays, words, tmp_path, store):
    target = store(path, **arrays)
    with pytest.raises(DataFileError) as caught:
        LOADERS[path](data_home=tmp_path, verify=False)
    message = str(caught.value)
    assert str(target) in message
    assert words in message
    assert "Put the right file in its place" in message


def test_another_checksum_is_a_warning(tmp_path, store):
    target = store("landmine/LandmineData.mat", **fields())
    with pytest.warns(DataFileChanged, match="another checksum") as caught:
        load_landmine(data_home=tmp_path)
    assert str(target) in str(caught[0].message)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_landmine(data_home=tmp_path, verify=False)


def test_landmine_reverses_and_frames(tmp_path, store):
    store("landmine/LandmineData.mat", **fields())
    plain = load_landmine(data_home=tmp_path, n_tasks=17, verify=False)
    turned = load_landmine(data_home=tmp_path, n_tasks=17, reversed_tasks=(15, 16), verify=False)
    changed = plain.target != turned.target
    np.testing.assert_array_equal(changed, plain.task >= 15)
    framed = load_landmine(data_home=tmp_path, n_tasks=2, as_frame=True, verify=False)
    assert list(framed.frame.columns) == [*plain.feature_names, "target", "task"]
    X, y = load_landmine(data_home=tmp_path, n_tasks=2, return_X_y=True, verify=False)
    np.testing.assert_array_equal(framed.data, X)
    np.testing.assert_array_equal(framed.target, y)
    with pytest.raises(ValueError, match="n_tasks must lie between 1 and 29"):
        load_landmine(data_home=tmp_path, n_tasks=30)
    with pytest.raises(ValueError, match="reversed_tasks must be numbers from 0 to 1"):
        load_landmine(data_home=tmp_path, n_tasks=2, reversed_tasks=(2,))


def test_umist_drops_copies(tmp_path, store):
    X = np.random.default_rng(0).integers(0, 256, size=(575, 28, 23)).astype(np.uint8)
    X[63] = X[42]
    store(
        "umist/umist.npz",
        X=X,
        y=np.arange(575) % 20 + 1,
        X_full=np.zeros((2, 112, 92), np.uint8),
        y_full=np.ones(2),
    )
    faces = load_umist(data_home=tmp_path, verify=False)
    assert faces.images.shape == (574, 28, 23)
    assert 63 not in faces.rows
    np.testing.assert_array_equal(faces.images, X[faces.rows])
    every = load_umist(data_home=tmp_path, drop_duplicates=False, verify=False)
    assert every.data.shape == (575, 644)
    assert load_umist(data_home=tmp_path, full_size=True, verify=False).data.shape == (1, 10304)


def test_column_major_images_stand_upright(tmp_path, store):
    image = np.arange(1024).reshape(32, 32) % 251
    fea = np.tile(image.ravel(order="F").astype(np.uint8), (2600, 1))
    store("ar/AR_100_32x32.mat", fea=fea, gnd=np.ones((2600, 1), np.uint8))
    np.testing.assert_array_equal(load_ar(data_home=tmp_path, verify=False).images[0], image)
    small = load_ar(data_home=tmp_path, shape=(16, 8), verify=False).images
    np.testing.assert_allclose(small[0, 0, 0], image[:2, :4].mean())
    X, y = load_ar(data_home=tmp_path, shape=(33, 24), return_X_y=True, verify=False)
    assert X.shape == (2600, 33 * 24)
    assert y.shape == (2600,)


def test_resizing_keeps_flat_images_flat():
    flat = np.full((2, 10, 12), 7.0)
    for shape in [(5, 6), (7, 9), (15, 20), None]:
        np.testing.assert_allclose(resized(flat, shape), 7.0)
    np.testing.assert_allclose(resampling(9, 4).sum(axis=1), 1.0)
    with pytest.raises(ValueError, match="height and a width of at least 1"):
        resized(flat, (0, 3))


def test_multilabel_dense_and_sparse(tmp_path, store):
    rng = np.random.default_rng(0)
    names = {"label_names": np.array([f"l{i}" for i in range(6)])}
    Y = rng.integers(0, 2, size=(593, 6)).astype(np.uint8)
    X = rng.normal(size=(593, 72))
    features = np.array([f"f{i}" for i in range(72)])
    store("multilabel/emotions.npz", X=X, Y=Y, feature_names=features, **names)
    moods = load_multilabel("emotions", data_home=tmp_path, as_frame=True, verify=False)
    assert moods.target.columns.tolist() == names["label_names"].tolist()
    assert moods.frame.shape == (593, 78)
    parts = {
        "data": np.ones(5000),
        "indices": np.arange(5000) % 499,
        "indptr": np.arange(5001),
        "shape": np.array([5000, 499]),
        "Y": np.zeros((5000, 374), np.uint8),
        "label_names": np.array([f"l{i}" for i in range(374)]),
        "feature_names": np.array([f"f{i}" for i in range(499)]),
    }
    store("multilabel/corel5k.npz", **parts)
    bags, _ = load_multilabel("corel5k", data_home=tmp_path, return_X_y=True, verify=False)
    assert bags.shape == (5000, 499)
    assert bags[3, 3] == 1.0
    target = store("multilabel/corel5k.npz", **(parts | {"indices": parts["indices"] + 499}))
    with pytest.raises(DataFileError, match="not a CSR matrix") as caught:
        load_multilabel("corel5k", data_home=tmp_path, verify=False)
    assert str(target) in str(caught.value)
    with pytest.raises(ValueError, match="name must be one of"):
        load_multilabel("corel", data_home=tmp_path)


def test_fashion_reads_idx(tmp_path):
    folder = tmp_path / "fashion_mnist"
    folder.mkdir()
    images = np.zeros((10000, 28, 28), np.uint8)
    images[7, 3, 5] = 9
    for name, values in (
        ("t10k-images-idx3-ubyte", images),
        ("t10k-labels-idx1-ubyte", np.arange(10000) % 10),
    ):
        head = b"\0\0\x08" + bytes([values.ndim]) + struct.pack(f">{values.ndim}I", *values.shape)
        content = gzip.compress(head + values.astype(np.uint8).tobytes(), compresslevel=1)
        (folder / f"{name}.gz").write_bytes(content)
    found = load_fashion_mnist(subset="test", data_home=tmp_path, verify=False)
    np.testing.assert_array_equal(found.images, images)
    np.testing.assert_array_equal(found.target, np.arange(10000) % 10)
    (folder / "t10k-labels-idx1-ubyte.gz").write_bytes(gzip.compress(b"no IDX file"))
    with pytest.raises(DataFileError, match="first bytes are not those of an IDX file"):
        load_fashion_mnist(subset="test", data_home=tmp_path, verify=False)
    with pytest.raises(ValueError, match="subset must be one of"):
        load_fashion_mnist(subset="all", data_home=tmp_path)


def test_clips_are_counted_and_looked_up(tmp_path):
    folder = tmp_path / "esc50"
    clips = folder / "esc10_ogg"
    clips.mkdir(parents=True)
    names = [f"1-{number}-A-0" for number in range(400)]
    table = ["filename,fold,target,category", *(f"{name}.wav,1,0,dog" for name in names)]
    (folder / "esc50.csv").write_text("\n".join(table))
    with pytest.raises(DataFileMissing, match="must contain the 400 clips"):
        load_esc50("clips", data_home=tmp_path)
    for name in names[:-1]:
        (clips / f"{name}.ogg").touch()
    with pytest.raises(DataFileError, match="has 399 clips where 400 were expected"):
        load_esc50("clips", data_home=tmp_path)
    (clips / f"{names[-1]}.ogg").touch()
    found = load_esc50("clips", data_home=tmp_path)
    assert found.data.shape == (400,)
    assert set(found.category) == {"dog"}
    (folder / "esc50.csv").write_text("\n".join(table[:-1]))
    with pytest.raises(DataFileError, match=r"does not list 1-399-A-0\.ogg"):
        load_esc50("clips", data_home=tmp_path)
    (folder / "esc50.csv").write_text("something\nelse")
    with pytest.raises(DataFileError, match="not the expected table"):
        load_esc50("clips", data_home=tmp_path)
    with pytest.raises(ValueError, match="part must be"):
        load_esc50("sounds", data_home=tmp_path)


REAL = Path(os.environ.get("KINLEARN_DATA") or "nowhere")


@pytest.mark.skipif(not REAL.is_dir(), reason="KINLEARN_DATA names no folder with the real data")
@pytest.mark.parametrize("path", [p for p in LOADERS if "corel5k" not in p])
def test_real_files_are_the_expected_ones(path):
    if not (REAL / path).exists():
        pytest.skip(f"{path} is not in the data folder")
    found = LOADERS[path]()  # a warning of another checksum would be an error
    assert len(found.data) == len(found.target)
    assert np.isfinite(np.asarray(found.data)).all()
