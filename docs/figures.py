"""Draw the pictures of the documentation (``make docs``)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, make_moons
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OneVsRestClassifier

from kinlearn import (
    LSPCCV,
    HandOver,
    IndependentTasks,
    MultiLabelLSPCCV,
    MultiTaskLSPCCV,
    PooledTasks,
)
from kinlearn.cli.demo_parts.multi_task import draw as draw_tasks
from kinlearn.cli.demo_parts.multi_task import sample
from kinlearn.datasets import (
    gaussian_mixture_toy_posterior,
    make_gaussian_mixture_toy,
    make_related_tasks,
    make_rotated_labels,
)
from kinlearn.plots import (
    PALETTE,
    LabelGainDisplay,
    LabelSimilarityDisplay,
    ReliabilityDisplay,
    subplots,
)

IMAGES = Path(__file__).parent / "images"
RULES = {
    "rounded": "LSPC-new (rounded)",
    "rounded_parameters": "LSPC (rounded parameters)",
    "raw": "LSPC′ (raw)",
    "calibrated": "calibrated",
}


def front() -> Path:
    """The library in three pictures: what it knows, whether it is true, how tasks help tasks."""
    figure, axes = subplots(1, 3, figsize=(13, 4))
    _draw_plane(axes[0, 0])
    _draw_digits_reliability(axes[0, 1])
    _draw_sharing(axes[0, 2])
    return _save(figure, "front.png")


def _draw_plane(ax: Any) -> None:
    """Probabilities where there are rows, and nothing claimed where there are none."""
    X, y = make_moons(400, noise=0.25, random_state=0)
    model = HandOver(LSPCCV(), max_error=0.05).fit(X, y)
    across, up = np.meshgrid(np.linspace(-1.8, 2.75, 500), np.linspace(-1.35, 1.85, 400))
    points = np.column_stack([across.ravel(), up.ravel()])
    found = model.assess(points)
    proba = np.where(found.reason == "unfamiliar", np.nan, found.proba[:, 1])
    surface = ax.contourf(
        across,
        up,
        proba.reshape(across.shape),
        levels=np.linspace(0, 1, 21),
        cmap="PuOr_r",
        vmin=-0.35,
        vmax=1.35,
    )
    for label, colour in enumerate(("#35125C", "#6B3500")):
        ax.scatter(*X[y == label].T, s=7, color=colour, linewidth=0)
    ax.figure.colorbar(surface, ax=ax, format="{x:.0%}", ticks=[0, 0.5, 1], shrink=0.8)
    ax.grid(False)
    ax.set(xticks=[], yticks=[], title="Probabilities where there are rows")
    for side in ax.spines.values():
        side.set_visible(False)


def _draw_digits_reliability(ax: Any) -> None:
    """Noisy digits from 600 labels: the share of right answers at each stated confidence."""
    X, y = load_digits(return_X_y=True)
    X = X / 16 + np.random.default_rng(0).normal(scale=0.3, size=X.shape)
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, train_size=600, random_state=0, stratify=y
    )
    model = LSPCCV().fit(X_train, y_train)
    ReliabilityDisplay.from_estimator(
        model, X_test, y_test, n_bins=10, ax=ax, name="noisy digits", histogram=False
    )
    ax.set_title("Confidence that is earned")


def _draw_sharing(ax: Any, n_seeds: int = 3) -> None:
    """Eight related tasks: log-loss over the labels in each, shared, alone and pooled."""
    sizes = (5, 10, 20, 40)
    methods = {
        "sharing": MultiTaskLSPCCV(),
        "each task alone": IndependentTasks(LSPCCV()),
        "one pooled model": PooledTasks(LSPCCV()),
    }
    losses = {name: np.zeros((len(sizes), n_seeds)) for name in methods}
    for seed in range(n_seeds):
        X, y, task = make_related_tasks(
            n_tasks=8, n_samples=300, n_features=3, relatedness=0.7, random_state=seed
        )
        place = np.tile(np.arange(300), 8)
        test = place >= 50
        for i, size in enumerate(sizes):
            train = place < size
            for name, model in methods.items():
                proba = model.fit(X[train], y[train], task=task[train]).predict_proba(
                    X[test], task=task[test]
                )
                losses[name][i, seed] = log_loss(y[test], proba)
    for (name, table), marker in zip(losses.items(), "osd", strict=True):
        ax.plot(sizes, np.median(table, axis=1), marker=marker, linewidth=2, label=name)
    ax.set(xscale="log", xlabel="Labels in each of eight tasks", ylabel="Log-loss on new rows")
    ax.set_xticks(sizes, [str(size) for size in sizes])
    ax.minorticks_off()
    ax.legend(frameon=False)
    ax.set_title("Related tasks learn together")


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
    for draw in (front, posterior_rules, related_tasks, rotated_labels):
        print(draw().relative_to(Path(__file__).parent.parent))
