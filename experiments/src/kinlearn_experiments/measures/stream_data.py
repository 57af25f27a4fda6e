"""Large real data in one pass: accuracy and log-loss against the number of centres.

Fashion-MNIST, shuttle, letter and tmc2007 (22 labels, sparse), beside Nystroem features with
logistic regression and histogram gradient boosting. Width and reg are chosen on a tenth of the
training rows, which are then added to the sums like any others. Writes
``results/stream_data.json``; needs ``KINLEARN_DATA``. Times are processor seconds of one thread.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, log_loss
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, normalize
from threadpoolctl import threadpool_limits

from kinlearn import LSPC, MultiLabelLSPC
from kinlearn.datasets import load_multilabel
from kinlearn.kernels import median_width, resolve_kernel
from kinlearn_experiments.bench.data.single import fashion
from kinlearn_experiments.machine import machine_facts
from kinlearn_experiments.measures.data import load
from kinlearn_experiments.results import RESULTS, Results, significant
from kinlearn_experiments.tables import table

WIDTHS = (0.25, 0.5, 1.0)
REGS = np.logspace(-12, -4, 9)
TUNING_CENTERS = 300
SETS = ("letter", "shuttle", "tmc2007", "fashion")


def tmc2007() -> tuple[Any, ...]:
    """Rows scaled to length one; a third of them for testing."""
    X, Y = load_multilabel("tmc2007_500", return_X_y=True)
    X = normalize(X)
    train, test = train_test_split(np.arange(len(Y)), test_size=1 / 3, random_state=0)
    return X[train], Y[train], X[test], Y[test]


def get(name: str) -> tuple[Any, ...]:
    """Return training rows, labels, test rows, labels."""
    if name == "tmc2007":
        return tmc2007()
    if name == "fashion":  # the split its authors made
        return (*fashion("train"), *fashion("test"))
    X, y = load(name)
    X, X_test, y, y_test = train_test_split(X, y, test_size=1 / 3, random_state=0, stratify=y)
    scaler = StandardScaler().fit(X)
    return scaler.transform(X), y, scaler.transform(X_test), y_test


def quality(proba: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Accuracy and log-loss; of labels, the means over labels, and micro-averaged F1."""
    if y.ndim == 1:
        classes = np.arange(proba.shape[1])
        return {
            "accuracy": significant((proba.argmax(axis=1) == y).mean()),
            "log_loss": significant(log_loss(y, np.clip(proba, 1e-15, 1), labels=classes)),
        }
    p = np.clip(proba, 1e-15, 1 - 1e-15)
    return {
        "accuracy": significant(((p > 0.5) == y).mean()),
        "log_loss": significant(-(y * np.log(p) + (1 - y) * np.log1p(-p)).mean()),
        "f1_micro": significant(f1_score(y, p > 0.5, average="micro")),
    }


def streamed(m: int, width: float, X: Any, y: Any, X_test: Any, y_test: Any) -> dict[str, Any]:
    """One pass at one width; reg chosen on the last tenth, which is then added."""
    start = time.process_time()
    n_fit = X.shape[0] * 9 // 10
    kind = LSPC if np.ndim(y) == 1 else MultiLabelLSPC
    model = kind(sigma=width, n_centers=m, polish=None, random_state=0)
    model.fit_stream((X[:n_fit], y[:n_fit]))
    losses = [
        quality(model.set_params(reg=reg).refit().predict_proba(X[n_fit:]), y[n_fit:])["log_loss"]
        for reg in REGS
    ]
    best = float(REGS[int(np.argmin(losses))])
    model.set_params(reg=best).fit_stream((X[n_fit:], y[n_fit:]), warm_start=True)
    seconds = time.process_time() - start
    return {
        "centers": m,
        "reg": best,
        "validation": min(losses),
        "seconds": significant(seconds),
        **quality(model.predict_proba(X_test), y_test),
    }


def rival(make: Callable[[], Any], X: Any, y: Any, X_test: Any, y_test: Any) -> dict[str, Any]:
    """Fit another classifier with its own defaults."""
    start = time.process_time()
    model = make().fit(X, y)
    seconds = significant(time.process_time() - start)
    return {"seconds": seconds, **quality(np.asarray(model.predict_proba(X_test)), y_test)}


def rivals(name: str, m: int, width: float) -> dict[str, Callable[[], Any]]:
    """The classifiers to compare with, at the same width and number of centres."""

    def logistic() -> Any:
        plain = LogisticRegression(C=100.0, max_iter=200)
        return OneVsRestClassifier(plain) if name == "tmc2007" else plain

    def nystroem() -> Any:
        features = Nystroem(gamma=0.5 / width**2, n_components=m, random_state=0)
        return make_pipeline(features, logistic())

    found = {f"nystroem/{m}": nystroem}
    if name == "tmc2007":
        found["logistic"] = logistic
    else:
        found["boosting"] = lambda: HistGradientBoostingClassifier(random_state=0)
    return found


def report(results: Results) -> str:
    """Return one table, times as ratios to the smallest streamed fit of the set."""
    rows = []
    for name in SETS:
        cells = {
            k: v for k, v in results.cells.items() if k.startswith(f"{name}/") and "acc" in str(v)
        }
        unit = min((v["seconds"] for k, v in cells.items() if "/lspc/" in k), default=1.0)
        for key, cell in cells.items():
            rows.append(
                [
                    key,
                    f"{cell['accuracy']:.4f}",
                    f"{cell['log_loss']:.4f}",
                    f"{cell.get('f1_micro', float('nan')):.3f}",
                    f"{cell['seconds']:.0f}",
                    f"{cell['seconds'] / unit:.1f}",
                ]
            )
    return table(["set/method/centres", "accuracy", "log-loss", "F1", "seconds", "ratio"], rows)


def main(arguments: list[str] | None = None) -> None:
    """Measure what is missing and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    parser.add_argument("--centers", type=int, nargs="*", default=[500, 1000, 2000])
    parser.add_argument("--rival-centers", type=int, nargs="*", default=[500, 2000])
    parser.add_argument("--fresh", action="store_true", help="measure cells again")
    parser.add_argument("--out", type=Path, default=RESULTS / "stream_data.json")
    options = parser.parse_args(arguments)
    results = Results(options.out, fresh=options.fresh)
    with threadpool_limits(1):
        for name in options.sets:
            data = get(name)
            median = median_width(data[0][:2000], resolve_kernel("rbf"))

            def width_cell(data: Any = data, median: float = median) -> dict[str, Any]:
                few = min(len(data[1]), 10_000)
                losses = {}
                for factor in WIDTHS:
                    rows = data[0][:few], data[1][:few], *data[2:]
                    part = streamed(TUNING_CENTERS, factor * median, *rows)
                    losses[factor] = part["validation"]
                best = min(losses, key=losses.__getitem__)
                return {"width": significant(best * median), "losses": losses}

            width = results.cell([name, "width"], width_cell)["width"]
            for m in options.centers:
                key = [name, "lspc", m]
                results.cell(key, partial(streamed, m, width, *data))
            for m in options.rival_centers:
                for label, make in rivals(name, m, width).items():
                    results.cell([name, label], partial(rival, make, *data))
        results.save(machine=machine_facts())
    print(report(results))


if __name__ == "__main__":
    main()
