"""The multi-label measures run, on sizes that say nothing about speed."""

import json

import pytest

from kinlearn.datasets import make_rotated_labels
from one_kernel import one_kernel_in


@pytest.fixture
def quickly(monkeypatch):
    """Lets the models of a module have one kernel in the plain metric."""

    def patch(module):
        one_kernel_in(module, monkeypatch)
        return module

    return patch


@pytest.mark.filterwarnings("ignore:The best (sigma|reg)")
def test_costs(measure, tmp_path, capsys):
    out, figure = tmp_path / "costs.json", tmp_path / "growth.png"
    measure("multilabel").main(
        ["--quick", "--rows", "60", "--repeats", "1", "--out", str(out), "--figure", str(figure)]
    )
    stored = json.loads(out.read_text())
    assert len(stored["rows"]) == 6
    assert stored["growth"]["T"] == [5, 10]
    assert figure.stat().st_size > 1000
    assert "42-point leave-one-out grid" in capsys.readouterr().out


def test_toy(measure, quickly, tmp_path, capsys):
    out = tmp_path / "toy.json"
    quickly(measure("multilabel_toy")).main(
        ["--seeds", "1", "--rows", "40", "--labels", "3", "--out", str(out)]
    )
    assert 0 < json.loads(out.read_text())["means"]["together"]["stack"] < 0.5
    assert "independent, tuned per label" in capsys.readouterr().out


def test_data_table(measure, tmp_path, capsys, monkeypatch):
    module = measure("multilabel_data")
    X, Y = make_rotated_labels(120, n_labels=3, n_features=4, random_state=0)
    monkeypatch.setattr(module, "load", lambda name: (X, Y))
    # the methods are held to give probabilities on their own: here one kind stands for all
    quick = dict.fromkeys(module.METHODS, module.chain)
    quick["MultiLabelLSPC"] = module.multi_label(kernel="rbf", metric=None)
    monkeypatch.setattr(module, "METHODS", quick)
    monkeypatch.setattr(module, "VARIANTS", dict.fromkeys(module.VARIANTS, module.chain))
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


def test_calibration(measure, quickly, tmp_path, capsys, monkeypatch):
    X, Y = make_rotated_labels(80, n_labels=3, n_features=4, random_state=0)
    monkeypatch.setattr(measure("multilabel_data"), "load", lambda name: (X, Y))
    out = tmp_path / "calibration.json"
    quickly(measure("multilabel_calibration")).main(["--sets", "emotions", "--out", str(out)])
    assert set(json.loads(out.read_text())["cells"]["emotions/0"]) == {
        "common",
        "0",
        "3",
        "10",
        "30",
    }
    assert "pull 10" in capsys.readouterr().out


def test_steps_where_labels_are_unobserved(measure, tmp_path, capsys):
    out = tmp_path / "steps.json"
    arguments = ["--rows", "60", "--labels", "4", "--seeds", "1", "--out", str(out)]
    found = measure("unobserved_labels").main(arguments)
    assert set(found.cells) == {"0.1/0", "0.3/0", "0.6/0"}
    assert all(cell[-1] > cell[0] >= 2 for cell in found.cells.values())
    assert "unobserved/seed" in capsys.readouterr().out
