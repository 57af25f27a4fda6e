"""Tables of a run, as rows and as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from kinlearn_experiments.bench.groups import grouped
from kinlearn_experiments.bench.qualities import GREATER
from kinlearn_experiments.bench.roles import MEANING
from kinlearn_experiments.bench.suites import SUITES
from kinlearn_experiments.bench.summary import SuiteSummary, summarise
from kinlearn_experiments.results import finite
from kinlearn_experiments.tables import table

Rows = list[list[str]]
# By which methods are ranked and tested: the loss that probabilities are judged by.
FIGURE = "log_loss"
NAMES = {
    "accuracy": "accuracy",
    "auc": "AUC",
    "log_loss": "log-loss",
    "brier": "Brier",
    "ece": "ECE",
}


def summaries_of(cells: Iterable[dict[str, Any]]) -> list[SuiteSummary]:
    """A summary for every group of cells that has some, those of held-out sets first."""
    found = (
        summarise(
            own,
            group,
            SUITES[group.suite].ours,
            [method.name for method in SUITES[group.suite].methods],
        )
        for group, own in grouped(cells).items()
    )
    return [summary for summary in found if summary is not None]


def overview(summary: SuiteSummary) -> tuple[list[str], Rows]:
    """Header and one row a method, the best rank first.

    Qualities are means over data sets and, for log-loss, times and memory, geometric means of
    ratios to ours too.
    """
    ranks = summary.mean_ranks(FIGURE)
    loss, fit, predict, memory = (
        summary.ratios(name)
        for name in (FIGURE, "fit_cpu_seconds", "predict_cpu_seconds", "peak_mb")
    )
    tests = summary.wilcoxon(FIGURE)
    rows = []
    for m in np.argsort(ranks, kind="stable"):
        name = summary.methods[m]
        ours = name == summary.ours
        rows.append(
            [
                f"**{name}**" if ours else name,
                f"{ranks[m]:.1f}",
                *(_number(_mean(summary.means(key)[:, m])) for key in NAMES),
                _ratio(loss[m]),
                "" if ours else "/".join(map(str, summary.counts(FIGURE, name))),
                "" if ours else f"{tests[name]:.2g}",
                _ratio(fit[m]),
                _ratio(predict[m]),
                _ratio(memory[m]),
            ]
        )
    header = ["method", "rank", *NAMES.values(), "log-loss ÷ ours", "win/tie/loss", "p"]
    return [*header, "fit ÷ ours", "predict ÷ ours", "memory ÷ ours"], rows


def details(summary: SuiteSummary, figure: str) -> tuple[list[str], Rows]:
    """Header and one row a data set: mean ± standard deviation over splits, the best in bold."""
    means, spreads = summary.means(figure), summary.spreads(figure)
    pick: Callable[[Any], Any] = np.nanargmax if figure in GREATER else np.nanargmin
    rows = []
    for d, name in enumerate(summary.data):
        best = None if np.isnan(means[d]).all() else int(pick(means[d]))
        row = []
        for m, (mean, spread) in enumerate(zip(means[d], spreads[d], strict=True)):
            text = "failed" if np.isnan(mean) else f"{mean:.3f}"
            text += "" if np.isnan(spread) else f" ± {spread:.3f}"
            row.append(f"**{text}**" if m == best else text)
        rows.append([name, *row])
    return [NAMES[figure], *summary.methods], rows


def seconds(summary: SuiteSummary) -> tuple[list[str], Rows]:
    """Header and one row a data set: processor seconds of the whole tuned fit."""
    means = summary.means("fit_cpu_seconds")
    rows = [
        [name, *("failed" if np.isnan(value) else f"{value:.2f}" for value in means[d])]
        for d, name in enumerate(summary.data)
    ]
    return ["seconds to fit", *summary.methods], rows


def test_sentence(summary: SuiteSummary) -> str:
    """What Friedman's test and Nemenyi's difference say."""
    n_sets, n_methods = len(summary.data), len(summary.methods)
    found = summary.friedman(FIGURE)
    if np.isnan(found.p_value):
        return "Too few data sets or methods for a test over data sets."
    return (
        f"Friedman's test over {n_sets} data sets and {n_methods} methods: p = "
        f"{found.p_value:.2g}; mean ranks further apart than {summary.critical_difference():.2f} "
        "differ (Nemenyi, 5 %, all pairs together)."
    )


def extent(summary: SuiteSummary) -> str:
    """How much stands behind the figures of a suite."""
    splits = summary.complete.sum(axis=1)
    low, high = int(splits.min()), int(splits.max())
    absent = [name for name in summary.group.sets() if name not in summary.data]
    role, (least, most) = summary.group.role, summary.rows
    found = "" if role is None else f"{MEANING[role]} "
    found += (
        f"{len(summary.data)} data sets ({', '.join(summary.data)}), "
        f"{low if low == high else f'{low} to {high}'} split{'' if high == 1 else 's'} of each, "
        f"{len(summary.methods)} methods."
    )
    if summary.group.size is not None and most:
        found += f" Training rows: {least if least == most else f'{least} to {most}'}."
    if absent:
        found += f" Not measured, or not with every method: {', '.join(absent)}."
    if high == 1:
        found += (
            " With one split of each there is no test on a data set: *ahead* and *behind* below "
            "mean a log-loss lower or higher by 2 % or more on more of the sets, no more than that."
        )
    return found


def failure_lines(summary: SuiteSummary) -> list[str]:
    """One line for each data set, method and reason that has failed cells."""
    seeds: dict[tuple[str, str, str], list[int]] = {}
    for cell in summary.failures:
        seeds.setdefault((cell["data"], cell["method"], cell["reason"]), []).append(cell["seed"])
    return [
        f"- {method} on {data}, split {', '.join(map(str, sorted(found)))}: {reason}"
        for (data, method, reason), found in sorted(seeds.items())
    ]


def markdown(content: dict[str, Any]) -> str:
    """The whole report of a run."""
    summaries = summaries_of(content["cells"])
    parts = ["# Benchmark", describe(content), READING]
    for summary in summaries:
        parts += [
            f"## {summary.title} (`{summary.group.key}`)",
            extent(summary),
            table(*overview(summary)),
            test_sentence(summary),
            *(table(*details(summary, figure)) for figure in ("log_loss", "accuracy")),
            table(*seconds(summary)),
        ]
        if summary.failures:
            parts += ["Cells without figures; ranks count them as worst:"]
            parts += ["\n".join(failure_lines(summary))]
        if summary.n_missing:
            parts += [f"{summary.n_missing} cells were not measured; their splits do not count."]
    return "\n\n".join(parts) + "\n"


READING = (
    "Rows are sorted by mean rank of the log-loss over data sets. Accuracy, AUC, log-loss, Brier "
    "score and calibration error (ECE) are means over data sets and splits. Ratios are geometric "
    "means over data sets. *win/tie/loss* counts data sets on which ours has the lower, about the "
    "same or the higher log-loss by a paired t-test over splits (5 %), as in the papers; where "
    "only one split was measured there is no test, and a difference of 2 % counts. *p* is of "
    "Wilcoxon's signed-rank test over data sets, corrected for the number of rivals (Holm). "
    "Fit times are processor seconds of the whole tuned fit, on one thread; memory is the peak "
    "above what the process held before."
)


def describe(content: dict[str, Any]) -> str:
    """Size of the run and the machine, in a sentence or three."""
    facts = content["machine"]
    packages = ", ".join(
        f"{name} {facts['packages'][name]}"
        for name in ("kinlearn", "numpy", "scikit-learn", "lightgbm", "catboost")
        if name in facts["packages"]
    )
    left_out = "; ".join(f"{name}: {reason}" for name, reason in content["left_out"].items())
    sizes = " of quick sizes" if content["quick"] else ""
    return (
        f"{len(content['cells'])} cells{sizes}, measured on one core of {facts['processor']} "
        f"({facts['cores']} cores), Python {facts['python']}, {packages}."
        + (f" Left out: {left_out}." if left_out else "")
    )


def statistics_of(summary: SuiteSummary) -> dict[str, Any]:
    """Ranks and tests of a group, for the results file."""
    friedman = summary.friedman(FIGURE)
    return {
        "role": summary.group.role,
        "size": summary.group.size,
        "data": summary.data,
        "mean_ranks": _rounded(dict(zip(summary.methods, summary.mean_ranks(FIGURE), strict=True))),
        "friedman_p": finite(friedman.p_value),
        "critical_difference": finite(summary.critical_difference()),
        "wilcoxon_holm_p": _rounded(summary.wilcoxon(FIGURE)),
        "t_test_win_tie_loss": {
            method: summary.counts(FIGURE, method)
            for method in summary.methods
            if method != summary.ours
        },
        "log_loss_ratio": _rounded(dict(zip(summary.methods, summary.ratios(FIGURE), strict=True))),
        "fit_time_ratio": _rounded(
            dict(zip(summary.methods, summary.ratios("fit_cpu_seconds"), strict=True))
        ),
    }


def _rounded(values: dict[str, Any]) -> dict[str, float | None]:
    return {name: finite(value) for name, value in values.items()}


def _mean(values: Any) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else float("nan")


def _number(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.3f}"


def _ratio(value: float) -> str:
    if np.isnan(value):
        return ""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}" if value < 10 else f"{value:.1f}"
