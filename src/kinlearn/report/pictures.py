"""The report's pictures, each from held-out answers or from the search."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinlearn.metrics import reliability_curve, risk_coverage_curve
from kinlearn.report.importance import Importance
from kinlearn.report.measures import exact_interval
from kinlearn.report.svg import Plot, bars, heat_map
from kinlearn.selection.search import alike_best
from kinlearn.tables.evaluation import Evaluation

N_BINS = 10
_MAX_POINTS = 400
# A surface's colours span its better half; the worse half shares the lowest shade.
_LOWEST_SHADE = 0.5


def reliability_picture(evaluation: Evaluation) -> str:
    """How often a stated confidence is right, with exact binomial intervals."""
    classes = np.arange(len(evaluation.classes))
    curve = reliability_curve(evaluation.truth, evaluation.proba, N_BINS, classes)
    floor = 1.0 / len(evaluation.classes)
    plot = Plot(
        (floor, 1.0),
        (0.0, 1.0),
        "stated confidence",
        "share right",
        "Reliability: share of right answers against stated confidence",
        percent=True,
    )
    plot.line([floor, 1.0], [floor, 1.0], "reference")
    for confidence, accuracy, share in zip(
        curve.confidence, curve.accuracy, curve.share, strict=True
    ):
        n = round(share * evaluation.n_rows)
        low, high = exact_interval(round(accuracy * n), n)
        plot.bar(confidence, low, high, "whisker")
        plot.dot(
            confidence,
            accuracy,
            4.0 + 10.0 * np.sqrt(share),
            "dot",
            f"{n} rows, stated {confidence:.0%}, right {accuracy:.0%} ({low:.0%} to {high:.0%})",
        )
    return plot.svg()


def risk_picture(
    evaluation: Evaluation, max_error: float, chosen: tuple[float, float] | None
) -> str:
    """Error among answered rows against the share answered, with the hand-over point."""
    classes = np.arange(len(evaluation.classes))
    curve = risk_coverage_curve(evaluation.truth, evaluation.gains, classes)
    # The first few answers jump between 0 and 1 and would set the scale.
    some = curve.coverage >= min(0.02, 5 / evaluation.n_rows)
    coverage, risk = curve.coverage[some], curve.risk[some]
    if len(coverage) > _MAX_POINTS:
        keep = np.unique(np.linspace(0, len(coverage) - 1, _MAX_POINTS).astype(int))
        coverage, risk = coverage[keep], risk[keep]
    marked = 0.0 if chosen is None or not np.isfinite(chosen[1]) else chosen[1]
    top = max(float(risk.max()), 1.6 * max_error, 1.1 * marked, 0.02)
    plot = Plot(
        (0.0, 1.0),
        (0.0, 1.08 * top),
        "share of rows answered",
        "error among them",
        "Error among answered rows against the share of rows answered",
        percent=True,
    )
    plot.line([0.0, 1.0], [max_error, max_error], "reference")
    plot.text(0.01, max_error + 0.025 * top, f"allowed: {100 * max_error:.3g} %", "note")
    plot.line(coverage.tolist(), risk.tolist(), "curve")
    if chosen is not None:
        share, error = chosen
        plot.dot(share, error, 7.0, "chosen", f"{share:.0%} answered, {error:.1%} of them wrong")
        # The curve rises to the right, so there is room below it there; near the right edge, left.
        anchor = "end" if share > 0.6 else "start"
        words = f"{share:.0%} answered, {error:.1%} wrong"
        above = 0.07 * top if anchor == "end" else -0.045 * top
        plot.text(
            share + (0.02 if anchor == "start" else 0.0),
            error + above,
            words,
            "note strong",
            anchor,
        )
    return plot.svg()


def surface_picture(results: dict[str, Any], best_index: int) -> str | None:
    """The search: best score over other settings, by width and regularisation."""
    shown_points = alike_best(results, best_index)
    best_index = int(np.count_nonzero(shown_points[:best_index]))
    sigma, reg, score = (
        np.asarray(results[name], dtype=np.float64)[shown_points]
        for name in ("param_sigma", "param_reg", "mean_test_score")
    )
    sigmas, column = np.unique(sigma, return_inverse=True)
    regs, row = np.unique(reg, return_inverse=True)
    if not np.isfinite(score).any():
        return None
    values = np.full((len(regs), len(sigmas)), -np.inf)
    np.maximum.at(values, (row, column), np.where(np.isfinite(score), score, -np.inf))
    values[~np.isfinite(values)] = np.nan
    floor = np.nanquantile(values, _LOWEST_SHADE)
    # The smallest reg stands at the bottom, as on an axis.
    shown = np.maximum(values, floor)[::-1]
    return heat_map(
        shown,
        [f"{value:.1e}" for value in regs[::-1]],
        [f"{value:.3g}" for value in sigmas],
        "regularisation",
        "kernel width",
        "Held-out score over the searched grid",
        (len(regs) - 1 - int(row[best_index]), int(column[best_index])),
    )


def relevance_picture(found: dict[str, float], most: int = 15) -> str:
    """How much the scores change along each column."""
    names = list(found)[:most]
    return bars(
        names,
        [found[name] for name in names],
        label="relevance, the mean column being 1",
        title="Relevance of columns",
    )


def importance_picture(found: list[Importance], most: int = 15) -> str:
    """How much worse answers get when a column is shuffled."""
    shown = found[:most]
    return bars(
        [entry.column for entry in shown],
        [entry.loss for entry in shown],
        [entry.low for entry in shown],
        [entry.high for entry in shown],
        label="rise of the log-loss when the column is shuffled",
        title="Permutation importance of columns",
    )
