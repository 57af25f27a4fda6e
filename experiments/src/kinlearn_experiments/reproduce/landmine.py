"""Landmine fields: Fig. 3 and Tables 3 and 4 of the MT-LSPC paper."""

from __future__ import annotations

from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn.datasets import load_landmine
from kinlearn_experiments.reproduce import six_page
from kinlearn_experiments.reproduce.experiment import Cell, Experiment, Found, Options, Page
from kinlearn_experiments.reproduce.grids import squared_distances
from kinlearn_experiments.reproduce.our_methods import OURS, run_ours
from kinlearn_experiments.reproduce.published_tasks import LANDMINE_AUC, LANDMINE_SECONDS
from kinlearn_experiments.reproduce.six_methods import (
    METHODS,
    TaskProblem,
    by_task,
    pooled_auc,
    run_method,
    split_rows,
)

SIZES, QUICK_SIZES = (20, 25, 30, 35), (20,)

SETTING = """
The first 17 of the 29 fields (15 foliated, 2 of bare earth), the labels of fields 16 and 17
reversed; n random samples of each field for training, all others for testing. The figure is the
mean over the fields of each field's AUC.

By the paper's rules: λ ∈ {0.01, 0.03, 0.1, 0.3, 1, 3}, γ ∈ {0, 0.01, 0.03, 0.1, 0.3, 1, 3}, σ ∈
{½, ⅔, ⅚, 1, 4/3, 5/3} × the median distance, kernel exp(-d²/σ²), chosen by 5-fold
cross-validation for the AUC of the held-out scores of all fields together. What the paper leaves
open, and what is done here: the score that the AUC ranks is q(+1|x) - q(-1|x), not rounded (for
KLR, the logit); folds are drawn so that every class of every field is spread evenly over them;
every fold is refitted with its own rows as centres; fields on their own (STI) have a median
distance of their own each but choose one point of the grid together, which is what one AUC over
all fields means; γ = 0 (no penalty on the fields' own parts) is computed as 1e-6; features are
used as they come; of equal points the first is taken. Our KLR takes Newton steps in the dual,
each started from the neighbouring γ.

By kinlearn's defaults: `MultiTaskLSPCCV()`, `MultiTaskKernelLogisticRegressionCV()`,
`IndependentTasks(LSPCCV())`, `PooledTasks(LSPCCV())`, on the same splits.
"""

REASONS = """
What the paper claims holds, with figures that differ in two ways. Fields on their own do better
here at 20 to 25 samples than in the paper, which does not say how a field without a single mine
among its samples is scored (about three fields in ten at 20 samples): here its score still falls
where harmless samples lie dense, and that ranks better than chance. And the multi-task methods
are a few hundredths lower and scatter more: one AUC over all held-out scores also compares rows
of different fields, among them the two reversed ones, and in some draws that favours a point of
the grid with little sharing or, for KLR, γ = 0. The paper's folds, which are not stated, may have
met this less often. kinlearn's defaults go by the squared error of leave-one-out scores and
average several points of the grid, which is steadier. Their fields on their own do worse than by
the paper's rules, because there each field chooses by itself from its few samples.

The ratio of times is a property of the two programmes as much as of the methods: the paper's KLR
is a quasi-Newton method that took minutes to hours, ours takes a few Newton steps.
"""


@lru_cache(maxsize=2)
def _data(data_home: Any) -> Any:
    return load_landmine(data_home=data_home, n_tasks=17, reversed_tasks=(15, 16))


def _split(data: Any, n: int, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    return split_rows(data.task, n, np.random.default_rng([seed, n]))


def _mean_auc(data: Any, test: NDArray[np.intp], scores: NDArray[np.float64]) -> float:
    signs, task = 2.0 * data.target[test] - 1.0, data.task[test]
    return float(np.mean([pooled_auc(signs[rows], scores[rows]) for _, rows in by_task(task)]))


def by_paper(method: str, n: int, seed: int, data_home: Any) -> dict[str, Any]:
    """One method by the paper's rules on one split."""
    data = _data(data_home)
    train, test = _split(data, n, seed)
    problem = TaskProblem(
        squared_distances(data.data, train, train),
        squared_distances(data.data, test, train),
        2.0 * data.target[train] - 1.0,
        data.task[train],
        data.task[test],
    )
    outcome = run_method(method, problem, pooled_auc, seed=seed, jointly=True)
    return {
        "quality": round(_mean_auc(data, test, outcome.scores), 5),
        "seconds": round(outcome.seconds, 4),
        "chosen": outcome.chosen,
    }


def by_ours(method: str, n: int, seed: int, data_home: Any) -> dict[str, Any]:
    """One method with kinlearn's defaults on the same split."""
    data = _data(data_home)
    train, test = _split(data, n, seed)
    scores, seconds = run_ours(
        method,
        data.data[train],
        data.target[train],
        data.task[train],
        data.data[test],
        data.task[test],
    )
    return {"quality": round(_mean_auc(data, test, scores), 5), "seconds": round(seconds, 4)}


def cells(options: Options) -> list[Cell]:
    """All cells, a seed after the other."""
    sizes = QUICK_SIZES if options.quick else SIZES
    found = []
    for seed in range(options.repeats):
        for n in sizes:
            if "paper" in options.protocols:
                found += [
                    Cell(f"paper/{n}/{m}/{seed}", partial(by_paper, m, n, seed, options.data_home))
                    for m in METHODS
                ]
            if "ours" in options.protocols:
                found += [
                    Cell(f"ours/{n}/{m}/{seed}", partial(by_ours, m, n, seed, options.data_home))
                    for m in METHODS
                    if m in OURS
                ]
    return found


def page(found: Found, options: Options, out: Path) -> Page:
    """Tables 3 and 4, Fig. 3, and what becomes of the paper's claims."""
    sizes = QUICK_SIZES if options.quick else SIZES
    figures = {p: six_page.SixMethods.of(found, p, sizes, options) for p in options.protocols}
    picture = six_page.draw(figures, out / "landmine.png", "AUC", "Samples per field")
    sections = [("Fig. 3: mean AUC and time", f"![Mean AUC and time]({picture.name})")]
    findings = []
    sections += six_page.mean_sections(figures, "AUC", "samples per field", options.repeats)
    if "paper" in figures:
        paper = figures["paper"]
        published = (LANDMINE_AUC, LANDMINE_SECONDS)
        sections += six_page.extreme_sections(paper, "AUC", published, (3, 4))
        findings += six_page.sharing_findings(paper, "AUC")
        if "ours" in figures:
            findings += six_page.ours_findings(paper, figures["ours"], "AUC")
    return Page(SETTING, sections, findings, REASONS, six_page.summary(figures))


EXPERIMENT = Experiment(
    name="landmine",
    title="Landmine fields: many related tasks, two of them reversed",
    source="Simm, Sugiyama and Kato (2011), section 4.2, Fig. 3, Tables 3 and 4",
    repeats=10,
    quick_repeats=2,
    cells=cells,
    page=page,
)
