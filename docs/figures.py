"""Draw the pictures of the documentation (``make docs``)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OneVsRestClassifier

from kinlearn import LSPCCV, MultiLabelLSPCCV, MultiTaskLSPCCV
from kinlearn.cli.parts.multi_task import draw as draw_tasks
from kinlearn.cli.parts.multi_task import sample
from kinlearn.datasets import (
    gaussian_mixture_toy_posterior,
    make_gaussian_mixture_toy,
    make_rotated_labels,
)
from kinlearn.plots import (
    PALETTE,
    CVSurfaceDisplay,
    LabelGainDisplay,
    LabelSimilarityDisplay,
    ReliabilityDisplay,
    RiskCoverageDisplay,
    subplots,
)

IMAGES = Path(__file__).parent / "images"
RULES = {
    "rounded": "LSPC-new (rounded)",
    "rounded_parameters": "LSPC (rounded parameters)",
    "raw": "LSPC′ (raw)",
    "calibrated": "calibrated",
}


def posterior_rules() -> Path:
    """The toy of lspc-new, section 3.1: four rules beside the true posterior (its Fig. 1a)."""
    X, y = make_gaussian_mixture_toy(random_state=0)
    grid = np.linspace(-5, 5, 401)[:, None]
    figure, axes = subplots(1, 1, figsize=(7, 4))
    ax = axes[0, 0]
    truth = gaussian_mixture_toy_posterior(grid)[:, 0]
    ax.plot(grid[:, 0], truth, color="black", linewidth=2.5, label="true posterior")
    for colour, (rule, label) in zip(PALETTE, RULES.items(), strict=False):
        proba = LSPCCV(cv=2, posterior=rule).fit(X, y).predict_proba(grid)[:, 0]
        ax.plot(grid[:, 0], proba, color=colour, label=label)
    ax.set(xlabel="x", ylabel="P(first class | x)", ylim=(-0.35, 1.15))
    ax.legend(loc="lower center", ncols=2, fontsize="small")
    return _save(figure, "posterior_rules.png")


def digits() -> Path:
    """Handwritten digits: how far the probabilities can be trusted, and the search behind them."""
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(
        X / 16, y, train_size=300, random_state=0, stratify=y
    )
    model = LSPCCV().fit(X_train, y_train)
    figure, axes = subplots(1, 3, figsize=(13, 4))
    ReliabilityDisplay.from_estimator(model, X_test, y_test, ax=axes[0, 0], name="LSPC")
    RiskCoverageDisplay.from_estimator(model, X_test, y_test, ax=axes[0, 1], name="LSPC")
    CVSurfaceDisplay.from_estimator(model, ax=axes[0, 2])
    return _save(figure, "digits.png")


def rotated_labels(n_seeds: int = 5) -> Path:
    """The toy of ml-lspc, section 5: error over the number of labels (its Fig. 1, left)."""
    sizes = (2, 5, 10, 20)
    methods = {
        "labels together": MultiLabelLSPCCV(),
        "each label alone": OneVsRestClassifier(LSPCCV()),
    }
    errors: dict[str, list[float]] = {name: [] for name in methods}
    for size in sizes:
        found: dict[str, list[float]] = {name: [] for name in methods}
        for seed in range(n_seeds):
            X, Y = make_rotated_labels(1300, size, 20, random_state=seed)
            for name, model in methods.items():
                model.fit(X[:300], Y[:300])
                found[name].append(float((model.predict(X[300:]) != Y[300:]).mean()))
        for name, values in found.items():
            errors[name].append(100 * float(np.mean(values)))
    figure, axes = subplots(1, 3, figsize=(14, 4))
    for (name, values), marker in zip(errors.items(), "os", strict=True):
        axes[0, 0].plot(sizes, values, marker=marker, label=name)
    axes[0, 0].set(xlabel="Number of labels", ylabel="Error (%)", xticks=sizes)
    axes[0, 0].legend(frameon=False)
    together, alone = methods.values()
    LabelSimilarityDisplay.from_estimator(together, order=False, ax=axes[0, 1])
    LabelGainDisplay.from_estimators(
        together, alone, X[300:], Y[300:], measure="log_loss", ax=axes[0, 2]
    )
    return _save(figure, "rotated_labels.png")


def related_tasks() -> Path:
    """Generated related tasks, one of them reversed: who gains from sharing, and who is alike."""
    train, test = sample(n_tasks=9, n_labelled=30, seed=0)
    model = MultiTaskLSPCCV().fit(train.X, train.y, task=train.task)
    return draw_tasks(model, test, IMAGES / "multitask.png")


def _save(figure: object, name: str) -> Path:
    IMAGES.mkdir(exist_ok=True)
    path = IMAGES / name
    figure.savefig(path, dpi=130, bbox_inches="tight")  # type: ignore[attr-defined]
    return path


if __name__ == "__main__":
    for draw in (posterior_rules, digits, related_tasks, rotated_labels):
        print(draw().relative_to(Path(__file__).parent.parent))
