"""The measures of many centres and of Dask run, on sizes that say nothing about speed."""

import json
import sys
from subprocess import CompletedProcess

import numpy as np
import pytest


def test_many_centers(measure, tmp_path, capsys):
    out = tmp_path / "pcg.json"
    measure("pcg").main(["--quick", "--out", str(out)])
    cells = json.loads(out.read_text())["cells"]
    direct, pcg = cells["fit/200/direct"], cells["fit/200/pcg"]
    assert pcg["error"] == direct["error"]
    assert pcg["log_loss"] == pytest.approx(direct["log_loss"], rel=0.1)
    steps = cells["steps/500/100"]
    assert steps[0] > steps[-1] >= 1
    assert "speed-up" in capsys.readouterr().out


def test_rows_made_lazily_are_those_made_at_once(measure):
    dask_fit = measure("dask_fit")
    X, y = dask_fit.lazy_rows(60, 3)
    parts = [dask_fit.rows_of(seed, 20) for seed in range(3)]
    np.testing.assert_array_equal(X.compute(), np.concatenate([part[0] for part in parts]))
    np.testing.assert_array_equal(y.compute(), np.concatenate([part[1] for part in parts]))
    spread = dask_fit.model(10).fit(X, y)
    single = dask_fit.one_process(60, 3, 10, 1)
    np.testing.assert_allclose(
        spread.decision_function(X.compute()), single.decision_function(X.compute()), atol=1e-8
    )


def test_defaults_beside_one_thread(measure, tmp_path, capsys, monkeypatch):
    defaults = measure("defaults")
    monkeypatch.setattr(defaults, "ENOUGH_SECONDS", 0.0)
    pinned = []

    def here(command, env, **_):
        """What the child of the command would print."""
        assert command[:3] == [sys.executable, "-m", defaults.__name__]
        pinned.append({env.get(name) for name in defaults.VARIABLES})
        defaults.main(command[3:])
        return CompletedProcess(command, 0, stdout=capsys.readouterr().out)

    monkeypatch.setattr(defaults.subprocess, "run", here)
    out = tmp_path / "defaults.json"
    defaults.main(["--works", "lspccv/60", "--rounds", "1", "--out", str(out)])
    assert pinned == [{None}, {"1"}] * 2
    stored = json.loads(out.read_text())
    assert set(stored["cells"]) == {"lspccv/60/alone", "lspccv/60/neighbours"}
    for cell in stored["cells"].values():
        assert cell["ratio"] == pytest.approx(cell["default"] / cell["pinned"], rel=1e-3)
    assert "≤ 0.75" in capsys.readouterr().out


def test_every_work_of_the_defaults_is_there(measure):
    defaults = measure("defaults")
    for name in (*defaults.WORKS, *defaults.QUICK):
        assert callable(getattr(defaults, name.split("/")[0]))
