"""Demo, many labels: the toy of the multi-label paper, labels learnt together and alone."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain
from threadpoolctl import threadpool_limits

from kinlearn import LSPCCV, MultiLabelLSPCCV
from kinlearn.cli.demo_parts.base import PartResult, Steps
from kinlearn.cli.demo_parts.figures_table import add_rows, figures_table
from kinlearn.datasets import make_rotated_labels
from kinlearn.plots import (
    LabelGainDisplay,
    LabelPrecisionRecallDisplay,
    LabelSimilarityDisplay,
    close,
    subplots,
)

TOGETHER, ALONE, CHAIN = "MultiLabelLSPC", "LSPC per label", "Classifier chain"
N_TEST = 1000


@dataclass(frozen=True)
class LabelOutcome:
    """What one method makes of one number of labels."""

    method: str
    model: Any
    Y_true: NDArray
    proba: NDArray[np.float64]
    fit_seconds: float

    @property
    def error(self) -> float:
        """Share of wrong (case, label) pairs: the paper's misclassification rate."""
        return float(((self.proba > 0.5) != self.Y_true).mean())

    def figures(self) -> dict[str, float]:
        """What the table shows, by column."""
        p = np.clip(self.proba, 1e-6, 1 - 1e-6)
        losses = -np.where(self.Y_true == 1, np.log(p), np.log1p(-p))
        return {
            "error": self.error,
            "log-loss": float(losses.mean()),
            "micro F1": float(f1_score(self.Y_true, self.proba > 0.5, average="micro")),
            "macro AUC": float(roc_auc_score(self.Y_true, self.proba, average="macro")),
            "fit time": self.fit_seconds,
        }


def multi_label(out: Path, console: Console, *, seed: int = 0, quick: bool = False) -> PartResult:
    """Labels cut by rotating lines: their similarity, and what it gains."""
    sizes = (3, 6) if quick else (2, 5, 10, 20)
    n_rows = 60 if quick else 300
    with threadpool_limits(limits=1):
        outcomes = compare(sizes, n_rows, console, seed)
    last = outcomes[sizes[-1]]
    return PartResult(
        tables=[tabulate(last, n_rows)], paths=[draw(outcomes, out / "multi_label.png")]
    )


def methods() -> dict[str, Any]:
    """Labels together, alone, and in a chain; the first two tune themselves."""
    return {
        TOGETHER: MultiLabelLSPCCV(),
        ALONE: OneVsRestClassifier(LSPCCV()),
        CHAIN: ClassifierChain(LogisticRegression(max_iter=2000)),
    }


def compare(
    sizes: tuple[int, ...], n_rows: int, console: Console, seed: int
) -> dict[int, list[LabelOutcome]]:
    """Every method at every number of labels, on cases it has not seen."""
    outcomes: dict[int, list[LabelOutcome]] = {}
    with Steps(console, total=len(sizes) * len(methods())) as steps:
        for n_labels in sizes:
            X, Y = make_rotated_labels(n_rows + N_TEST, n_labels, 20, random_state=seed)
            outcomes[n_labels] = []
            for name, model in methods().items():
                steps.stage(f"{name} on {n_labels} labels")
                started = time.perf_counter()
                model.fit(X[:n_rows], Y[:n_rows])
                seconds = time.perf_counter() - started
                proba = model.predict_proba(X[n_rows:])
                outcomes[n_labels].append(LabelOutcome(name, model, Y[n_rows:], proba, seconds))
                steps.advance()
    return outcomes


def tabulate(outcomes: list[LabelOutcome], n_rows: int) -> Table:
    """One line per method at the largest number of labels, the best figure in bold."""
    n_labels = outcomes[0].Y_true.shape[1]
    figures = [outcome.figures() for outcome in outcomes]
    table = figures_table(
        f"Many labels: {n_labels} rotated labels, {n_rows} training cases",
        "Error, log-loss and time: lower is better. Fit time: tuned, 1 thread.",
        ["method"],
        list(figures[0]),
    )
    methods = [[outcome.method] for outcome in outcomes]
    add_rows(table, list(zip(methods, figures, strict=True)))
    return table


def draw(outcomes: dict[int, list[LabelOutcome]], path: Path) -> Path:
    """Error over the number of labels, similarity, precision-recall, and gain by label."""
    figure, axes = subplots(2, 2, panel_size=(5.2, 4.4))
    growth, heat, curves, gain = axes.ravel()
    sizes = list(outcomes)
    for rank, name in enumerate((TOGETHER, ALONE, CHAIN)):
        errors = [100 * outcomes[size][rank].error for size in sizes]
        growth.plot(sizes, errors, marker="o", label=name)
    growth.set(xlabel="Number of labels", ylabel="Error (%)", title="Error on unseen cases")
    growth.set_xticks(sizes)
    growth.legend(frameon=False, fontsize=9)
    together, alone, _ = outcomes[sizes[-1]]
    LabelSimilarityDisplay.from_estimator(together.model, ax=heat, order=False)
    heat.set_title("Similarity of the labels")
    for outcome in (together, alone):
        LabelPrecisionRecallDisplay.from_predictions(
            outcome.Y_true, outcome.proba, name=outcome.method, ax=curves, labels=False
        )
    curves.set(title="All labels as one ranking", xlim=(0.5, 1.01), ylim=(0.5, 1.02))
    LabelGainDisplay(Y_true=together.Y_true, proba=together.proba, baseline_proba=alone.proba).plot(
        gain
    )
    gain.set_title("Gain of learning together, by label")
    figure.savefig(path, dpi=150)
    close(figure)
    return path
