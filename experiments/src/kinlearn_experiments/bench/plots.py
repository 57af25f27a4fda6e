"""Pictures of a run: critical-difference diagrams, and log-loss against time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kinlearn.plots._style import FAINT, INK, PALETTE, close, subplots
from kinlearn_experiments.bench.report import FIGURE
from kinlearn_experiments.bench.statistics import cliques
from kinlearn_experiments.bench.summary import SuiteSummary

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OURS, OTHERS = PALETTE[1], PALETTE[0]


def draw_all(summaries: Sequence[SuiteSummary], folder: Path) -> list[Path]:
    """Draw both pictures, a panel a summary, and return their paths."""
    if not summaries:
        return []
    paths = []
    columns = min(2, len(summaries))
    rows = -(-len(summaries) // columns)
    for name, draw, size in (
        ("bench_ranks.png", rank_panel, (6.4, 3.2)),
        ("bench_cost.png", cost_panel, (6.0, 4.4)),
    ):
        figure, axes = subplots(rows, columns, panel_size=size)
        for ax, summary in zip(axes.ravel(), summaries, strict=False):
            draw(ax, summary)
        for ax in axes.ravel()[len(summaries) :]:
            ax.set_axis_off()
        path = folder / name
        figure.savefig(path, dpi=110)
        close(figure)
        paths.append(path)
    return paths


def rank_panel(ax: Axes, summary: SuiteSummary) -> None:
    """Mean ranks on a line; a bar joins methods that Nemenyi's difference cannot tell apart."""
    ranks = summary.mean_ranks(FIGURE)
    order = np.argsort(ranks, kind="stable")
    k = len(order)
    half = -(-k // 2)
    depth = 1.4 + 0.55 * half
    bars = []
    difference = summary.critical_difference() if k > 2 and len(summary.data) > 1 else None
    if difference is not None:
        bars = cliques([float(ranks[m]) for m in order], difference)
        depth += 0.28 * len(bars)
    ax.set_axis_off()
    ax.set(xlim=(1 - 0.55 * k, k + 0.55 * k), ylim=(depth, -1.5))
    ax.plot([1, k], [0, 0], color=INK, linewidth=1.2)
    for tick in range(1, k + 1):
        ax.plot([tick, tick], [0, -0.18], color=INK, linewidth=1)
        ax.text(tick, -0.3, str(tick), ha="center", va="bottom", fontsize=8, color=INK)
    for row, (first, last) in enumerate(bars):
        height = 0.35 + 0.28 * row
        ends = [ranks[order[first]] - 0.06, ranks[order[last]] + 0.06]
        ax.plot(ends, [height] * 2, color=FAINT, linewidth=4, solid_capstyle="butt")
    base = 0.8 + 0.28 * len(bars)
    for position, m in enumerate(order):
        left = position < half
        height = base + 0.55 * (position if left else k - 1 - position)
        end = 1 - 0.15 if left else k + 0.15
        colour = OURS if summary.methods[m] == summary.ours else INK
        ax.plot([ranks[m], ranks[m], end], [0, height, height], color=colour, linewidth=1)
        ax.text(
            end - 0.1 if left else end + 0.1,
            height,
            f"{summary.methods[m]}  {ranks[m]:.1f}"
            if left
            else f"{ranks[m]:.1f}  {summary.methods[m]}",
            ha="right" if left else "left",
            va="center",
            fontsize=8.5,
            color=colour,
            fontweight="bold" if colour == OURS else "normal",
        )
    if difference is not None:
        ax.plot([1, 1 + difference], [-0.95] * 2, color=INK, linewidth=1.5)
        ax.text(
            1 + difference + 0.15,
            -0.95,
            f"critical difference {difference:.2f}",
            ha="left",
            va="center",
            fontsize=8,
            color=INK,
        )
    ax.set_title(f"{summary.title}: mean rank by log-loss")


def cost_panel(ax: Axes, summary: SuiteSummary) -> None:
    """Log-loss and fit time of every method, as ratios to ours: left is faster, down is better."""
    x, y = summary.ratios("fit_cpu_seconds"), summary.ratios(FIGURE)
    shown = [m for m in range(len(x)) if np.isfinite(x[m]) and np.isfinite(y[m])]
    ax.set(xscale="log", yscale="log")
    ax.axhline(1, color=FAINT, linewidth=0.8, zorder=1)
    ax.axvline(1, color=FAINT, linewidth=0.8, zorder=1)
    colours = [OURS if summary.methods[m] == summary.ours else OTHERS for m in shown]
    ax.scatter(x[shown], y[shown], c=colours, s=34, zorder=5)
    low, high = y[shown].min(), y[shown].max()
    ax.set_ylim(low / (high / low) ** 0.08, high * (high / low) ** 0.08)
    left, right = x[shown].min(), x[shown].max()
    # Room for names on the right.
    ax.set_xlim(left / 2, right * (right / left) ** 0.45)
    for m, height in zip(shown, spread_labels(np.log(y[shown])), strict=True):
        ax.annotate(
            summary.methods[m],
            (x[m], y[m]),
            xytext=(x[m] * (right / left) ** 0.03, float(np.exp(height))),
            fontsize=8,
            va="center",
            zorder=4,
            color=OURS if summary.methods[m] == summary.ours else INK,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 0.5},
            arrowprops={"arrowstyle": "-", "color": FAINT, "linewidth": 0.5},
        )
    ax.yaxis.set_major_formatter(_plain)
    ax.yaxis.set_minor_formatter(_plain)
    ax.xaxis.set_major_formatter(_plain)
    ax.set(
        xlabel="Time of the tuned fit ÷ ours",
        ylabel="Log-loss ÷ ours",
        title=f"{summary.title}: left is faster, down is better",
    )


def spread_labels(heights: NDArray[np.float64], share: float = 0.055) -> NDArray[np.float64]:
    """Move heights apart until neighbours differ by a share of the range, keeping their order.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn_experiments.bench.plots import spread_labels
    >>> spread_labels(np.array([0.0, 0.0, 1.0]), share=0.1).round(3)
    array([-0.05,  0.05,  1.  ])
    """
    order = np.argsort(heights, kind="stable")
    found = heights[order].astype(float)
    gap = share * max(float(np.ptp(heights)), 1e-6)
    # The least squares answer under least gaps: pool neighbours that are too near (isotonic).
    shifted = found - gap * np.arange(len(found))
    blocks: list[list[float]] = []
    for value in shifted:
        blocks.append([value, 1])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            mean, count = blocks.pop()
            blocks[-1] = [
                (blocks[-1][0] * blocks[-1][1] + mean * count) / (blocks[-1][1] + count),
                blocks[-1][1] + count,
            ]
    level = np.concatenate([np.full(int(count), mean) for mean, count in blocks])
    out = np.empty_like(found)
    out[order] = level + gap * np.arange(len(found))
    return out


def _plain(value: Any, position: Any = None) -> str:
    return f"{value:g}"
