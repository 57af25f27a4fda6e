"""Every estimator over its options says what it said when its answers were recorded.

Weights of grid points may depend on the last digit of a product, and that on the machine: fits are
compared where BLAS has the kernels it had when answers were recorded, files of models everywhere.
"""

import zipfile
from pathlib import Path

import numpy as np
import pytest

import kinlearn
from recorded.cases import CASES, blas_kernels, run

HERE = Path(__file__).parent / "recorded"
TOLERANCE = 1e-9


@pytest.fixture(scope="module")
def recorded():
    with np.load(HERE / "arrays.npz") as arrays:
        return {name: arrays[name] for name in arrays.files}


@pytest.fixture(scope="module")
def same_kernels(recorded):
    return str(recorded["blas"]) == blas_kernels()


def compare(found, recorded, name, only=""):
    wanted = {
        key.partition("|")[2]: value
        for key, value in recorded.items()
        if key.partition("|")[0] == name and key.partition("|")[2].startswith(only)
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
def test_answers_are_those_recorded(name, recorded, same_kernels, tmp_path):
    model, ask, found = run(name)
    # all that was said is still said
    assert {key.partition("|")[2] for key in recorded if key.startswith(f"{name}|")} <= set(found)
    if same_kernels:
        compare(found, recorded, name)
    with zipfile.ZipFile(HERE / "files.zip") as archive:
        if f"{name}.kin" in archive.namelist():
            path = tmp_path / "model.kin"
            path.write_bytes(archive.read(f"{name}.kin"))
            loaded = kinlearn.load(path)
            assert type(loaded) is type(model)
            compare(ask(loaded), recorded, name, "" if same_kernels else "predict_proba")
