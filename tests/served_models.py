"""Small model files to serve, and a service of them, in this process or in one of its own."""

import contextlib
import os
import re
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
from fastapi.testclient import TestClient
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kinlearn
from kinlearn import LSPC, HandOver, MultiTaskLSPC
from kinlearn.cells.cell_rules import MISSING
from kinlearn.cells.schema import TableSchema
from kinlearn.service.app import make_app
from kinlearn.service.settings import Settings
from kinlearn.tables.input_profile import profile_inputs
from kinlearn.tables.pipeline import make_model

NUMERIC, CATEGORICAL = ["age", "dose"], ["sex"]


def rows_of_table(n=120, seed=0):
    """Two numbers with missing cells, a category, a task, and a class that depends on them."""
    rng = np.random.default_rng(seed)
    age, dose = rng.normal(50, 10, n).round(1), rng.normal(size=n).round(3)
    sex = rng.choice(["female", "male"], n)
    logit = 0.15 * (age - 50) + 2.0 * dose + (sex == "male")
    ill = np.where(rng.random(n) < 1 / (1 + np.exp(-logit)), "ill", "well")
    age[rng.random(n) < 0.1] = np.nan
    site = rng.choice(["north", "south"], n)
    return pd.DataFrame({"age": age, "dose": dose, "sex": sex, "site": site, "state": ill})


def save_table_model(path, rows, *, task=None, classifier=None, max_error=0.3, inputs=False):
    """What kinlearn train writes, with a classifier that is quicker to fit."""
    schema = TableSchema(NUMERIC, CATEGORICAL, target="state", task=task)
    classifier = classifier or (LSPC() if task is None else MultiTaskLSPC())
    column = None if task is None else 0
    last = HandOver(classifier, max_error=max_error, confidence=0.8, task_column=column)
    model = make_model(schema, last)
    model.fit(rows, rows["state"].to_numpy(object))
    facts = {"table": schema.as_facts()}
    if inputs:
        facts["inputs"] = profile_inputs(model[0].transform(rows))
    kinlearn.save(model, path, facts=facts)
    return model


def save_dated_model(path, rows, *, missing=()):
    """The same of a table with a date in each row, some of them with a time of day."""
    days = np.datetime64("2024-01-01", "us") + np.arange(len(rows)) * np.timedelta64(86_400_000_000)
    days[1::2] += np.timedelta64(8 * 3600 + 5 * 60, "s")
    schema = TableSchema(
        NUMERIC, CATEGORICAL, target="state", dates=["day"], missing=[*MISSING, *missing]
    )
    model = make_model(schema, HandOver(LSPC(), max_error=0.3, confidence=0.8))
    model.fit(rows.assign(day=days), rows["state"].to_numpy(object))
    kinlearn.save(model, path, facts={"table": schema.as_facts()})
    return model


def numbers(n=200, seed=0, d=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X[:, 0] + 0.5 * rng.normal(size=n) > 0).astype(int)


def save_number_model(path, seed=0, **parameters):
    X, y = numbers(seed=seed)
    model = make_pipeline(StandardScaler(), LSPC(**parameters)).fit(X, y)
    kinlearn.save(model, path)
    return model


def client_of(*models, **settings):
    """A client of a service in this process."""
    settings = Settings(models=[str(path) for path in models], **settings)
    return TestClient(make_app(settings), raise_server_exceptions=False)


@contextlib.contextmanager
def serving(*arguments):
    """The command in a process of its own; gives its address and the process."""
    command = [sys.executable, "-u", "-m", "kinlearn", "serve", *map(str, arguments), "--port", "0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=os.environ
    ) as process:
        said = []
        for line in process.stdout:
            said.append(line)
            if found := re.search(r"http://\S+:(\d+)", line):
                break
        else:
            raise AssertionError("".join(said))
        try:
            yield f"http://127.0.0.1:{found[1]}", process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                process.wait(30)
