"""The measures run, on sizes that say nothing about speed."""

import gzip
import json
from pkgutil import iter_modules

import numpy as np
import pytest

from kinlearn_experiments import measures
from kinlearn_experiments.results import Results

SHARED = {"choices_page", "data", "digits", "task_data", "timing"}


def test_costs(measure, tmp_path, capsys):
    out = tmp_path / "lspc.json"
    measure("lspc").main(
        ["--quick", "--sizes", "60", "--rows", "300", "--repeats", "2", "--out", str(out)]
    )
    stored = json.loads(out.read_text())
    assert stored["machine"]["cores"] >= 1
    assert set(stored["cells"]) == {"fits/60", "prediction/60", "large/300"}
    assert all(row["seconds"] > 0 for cell in stored["cells"].values() for row in cell)
    assert "in dsyevd" in capsys.readouterr().out


def test_bare_scores_are_the_models(measure):
    lspc = measure("lspc")
    X, y = lspc.enlarged_digits(80)
    model = lspc.LSPC().fit(X, y)
    bare = lspc.bare_scores(X, model, block_bytes=8 * 80 * 7)
    np.testing.assert_allclose(bare, model.decision_function(X), atol=1e-8)


def test_choices_and_their_page(measure, tmp_path):
    out, page = tmp_path / "selection.json", tmp_path / "choices.md"
    arguments = ["--quick", "--parts", "combine", "--out", str(out), "--page", str(page)]
    first = measure("selection").main(arguments)
    assert set(first.cells) == {"combine/iris/60", "combine/wine/60"}
    text = page.read_text()
    assert "| stack" in text
    assert "Not measured yet." in text
    # a second run measures nothing again
    assert measure("selection").main(arguments).cells == first.cells
    assert page.read_text() == text


def test_rivals_summary_is_of_ratios(measure):
    rivals = measure("rivals")
    cell = {"seconds": 8.0, "processor_seconds": 8.0, "log_loss": 0.2, "error": 0.1}
    ours = {"seconds": 1.0, "processor_seconds": 2.0, "log_loss": 0.1, "error": 0.1}
    cells = {f"{rivals.REFERENCE}/wine/0": cell, f"{rivals.OURS}/wine/0": ours}
    rows = {row[0]: row[1:] for row in rivals.summary(cells)[1]}
    assert rows[rivals.OURS] == ["1", "0.500", "1.000", "8.0×", "8.0×", "4.0×"]


def test_splits_are_standardised_by_training_rows(measure):
    data = measure("data").split("wine", 60, seed=3)
    np.testing.assert_allclose(data.X.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(data.X.std(axis=0), 1.0)
    assert set(data.y_test) <= set(data.y)


def test_least_squares_beside_the_logistic_loss(measure, tmp_path, capsys):
    out = tmp_path / "klr.json"
    arguments = ["--quick", "--out", str(out)]
    first = measure("klr").main(arguments)
    shown = capsys.readouterr().out
    assert {key.split("/")[0] for key in first.cells} == {"fit", "tuned"}
    assert "newton / LSPC" in shown
    assert "both 5 folds" in shown
    assert all(
        row["newton"]["gradient_norm"] <= 1e-7 for key, row in first.cells.items() if "fit" in key
    )
    assert measure("klr").main(arguments).cells == first.cells


def test_stream_costs(measure, tmp_path, capsys, monkeypatch):
    out = tmp_path / "stream.json"
    small = ["--rows", "9000", "--centers", "20", "--sizes", "3000", "--tasks", "5", "10"]
    figure = tmp_path / "tasks.png"
    stream = measure("stream")
    # a fresh process, whose memory is measured, has a test of its own with the sizes of batches
    monkeypatch.setattr(stream, "in_process", lambda kind, *sizes: stream.CHILDREN[kind](*sizes))
    stream.main([*small, "--task-centers", "60", "--out", str(out), "--figure", str(figure)])
    stored = json.loads(out.read_text())
    assert set(stored["cells"]) == {"speed/9000/20", "rows/3000/20", "tasks/5/60", "tasks/10/60"}
    assert stored["cells"]["tasks/10/60"]["finite"]
    assert figure.exists()
    assert "of bare speed" in capsys.readouterr().out


def test_stream_memory(measure, tmp_path, capsys):
    out = tmp_path / "stream_memory.json"
    measure("stream_memory").main(["--sizes", "600", "30", "20", "300", "--out", str(out)])
    stored = json.loads(out.read_text())
    assert stored["cells"]["600/30/20/300"]["peak_mb"] > 0
    assert "rows of a batch" in capsys.readouterr().out


def test_stream_on_data(measure, tmp_path, capsys, monkeypatch):
    module = measure("stream_data")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = (X[:, 0] > 0).astype(int)
    Y = np.column_stack([y, X[:, 1] > 0]).astype(int)
    parts = {"letter": (X, y, X, y), "tmc2007": (X, Y, X, Y)}
    monkeypatch.setattr(module, "get", parts.__getitem__)
    monkeypatch.setattr(module, "TUNING_CENTERS", 10)
    out = tmp_path / "stream_data.json"
    few = ["--centers", "20", "--rival-centers", "20"]
    module.main(["--sets", "letter", "tmc2007", *few, "--out", str(out)])
    cells = json.loads(out.read_text())["cells"]
    assert cells["letter/lspc/20"]["accuracy"] > 0.9
    assert cells["tmc2007/lspc/20"]["f1_micro"] > 0.9
    assert {"letter/boosting", "letter/nystroem/20", "tmc2007/logistic"} <= set(cells)
    assert "log-loss" in capsys.readouterr().out


def test_sums_beside_rows_at_hand(measure, tmp_path, capsys):
    out = tmp_path / "accuracy.json"
    arguments = ["--rows", "300", "--centers", "40", "--out", str(out)]
    found = measure("stream_accuracy").main(arguments)
    assert all(cell[0] < 1e-8 for cell in found.cells.values())
    assert json.loads(out.read_text())["regs"][0] == 1e-3
    assert "largest difference" in capsys.readouterr().out


def test_hand_over_and_familiarity(measure, tmp_path, capsys):
    measure("hand_over").main(["--repeats", "1", "--out", str(tmp_path / "out.json")])
    stored = json.loads((tmp_path / "out.json").read_text())
    assert len(stored["cells"]) == 4
    assert all(0 <= cell["coverage"] <= 1 for cell in stored["cells"].values())
    assert "strangers" in capsys.readouterr().out
    measure("familiarity").main(["--seeds", "1", "--out", str(tmp_path / "familiarity.json")])
    stored = json.loads((tmp_path / "familiarity.json").read_text())
    assert all(0.5 < cell["area"] <= 1 for cell in stored["cells"].values())


@pytest.mark.parametrize(
    "module", sorted({found.name for found in iter_modules(measures.__path__)} - SHARED)
)
def test_every_measure_says_what_it_takes(measure, module, capsys):
    with pytest.raises(SystemExit) as ended:
        measure(module).main(["--help"])
    assert ended.value.code == 0
    assert "usage" in capsys.readouterr().out


def test_the_polish_and_its_costs(measure, tmp_path, capsys):
    polish, out = measure("polish"), tmp_path / "polish.json"
    small = ["--cost-rows", "300", "--cost-centers", "30", "--growth", "400", "900"]
    none = ["--memory", "0", "--adult", "--converged"]
    given = [*small, *none, "--growth-centers", "10", "--out", str(out)]
    polish.main(["--sets", "--tuned", *given])
    cells = json.loads(out.read_text())["cells"]
    assert set(cells) == {"costs/300/30", "growth/400", "growth/900"}
    assert cells["costs/300/30"]["ratio_kept"] > 0
    said = capsys.readouterr().out
    assert "passes ÷ the sums" in said
    assert "to the power" in said
    rows = [{"rows": 10, "seconds": 1}, {"rows": 100, "seconds": 10}]
    assert polish.slope(rows) == pytest.approx(1.0)


def test_one_objective_whoever_minimises_it(measure, tmp_path):
    polish = measure("polish")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    y = (X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=500) > 0).astype(int)
    found = polish.converged(1e-3, 20, 1.5, (X[:400], y[:400], X[400:], y[400:]))
    assert found["ours"]["above_least"] < 1e-8
    assert found["lbfgs"]["above_least"] < 1e-6
    assert found["ours"]["log_loss"] == pytest.approx(found["lbfgs"]["log_loss"], abs=1e-4)
    closed = {"centers": 10, "peak_mb": 100.0}
    cells = {"converged/x": found, "memory/closed": closed, "memory/polished": closed}
    results = Results(tmp_path / "polish.json")
    for key, cell in cells.items():
        results.cell(key.split("/"), lambda cell=cell: cell)
    assert "peak memory 1.00 times" in polish.report(results)
    assert "above the least" in polish.report(results)


def test_sets_are_measured_without_rivals(measure, tmp_path, capsys, monkeypatch):
    module = measure("prediction_sets")
    monkeypatch.setattr(module, "find_spec", lambda package: None)
    out = tmp_path / "sets.json"
    module.main(
        ["--sets", "digits", "satimage", "--sizes", "50", "--repeats", "2", "--out", str(out)]
    )
    cells = json.loads(out.read_text())["cells"]
    assert set(cells) == {"digits/50/PredictionSets"}  # satimage is real, rivals are not there
    assert 0.8 < cells["digits/50/PredictionSets"]["coverage"] <= 1.0
    assert "| digits, 50 rows" in capsys.readouterr().out


@pytest.mark.parametrize("share", [0.05, 0.1, 0.2])
def test_flipped_labels_are_wrong_as_asked(measure, share, rng):
    suspects = measure("suspects")
    y = np.repeat([0, 1, 2], 200)
    at_random = suspects.flipped(y, share, "at random", rng)
    assert (at_random != y).sum() == round(600 * share)
    by_class = suspects.flipped(y, share, "by class", rng)
    wrong = by_class != y
    assert wrong.sum() == min(round(600 * share), 80)
    assert len(np.unique(y[wrong])) == len(np.unique(by_class[wrong])) == 1
    order = np.argsort(~wrong, kind="stable")
    assert suspects.precision(wrong, order) == 1.0
    assert set(suspects.names()) == set(suspects.OWN)


def test_suspects_are_means_over_tables(measure):
    suspects = measure("suspects")
    cells = {
        f"{name}/0.1/at random/0": {suspects.OURS: ours, suspects.CLEANLAB: 0.5, suspects.SAME: 0.7}
        for name, ours in (("iris", 0.4), ("wine", 0.8))
    }
    assert suspects.summary(cells) == [["10% at random", "0.600", "0.500", "0.700", "1 of 2"]]


def test_simulated_experts(measure, tmp_path, capsys, monkeypatch):
    experts, out = measure("experts"), tmp_path / "experts.json"
    monkeypatch.setattr(experts, "POOL_ROWS", 60)
    monkeypatch.setattr(experts, "MOST", 14)
    few = ["--roles", "reported", "--sets", "breast_cancer", "--seeds", "1", "--out", str(out)]
    first = experts.main([*few, "--methods", "kinlearn", "random"])
    assert set(first.cells) == {
        "all/breast_cancer/0/kinlearn",
        "run/breast_cancer/0/kinlearn",
        "run/breast_cancer/0/random",
    }
    assert "| breast_cancer |" in capsys.readouterr().out
    again = experts.main([*few, "--methods", "kinlearn"])
    assert again.cells == first.cells


def test_labels_needed_are_there_for_three_looks(measure):
    needed = measure("experts").needed
    assert needed([8, 9, 10, 11, 13], [0.9, 0.5, 0.9, 0.9, 0.9], 0.9) == 10
    assert needed([8, 9, 10], [0.9, 0.5, 0.9], 0.9) is None
    assert needed([8], [1.0], 0.9) is None


def test_the_panel_and_the_truth(measure, tmp_path, capsys, monkeypatch):
    panel, out = measure("honest_panel"), tmp_path / "panel.json"
    monkeypatch.setattr(panel, "POOL_ROWS", 60)
    monkeypatch.setattr(panel, "MOST", 30)
    found = panel.main(["--sets", "digits", "--seeds", "1", "--out", str(out)])
    [run] = found.cells.values()
    assert run["n"] == [10, 11, 13, 15, 17, 19, 21, 24, 27, 30]
    assert all(len(run[key]) == 10 for key in ("true", "low", "high", "forecast", "settled"))
    assert len(run["gained_by_double"]) == 4
    assert len(panel.covered([run])) == 4
    assert "| digits" in capsys.readouterr().out


def test_the_wait_for_the_next_row(measure, tmp_path, capsys, monkeypatch):
    latency, out = measure("label_latency"), tmp_path / "latency.json"
    monkeypatch.setattr(latency, "PAUSE", 0.0)
    small = ["--labels", "40", "--keys", "2", "--rows", "90", "--columns", "3"]
    cells = latency.main([*small, "--out", str(out)]).cells
    assert {key.split("/")[1] for key in cells} == {*latency.WAYS, *latency.RIVALS}
    assert len(cells["40/exact, HTTP"]["wall_ms"]) == 2
    assert cells["40/exact, session"]["exact"] == 2
    assert "exact" in capsys.readouterr().out


def test_unseen_tables_are_read_from_a_folder(measure, tmp_path, monkeypatch):
    unseen_tables = measure("unseen_tables")
    monkeypatch.setattr(unseen_tables, "SOURCES", {"made": ("nowhere", "class")})
    numbers = np.random.default_rng(0).normal(size=90)
    rows = [f"{x:.3f},{k},{'ab'[int(x > 0)]}" for x, k in zip(numbers, "uvw" * 30, strict=True)]
    with gzip.open(tmp_path / "made.csv.gz", "wt", encoding="utf-8") as file:
        file.write("x,kind,class\n" + "\n".join(rows) + "\n")
    out = tmp_path / "r.json"
    unseen_tables.main(["--folder", str(tmp_path), "--sizes", "40", "1500", "--out", str(out)])
    cells = json.loads(out.read_text())["cells"]
    assert set(cells) == {"made/rbf/40/0", "made/default/40/0"}
    line = unseen_tables.line(cells, 40)
    ratio = cells["made/default/40/0"]["log_loss"] / cells["made/rbf/40/0"]["log_loss"]
    assert line[:3] == ["40", "1", f"{ratio:.3f}"]
    assert line[-2] == f"{ratio:.2f} (made)"
