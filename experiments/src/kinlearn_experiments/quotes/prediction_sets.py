"""Figures of docs/prediction_sets.md."""

from __future__ import annotations

from kinlearn_experiments.measures.prediction_sets import METHODS, OURS, show
from kinlearn_experiments.quotes.registry import quote, quotes
from kinlearn_experiments.quotes.stored import at, cells


@quote("prediction_sets.beside")
def beside() -> str:
    """Coverage and size of the sets of all."""
    return show(cells("prediction_sets.json"))


FEW = ("50", "100")


def _few() -> dict[str, dict[str, dict[str, float]]]:
    """Cells of few rows, by set and size, then method."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for key, cell in cells("prediction_sets.json").items():
        name, size, method = key.split("/")
        if size in FEW:
            found.setdefault(f"{name}/{size}", {})[method] = cell
    return found


def _ratio() -> str:
    others = [method for method in METHODS if method != OURS]
    ratios = [
        of[OURS]["size"] / min(of[method]["size"] for method in others) for of in _few().values()
    ]
    return f"{min(ratios):.2f} to {max(ratios):.2f}"


def _held() -> str:
    shares = [100 * of[OURS]["coverage"] for of in _few().values()]
    return f"{min(shares):.0f} to {max(shares):.0f} %"


quotes(
    "prediction_sets",
    ratio=_ratio,
    held=_held,
    coverage=lambda: str(at("prediction_sets.json", "coverage")),
    repeats=lambda: str(at("prediction_sets.json", "repeats")),
)
