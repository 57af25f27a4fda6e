"""Every estimator over its options says what it said when its answers were recorded."""

import zipfile
from pathlib import Path

import numpy as np
import pytest

import kinlearn
from recorded.cases import CASES, run

HERE = Path(__file__).parent / "recorded"
TOLERANCE = 1e-9


@pytest.fixture(scope="module")
def recorded():
    with np.load(HERE / "arrays.npz") as arrays:
        return {name: arrays[name] for name in arrays.files}


def compare(found, recorded, name):
    wanted = {
        key.partition("|")[2]: value
        for key, value in recorded.items()
        if key.partition("|")[0] == name
    }
    assert wanted
    assert wanted.keys() <= found.keys(), sorted(wanted.keys() - found.keys())
    for key, value in wanted.items():
        if value.dtype.kind in "OUSb":
            np.testing.assert_array_equal(found[key], value, err_msg=key)
        else:
            scale = max(1.0, np.abs(value[np.isfinite(value)]).max(initial=0.0))
            np.testing.assert_allclose(
                found[key], value, rtol=0, atol=TOLERANCE * scale, err_msg=key
            )


@pytest.mark.parametrize("name", CASES)
def test_answers_are_those_recorded(name, recorded, tmp_path):
    model, ask, found = run(name)
    compare(found, recorded, name)
    with zipfile.ZipFile(HERE / "files.zip") as archive:
        if f"{name}.kin" in archive.namelist():
            path = tmp_path / "model.kin"
            path.write_bytes(archive.read(f"{name}.kin"))
            loaded = kinlearn.load(path)
            assert type(loaded) is type(model)
            compare(ask(loaded), recorded, name)
