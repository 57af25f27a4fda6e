"""The oldest versions that are tested are those that pyproject.toml declares."""

import runpy
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SCRIPT = runpy.run_path(str(ROOT / ".ci" / "oldest.py"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_every_dependency_has_a_lower_bound_that_can_be_installed():
    extras = [name for name in PROJECT["optional-dependencies"] if name not in ("test", "docs")]
    found = SCRIPT["oldest"](PROJECT, extras)
    assert all("==" in requirement for requirement in found)
    numpy = next(each for each in PROJECT["dependencies"] if each.startswith("numpy"))
    assert numpy.replace(">=", "==") in found
    assert len({each.partition("==")[0] for each in found}) == len(found)


def test_single_tools_can_be_asked_for():
    found = SCRIPT["oldest"]({**PROJECT, "dependencies": []}, ["test:pytest"])
    assert [each.partition("==")[0] for each in found] == ["pytest"]
    with pytest.raises(SystemExit, match="no lower bound for test:nose"):
        SCRIPT["oldest"](PROJECT, ["test:nose"])
    with pytest.raises(SystemExit, match="not of the form"):
        SCRIPT["pinned"]("numpy")


def test_continuous_integration_runs_both():
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line.startswith("make")] == ["make test", "make test-oldest"]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert ".ci/oldest.py cli plot onnx" in makefile
