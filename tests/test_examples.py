"""Every example of the gallery runs, draws, and finds what its text says."""

import ast
import re
from pathlib import Path

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")
import matplotlib.pyplot as plt

EXAMPLES = Path(__file__).parent.parent / "examples"
NAMES = sorted(str(path.relative_to(EXAMPLES)) for path in EXAMPLES.rglob("plot_*.py"))
# A million rows, and as many repetitions and kernels as figures need, are for the documentation;
# the code is the same.
SMALLER = {
    "at_scale/plot_million_rows.py": {"N_ROWS = 1_000_000": "N_ROWS = 120_000"},
    "different_features/plot_faces.py": {"for seed in range(3)": "for seed in range(2)"},
    "many_tasks/plot_reversed_task.py": {
        "for seed in range(4)": "for seed in range(2)",
        "MultiTaskLSPCCV()": 'MultiTaskLSPCCV(kernel="rbf")',
        "MultiTaskLSPCCV(similarity": 'MultiTaskLSPCCV(kernel="rbf", similarity',
    },
    "many_tasks/plot_unseen_task.py": {"LSPCCV()": 'LSPCCV(kernel="rbf")'},
    "one_task/plot_posterior_rules.py": {"LSPCCV(posterior": 'LSPCCV(kernel="rbf", posterior'},
}


def run(name, monkeypatch):
    source = (EXAMPLES / name).read_text(encoding="utf-8")
    for long, short in SMALLER.get(name, {}).items():
        assert long in source
        source = source.replace(long, short)
    monkeypatch.setattr(plt, "show", lambda: None)
    found = {"__name__": "__main__"}
    exec(compile(source, name, "exec"), found)
    return found


def test_there_is_a_gallery():
    assert len(NAMES) >= 12
    assert set(NAMES) == set(CHECKS)
    for folder in (EXAMPLES, *(path for path in EXAMPLES.iterdir() if path.is_dir())):
        assert (folder / "GALLERY_HEADER.rst").exists()


def returns_nothing(statement, cell):
    """The docstring of the file, or a call that has no value to show."""
    text = ast.get_source_segment(cell, statement)
    return isinstance(statement.value, ast.Constant) or text.startswith(("print(", "plt.show("))


@pytest.mark.parametrize("name", NAMES)
def test_example_can_be_shown(name):
    """A title, a first paragraph, code in cells, and at the end words on what was seen."""
    source = (EXAMPLES / name).read_text(encoding="utf-8")
    title, rule, paragraph = re.match(r'"""\n(.+)\n(=+)\n\n(.+?)\n\n?', source, re.DOTALL).groups()
    assert len(rule) == len(title)
    assert len(paragraph) > 60
    cells = source.split("\n# %%\n")
    assert len(cells) >= 3
    assert all(line.startswith("#") for line in cells[-1].strip().splitlines())
    for cell in cells:
        last = ast.parse(cell).body[-1:]
        # A bare expression at the end of a cell would be shown on the page as its repr.
        assert not last or not isinstance(last[0], ast.Expr) or returns_nothing(last[0], cell)
    assert "assert " not in source


@pytest.mark.parametrize("name", NAMES)
def test_example_runs_and_its_words_are_true(name, monkeypatch, capsys):
    plt.close("all")
    try:
        found = run(name, monkeypatch)
        figures = [plt.figure(number) for number in plt.get_fignums()]
        assert 1 <= len(figures) <= 3
        for figure in figures:
            assert any(ax.has_data() for ax in figure.axes)
            figure.canvas.draw()
    finally:
        plt.close("all")
    assert capsys.readouterr().out.strip()
    CHECKS[name](found)


def falling(values):
    return bool((np.diff(values) < 0).all())


def check_calibration(found):
    before, after = found["before"], found["after"]
    assert (before.coef_ == after.coef_).all()
    losses = [
        found["log_loss"](found["y_test"], model.predict_proba(found["X_test"]))
        for model in (before, after)
    ]
    assert losses[1] < losses[0] / 2


def check_groups(found):
    X, y = found["X_new"], found["y_new"]
    rows, patients = found["models"].values()
    believed = [found["log_loss"](found["y"], model.held_out_proba()) for model in (rows, patients)]
    true = [found["log_loss"](y, model.predict_proba(X)) for model in (rows, patients)]
    assert true[0] > 5 * believed[0]
    assert 0.7 < true[1] / believed[1] < 1.3
    assert patients.score(X, y) > rows.score(X, y)


def check_hand_over(found):
    assert found["error"] < found["careful"].max_error < found["wrong"].mean()
    assert abs(found["found"].answered.mean() - found["careful"].coverage_) < 0.05
    naive = found["naive"].predict(found["X_test"]) != found["y_test"]
    assert naive.mean() > found["wrong"].mean()


def check_klr(found):
    assert found["agree"] > 0.95
    assert np.median(found["gap"]) < 0.02
    assert min(found["ratio"]) > 2
    assert found["single"][1] / found["single"][0] < min(found["ratio"])


def check_leave_one_out(found):
    assert found["gap"] < 1e-9
    closed, refitted = found["seconds"].values()
    assert refitted[-1] > 5 * closed[-1]


def check_posterior_rules(found):
    distance = found["distance"]
    assert distance["calibrated"] < distance["rounded"] + 0.01
    assert distance["rounded_parameters"] > 2 * distance["rounded"]


def check_prior_shift(found):
    X, y = found["X_test"], found["y_test"]
    shares = [found[name].predict_proba(X)[:, 1].mean() for name in ("model", "in_use")]
    assert abs(shares[1] - y.mean()) < 0.02
    assert shares[0] > 3 * y.mean()
    order = [np.argsort(found[name].predict_proba(X)[:, 1]) for name in ("model", "in_use")]
    assert (order[0] == order[1]).mean() > 0.99


def check_relevance(found):
    losses = list(found["losses"].values())
    assert losses[1] < 0.9 * losses[0]
    assert set(np.argsort(-found["seeing"].feature_relevance_)[:2]) == {0, 1}


def check_stacking(found):
    *better, last = found["middles"].values()
    assert max(better) < 1
    assert 0.97 < last < 1.05
    assert 1 < (found["weights"] > 0).sum() < 120


def check_unfamiliar(found):
    assert 0.2 < found["share"] < 0.6
    assert (found["rows"].reason == "unfamiliar").mean() < 0.03
    assert set(np.unique(found["found"].reason)) == {"answer", "unsure", "unfamiliar"}


def check_reversed_task(found):
    assert found["worst"] == 7
    others, reverse = (np.array(pairs) for pairs in found["losses"].values())
    assert (reverse[:, 1] < reverse[:, 0]).all()
    assert others[:, 1].mean() < others[:, 0].mean() + 0.005


def check_sharing(found):
    shared, alone, pooled = (table.mean(axis=1) for table in found["losses"].values())
    assert abs(shared[0] - pooled[0]) < 0.03
    assert (shared[1:] < pooled[1:]).all()
    assert (shared < alone).all()
    assert shared[2] < alone[3]


def check_unseen_task(found):
    added, alone = found["means"].values()
    assert added[0] < alone[:4].min()
    assert added[-1] < min(added[0], alone[-1])
    assert np.array_equal(
        found["before"],
        found["added"].predict_proba(found["X"][found["old"]], task=found["task"][found["old"]]),
    )


def check_missing_labels(found):
    together, alone, filled = (np.array(values) for values in found["losses"].values())
    assert (np.diff(filled) > 0.05).all()
    assert (together[:4] < alone[:4]).all()
    assert abs(together[4] - alone[4]) < 0.03
    assert found["right"][found["hidden"]].mean() > 0.9
    assert found["complete"] == 0


def check_rotated_labels(found):
    means = found["ratio"].mean(axis=1)
    assert abs(means[0] - 1) < 0.02
    assert falling(means[:3])
    assert 0.8 < means[-1] < 0.95


def check_faces(found):
    pixels, common, separate = (np.mean(values, axis=0) for values in found["accuracy"].values())
    gain = common - pixels
    assert gain.argmax() == 2
    assert gain[2] > 0.05
    assert abs(common[2] - separate[2]) < gain[2]


def check_federated(found):
    assert found["gap"] < 1e-8
    X, y = found["X_test"], found["y_test"]
    merged = found["merged"].score(X, y)
    assert merged > 0.95
    assert merged > max(model.score(X, y) for model in found["models"]) + 0.02


def check_forgetting(found):
    assert found["gap"] < 1e-9
    assert found["harm"] > 0.5
    with pytest.raises(ValueError, match="cannot have been added"):
        found["model"].forget(found["X_bad"], found["y_bad"])


def check_million_rows(found):
    assert found["n_rows"] == found["N_ROWS"]
    first, second, third, last = found["excess"]
    assert first > 3 * second
    assert second > max(third, last)
    assert min(third, last) > 0


CHECKS = {
    "at_scale/plot_federated.py": check_federated,
    "at_scale/plot_forgetting.py": check_forgetting,
    "at_scale/plot_million_rows.py": check_million_rows,
    "different_features/plot_faces.py": check_faces,
    "many_labels/plot_missing_labels.py": check_missing_labels,
    "many_labels/plot_rotated_labels.py": check_rotated_labels,
    "many_tasks/plot_reversed_task.py": check_reversed_task,
    "many_tasks/plot_sharing.py": check_sharing,
    "many_tasks/plot_unseen_task.py": check_unseen_task,
    "one_task/plot_calibration.py": check_calibration,
    "one_task/plot_groups.py": check_groups,
    "one_task/plot_hand_over.py": check_hand_over,
    "one_task/plot_klr.py": check_klr,
    "one_task/plot_leave_one_out.py": check_leave_one_out,
    "one_task/plot_posterior_rules.py": check_posterior_rules,
    "one_task/plot_prior_shift.py": check_prior_shift,
    "one_task/plot_relevance.py": check_relevance,
    "one_task/plot_stacking.py": check_stacking,
    "one_task/plot_unfamiliar.py": check_unfamiliar,
}
