"""Running the benchmark: what is killed goes on, what fails is told, what is finished stays."""

import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import threading
import time

import pytest
from typer.testing import CliRunner

from kinlearn.cli import app
from kinlearn_experiments.bench.children import one_thread_each, run_cell
from kinlearn_experiments.bench.journal import Journal, Key
from kinlearn_experiments.bench.qualities import QUALITIES
from kinlearn_experiments.bench.runner import PROTOCOL, Plan, check_folder, is_finished, run

runner = CliRunner()
METHODS = ["LSPCCV", "Logistic regression", "Nearest neighbours"]
ARGUMENTS = ["bench", "single", "--quick", "--datasets", "iris", "--datasets", "wine"]
ARGUMENTS += [part for name in METHODS[1:] for part in ("--methods", name)]


def environment():
    return {k: v for k, v in os.environ.items() if k != "KINLEARN_DATA"} | {"NO_COLOR": "1"}


def complete(out, *more):
    done = runner.invoke(app, [*ARGUMENTS, "--out", str(out), *more], env={"KINLEARN_DATA": None})
    assert done.exit_code == 0, done.stderr
    return done, json.loads((out / "bench.json").read_text())


def figures(content):
    """All that does not depend on the clock."""
    keys = ("suite", "data", "method", "seed", "status", "n_train", "n_test", *QUALITIES)
    return [{key: cell[key] for key in keys} for cell in content["cells"]]


def plain(text):
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    out = tmp_path_factory.mktemp("whole")
    return out, *complete(out)


def test_a_run_leaves_results_tables_and_pictures(whole):
    out, done, content = whole
    assert len(content["cells"]) == 2 * 2 * len(METHODS)
    assert {cell["status"] for cell in content["cells"]} == {"done"}
    assert all(cell["peak_mb"] is None or cell["peak_mb"] >= 0 for cell in content["cells"])
    assert content["machine"]["cores"] >= 1
    assert content["statistics"]["single/development/120"]["data"] == ["iris", "wine"]
    names = {path.name for path in out.iterdir()}
    assert names == {"bench.json", "report.md", "bench_ranks.png", "bench_cost.png"}
    report = (out / "report.md").read_text()
    for word in [*METHODS, "win/tie/loss", "fit ÷ ours", "±", "Friedman"]:
        assert word in report
    assert "LSPCCV" in done.stdout
    assert f"Written: {(out / 'bench.json').resolve()}" in done.stdout


def test_killed_half_way_it_goes_on_and_gives_the_same_table(whole, tmp_path):
    lines = tmp_path / "cells.jsonl"
    command = [sys.executable, "-m", "kinlearn", *ARGUMENTS, "--out", str(tmp_path)]
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment()
    )
    deadline = time.monotonic() + 240
    while not (lines.exists() and lines.read_bytes().count(b"\n") >= 5):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "bench.json").exists()
    before = [json.loads(line) for line in lines.read_bytes().split(b"\n")[:-1]]
    assert 5 <= len(before) < 2 * 2 * len(METHODS)
    _, content = complete(tmp_path)
    # not one finished cell was measured again, and the figures are those of a run left alone
    assert [cell for cell in content["cells"] if cell in before] == sorted(
        before, key=lambda cell: (cell["data"], cell["method"], cell["seed"])
    )
    assert figures(content) == figures(whole[2])
    assert not lines.exists()


def test_a_second_run_measures_nothing_and_prints_json(whole):
    out, _, content = whole
    done, again = complete(out, "--json")
    assert again["cells"] == content["cells"]
    assert json.loads(done.stdout) == again
    assert "split" not in done.stderr


def test_a_failure_is_recorded_with_its_reason():
    # no such class of rows: two training rows cannot hold ten of any class
    found = run_cell(Key("single", "iris", "LSPCCV", 0, 2), 60.0)
    assert found["status"] == "failed"
    assert re.match(r"\w+Error: \w", found["reason"])


def test_a_cell_is_stopped_at_its_limit():
    found = run_cell(Key("single", "digits", "SVC, calibrated", 0, 1200), 0.5)
    assert found == {"status": "timeout", "reason": "not finished after 0.5 s"}


def test_a_child_that_dies_is_told():
    answers = []
    key = Key("single", "digits", "SVC, calibrated", 0, 1500)
    # far more work than the moment until it is killed
    thread = threading.Thread(target=lambda: answers.append(run_cell(key, 60.0)))
    before = {child.pid for child in multiprocessing.active_children()}
    thread.start()
    while not (fresh := {c.pid for c in multiprocessing.active_children()} - before):
        time.sleep(0.01)
    os.kill(fresh.pop(), signal.SIGKILL)
    thread.join()
    assert answers == [{"status": "failed", "reason": "its process ended with code -9"}]


def test_threads_are_put_back(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    with one_thread_each():
        assert os.environ["OMP_NUM_THREADS"] == os.environ["MKL_NUM_THREADS"] == "1"
    assert os.environ["OMP_NUM_THREADS"] == "7"
    assert "MKL_NUM_THREADS" not in os.environ


def test_which_cells_are_finished():
    done = {"protocol": PROTOCOL, "status": "done"}
    assert is_finished(done, 1.0, retry=True)
    assert not is_finished(done | {"protocol": PROTOCOL - 1}, 1.0, retry=False)
    assert not is_finished(None, 1.0, retry=False)
    failed = done | {"status": "failed"}
    assert is_finished(failed, 1.0, retry=False)
    assert not is_finished(failed, 1.0, retry=True)
    late = done | {"status": "timeout", "limit": 5.0}
    assert is_finished(late, 5.0, retry=True)
    assert not is_finished(late, 6.0, retry=False)


def test_a_method_that_ran_out_of_time_is_not_tried_on_other_splits(tmp_path, monkeypatch):
    def slow(key, limit):
        ours = key.method == "LSPCCV"
        return {"status": "done"} if ours else {"status": "timeout", "reason": f"after {limit} s"}

    monkeypatch.setattr("kinlearn_experiments.bench.runner.run_cell", slow)
    plan = Plan(["single"], seeds=2, quick=True, limit=0.3, data=["digits"])
    plan = Plan(**vars(plan) | {"methods": ["HistGradientBoosting"]})
    started = []
    journal = Journal(tmp_path)
    keys = run(plan, journal, report=lambda key, cell: started.append(key) if cell is None else 0)
    assert len(keys) == len(started) == 4
    late = [journal.cells[key] for key in keys if key.method == "HistGradientBoosting"]
    assert [cell["status"] for cell in late] == ["timeout"] * 2
    assert late[1]["reason"] == "the first split was not finished after 0.3 s"


def test_finished_cells_are_measured_again_when_asked(tmp_path, monkeypatch):
    asked = {"seeds": 1, "data": ["iris", "wine"], "methods": ["Logistic regression"]}
    first, second = ({"status": "done", "log_loss": loss} for loss in (0.5, 0.4))
    monkeypatch.setattr("kinlearn_experiments.bench.runner.run_cell", lambda key, limit: first)
    journal = Journal(tmp_path)
    keys = run(Plan(["single"], **asked), journal)
    journal.finish()
    monkeypatch.setattr("kinlearn_experiments.bench.runner.run_cell", lambda key, limit: second)
    journal = Journal(tmp_path)
    again = run(Plan(["single"], **asked | {"data": ["iris"]}), journal, again=True)
    assert len(keys) == 4
    losses = {key: cell["log_loss"] for key, cell in journal.cells.items()}
    assert losses == {key: 0.4 if key in again else 0.5 for key in keys}
    assert {key.data for key in again} == {"iris"}


def test_sizes_and_roles_choose_cells_that_stand_side_by_side(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "kinlearn_experiments.bench.runner.run_cell", lambda key, limit: {"status": "done"}
    )
    journal = Journal(tmp_path)
    asked = {"seeds": 1, "data": ["wine", "digits"], "methods": ["Logistic regression"]}
    run(Plan(["single"], **asked), journal)
    keys = run(Plan(["single"], **asked, sizes=[100, 400], role="development"), journal)
    # too few rows a class at 100; a smaller set gives all it has at 400
    assert {(key.data, key.size) for key in keys} == {("wine", 100), ("wine", 400), ("digits", 400)}
    assert len(Journal(tmp_path).cells) == 2 * (2 + 3)
    assert not list(Plan(["single"], **asked, role="held-out").cells())


def test_quick_and_full_cells_are_not_mixed(whole):
    with pytest.raises(ValueError, match="holds a quick run, and a full one was asked for"):
        check_folder(Plan(["single"]), Journal(whole[0]))


def test_the_list_names_everything(monkeypatch):
    monkeypatch.delenv("KINLEARN_DATA", raising=False)
    result = runner.invoke(app, ["bench", "--list"], env={"COLUMNS": "200"})
    assert result.exit_code == 0
    text = plain(result.stdout)
    for word in (
        "single: data sets",
        "heterogeneous: methods",
        "KLR-MT",
        "CatBoost",
        "landmine",
        "held-out",
    ):
        assert word in text
    assert "set KINLEARN_DATA to a folder that" in text


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["solo"], "There is no suite 'solo'; there are single, multitask,"),
        (["single", "--datasets", "moon"], "There is no data set 'moon' in single; there are iris"),
        (
            ["single", "--methods", "magic"],
            "There is no method 'magic' in single; there are LSPCCV",
        ),
        (["single", "--quick", "--datasets", "banana"], "banana is not part of the quick run"),
        (["single", "--role", "secret"], "There is no role 'secret'; there are held-out, chosen"),
        (["--sizes", "400"], "--sizes is for the suite single alone: leave out multitask"),
        (["single", "--quick", "--sizes", "400"], "leave out --quick or --sizes"),
    ],
)
def test_what_is_not_there_is_refused(arguments, sentence, tmp_path):
    result = runner.invoke(app, ["bench", *arguments, "--out", str(tmp_path)])
    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1
    assert sentence in result.stderr


def test_data_that_are_not_there_are_named(monkeypatch, tmp_path):
    monkeypatch.delenv("KINLEARN_DATA", raising=False)
    result = runner.invoke(app, ["bench", "single", "--datasets", "banana", "--out", str(tmp_path)])
    assert result.exit_code == 1
    assert "Left out: single/banana, set KINLEARN_DATA to a folder that holds" in result.stdout
    assert "Nothing to measure" in result.stderr


def test_a_page_needs_results(tmp_path):
    page = tmp_path / "page.md"
    result = runner.invoke(app, ["bench", "--out", str(tmp_path), "--page", str(page)])
    assert result.exit_code == 1
    assert "bench.json cannot be used (No such file" in result.stderr
    assert not page.exists()


def test_a_page_from_a_run(whole, tmp_path):
    page = tmp_path / "page.md"
    result = runner.invoke(app, ["bench", "--out", str(whole[0]), "--page", str(page)])
    assert result.exit_code == 0, result.output
    assert page.read_text().startswith("# Should I use this?")
    assert (tmp_path / "images" / "bench_ranks.png").exists()


def test_missing_methods_are_left_out_with_advice(monkeypatch):
    import importlib.util

    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *a: None if name == "lightgbm" else real(name, *a)
    )
    plan = Plan(["single"], quick=True)
    advice = 'lightgbm is not installed (pip install "kinlearn-experiments[bench]")'
    assert plan.left_out()["LightGBM"] == advice
    assert "LightGBM" not in [method.name for method in plan.wanted_methods("single")]


@pytest.mark.parametrize("first", ["kinlearn_experiments.commands.bench", "kinlearn.cli"])
def test_commands_are_there_whatever_is_imported_first(first):
    code = (
        f"import {first}; from kinlearn.cli import app; "
        "print([c.callback.__module__ for c in app.registered_commands][-2:])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    names = [f"kinlearn_experiments.commands.{name}" for name in ("bench", "reproduce")]
    assert done.stdout.strip() == str(names)
