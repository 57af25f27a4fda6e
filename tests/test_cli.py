"""The command line: its help, its refusals and the demo, run as a user runs them."""

import os
import re
import subprocess
import sys
import textwrap
from functools import partial
from importlib import import_module
from importlib.metadata import EntryPoint

import numpy as np
import pytest
import typer
from matplotlib.image import imread
from rich.console import Console
from rich.table import Table
from typer.testing import CliRunner

import kinlearn
from kinlearn.cli import app, demo_parts
from kinlearn.cli.added import GROUP, add_commands
from kinlearn.cli.demo_parts import PartResult
from kinlearn.cli.demo_parts.base import Steps
from kinlearn.cli.demo_parts.single_task import Outcome, tabulate
from one_kernel import one_kernel_in

runner = CliRunner()
METHODS = ["LSPC", "Calibrated SVC", "Logistic regression"]


def plain(text):
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def test_version():
    result = runner.invoke(app, ["--version"])
    assert result.exit_code == 0
    assert result.stdout == f"kinlearn {kinlearn.__version__}\n"


@pytest.mark.parametrize("arguments", [["--help"], ["demo", "--help"]])
def test_help_has_an_example(arguments):
    result = runner.invoke(app, arguments)
    assert result.exit_code == 0
    assert "Example: kinlearn demo --out" in plain(result.stdout)


def test_the_module_is_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "kinlearn", "--version"], capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout) == (0, f"kinlearn {kinlearn.__version__}\n")


def test_quick_demo_prints_the_table_and_the_path_of_a_picture(tmp_path, monkeypatch):
    names = ("multi_task", "multi_label", "heterogeneous")
    several, labels, different = (import_module(f"kinlearn.cli.demo_parts.{n}") for n in names)
    one_kernel_in(several, monkeypatch)
    one_kernel_in(labels, monkeypatch)
    # with its folds that part has a test of its own
    without_folds = partial(kinlearn.HeterogeneousLSPC, cv=None)
    monkeypatch.setattr(different, "HeterogeneousLSPC", without_folds)
    out = tmp_path / "new" / "folder"
    result = runner.invoke(app, ["demo", "--quick", "--seed", "1", "--out", str(out)])
    assert result.exit_code == 0, result.output
    text = plain(result.stdout)
    for word in [*METHODS, "breast cancer", "wine", "accuracy", "log-loss", "Brier", "ECE", "fit"]:
        assert word in text
    row = r"(0\.\d{3}|1\.000) +(\d\.\d{3}) +(\d\.\d{3}) +(\d\.\d{3}) +(\d+\.\d\d) s"
    single_task, multi_label = text.split("Many labels")
    assert len(re.findall(row, multi_label)) == 3
    rows = re.findall(row, single_task)
    figures = np.array(rows, dtype=float)
    assert figures.shape == (2 * len(METHODS), 5)
    assert (figures[:, 0] > 0.85).all()
    assert (figures[:, 1:4] < 0.5).all()
    pictures = re.findall(r"^Picture: (.*)$", text, flags=re.MULTILINE)
    names = ["single_task.png", "multi_task.png", "multi_label.png", "heterogeneous.png"]
    assert pictures == [str((out / name).resolve()) for name in names]
    for picture in pictures:
        assert imread(picture).std() > 0.05


def test_the_demo_runs_its_parts_in_order_and_prints_what_they_return(tmp_path, monkeypatch):
    seen = []

    def part(out, console, *, seed, quick):
        seen.append((out, seed, quick))
        table = Table("letter")
        table.add_row("abc"[len(seen) - 1])
        return PartResult(tables=[table], paths=[out / f"{len(seen)}.png"])

    monkeypatch.setattr(demo_parts, "PARTS", (part, part))
    result = runner.invoke(app, ["demo", "--seed", "7", "--out", str(tmp_path)])
    assert result.exit_code == 0
    assert seen == [(tmp_path, 7, False)] * 2
    lines = [line for line in result.stdout.splitlines() if line.startswith("Picture")]
    assert lines == [f"Picture: {tmp_path.resolve() / name}" for name in ("1.png", "2.png")]
    assert result.stdout.index("│ a ") < result.stdout.index("│ b ")


def refusal(result):
    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1
    return result.stderr


def test_a_file_in_place_of_the_folder_is_refused(tmp_path):
    path = tmp_path / "file"
    path.touch()
    sentence = refusal(runner.invoke(app, ["demo", "--out", str(path)]))
    assert sentence == f"kinlearn: {path} is a file, not a folder: give another one.\n"


def test_a_folder_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").touch()
    sentence = refusal(runner.invoke(app, ["demo", "--out", str(tmp_path / "file" / "below")]))
    assert "cannot be used (Not a directory)" in sentence


@pytest.mark.parametrize("error", [ValueError("The value 3 is odd."), ImportError("No extra.")])
def test_what_a_part_refuses_is_one_sentence(tmp_path, monkeypatch, error):
    def part(out, console, *, seed, quick):
        raise error

    monkeypatch.setattr(demo_parts, "PARTS", (part,))
    sentence = refusal(runner.invoke(app, ["demo", "--out", str(tmp_path)]))
    assert sentence == f"kinlearn: {error}\n"


@pytest.mark.parametrize("arguments", [["demo", "--seed", "-1"], ["demo", "--fast"], ["play"]])
def test_wrong_usage_is_refused(arguments):
    result = runner.invoke(app, arguments)
    assert result.exit_code == 2
    assert arguments[1 if len(arguments) > 1 else 0] in plain(result.stderr)


@pytest.mark.parametrize("missing", ["typer", "rich", "matplotlib"])
def test_a_missing_extra_is_named(tmp_path, missing):
    code = f"""
        import sys

        class Blocker:
            def find_spec(self, name, path=None, target=None):
                if name.split(".")[0] == {missing!r}:
                    raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

        sys.meta_path.insert(0, Blocker())
        sys.argv = ["kinlearn", "demo", "--quick", "--out", "."]
        from kinlearn.__main__ import main

        main()
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,
        env=os.environ | {"NO_COLOR": "1"},
    )
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert missing in done.stderr
    assert "plot]" in done.stderr


def test_the_table_marks_the_best_figure_of_each_data_set():
    y = np.array([0, 1, 0, 1])
    sure, unsure = np.array([0.1, 0.9, 0.1, 0.9]), np.array([0.4, 0.6, 0.6, 0.6])
    outcomes = [
        Outcome("toy", name, y, np.column_stack([1 - p, p]), seconds)
        for name, p, seconds in [("sure", sure, 12.0), ("unsure", unsure, 9.0)]
    ]
    table = tabulate(outcomes)
    cells = {column.header: list(column.cells) for column in table.columns}
    assert cells["accuracy"] == ["[bold]1.000[/]", "0.750"]
    assert cells["Brier"] == ["[bold]0.020[/]", f"{(3 * 0.32 + 0.72) / 4:.3f}"]
    assert cells["log-loss"][0] == f"[bold]{-np.log(0.9):.3f}[/]"
    assert cells["fit time"] == ["12.00 s", "[bold] 9.00 s[/]"]


def test_progress_is_a_bar_on_a_terminal_and_lines_elsewhere():
    terminal = Console(force_terminal=True, width=80, record=True)
    with Steps(terminal, total=3) as steps:
        steps.stage("LSPC on wine")
        steps.advance(2)
    assert "LSPC on wine" in terminal.export_text()
    console = Console(force_terminal=False, record=True)
    with Steps(console, total=1) as steps:
        steps.stage("LSPC on wine")
        steps.advance()
    assert console.export_text() == "LSPC on wine\n"


# -- commands of other distributions ---------------------------------------------------------------


def application(monkeypatch, *entries):
    """An application with one command of its own, and what these entry points add."""
    monkeypatch.setattr("kinlearn.cli.added.entry_points", lambda group: entries)
    application = typer.Typer()
    application.command("own")(lambda: typer.echo("ours"))
    add_commands(application)
    return application


def entry(name, value):
    return EntryPoint(name, value, GROUP)


@pytest.mark.parametrize("arguments", [["bench", "single", "--quick"], ["reproduce", "--list"]])
def test_experiments_that_are_not_installed_refuse(arguments, monkeypatch):
    result = CliRunner().invoke(application(monkeypatch), arguments)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1
    for part in (f"kinlearn {arguments[0]} comes with", "pip install kinlearn-experiments"):
        assert part in result.stderr
    shown = CliRunner().invoke(application(monkeypatch), [arguments[0], "--help"])
    assert shown.exit_code == 0
    assert "kinlearn-experiments" in shown.stdout


def test_other_distributions_add_commands_and_cannot_replace_ours(monkeypatch, tmp_path):
    (tmp_path / "extra_command.py").write_text(
        "import typer\n"
        "def add(app): app.command('more')(lambda: typer.echo('more'))\n"
        "def own(app): app.command('own')(lambda: typer.echo('theirs'))\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    entries = entry("more", "extra_command:add"), entry("own", "extra_command:own")
    made = application(monkeypatch, *entries)
    assert CliRunner().invoke(made, ["more"]).stdout == "more\n"
    assert CliRunner().invoke(made, ["own"]).stdout == "ours\n"


def test_a_broken_command_leaves_the_others_alone(monkeypatch):
    made = application(monkeypatch, entry("bench", "no_such_package:add"))
    result = CliRunner().invoke(made, ["bench", "--quick"])
    assert result.exit_code == 1
    assert "kinlearn bench cannot be loaded from no_such_package:add (ModuleNot" in result.stderr
    assert CliRunner().invoke(made, ["own"]).stdout == "ours\n"
