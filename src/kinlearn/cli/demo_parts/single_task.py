"""Demo, one task: LSPC tuned in closed form beside two tuned rivals of scikit-learn."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from sklearn.base import ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from kinlearn import LSPCCV
from kinlearn.cli.demo_parts.base import PartResult, Steps
from kinlearn.cli.demo_parts.figures_table import add_rows, figures_table
from kinlearn.metrics import brier_score, expected_calibration_error
from kinlearn.plots import ReliabilityDisplay, RiskCoverageDisplay, close, subplots

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LOADERS: dict[str, Callable] = {
    "breast cancer": load_breast_cancer,
    "wine": load_wine,
    "digits": load_digits,
}

N_BINS = 10  # of the calibration error, in the table and the picture alike


@dataclass(frozen=True)
class Outcome:
    """Held-out probabilities of one method on one data set, and what training cost."""

    data: str
    method: str
    y_true: NDArray
    proba: NDArray[np.float64]
    fit_seconds: float

    def figures(self) -> dict[str, float]:
        """What the table shows, by column."""
        return {
            "accuracy": float(accuracy_score(self.y_true, self.proba.argmax(axis=1))),
            "log-loss": float(log_loss(self.y_true, self.proba)),
            "Brier": brier_score(self.y_true, self.proba),
            "ECE": expected_calibration_error(self.y_true, self.proba, N_BINS),
            "fit time": self.fit_seconds,
        }


def single_task(out: Path, console: Console, *, seed: int = 0, quick: bool = False) -> PartResult:
    """Compare the methods on held-out folds of data that ship with scikit-learn."""
    loaders = dict(list(LOADERS.items())[:2]) if quick else LOADERS
    size = {"n_max": 150, "n_splits": 2} if quick else {"n_max": 450, "n_splits": 3}
    # Problems this small gain nothing from threads, and threads that wait for each other on a
    # busy machine slow every method down by a different factor.
    with threadpool_limits(limits=1):
        outcomes = compare(loaders, console, seed=seed, **size)
    return PartResult(tables=[tabulate(outcomes)], paths=[draw(outcomes, out / "single_task.png")])


def methods(seed: int) -> dict[str, ClassifierMixin]:
    """LSPC and its rivals; each tunes itself on the rows it is fitted on."""
    svc = GridSearchCV(
        # One SVC calibrated on held-out scores: here better than an ensemble of five, and faster.
        CalibratedClassifierCV(SVC(random_state=seed), ensemble=False),
        {"estimator__C": [1.0, 10.0, 100.0], "estimator__gamma": [0.003, 0.01, 0.03]},
        scoring="neg_log_loss",
        cv=3,
    )
    logistic = GridSearchCV(
        LogisticRegression(max_iter=2000),
        {"C": np.logspace(-3, 2, 6)},
        scoring="neg_log_loss",
        cv=3,
    )
    candidates = {
        "LSPC": LSPCCV(random_state=seed),
        "Calibrated SVC": svc,
        "Logistic regression": logistic,
    }
    return {name: make_pipeline(StandardScaler(), model) for name, model in candidates.items()}


def compare(
    loaders: dict[str, Callable], console: Console, *, seed: int, n_max: int, n_splits: int
) -> list[Outcome]:
    """Every method on every data set; each row is predicted by a model that did not see it."""
    outcomes = []
    with Steps(console, total=len(loaders) * len(methods(seed)) * n_splits) as steps:
        for data, loader in loaders.items():
            X, y = loader(return_X_y=True)
            if len(y) > n_max:
                X, _, y, _ = train_test_split(X, y, train_size=n_max, stratify=y, random_state=seed)
            folds = list(StratifiedKFold(n_splits, shuffle=True, random_state=seed).split(X, y))
            for name, model in methods(seed).items():
                steps.stage(f"{name} on {data}")
                proba = np.empty((len(y), y.max() + 1))
                seconds = 0.0
                for train, test in folds:
                    started = time.perf_counter()
                    model.fit(X[train], y[train])
                    seconds += time.perf_counter() - started
                    proba[test] = model.predict_proba(X[test])
                    steps.advance()
                outcomes.append(Outcome(data, name, y, proba, seconds / n_splits))
    return outcomes


def tabulate(outcomes: list[Outcome]) -> Table:
    """One line per data set and method, the best figure of each data set in bold."""
    table = figures_table(
        "One task: tuned classifiers on rows they have not seen",
        "Lower is better, except for accuracy. Fit time: mean per fold, tuned, 1 thread.",
        ["data", "method"],
        list(outcomes[0].figures()),
    )
    for data in dict.fromkeys(outcome.data for outcome in outcomes):
        group = [outcome for outcome in outcomes if outcome.data == data]
        names = [["" if place else data, outcome.method] for place, outcome in enumerate(group)]
        add_rows(table, list(zip(names, (each.figures() for each in group), strict=True)))
        table.add_section()
    return table


def draw(outcomes: list[Outcome], path: Path) -> Path:
    """Reliability curves above, risk-coverage curves below, one column per data set."""
    names = list(dict.fromkeys(outcome.data for outcome in outcomes))
    figure, axes = subplots(2, len(names), panel_size=(4.4, 4.2))
    for column, data in enumerate(names):
        reliability, risk = axes[:, column]
        group = [outcome for outcome in outcomes if outcome.data == data]
        for rank, outcome in enumerate(group):
            predictions = outcome.y_true, outcome.proba
            # The first method lies on top where curves meet; points lie one level above lines.
            shown: dict[str, Any] = {"name": outcome.method, "zorder": 2 + 2 * (len(group) - rank)}
            ReliabilityDisplay.from_predictions(
                *predictions, n_bins=N_BINS, ax=reliability, **shown
            )
            RiskCoverageDisplay.from_predictions(*predictions, ax=risk, **shown)
        reliability.set_title(f"{data.capitalize()} ({len(group[0].y_true)} cases)")
    _share_legend(figure, axes, [outcome.method for outcome in outcomes])
    figure.savefig(path, dpi=150)
    close(figure)
    return path


def _share_legend(figure: Figure, axes: NDArray, methods: list[str]) -> None:
    # One legend over all panels, because six of them would cover curves.
    handles, labels = axes[0, 0].get_legend_handles_labels()
    for ax in axes.ravel():
        ax.get_legend().remove()
    names = [next((m for m in methods if label.startswith(m)), label) for label in labels]
    figure.legend(
        handles, names, loc="outside upper center", ncols=len(names), frameon=False, fontsize=11
    )
