"""Figures of docs/multilabel.md, from the four results of its benchmarks."""

from __future__ import annotations

from kinlearn_experiments.quotes.registry import extent, quote, quotes
from kinlearn_experiments.quotes.stored import at, cells, stored
from kinlearn_experiments.tables import table

TOY = {
    "labels together": "together",
    "together, signed similarity": "together, signed",
    "alone, one (sigma, reg) for all": "independent, shared (sigma, reg)",
    "alone, tuned per label": "independent, tuned per label",
}


@quote("multilabel.toy")
def toy_table() -> str:
    means = stored("multilabel_toy.json")["means"]
    rows = [
        [name, *(f"{100 * means[key][rule]:.2f} %" for rule in ("stack", "best"))]
        for name, key in TOY.items()
    ]
    return table(["", "grid combined (default)", "best point"], rows)


@quote("multilabel.costs")
def costs_table() -> str:
    rows = [
        [row["what"], f"{row['processor_ratio']:.3g}"]
        for row in stored("multilabel.json")["rows"]
        if row["wanted"] != "unit"
    ]
    wide = at("multilabel.json", "wide", "peak / 8(nT + n² + T²)")
    earlier = ", an earlier run" if stored("multilabel.json").get("wide_measured_before") else ""
    size = "T = 1000, n = 5000, all rows centres: peak memory / 8 bytes·(nT + n² + T²)"
    return table(["", "ratio"], [*rows, [size + earlier, f"{wide:.2g}"]])


def data_table(measure: str) -> str:
    content = stored("multilabel_data.json")
    means, repeats = content["means"], content["repeats"]
    ranks = content["mean_ranks"][measure]
    rows = [
        [method, *(f"{means[name][method][measure]:.4f}" for name in means), f"{rank:.1f}"]
        for method, rank in sorted(ranks.items(), key=lambda pair: pair[1])
    ]
    header = [f"{name} ({repeats[name]})" for name in means]
    return table(["method (repeats)", *header, "mean rank"], rows)


def calibration(which: str) -> str:
    """Log-loss with one beta for all labels, and with a beta each."""
    cell = cells("multilabel_calibration.json")[f"{which}/0"]
    return f"{cell['common']:.4f} to {cell['10']:.4f}"


def other_strengths() -> str:
    """The largest change of log-loss when the pull is 3 or 30."""
    found = cells("multilabel_calibration.json").values()
    return f"{max(abs(cell[pull] - cell['10']) for cell in found for pull in ('3', '30')):.4f}"


def steps(*shares: str) -> str:
    """Steps of conjugate gradients over regs and seeds at these shares of unobserved labels."""
    found = [
        step
        for share in shares
        for cell in cells("unobserved_labels.json", f"{share}/").values()
        for step in cell
    ]
    return extent(found, str)


def signed(measure: str) -> str:
    """The signed similarity on emotions."""
    path = ("means", "emotions", "signed similarity", measure)
    return f"{at('multilabel_data.json', *path):.4f}"


quotes(
    "multilabel",
    auc=lambda: data_table("macro AUC"),
    loss=lambda: data_table("log-loss"),
    emotions=lambda: calibration("emotions"),
    esc50=lambda: calibration("esc50"),
    cal500=lambda: calibration("cal500"),
    pull=other_strengths,
    steps_few=lambda: steps("0.1", "0.3"),
    steps_many=lambda: steps("0.6"),
    signed_auc=lambda: signed("macro AUC"),
    signed_loss=lambda: signed("log-loss"),
)
