"""Figures of docs/deployment.md and docs/tables.md."""

from __future__ import annotations

from kinlearn_experiments.measures.hand_over import summary
from kinlearn_experiments.quotes.registry import digits, quote, quotes
from kinlearn_experiments.quotes.stored import at, cells
from kinlearn_experiments.tables import table


def splits(name: str, which: str) -> list[dict[str, float]]:
    return list(cells("hand_over.json", f"{name}/{which}/").values())


@quote("hand_over.table")
def hand_over_table() -> str:
    found = dict.fromkeys(tuple(key.split("/")[:2]) for key in cells("hand_over.json"))
    rows = [
        [name, which, *(value.replace("%", " %") for value in summary(splits(name, which)))]
        for name, which in found
    ]
    header = ["set", "classifier", "answered", "error", "splits over target"]
    header += ["8s and 9s answered", "the same, `min_familiarity=0.01`"]
    # other classifiers have no measure of familiarity
    rows = [
        [*row[:6], "no measure" if row[1] != "LSPC" and row[5] != "-" else row[6]] for row in rows
    ]
    return table(header, [["" if value == "-" else value for value in row] for row in rows])


def familiarity(key: str, what: str) -> float:
    return float(at("familiarity.json", "cells", key, what))


def guarded() -> float:
    found = [cell["strangers_guarded"] for cell in splits("digits", "LSPC")]
    return 100 * sum(found) / len(found)


def memory(key: str, what: str = "peak_mb") -> float:
    return float(at("table.json", "cells", key, what))


def adult(method: str) -> str:
    found = cells("table.json", f"adult/{method}/")
    return " and ".join(f"{cell['log_loss']:.4f}" for cell in found.values())


quotes(
    "hand_over",
    repeats=lambda: str(len(splits("digits", "LSPC"))),
    target=lambda: f"{at('hand_over.json', 'target'):g}",
    confidence=lambda: f"{at('hand_over.json', 'confidence'):g}",
    guarded=lambda: f"{guarded():.0f} %",
)
quotes(
    "familiarity",
    own=lambda: f"{100 * familiarity('digits/2', 'own'):.1f}",
    wine=lambda: f"{100 * familiarity('wine/2', 'own'):.1f}",
    few_centres=lambda: f"{familiarity('digits, 100 centres/2', 'area'):.2f}",
    all_rows=lambda: f"{familiarity('digits/2', 'area'):.2f}",
)
quotes(
    "tables",
    lspc=lambda: adult("LSPCCV"),
    logistic=lambda: adult("LogisticRegression"),
    boosting=lambda: adult("HistGradientBoosting"),
    calibration=lambda: " and ".join(
        f"{100 * cell['calibration_error']:.1f} %"
        for cell in cells("table.json", "adult/LSPCCV/").values()
    ),
    train_gb=lambda: f"{memory('adult/train') / 1000:.2f} GB",
    input_mb=lambda: f"{memory('predict/5000000', 'input_mb'):.0f} MB",
    predict_mb=lambda: f"{memory('predict/5000000'):.0f} MB",
    predict_minutes=lambda: (
        f"{digits(memory('predict/5000000', 'processor_seconds') / 60)} minutes"
    ),
)
