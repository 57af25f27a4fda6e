"""The multi-label benchmarks run, on sizes that say nothing about speed."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from kinlearn.datasets import make_rotated_labels

FOLDER = Path(__file__).parent.parent / "benchmarks"


@pytest.fixture
def benchmark(monkeypatch):
    """Import a benchmark by name, the way it is run: from its own folder."""
    monkeypatch.syspath_prepend(str(FOLDER))
    before = set(sys.modules)
    yield __import__
    for name in set(sys.modules) - before:
        if Path(getattr(sys.modules[name], "__file__", None) or "").parent == FOLDER:
            del sys.modules[name]


@pytest.mark.filterwarnings("ignore:The best (sigma|reg)")
def test_costs(benchmark, tmp_path, capsys):
    out, figure = tmp_path / "costs.json", tmp_path / "growth.png"
    benchmark("multilabel").main(
        ["--quick", "--rows", "60", "--repeats", "1", "--out", str(out), "--figure", str(figure)]
    )
    stored = json.loads(out.read_text())
    assert len(stored["rows"]) == 6
    assert stored["growth"]["T"] == [5, 10]
    assert figure.stat().st_size > 1000
    assert "42-point leave-one-out grid" in capsys.readouterr().out


def test_toy(benchmark, tmp_path, capsys):
    out = tmp_path / "toy.json"
    benchmark("multilabel_toy").main(
        ["--seeds", "1", "--rows", "40", "--labels", "3", "--out", str(out)]
    )
    assert 0 < json.loads(out.read_text())["means"]["together"]["stack"] < 0.5
    assert "independent, tuned per label" in capsys.readouterr().out


def test_data_table(benchmark, tmp_path, capsys, monkeypatch):
    module = benchmark("multilabel_data")
    X, Y = make_rotated_labels(120, n_labels=3, n_features=4, random_state=0)
    monkeypatch.setattr(module, "load", lambda name: (X, Y))
    out = tmp_path / "data.json"
    arguments = ["--sets", "emotions", "--repeats", "1", "--out", str(out)]
    module.main(arguments)
    stored = json.loads(out.read_text())
    assert set(stored["means"]["emotions"]) == {*module.METHODS, *module.VARIANTS}
    assert stored["means"]["emotions"]["MultiLabelLSPC"]["macro AUC"] > 0.9
    assert sorted(stored["mean_ranks"]["log-loss"].values()) == [1, 2, 3, 4, 5, 6]
    monkeypatch.setattr(module, "measure", lambda *_: pytest.fail("measured again"))
    module.main(arguments)  # everything is there: nothing is measured again
    assert "mean rank" in capsys.readouterr().out


def test_calibration(benchmark, tmp_path, capsys, monkeypatch):
    X, Y = make_rotated_labels(80, n_labels=3, n_features=4, random_state=0)
    monkeypatch.setattr(benchmark("multilabel_data"), "load", lambda name: (X, Y))
    out = tmp_path / "calibration.json"
    benchmark("multilabel_calibration").main(["--sets", "emotions", "--out", str(out)])
    assert set(json.loads(out.read_text())["cells"]["emotions/0"]) == {
        "common",
        "0",
        "3",
        "10",
        "30",
    }
    assert "pull 10" in capsys.readouterr().out


def test_neighbours_follow_the_counts(benchmark):
    X, Y = make_rotated_labels(200, n_labels=3, n_features=2, random_state=0)
    model = benchmark("_mlknn").MLkNN().fit(X[:100], Y[:100])
    proba = model.predict_proba(X[100:])
    assert ((proba > 0.5) == Y[100:]).mean() > 0.85
    nearest = np.argsort(((X[100] - X[:100]) ** 2).sum(axis=1))[:10]
    count = Y[nearest, 0].sum()
    prior = (1 + Y[:100, 0].sum()) / 102
    on, off = model.given_on[count, 0] * prior, model.given_off[count, 0] * (1 - prior)
    np.testing.assert_allclose(proba[0, 0], on / (on + off))


def test_steps_where_labels_are_unobserved(benchmark, tmp_path, capsys):
    out = tmp_path / "steps.json"
    arguments = ["--rows", "60", "--labels", "4", "--seeds", "1", "--out", str(out)]
    found = benchmark("unobserved_labels").main(arguments)
    assert set(found.cells) == {"0.1/0", "0.3/0", "0.6/0"}
    assert all(cell[-1] > cell[0] >= 2 for cell in found.cells.values())
    assert "unobserved/seed" in capsys.readouterr().out
