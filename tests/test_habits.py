"""How this tree is kept: where oracles live, what is fitted when, and which commands run where."""

import ast
import re
import tomllib
from pathlib import Path

import pytest
import yaml
from sklearn.base import BaseEstimator

import kinlearn

ROOT = Path(__file__).parent.parent
TESTS = ROOT / "tests"
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
MODULES = sorted(TESTS.rglob("*.py"))


def at_import(node):
    """Calls that are made when a module is imported."""
    if isinstance(node, ast.Lambda):
        return
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        for decorator in node.decorator_list:
            yield from at_import(decorator)
        return
    if isinstance(node, ast.Call):
        yield node
    for child in ast.iter_child_nodes(node):
        yield from at_import(child)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(TESTS).as_posix())
def test_nothing_is_fitted_at_import(path):
    fitting = {"fit", "fit_transform", "partial_fit", "fit_stream"}
    calls = [call.func for call in at_import(ast.parse(path.read_text("utf-8")))]
    assert not [f.lineno for f in calls if isinstance(f, ast.Attribute) and f.attr in fitting]


def test_fits_at_import_are_found():
    module = "A = LSPC().fit(X, y)\nf = lambda: LSPC().fit(X, y)\ndef g():\n    return f.fit(X)\n"
    found = list(at_import(ast.parse(module)))
    assert {call.lineno for call in found} == {1}
    assert found[0].func.attr == "fit"


def test_oracles_are_in_one_place():
    texts = {path.name: path.read_text("utf-8") for path in TESTS.glob("test_*.py")}
    found = [name for name, text in texts.items() if re.search(r"^def naive", text, re.M)]
    assert not found, f"{found} hold formulas as written: these belong in tests/naive."
    for path in (TESTS / "naive").glob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        public = [f for f in tree.body if isinstance(f, ast.FunctionDef) and f.name[0] != "_"]
        bare = [f.name for f in public if not ast.get_docstring(f)]
        assert not bare, f"{path.name}: {bare} do not say which formula they are."


def test_no_estimator_has_more_than_three_classes_of_ours_to_trace():
    for name in kinlearn.__all__:
        found = getattr(kinlearn, name)
        if isinstance(found, type) and issubclass(found, BaseEstimator):
            own = [c.__name__ for c in found.__mro__ if c.__module__.startswith("kinlearn")]
            assert len(own) <= 3, own


def test_scikit_learns_checks_are_in_one_place():
    name = "sklearn.utils." + "estimator_checks"
    assert [p.name for p in TESTS.glob("*.py") if name in p.read_text("utf-8")] == [
        "test_sklearn_checks.py"
    ]


def test_the_files_of_make_quick_are_there():
    [names] = re.findall(r"^QUICK := .*?addsuffix .py,(.*?)\)\)$", MAKEFILE, re.M | re.S)
    names = names.replace("\\", " ").split()
    assert "recorded" in names
    assert not [name for name in names if not (TESTS / f"test_{name}.py").is_file()]


def test_hosted_integration_runs_the_targets_of_the_makefile():
    jobs = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text("utf-8"))["jobs"]
    steps = [step for job in jobs.values() for step in job["steps"]]
    commands = [step["run"] for step in steps if "run" in step]
    assert [command.split()[:2] for command in commands] == [
        ["make", "test"],
        ["make", "test-oldest"],
    ]
    for command in commands:
        assert re.search(rf"^{command.split()[1]}:", MAKEFILE, re.M)
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@v\d+", s["uses"]) for s in steps if "uses" in s)
    oldest = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    versions = jobs["test"]["strategy"]["matrix"]["python"]
    assert oldest["requires-python"] == f">={versions[0]}"
    assert versions == ["3.11", "3.12", "3.13"]


def test_hooks_are_local_and_quick_comes_before_a_push():
    found = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))["repos"]
    assert [repo["repo"] for repo in found] == ["local"]
    hooks = {hook["id"]: hook for hook in found[0]["hooks"]}
    assert set(hooks) == {"ruff-check", "ruff-format", "quick"}
    assert hooks["quick"]["entry"] == "make quick"
    assert hooks["quick"]["stages"] == ["pre-push"]


@pytest.mark.parametrize("name", ["SECURITY.md"])
def test_links_lead_somewhere(name):
    links = re.findall(r"\]\(([^)\s#]+)", (ROOT / name).read_text("utf-8"))
    assert not [link for link in links if not (ROOT / link).exists()]
