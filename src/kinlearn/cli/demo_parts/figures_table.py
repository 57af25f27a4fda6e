"""Tables of a demo: methods below each other, the best figure of a column in bold."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rich.box import SIMPLE_HEAD
from rich.table import Table

LARGER_IS_BETTER = ("accuracy", "AUC", "micro F1", "macro AUC")


def figures_table(title: str, caption: str, names: Sequence[str], columns: Sequence[str]) -> Table:
    """Return an empty table: `names` to the left, figures to the right."""
    table = Table(
        title=title, caption=caption, box=SIMPLE_HEAD, show_edge=False, collapse_padding=True
    )
    for name in names:
        table.add_column(name)
    for column in columns:
        table.add_column(column, justify="right")
    return table


def add_rows(
    table: Table,
    rows: Sequence[tuple[Sequence[str], dict[str, float]]],
    plain: Collection[str] = (),
) -> None:
    """Add rows of names and figures; the best of these rows are bold, but in `plain` columns.

    Figures that look the same are equally good.
    """
    shown = [{name: _text(name, value) for name, value in figures.items()} for _, figures in rows]
    best = {
        name: (max if name in LARGER_IS_BETTER else min)(row[name] for row in shown)
        for name in shown[0]
        if name not in plain
    }
    for (names, _), row in zip(rows, shown, strict=True):
        cells = [f"[bold]{c}[/]" if best.get(name) == c else c for name, c in row.items()]
        table.add_row(*names, *cells)


def _text(name: str, value: float) -> str:
    return f"{value:5.2f} s" if name == "fit time" else f"{value:.3f}"
