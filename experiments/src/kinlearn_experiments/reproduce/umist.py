"""UMIST faces: Fig. 2 and Tables 1 and 2 of the MT-LSPC paper."""

from __future__ import annotations

from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn.datasets import load_umist
from kinlearn_experiments.reproduce import six_page
from kinlearn_experiments.reproduce.experiment import Cell, Experiment, Found, Options, Page
from kinlearn_experiments.reproduce.grids import squared_distances
from kinlearn_experiments.reproduce.our_methods import OUR_LSPC, run_ours
from kinlearn_experiments.reproduce.published_tasks import UMIST_ACCURACY, UMIST_SECONDS
from kinlearn_experiments.reproduce.six_methods import (
    METHODS,
    TaskProblem,
    accuracy,
    by_task,
    run_method,
    split_rows,
)

SIZES, QUICK_SIZES = (3, 4, 5, 6, 7, 8), (3, 8)
# The first of each pair wears glasses, the second does not.
PAIRS = ((2, 3), (4, 6), (10, 11), (19, 18))
Index = NDArray[np.intp]
Pairs = tuple[tuple[int, int], ...]

SETTING = """
The paper makes four tasks, a man against a woman each, and names no subjects; the database has no
labels of gender. Here the four tasks are pairs of people of whom the first wears glasses and the
second does not: {pairs} (`--pairs` changes them). The images are the same 575, at a quarter of
the height and width (28 × 23 pixels instead of 112 × 92), as raw grey values, without exact
copies (subject 2 has ten). "Samples per task" is read as samples of each class of each task; the
rest is for testing, as many of one class as of the other. The figure is the mean over the tasks
of the share of right answers.

By the paper's rules: λ ∈ {{0.01, 0.03, 0.1, 0.3, 1, 3}}, γ ∈ {{0, 0.01, 0.03, 0.1, 0.3, 1, 3}}, σ
∈ {{½, ⅔, ⅚, 1, 4/3, 5/3}} × the median distance, kernel exp(-d²/σ²), chosen by 5-fold
cross-validation for the share of right answers; tasks on their own (STI) choose for themselves. γ
= 0 is computed as 1e-6. Many points of the grid are equally right on so few images: the first of
them is taken (widths from narrow to wide; inside, λ from small to large and γ from large to small
with many tasks, λ from large to small with one).

By kinlearn's defaults: `MultiTaskLSPCCV()`, `IndependentTasks(LSPCCV())`,
`PooledTasks(LSPCCV())`, on the same splits.
"""

REASONS = """
The tasks are other ones than the paper's, on smaller images, so that only the order of the
methods can be compared. Over the paper's repeats LSPC-MT is ahead of KLR-MT by about a
hundredth, where the paper finds them level. Why was not looked into; with so few images many
points of the grid are equally right in cross-validation, and which of them is taken may matter.
Times: the paper's KLR is a quasi-Newton method, ours takes a few Newton steps.
"""


@lru_cache(maxsize=2)
def _data(data_home: Any) -> Any:
    return load_umist(data_home=data_home)


def draw_split(target: Index, pairs: Pairs, n: int, seed: int) -> tuple[Index, Index, Index, Index]:
    """Training and test rows, and for every row the task and the class; balanced in both.

    Returns
    -------
    train, test : ndarrays
        Row numbers.
    task, label : ndarrays
        For all rows of the data: number of the task (-1 for people in none), and 0 or 1.
    """
    rng = np.random.default_rng([seed, n])
    task = np.full(target.size, -1, dtype=np.intp)
    label = np.zeros(target.size, dtype=np.intp)
    for t, (glasses, none) in enumerate(pairs):
        for person, value in ((glasses, 1), (none, 0)):
            rows = target == person
            if rows.sum() <= n:
                raise ValueError(
                    f"Person {person} has {rows.sum()} images, too few for {n} to train on: choose "
                    "other pairs (people are numbered from 1 to 20)."
                )
            if (task[rows] >= 0).any():
                raise ValueError(f"Person {person} is in two pairs: choose other pairs.")
            task[rows], label[rows] = t, value
    used = np.flatnonzero(task >= 0)
    cell = 2 * task + label
    inner, rest = split_rows(cell[used], n, rng)
    train, rest = used[inner], used[rest]
    test = []
    for t in range(len(pairs)):
        classes = [rng.permutation(rest[cell[rest] == 2 * t + value]) for value in (0, 1)]
        fewest = min(map(len, classes))
        test += [rows[:fewest] for rows in classes]
    return train, np.sort(np.concatenate(test)), task, label


def _mean_accuracy(signs: NDArray, task: Index, scores: NDArray[np.float64]) -> float:
    return float(np.mean([accuracy(signs[rows], scores[rows]) for _, rows in by_task(task)]))


def measure(protocol: str, method: str, n: int, seed: int, options: Options) -> dict[str, Any]:
    """One method on one split."""
    home: Any = options.data_home
    data = _data(home)
    train, test, task, label = draw_split(data.target, options.pairs or PAIRS, n, seed)
    signs = np.where(label == 1, 1.0, -1.0)
    if protocol == "paper":
        problem = TaskProblem(
            squared_distances(data.data, train, train),
            squared_distances(data.data, test, train),
            signs[train],
            task[train],
            task[test],
        )
        outcome = run_method(method, problem, accuracy, seed=seed)
        scores, seconds = outcome.scores, outcome.seconds
    else:
        scores, seconds = run_ours(
            method, data.data[train], label[train], task[train], data.data[test], task[test]
        )
    quality = _mean_accuracy(signs[test], task[test], scores)
    return {"quality": round(quality, 5), "seconds": round(seconds, 4)}


def cells(options: Options) -> list[Cell]:
    """All cells, a seed after the other."""
    sizes = QUICK_SIZES if options.quick else SIZES
    return [
        Cell(
            f"{protocol}/{n}/{method}/{seed}", partial(measure, protocol, method, n, seed, options)
        )
        for seed in range(options.repeats)
        for n in sizes
        for protocol in options.protocols
        for method in METHODS
        if protocol == "paper" or method in OUR_LSPC
    ]


def page(found: Found, options: Options, out: Path) -> Page:
    """Tables 1 and 2, Fig. 2, and what becomes of the paper's claims."""
    sizes = QUICK_SIZES if options.quick else SIZES
    figures = {p: six_page.SixMethods.of(found, p, sizes, options) for p in options.protocols}
    picture = six_page.draw(figures, out / "umist.png", "accuracy", "Samples per class and task")
    sections = [("Fig. 2: mean accuracy and time", f"![Accuracy and time]({picture.name})")]
    findings = []
    sections += six_page.mean_sections(figures, "accuracy", "samples per class", options.repeats)
    if "paper" in figures:
        paper = figures["paper"]
        published = (UMIST_ACCURACY, UMIST_SECONDS)
        sections += six_page.extreme_sections(paper, "accuracy", published, (1, 2))
        findings += six_page.sharing_findings(paper, "accuracy")
        if "ours" in figures:
            findings += six_page.ours_findings(paper, figures["ours"], "accuracy")
    pairs = ", ".join(f"{a}–{b}" for a, b in options.pairs or PAIRS)
    summary = six_page.summary(figures)
    return Page(SETTING.format(pairs=pairs), sections, findings, REASONS, summary)


EXPERIMENT = Experiment(
    name="umist",
    title="UMIST faces: four related tasks, few images each",
    source="Simm, Sugiyama and Kato (2011), section 4.1, Fig. 2, Tables 1 and 2",
    repeats=200,
    quick_repeats=5,
    cells=cells,
    page=page,
)
