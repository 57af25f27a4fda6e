"""Tables, pictures and findings of the two experiments of the LSPC-new paper."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn_experiments.reproduce.experiment import Finding
from kinlearn_experiments.reproduce.significance import comparable, p_greater
from kinlearn_experiments.reproduce.three_methods import METHODS
from kinlearn_experiments.tables import table

LEVEL = 0.05  # of the paper's t-tests
OURS = "kinlearn's defaults"
# AUC in %, by method: an array of shape (trials, labels)
Figures = dict[str, NDArray[np.float64]]


def label_table(figures: Figures, labels: list[str], first: str) -> str:
    """Mean (standard deviation) of every label, the best and comparable ones in bold."""
    rows = []
    for t, label in enumerate(labels):
        good = comparable({name: of[:, t] for name, of in figures.items()}, LEVEL)
        cells = []
        for name, of in figures.items():
            cell = f"{of[:, t].mean():.1f} ({_std(of[:, t]):.1f})"
            cells.append(f"**{cell}**" if name in good else cell)
        rows.append([label, *cells])
    rows.append(["average", *(f"{of.mean():.1f}" for of in figures.values())])
    return table([first, *figures], rows)


def _std(values: NDArray[np.float64]) -> float:
    return float(values.std(ddof=1)) if values.size > 1 else 0.0


def order_findings(figures: Figures, seconds: dict[str, float], where: str) -> list[Finding]:
    """LSPC-new > LSPC > chance, LSPC-new and KLR, and time."""
    means = {name: of.mean(axis=1) for name, of in figures.items()}
    new, old, klr = (means[name] for name in METHODS)
    wins = int((figures["LSPC-new"].mean(axis=0) > figures["LSPC"].mean(axis=0)).sum())
    return [
        Finding(
            f"LSPC-new has a higher mean AUC than LSPC, {where}",
            p_greater(new, old) < LEVEL,
            f"{new.mean():.1f} ± {_std(new):.1f} against {old.mean():.1f} ± {_std(old):.1f}; "
            f"higher for {wins} of {figures['LSPC'].shape[1]} labels",
        ),
        Finding(
            f"LSPC is better than chance, {where}",
            p_greater(old, np.full_like(old, 50.0)) < LEVEL,
            f"{old.mean():.1f}",
        ),
        Finding(
            f"LSPC-new is at least as good as KLR, {where}",
            p_greater(klr, new) >= LEVEL,
            f"{new.mean():.1f} against {klr.mean():.1f} ± {_std(klr):.1f}",
        ),
        Finding(
            f"LSPC-new trains faster than KLR, {where}",
            seconds["LSPC-new"] < seconds["KLR"],
            f"{seconds['LSPC-new']:.3g} s against {seconds['KLR']:.3g} s: "
            f"{seconds['KLR'] / seconds['LSPC-new']:.1f}×",
        ),
    ]


def ours_findings(figures: Figures, where: str) -> list[Finding]:
    """Whether kinlearn's defaults do better than LSPC-new, where they were run."""
    if OURS not in figures:
        return []
    ours, new = figures[OURS].mean(axis=1), figures["LSPC-new"].mean(axis=1)
    p = p_greater(ours, new)
    return [
        Finding(
            f"kinlearn's defaults have a higher mean AUC than LSPC-new, {where}",
            p < LEVEL,
            f"{ours.mean():.1f} against {new.mean():.1f}, p = {p:.2g}",
        )
    ]


def draw(figures: dict[str, tuple[Figures, list[str]]], path: Path) -> Path:
    """Mean AUC of every label, a panel for each set, labels in order of LSPC-new's."""
    from kinlearn.plots import close, subplots

    height = max(len(labels) for _, labels in figures.values())
    figure, axes = subplots(1, len(figures), panel_size=(5.6, 1.2 + 0.26 * height))
    for ax, (name, (found, labels)) in zip(axes[0], figures.items(), strict=True):
        order = np.argsort(found["LSPC-new"].mean(axis=0))
        places = np.arange(len(labels))
        for rank, (method, of) in enumerate(found.items()):
            bars = of.std(axis=0)[order]
            shift = 0.2 * (rank - (len(found) - 1) / 2)
            ax.errorbar(
                of.mean(axis=0)[order],
                places + shift,
                xerr=bars,
                fmt="o",
                markersize=4,
                label=method,
            )
        ax.set_yticks(places, [labels[i] for i in order])
        ax.set(xlabel="AUC (%)", title=name)
    axes[0, -1].legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.savefig(path, dpi=120)
    close(figure)
    return path


def summary(figures: Figures, seconds: dict[str, float]) -> dict[str, Any]:
    """Means and standard deviations over trials of the average over labels."""
    return {
        name: {
            "mean": float(of.mean()),
            "std": _std(of.mean(axis=1)),
            "seconds": seconds.get(name),
        }
        for name, of in figures.items()
    }
