"""The formulas of planning agree with what was measured, and the command says them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kinlearn.cli import app
from kinlearn.planning import plan

RESULTS = Path(__file__).parent.parent / "experiments" / "results"
CELLS = json.loads((RESULTS / "stream.json").read_text())["cells"]


def cells(kind):
    return {key: cell for key, cell in CELLS.items() if key.startswith(kind)}


@pytest.mark.parametrize("key", cells("speed/"))
def test_time_of_a_pass(key):
    cell = CELLS[key]
    found = plan(cell["rows"], 20, cell["centers"], 5)
    assert found.pass_seconds == pytest.approx(cell["sums"][1], rel=0.3)


@pytest.mark.parametrize("key", cells("rows/"))
def test_time_and_memory_of_a_fit(key):
    cell = CELLS[key]
    found = plan(cell["rows"], 20, cell["centers"], 5)
    assert 3600 * found.hours == pytest.approx(cell["seconds"][1], rel=0.3)
    assert found.memory_bytes == pytest.approx(cell["peak_mb"] * 2**20, rel=0.1)


@pytest.mark.parametrize("key", cells("tasks/"))
def test_time_and_memory_of_tasks(key):
    cell = CELLS[key]
    found = plan(cell["rows"], 10, cell["centers"], 2, cell["tasks"])
    assert 3600 * found.hours == pytest.approx(cell["seconds"][1], rel=0.3)
    assert found.sums_bytes == pytest.approx(cell["sums_mb"] * 2**20, rel=0.02)
    assert found.memory_bytes == pytest.approx(cell["peak_mb"] * 2**20, rel=0.1)


def test_sums_are_as_large_as_planned():
    import numpy as np

    from kinlearn import NormalEquations

    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    centers, y = rng.normal(size=(200, 3)), (X[:, 0] > 0).astype(int)
    one = NormalEquations(centers, n_held_out=0).update(X, y)
    assert plan(600, 3, 200).sums_bytes == pytest.approx(one.nbytes, rel=0.05)
    for n_tasks in (2, 6):  # more rows than centres in each task, and fewer
        many = NormalEquations(centers, n_held_out=0).update(X, y, task=np.arange(600) % n_tasks)
        planned = plan(600, 3, 200, n_tasks=n_tasks).sums_bytes
        assert planned == pytest.approx(many.nbytes, rel=0.05)


def test_cores():
    found = plan(1e9, 20, 2000, 5)
    cores = found.cores_within(3600)
    assert found.elapsed_seconds(cores) <= 3600 < found.elapsed_seconds(cores - 1)
    assert found.cores_within(found.solve_seconds / 2) is None
    assert plan(100, 3, 10).cores_within(3600) == 1


WIDE = json.loads((RESULTS / "stream_memory.json").read_text())["cells"]


def planned(cell):
    sizes = cell["rows"], cell["features"], cell["centers"]
    return plan(*sizes, batch_rows=cell["batch_rows"]).memory_bytes / 2**20


@pytest.mark.parametrize("key", WIDE)
def test_memory_of_wide_rows(key):
    assert planned(WIDE[key]) == pytest.approx(WIDE[key]["peak_mb"], rel=0.15)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peaks are read from /proc")
def test_memory_of_wide_rows_as_it_is_here():
    module, sizes = "kinlearn_experiments.measures.stream_memory", ["9000", "1500", "100", "4096"]
    command = [sys.executable, "-m", module, "--child", *sizes]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    cell = json.loads(done.stdout.splitlines()[-1])
    assert 0.7 * cell["peak_mb"] < planned(cell) < 1.5 * cell["peak_mb"]


def test_memory_counts_features():
    few, many = plan(1e6, 20, 500).memory_bytes, plan(1e6, 2000, 500).memory_bytes
    assert many - few > 5 * 8 * 8192 * 1980


def test_memory_does_not_grow_with_rows():
    assert plan(1e9, 20, 500).memory_bytes == plan(1e6, 20, 500).memory_bytes


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((0, 3, 10), "n_rows must be greater than 0, but 0 was given"),
        ((10, 3, -1), "n_centers must be greater than 0, but -1 was given"),
        ((10, 3, 5, 2, 20), "more tasks than rows, but n_tasks=20 and n_rows=10"),
    ],
)
def test_refusals(sizes, message):
    with pytest.raises(ValueError, match=message):
        plan(*sizes)


def test_command():
    arguments = ["plan", "--rows", "1e9", "--features", "20", "--centers", "2000", "--classes", "5"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0
    for part in ("16 MB", "42 h", "43 cores", "401 MB a process"):
        assert part in done.output
    late = CliRunner().invoke(app, [*arguments, "--hours", "0.00001"])
    assert "no number of cores" in late.output
    for wrong in (["--hours", "0"], ["--tasks", "0"]):
        refused = CliRunner().invoke(app, [*arguments, *wrong])
        assert refused.exit_code == 1
        assert "must be greater than 0" in refused.stderr


def test_passes_of_a_polish():
    closed, polished = plan(1e6, 20, 1000, 5), plan(1e6, 20, 1000, 5, passes=10)
    assert closed.polish_seconds == 0.0
    assert polished.pass_seconds == closed.pass_seconds
    assert 0 < polished.polish_seconds < 10 * closed.pass_seconds
    assert polished.memory_bytes < 1.2 * closed.memory_bytes
    assert polished.hours > closed.hours
    assert plan(1e9, 20, 1000, 5, passes=10).polish_seconds == pytest.approx(
        1e3 * polished.polish_seconds
    )
    with pytest.raises(ValueError, match="passes must be"):
        plan(10, 2, 2, passes=-1)
    with pytest.raises(ValueError, match="Only fits of one task"):
        plan(10, 2, 2, n_tasks=2, passes=3)


def test_the_polish_costs_what_is_planned():
    cells = json.loads((RESULTS / "polish.json").read_text())["cells"]
    cell = cells["costs/20000/1000"]
    sizes = cell["rows"], cell["features"], cell["centers"], cell["classes"]
    found = plan(*sizes, passes=5)
    planned = found.polish_seconds / found.pass_seconds
    assert cell["ratio_made_again"] == pytest.approx(planned, rel=0.5)


def test_the_command_knows_passes():
    arguments = ["plan", "--rows", "1e9", "--features", "20", "--centers", "1000", "--passes", "10"]
    found = CliRunner().invoke(app, arguments)
    assert found.exit_code == 0
    assert "10 passes" in found.output
