"""Visual words: Table 1 of the LSPC-new paper, on corel5k and Office-Caltech10."""

from __future__ import annotations

import warnings
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn import LSPCCV, MultiLabelLSPCCV
from kinlearn.datasets import load_multilabel, load_office_caltech
from kinlearn_experiments.reproduce import three_page
from kinlearn_experiments.reproduce.experiment import (
    Cell,
    Experiment,
    Finding,
    Found,
    Options,
    Page,
)
from kinlearn_experiments.reproduce.grids import squared_distances
from kinlearn_experiments.reproduce.published_single import METHODS, VOC, VOC_AVERAGE, VOC_SECONDS
from kinlearn_experiments.reproduce.three_methods import label_aucs, run_three
from kinlearn_experiments.tables import table

SETS = ("corel5k", "office_caltech10")
N_LABELS, N_TRAIN, QUICK_TRAIN = 20, 1000, 300

SETTING = """
VOC 2010 is replaced by two sets of visual words: corel5k (5000 images, 499 words that are there
or not, the 20 most frequent labels as 20 binary tasks) and Office-Caltech10 (2533 images in 4
collections taken as one, counts of 800 SURF words, 10 kinds of objects, one against the rest). As
in the paper {n} random images are for training and the rest for testing, σ and λ are chosen by
2-fold cross-validation, and the figure is the AUC. The paper does not state its grids and
criterion: here those of the MT-LSPC paper (λ from 0.01 to 3, σ from ½ to 5/3 of the median
distance) and the AUC. LSPC-new ranks by Eq. 6, with negative outputs rounded up; KLR's λ weighs
against the sum of the losses. The training time is that of one label at σ = median, λ = 0.1,
after tuning; our KLR takes Newton steps. kinlearn's defaults are `MultiLabelLSPCCV()` for the
labels of corel5k and `LSPCCV()` for the kinds of Office-Caltech10, which choose by squared error.
"""

REASONS = """
The sets are not the paper's, so that only the order of the methods and the size of the gaps can
be compared. On Office-Caltech10's counts of words, the features nearest to the paper's, rounding
parameters costs about as much as in the paper; on corel5k, where a word is there or not and an
image has about eight, hardly anything. Where KLR is ahead of LSPC-new, its λ, which weighs
against the sum of the losses, is a weaker penalty than LSPC's λ ≥ 0.01 against their mean. The
ratio of training times is a property of the two programmes as much as of the methods: the paper's
KLR is a quasi-Newton method, ours takes Newton steps.
"""


@lru_cache(maxsize=4)
def _data(name: str, data_home: Any) -> tuple[NDArray, NDArray, list[str]]:
    """Rows, labels (n, L) and their names."""
    if name == "corel5k":
        found = load_multilabel("corel5k", data_home=data_home)
        top = np.argsort(-found.target.mean(axis=0), kind="stable")[:N_LABELS]
        names = [found.label_names[i] for i in top]
        return found.data.toarray(), found.target[:, top].astype(np.float64), names
    found = load_office_caltech(data_home=data_home)
    Z = (found.target[:, None] == np.arange(10)).astype(np.float64)
    return found.data, Z, found.target_names


def split(n_rows: int, n_train: int, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Random training rows and all others."""
    order = np.random.default_rng(seed).permutation(n_rows)
    return order[:n_train], order[n_train:]


def by_paper(name: str, n_train: int, seed: int, data_home: Any) -> dict[str, Any]:
    """The three methods on one split."""
    X, Z, _ = _data(name, data_home)
    train, test = split(len(X), n_train, seed)
    found = run_three(
        squared_distances(X, train, train),
        squared_distances(X, test, train),
        Z[train],
        Z[test],
        seed,
    )
    return {
        "auc": {method: (100 * of).round(3).tolist() for method, of in found.auc.items()},
        "seconds": found.seconds,
    }


def by_ours(name: str, n_train: int, seed: int, data_home: Any) -> dict[str, Any]:
    """kinlearn's defaults on the same split."""
    X, Z, _ = _data(name, data_home)
    train, test = split(len(X), n_train, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        if name == "corel5k":
            scores = MultiLabelLSPCCV().fit(X[train], Z[train]).predict_proba(X[test])
        else:
            model = LSPCCV().fit(X[train], Z[train].argmax(axis=1))
            scores = model.predict_proba(X[test])
    return {"auc": {three_page.OURS: (100 * label_aucs(Z[test], scores)).round(3).tolist()}}


def cells(options: Options) -> list[Cell]:
    """All cells, a seed after the other."""
    n = QUICK_TRAIN if options.quick else N_TRAIN
    work = {"paper": by_paper, "ours": by_ours}
    return [
        Cell(f"{protocol}/{name}/{seed}", partial(work[protocol], name, n, seed, options.data_home))
        for seed in range(options.repeats)
        for name in SETS
        for protocol in options.protocols
    ]


def page(found: Found, options: Options, out: Path) -> Page:
    """Table 1 for both sets beside the published one."""
    sections: list[tuple[str, str]] = []
    findings: list[Finding] = []
    pictures: dict[str, tuple[three_page.Figures, list[str]]] = {}
    summary: dict[str, Any] = {}
    for name in SETS:
        home: Any = options.data_home
        labels = _data(name, home)[2]
        figures: three_page.Figures = {}
        for protocol in options.protocols:
            values = [found[f"{protocol}/{name}/{seed}"] for seed in range(options.repeats)]
            for method in values[0]["auc"]:
                figures[method] = np.array([value["auc"][method] for value in values])
        text = three_page.label_table(figures, labels, "label")
        seconds: dict[str, float] = {}
        if "paper" in options.protocols:
            values = [found[f"paper/{name}/{seed}"]["seconds"] for seed in range(options.repeats)]
            seconds = {m: float(np.median([value[m] for value in values])) for m in METHODS}
            times = ", ".join(f"{m} {s:.3g} s" for m, s in seconds.items())
            text += f"\n\nTraining time: {times}."
            three = {m: figures[m] for m in METHODS}
            findings += three_page.order_findings(three, seconds, f"on {name}")
            findings += three_page.ours_findings(figures, f"on {name}")
        sections.append((f"{name}: AUC in %, {options.repeats} trials", text))
        pictures[name] = (figures, labels)
        summary[name] = three_page.summary(figures, seconds)
    picture = three_page.draw(pictures, out / "voc.png")
    sections.insert(0, ("AUC by label", f"![AUC by label]({picture.name})"))
    sections.append(("Table 1 of the paper: VOC 2010, 50 trials", published()))
    n = QUICK_TRAIN if options.quick else N_TRAIN
    return Page(SETTING.format(n=n), sections, findings, REASONS, summary)


def published() -> str:
    """The paper's table."""
    rows: list[list[str]] = [
        [label, *(f"{mean} ({std})" for mean, std in of)] for label, of in VOC.items()
    ]
    rows.append(["average", *(str(VOC_AVERAGE[m]) for m in METHODS)])
    rows.append(["training time, s", *(str(VOC_SECONDS[m]) for m in METHODS)])
    return table(["label", *METHODS], rows)


EXPERIMENT = Experiment(
    name="voc",
    title="Visual words: rounding outputs, rounding parameters, logistic regression",
    source="Yamada, Sugiyama, Wichern and Simm (2011), section 4.1, Table 1",
    repeats=50,
    quick_repeats=2,
    cells=cells,
    page=page,
)
