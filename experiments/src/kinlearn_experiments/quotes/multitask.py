"""Figures of docs/multitask.md, from ``multitask.json`` and ``multitask_data.json``."""

from __future__ import annotations

import numpy as np

from kinlearn_experiments.measures import multitask, unseen_tasks
from kinlearn_experiments.measures.multitask_data import DEFAULT
from kinlearn_experiments.quotes.registry import quote, quotes
from kinlearn_experiments.quotes.stored import QuoteError, cells
from kinlearn_experiments.tables import table

COLUMNS = {
    "Landmine 20": "landmine/20",
    "Landmine 35": "landmine/35",
    "vowel 1": "vowel/1",
    "vowel 2": "vowel/2",
    "Office 2": "office_caltech10/2",
    "Office 5": "office_caltech10/5",
}
OURS, KEPT = "MultiTaskLSPCCV", "  centres kept when held out"
METHODS = {
    "`MultiTaskLSPCCV()`": DEFAULT,
    '… then: `combine="within_se"`': OURS,
    '… then: `combine="stack"`': "  combine=stack",
    '… then: `combine="best"`': "  combine=best",
    "`IndependentTasks(LSPCCV())`": "IndependentTasks(LSPCCV)",
    "`PooledTasks(LSPCCV())`": "PooledTasks(LSPCCV)",
    "`HistGradientBoostingClassifier`, task id a category": "HistGradientBoosting + task id",
}
SEEN = range(10)  # the splits on which the rule of combination was chosen; later ones are fresh


def values(column: str, method: str, what: str, fresh: bool = False) -> list[float]:
    """One figure over splits."""
    found = [
        cell[what]
        for key, cell in cells("multitask_data.json", f"{column}/{method}/").items()
        if (int(key.rsplit("/", 1)[1]) not in SEEN) == fresh
    ]
    if not found:
        raise QuoteError(f"multitask_data.json has no such splits of {column}/{method}.")
    return found


def mean(column: str, method: str, what: str, fresh: bool = False) -> float:
    return float(np.mean(values(column, method, what, fresh)))


@quote("multitask.centres")
def centres_table() -> str:
    rows = [
        [name, *(f"{mean(column, method, 'log_loss'):.3f}" for column in COLUMNS.values())]
        for name, method in (("centres kept", KEPT), ("own centre held at zero", OURS))
    ]
    return table(["log-loss on new rows", *COLUMNS], rows)


@quote("multitask.quality")
def quality_table() -> str:
    """Quality / log-loss, the best of each column in bold."""
    shown: dict[str, list[str]] = {name: [] for name in METHODS}
    for column in COLUMNS.values():
        quality = {n: f"{mean(column, m, 'quality'):.3f}" for n, m in METHODS.items()}
        loss = {n: f"{mean(column, m, 'log_loss'):.3f}" for n, m in METHODS.items()}
        best, least = max(quality.values()), min(loss.values(), key=float)
        for name in METHODS:
            one = f"**{quality[name]}**" if quality[name] == best else quality[name]
            two = f"**{loss[name]}**" if loss[name] == least else loss[name]
            shown[name].append(f"{one} / {two}")
    return table(["", *COLUMNS], [[name, *line] for name, line in shown.items()])


@quote("multitask.fresh")
def fresh_table() -> str:
    """Landmine on splits that no choice was made on: mean AUC with its standard error."""
    columns = ("Landmine 20", "Landmine 35")
    rows = []
    for name in (OURS, "IndependentTasks(LSPCCV)", "PooledTasks(LSPCCV)", METHODS_BOOSTING):
        line = [f"{name}, then" if name == OURS else name]
        for column in columns:
            auc = np.array(values(COLUMNS[column], name, "quality", fresh=True))
            line.append(f"{auc.mean():.3f} ± {auc.std(ddof=1) / np.sqrt(len(auc)):.3f}")
        rows.append(line)
    return table(["AUC on fresh splits", *columns], rows)


METHODS_BOOSTING = "HistGradientBoosting + task id"


@quote("multitask.unseen")
def unseen_text() -> str:
    return unseen_tasks.show(cells("unseen_tasks.json"))


@quote("multitask.costs")
def costs_table() -> str:
    found = cells("multitask.json")
    return multitask.show([row for cell in found.values() for row in cell])


def gain() -> float:
    """The least gain of AUC on Landmine over separate and pooled models."""
    return min(
        mean(column, DEFAULT, "quality") - mean(column, other, "quality")
        for column in ("landmine/20", "landmine/35")
        for other in ("IndependentTasks(LSPCCV)", "PooledTasks(LSPCCV)")
    )


quotes("multitask", gain=lambda: f"{gain():.2f}")
