"""The wheel alone: what is in it, and that it works where nothing else of this tree is."""

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import kinlearn

pytest.importorskip("build")
pytest.importorskip("hatchling")

ROOT = Path(__file__).parent.parent
WORK = """
import sys
from pathlib import Path
import numpy as np
from sklearn.datasets import load_iris
import kinlearn

installed = Path(sys.argv[1])
assert Path(kinlearn.__file__).is_relative_to(installed), kinlearn.__file__
X, y = load_iris(return_X_y=True)
model = kinlearn.LSPC().fit(X, y)
kinlearn.save(model, "iris.kin")
again = kinlearn.load("iris.kin")
np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
assert model.score(X, y) > 0.9
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A folder with a wheel and an archive of the source, built by what is installed here."""
    folder = tmp_path_factory.mktemp("dist")
    options = ["--no-isolation", "--skip-dependency-check", "--wheel", "--sdist"]
    command = [sys.executable, "-m", "build", *options, "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def wheel(built):
    [found] = built.glob("*.whl")
    return found


def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    info = f"kinlearn-{kinlearn.__version__}.dist-info"
    assert {name.split("/")[0] for name in names} == {"kinlearn", info}
    assert "kinlearn/py.typed" in names
    assert any(name.startswith(info) and name.endswith("LICENSE") for name in names)
    rooms = {part for name in names for part in Path(name).parts[:-1]}
    assert not rooms & {"tests", "docs", "benchmarks", "examples", "__pycache__"}
    assert not [name for name in names if Path(name).name.startswith(("test_", "conftest"))]


def test_the_source_can_be_built_from(built):
    [found] = built.glob("*.tar.gz")
    with tarfile.open(found) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "src/kinlearn/py.typed"} <= names


def test_the_wheel_works_alone(wheel, tmp_path):
    target = tmp_path / "site"
    options = ["--quiet", "--no-deps", "--no-index", "--no-compile"]
    options += ["--disable-pip-version-check"]
    install = [sys.executable, "-m", "pip", "install", *options, "--target", str(target)]
    subprocess.run([*install, str(wheel)], check=True)
    alone = {**os.environ, "PYTHONPATH": str(target)}
    subprocess.run([sys.executable, "-c", WORK, str(target)], check=True, env=alone, cwd=tmp_path)
