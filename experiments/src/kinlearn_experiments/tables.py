"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table which reads well in a terminal too; the first column is to the left.

    Examples
    --------
    >>> from kinlearn_experiments.tables import table
    >>> print(table(["method", "AUC"], [["LSPC-MT", "0.81"]]))
    | method  |  AUC |
    |---------|-----:|
    | LSPC-MT | 0.81 |
    """
    cells = [[str(cell) for cell in row] for row in [header, *rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]

    def line(row: Sequence[str]) -> str:
        padded = [
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        return "| " + " | ".join(padded) + " |"

    rule = "|" + "|".join(
        "-" * (width + 2) if i == 0 else "-" * (width + 1) + ":" for i, width in enumerate(widths)
    )
    return "\n".join([line(cells[0]), rule + "|", *(line(row) for row in cells[1:])])
