"""Tasks of many rows and many tasks: solved from sums, and kept only where they help."""

import json

import numpy as np
import pandas as pd
import pytest

import kinlearn
from kinlearn.tables import training
from kinlearn.tables.hand_over import bare_classifier
from test_table_commands import accepted, refused

pytestmark = pytest.mark.usefixtures("one_kernel_tables")


def shops(n, n_tasks, unlike, seed=0):
    """Customers of shops; where these are unlike, each has a way of its own."""
    rng = np.random.default_rng(seed)
    shop = rng.integers(n_tasks, size=n)
    way = rng.normal(size=(n_tasks, 3)) if unlike else np.tile([1.0, -1.0, 0.5], (n_tasks, 1))
    X = rng.normal(size=(n, 3))
    frame = pd.DataFrame(X.round(3), columns=["a", "b", "c"])
    frame["shop"] = [f"shop {k}" for k in shop]
    score = (2 * X * way[shop]).sum(axis=1) + 0.5 * rng.normal(size=n)
    frame["buys"] = np.where(score > 0, "yes", "no")
    return frame


@pytest.fixture(params=[True, False], ids=["unlike", "alike"])
def unlike(request, monkeypatch):
    monkeypatch.setattr(training, "MAX_TASK_ROWS", 300)
    monkeypatch.setattr(training, "TASK_CENTERS", 60)
    return request.param


def test_all_rows_are_used_and_the_better_way_is_kept(unlike, tmp_path):
    path = tmp_path / "shops.csv"
    shops(450, 8, unlike).to_csv(path, index=False)
    given = ("train", path, "--target", "buys", "--task", "shop", "--out", tmp_path / "m.kin")
    found = json.loads(accepted(*given, "--json"))
    assert found["rows"] == 450
    said = " ".join(found["conclusions"])
    facts = kinlearn.model_info(tmp_path / "m.kin")["facts"]
    choice, model = facts["task_choice"], kinlearn.load(tmp_path / "m.kin")
    assert choice["kept"] == (choice["tasks"] <= choice["category"])
    if unlike:
        assert choice["kept"]
        assert "Tasks by 'shop' did better on held-out rows" in said
        assert type(bare_classifier(model)).__name__ == "MultiTaskLSPCCV"
        assert bare_classifier(model).n_centers_ == 60
    elif not choice["kept"]:
        assert "as one category among others did better" in said
        assert "shop" in facts["table"]["categorical"]
        assert facts["training"]["wishes"]["task"] is None
    # the report of later judges the same rows, and predict takes the table as it is
    later = json.loads(
        accepted("report", tmp_path / "m.kin", path, "--out", tmp_path / "r.html", "--json")
    )
    assert later["conclusions"] == found["conclusions"]
    scored = tmp_path / "scored.csv"
    accepted("predict", tmp_path / "m.kin", path, "--out", scored)
    right = pd.read_csv(scored).eval("buys == predicted").mean()
    assert right > 0.8


def test_more_tasks_than_a_few_hundred(tmp_path):
    path = tmp_path / "shops.csv"
    frame = shops(420, 210, False)
    frame["shop"] = [f"shop {k}" for k in np.arange(420) % 210]
    frame.to_csv(path, index=False)
    given = ("train", path, "--target", "buys", "--task", "shop", "--out", tmp_path / "m.kin")
    accepted(*given)
    assert len(kinlearn.load(tmp_path / "m.kin")[-1].tasks_) == 210
    frame["shop"] = [f"shop {k}" for k in np.arange(420) % 300]
    frame.to_csv(path, index=False)
    assert "names 300 tasks in 420 rows: is it an id?" in refused(*given, "--force")
