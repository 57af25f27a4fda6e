"""The page "should I use this?", made from a results file and from nothing else."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from kinlearn_experiments.bench.plots import draw_all
from kinlearn_experiments.bench.reading import reading, short_answer
from kinlearn_experiments.bench.report import (
    READING,
    describe,
    details,
    extent,
    failure_lines,
    overview,
    seconds,
    summaries_of,
    test_sentence,
)
from kinlearn_experiments.bench.roles import HELD_OUT
from kinlearn_experiments.bench.suites import SUITES
from kinlearn_experiments.bench.summary import SuiteSummary
from kinlearn_experiments.tables import table

OPENING = """# Should I use this?

Made by `kinlearn bench --page` from stored results, whose cells may come from several sittings.
Sentences are made from them, too: to change a
figure, measure again (`kinlearn bench`). {machine}

Every method gets the same splits and is tuned by its own best practice; each cell runs in a process
of its own. {counts} What the numbers mean: {explanation}

## The short answer

{answers}

![Mean ranks by log-loss; bars join methods that cannot be told apart]({images}/bench_ranks.png)

![Log-loss against the time of the tuned fit]({images}/bench_cost.png)

What these figures do not say: no split here has more than {most} training rows, so they speak of
small data, where probabilities are hard to come by. With tens of thousands of rows boosted trees
gain and kernels need a subset of centres; [What it costs](benchmarks.md) has larger sets. Ties by
the t-test over few splits are not proofs of equality. And the defaults of ours (criterion,
combination, calibration) were chosen on many of these same data sets{but}, where the rivals' grids
are common practice: on data nobody has looked at, expect the lead to be smaller. Cells of our tuned
estimators are of their defaults of today, but for those of one task and most of `LSPCCV a label`:
these were measured with one Gaussian kernel in the plain metric, the default at the time, which
[Which kernel](which_kernel.md) compares with that of today. {held_out}
"""
NOT_YET = """For that, tables are set apart (`kinlearn bench single --role held-out`); they have not
been measured yet, and the kernels and the metric of the default were chosen with them in sight."""
MEASURED = """Of one task, the held-out tables come first: nothing but the kernels and the metric of
the default was chosen with them in sight."""


def page_text(content: dict[str, Any], images: str = "images") -> str:
    """The page as Markdown.

    Parameters
    ----------
    content : dict
        A results file.
    images : str
        The folder of the pictures, seen from the page.
    """
    summaries = summaries_of(content["cells"])
    held_out = any(summary.group.role == HELD_OUT for summary in summaries)
    failed = sum(len(summary.failures) for summary in summaries)
    missing = sum(summary.n_missing for summary in summaries)
    counts = f"{failed} cells failed or ran out of time and count as worst in ranks."
    if missing:
        counts += f" {missing} cells were not measured; their splits do not count."
    opening = OPENING.format(
        machine=describe(content),
        counts=counts,
        explanation=READING[0].lower() + READING[1:],
        answers="\n".join(
            f"- **{summary.title}**: {short_answer(summary)}" for summary in summaries
        ),
        images=images,
        but=", the held-out tables excepted" if held_out else "",
        held_out=MEASURED if held_out else NOT_YET,
        most=max(cell.get("n_train", 0) for cell in content["cells"]),
    )
    return opening + "\n" + "\n\n".join(_section(summary) for summary in summaries) + "\n"


def _section(summary: SuiteSummary) -> str:
    suite = SUITES[summary.name]
    tuning = "\n".join(
        f"- {method.name}: {method.tuning}"
        for method in suite.methods
        if method.name in summary.methods
    )
    parts = [
        f"## {summary.title}",
        extent(summary),
        table(*overview(summary)),
        test_sentence(summary),
        "In brackets: the rival's log-loss over ours; data sets won, tied and lost by ours.",
        "\n".join(f"- {paragraph}" for paragraph in reading(summary)),
        "<details><summary>By data set, and how each method was tuned</summary>",
        *(table(*details(summary, figure)) for figure in ("log_loss", "accuracy", "auc")),
        table(*seconds(summary)),
        tuning,
    ]
    if summary.failures:
        parts += ["Cells without figures:", "\n".join(failure_lines(summary))]
    parts += ["</details>"]
    return "\n\n".join(parts)


def write_page(content: dict[str, Any], page: Path) -> list[Path]:
    """Write the page, and its pictures into the folder ``images`` beside it."""
    images = page.parent / "images"
    images.mkdir(parents=True, exist_ok=True)
    partial = page.with_name(page.name + ".partial")
    partial.write_text(page_text(content), encoding="utf-8")
    os.replace(partial, page)
    return [page, *draw_all(summaries_of(content["cells"]), images)]
