"""The reference is complete: every public name has its place, every command and option a line."""

import importlib
import re
import runpy
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kinlearn.cli import app

DOCS = Path(__file__).parent.parent / "docs"
MODULES = [
    "kinlearn",
    "kinlearn.metrics",
    "kinlearn.plots",
    "kinlearn.datasets",
    "kinlearn.features",
    "kinlearn.kernels",
    "kinlearn.planning",
]


def names_in_reference() -> list[str]:
    """Full names that the pages under docs/api list or declare."""
    found = []
    for page in sorted((DOCS / "api").glob("*.rst")):
        module, listing = "", False
        for line in page.read_text(encoding="utf-8").splitlines():
            if line.startswith(".. currentmodule:: "):
                module = line.split(":: ")[1]
            elif line.startswith(".. py:data:: "):
                found.append(line.split(":: ")[1])
            elif line.startswith(".. "):
                listing = line == ".. autosummary::"
            elif listing and re.fullmatch(r"   \w+", line):
                found.append(f"{module}.{line.strip()}")
    return found


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_is_in_the_reference(module):
    public = {f"{module}.{name}" for name in importlib.import_module(module).__all__}
    missing = public - set(names_in_reference())
    assert not missing, f"docs/api does not name {sorted(missing)}: add them to a page there."


def test_reference_names_what_exists_once():
    listed = names_in_reference()
    assert len(listed) == len(set(listed))
    for full in listed:
        module, _, name = full.rpartition(".")
        assert hasattr(importlib.import_module(module), name), f"docs/api lists {full}."


def test_site_takes_members_of_the_same_modules(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    public_names = importlib.import_module("public_names")
    assert list(public_names.MODULES) == MODULES
    members = public_names.class_members()["kinlearn.LSPCCV"]
    assert {"fit", "predict", "predict_proba"} <= set(members["methods"])
    assert {"get_params", "set_params"} <= set(members["inherited"])


def test_page_of_the_command_line_is_up_to_date():
    page = runpy.run_path(str(DOCS / "cli_page.py"))["render"]()
    assert (DOCS / "cli.md").read_text(encoding="utf-8") == page, (
        "docs/cli.md is out of date: run python docs/cli_page.py."
    )


def test_page_of_the_command_line_has_every_option(monkeypatch):
    # Wide enough that the help does not cut names short.
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("TERM", "dumb")
    page = (DOCS / "cli.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^## kinlearn (\S+)\n(.*?)(?=^## |\Z)", page, re.M | re.S))
    commands = {info.name or info.callback.__name__ for info in app.registered_commands}
    assert set(sections) == commands
    for name, text in sections.items():
        shown = CliRunner().invoke(app, [name, "--help"])
        assert shown.exit_code == 0
        rows = "\n".join(line for line in text.splitlines() if line.startswith("| `-"))
        helped = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", _options(shown.output)))
        written = set(re.findall(r"`(--[a-z][a-z-]*)", rows))
        assert written == helped - {"--help"}, name


def _options(text: str) -> str:
    """The first column of the help's list of options, without colours."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    lines = plain[plain.index("Options") :].splitlines()
    rows = (line.strip(" │|*") for line in lines)
    return "\n".join(row.split("  ")[0] for row in rows if row.startswith("-"))


def test_check_of_the_command_page_says_what_to_do(tmp_path, monkeypatch):
    copy = tmp_path / "cli_page.py"
    copy.write_text((DOCS / "cli_page.py").read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "cli.md").write_text("old", encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["cli_page.py", "--check"])
    with pytest.raises(SystemExit, match=r"run python docs/cli_page\.py"):
        runpy.run_path(str(copy), run_name="__main__")
    monkeypatch.setattr(sys, "argv", ["cli_page.py"])
    runpy.run_path(str(copy), run_name="__main__")
    assert "## kinlearn train" in (tmp_path / "cli.md").read_text(encoding="utf-8")
