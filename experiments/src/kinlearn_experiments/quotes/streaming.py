"""Figures of docs/planning.md and docs/streaming.md."""

from __future__ import annotations

from typing import Any

from kinlearn.cli.plan import size_text, time_text
from kinlearn.planning import RATE, Plan, plan
from kinlearn_experiments.measures.stream import N_CLASSES, N_FEATURES
from kinlearn_experiments.measures.stream_memory import planned_mb
from kinlearn_experiments.quotes.registry import digits, extent, power, quote, quotes
from kinlearn_experiments.quotes.stored import at, cells, stored
from kinlearn_experiments.tables import table

Row = dict[str, Any]
TASK_FEATURES, TASK_CLASSES = 10, 2  # of the tasks that stream.py makes


def planned(row: Row) -> Plan:
    """The plan of a measured row."""
    if "tasks" in row:
        sizes = (TASK_FEATURES, row["centers"], TASK_CLASSES, row["tasks"])
        return plan(row["rows"], *sizes)
    return plan(row["rows"], N_FEATURES, row["centers"], N_CLASSES)


def seconds(row: Row) -> float:
    """Processor seconds: of sums alone, or of the whole fit."""
    return float((row.get("sums") or row["seconds"])[1])


def formula(row: Row) -> float:
    found = planned(row)
    return found.pass_seconds + (0.0 if "sums" in row else found.solve_seconds)


def measured(*starts: str) -> list[Row]:
    found = [row for start in starts for row in cells("stream.json", start).values()]
    return sorted(found, key=lambda row: (row["centers"], row["rows"], "sums" not in row))


@quote("planning.rows")
def rows_table() -> str:
    lines = []
    for row in measured("speed/", "rows/"):
        share = row.get("share_of_bare_speed")
        peak = row.get("peak_mb")
        lines.append(
            [
                f"{row['rows']:,}",
                f"{row['centers']:,}",
                "sums" if share else "sums, solution, calibration",
                digits(row["rows"] / seconds(row), 3),
                f"{seconds(row):.2g}",
                f"{formula(row):.2g}",
                f"{share[1]:.0%}".replace("%", " %") if share else "",
                f"{peak:.0f} MB" if peak else "",
                f"{planned(row).memory_bytes / 2**20:.0f} MB" if peak else "",
            ]
        )
    header = ["rows", "centres", "what", "rows/s", "processor s", "formula"]
    header += ["of bare `dsyrk` + `exp(gemm)`", "peak memory", "formula"]
    return table(header, lines)


def wide() -> list[Row]:
    found = cells("stream_memory.json", "").values()
    return sorted(found, key=lambda row: (row["features"], row["centers"], row["batch_rows"]))


@quote("planning.features")
def features_table() -> str:
    lines = [
        [
            f"{row['features']:,}",
            f"{row['centers']:,}",
            f"{row['batch_rows']:,}",
            f"{row['peak_mb']:.0f} MB",
            f"{planned_mb(row):.0f} MB",
        ]
        for row in wide()
    ]
    return table(["features", "centres", "rows of a batch", "peak memory", "formula"], lines)


def features_off() -> str:
    gaps = [abs(row["peak_mb"] / planned_mb(row) - 1) for row in wide()]
    return f"{max(gaps):.0%}".replace("%", " %")


@quote("planning.tasks")
def tasks_table() -> str:
    lines = [
        [
            f"{row['tasks']:,}",
            f"{seconds(row):.2g}",
            f"{formula(row):.2g}",
            f"{row['peak_mb']:.0f} MB",
            f"{planned(row).memory_bytes / 2**20:.0f} MB",
        ]
        for row in sorted(measured("tasks/"), key=lambda row: row["tasks"])
    ]
    return table(["tasks", "processor s", "formula", "peak memory", "formula"], lines)


@quote("planning.paper")
def paper_table() -> str:
    """What the formulas say of sizes that were not measured."""
    lines = []
    for rows, m in ((1e6, 1000), (1e7, 2000), (1e8, 2000), (1e9, 1000), (1e9, 5000)):
        found = plan(rows, N_FEATURES, m, N_CLASSES)
        lines.append(
            [
                f"{rows:,.0f}",
                f"{m:,}",
                size_text(found.sums_bytes),
                size_text(found.memory_bytes),
                digits(found.hours),
                time_text(found.elapsed_seconds(100)),
            ]
        )
    header = ["rows", "centres", "sums", "memory of a process", "processor hours", "on 100 cores"]
    return table(header, lines)


def rates() -> list[float]:
    """Operations a second, in units of 1e9, that the measured rows imply."""
    return [RATE * formula(row) / seconds(row) / 1e9 for row in measured("speed/", "rows/")]


def off(*starts: str) -> str:
    """By how many percent the measured time differs from the formula at most."""
    return f"{max(abs(seconds(r) / formula(r) - 1) for r in measured(*starts)):.0%}".replace(
        "%", " %"
    )


def memory_off() -> str:
    rows = measured("rows/", "tasks/")
    gaps = [abs(row["peak_mb"] * 2**20 / planned(row).memory_bytes - 1) for row in rows]
    return f"{max(gaps):.0%}".replace("%", " %")


def full_gb() -> str:
    """Sums of the largest number of tasks if each were kept in full, in GB."""
    row = max(measured("tasks/"), key=lambda row: row["tasks"])
    return f"{8 * row['tasks'] * row['centers'] ** 2 / 1e9:.0f} GB"


quotes(
    "planning",
    rate=lambda: f"{RATE / 1e9:.0f}",
    rates=lambda: extent(rates()),
    off=lambda: off("speed/", "rows/"),
    tasks_off=lambda: off("tasks/"),
    memory_off=memory_off,
    features_off=features_off,
    full=full_gb,
)

NAMES = {
    "letter": "letter (13,333 × 16, 26 classes)",
    "shuttle": "shuttle (38,666 × 9, 7 classes)",
    "fashion": "Fashion-MNIST (60,000 × 784, 10 classes)",
    "tmc2007": "tmc2007 (19,064 × 500 sparse, 22 labels)",
}


def method(key: str, name: str) -> str:
    """The method of a cell, for a reader."""
    kind, *size = key.split("/")[1:]
    words = {
        "lspc": "streamed MultiLabelLSPC" if name == "tmc2007" else "streamed LSPC",
        "nystroem": "Nystroem + LogisticRegression",
        "boosting": "HistGradientBoosting",
        "logistic": "LogisticRegression on the features",
    }
    return words.get(kind, kind) + (f", m = {size[0]}" if size else "")


def of_set(name: str) -> dict[str, Row]:
    found = cells("stream_data.json", f"{name}/")
    return {key: cell for key, cell in found.items() if "accuracy" in cell}


def unit(name: str) -> float:
    return min(cell["seconds"] for key, cell in of_set(name).items() if "/lspc/" in key)


@quote("streaming.data")
def data_table() -> str:
    lines = []
    for name in dict.fromkeys(key.split("/")[0] for key in cells("stream_data.json")):
        for key, cell in of_set(name).items():
            f1 = cell.get("f1_micro")
            lines.append(
                [
                    NAMES.get(name, name),
                    method(key, name),
                    f"{cell['accuracy']:.4f}",
                    f"{cell['log_loss']:.4f}",
                    "" if f1 is None else f"{f1:.3f}",
                    f"{cell['seconds'] / unit(name):.1f}",
                ]
            )
    return table(["data", "method", "accuracy", "log-loss", "micro-F1", "time"], lines)


@quote("streaming.nystroem")
def nystroem_sentence() -> str:
    """Streamed LSPC beside Nystroem with logistic regression of the same number of centres."""
    lower, times, count = 0, [], 0
    for name in dict.fromkeys(key.split("/")[0] for key in cells("stream_data.json")):
        found = of_set(name)
        for key, cell in found.items():
            if "/nystroem/" in key and (ours := found.get(key.replace("nystroem", "lspc"))):
                count += 1
                lower += cell["log_loss"] < ours["log_loss"]
                times.append(cell["seconds"] / ours["seconds"])
    return (
        f"At equal m, logistic regression on Nystroem features has the lower log-loss in {lower} "
        f"of {count} comparisons, and takes {extent(times)} times as long."
    )


@quote("streaming.best")
def best_sentence() -> str:
    """The lowest log-loss of each set."""
    parts = []
    for name in dict.fromkeys(key.split("/")[0] for key in cells("stream_data.json")):
        found = of_set(name)
        best = min(found, key=lambda key: found[key]["log_loss"])
        parts.append(f"{NAMES.get(name, name).split(' (')[0]}: {method(best, name)}")
    return f"Lowest log-loss measured, by set: {'; '.join(parts)}."


@quote("streaming.smallest")
def smallest_reg() -> str:
    found = [c for k, c in cells("stream_data.json").items() if "/lspc/" in k]
    least = min(cell["reg"] for cell in found)
    return f"{sum(cell['reg'] == least for cell in found)} of {len(found)} fits"


@quote("streaming.accuracy")
def accuracy_table() -> str:
    regs = stored("stream_accuracy.json")["regs"]
    rows = [
        [f"largest difference of scores, width {key}", *(power(value) for value in cell)]
        for key, cell in cells("stream_accuracy.json").items()
    ]
    return table(["reg", *(power(reg) for reg in regs)], rows)


quotes(
    "streaming",
    accuracy_rows=lambda: f"{at('stream_accuracy.json', 'rows'):,}",
    accuracy_centres=lambda: f"{at('stream_accuracy.json', 'centers'):,}",
)
