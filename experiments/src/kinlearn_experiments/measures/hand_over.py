"""Does HandOver keep its promise on real data, and what does familiarity catch?

For random splits of data that ship with scikit-learn: the share of the other rows that is answered,
how often their error exceeds the target, and how many rows of classes never seen are answered, with
and without the rule of familiarity. Writes ``results/hand_over.json``.
"""

from __future__ import annotations

import argparse
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from kinlearn import LSPC, HandOver
from kinlearn_experiments.machine import machine_facts
from kinlearn_experiments.results import RESULTS, Results, significant
from kinlearn_experiments.tables import table

ESTIMATORS = {"LSPC": LSPC(), "logistic": LogisticRegression(max_iter=1000)}
# rows to train on, classes kept out of training
SETS = {"digits": (load_digits, 400, (8, 9)), "cancer": (load_breast_cancer, 250, ())}
TARGET, CONFIDENCE = 0.03, 0.9


def one_split(name: str, which: str, seed: int) -> dict[str, Any]:
    """Coverage, error among answered rows, and strangers answered."""
    load, n_train, strangers = SETS[name]
    X, y = load(return_X_y=True)
    strange = np.isin(y, strangers)
    X_train, X_test, y_train, y_test = train_test_split(
        X[~strange], y[~strange], train_size=n_train, random_state=seed, stratify=y[~strange]
    )
    # pixels at the border are almost constant: dividing by their spread would make noise of them
    scaler = StandardScaler(with_std=name != "digits")
    model = HandOver(
        make_pipeline(scaler, ESTIMATORS[which]), max_error=TARGET, confidence=CONFIDENCE
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X_train, y_train)
        found = model.assess(X_test)
        wrong = (found.predicted != y_test)[found.answered]
        careless = model.set_params(min_familiarity=0.0)
        others = X[strange]
        answered = {"unguarded": careless.decide(others).mean() if len(others) else None}
        careless.set_params(min_familiarity=0.01)
        answered["guarded"] = careless.decide(others).mean() if len(others) else None
    return {
        "coverage": significant(found.answered.mean()),
        "error": significant(wrong.mean()) if len(wrong) else None,
        **{f"strangers_{k}": None if v is None else significant(v) for k, v in answered.items()},
    }


def main(arguments: list[str] | None = None) -> None:
    """Measure what is missing, print the table, write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=100)
    parser.add_argument("--out", type=Path, default=RESULTS / "hand_over.json")
    options = parser.parse_args(arguments)
    results = Results(options.out)
    rows = []
    with threadpool_limits(1):
        results.save(machine=machine_facts(), target=TARGET, confidence=CONFIDENCE)
        for name in SETS:
            for which in ESTIMATORS:
                cells = [
                    results.cell((name, which, seed), partial(one_split, name, which, seed))
                    for seed in range(options.repeats)
                ]
                rows.append([name, which, *summary(cells)])
    header = ["set", "classifier", "answered", "error", "over target", "strangers", "guarded"]
    print(table(header, rows))


def summary(cells: list[dict[str, Any]]) -> list[str]:
    """Means over splits, and the share of splits whose error exceeds the target."""
    errors = [cell["error"] for cell in cells if cell["error"] is not None]
    exceeded = sum(error > TARGET for error in errors) / len(cells)
    out = [f"{np.mean([cell['coverage'] for cell in cells]):.1%}"]
    out += [f"{np.mean(errors):.1%}" if errors else "-", f"{exceeded:.0%}"]
    for key in ("strangers_unguarded", "strangers_guarded"):
        values = [cell[key] for cell in cells if cell[key] is not None]
        out.append(f"{np.mean(values):.1%}" if values else "-")
    return out


if __name__ == "__main__":
    main()
