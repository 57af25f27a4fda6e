"""``kinlearn check``: what a table is taken for, and what is wrong with it, before any training."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from kinlearn.cli.options import (
    Delimiter,
    Encoding,
    Json,
    TablePath,
    missing_texts,
    names_in,
)
from kinlearn.cli.refusal import refusing
from kinlearn.cli.terminal import Terminal

_MOST_CLASSES = 12


def check(
    data: TablePath,
    target: Annotated[
        str | None, typer.Option(help="Column of classes to predict.", show_default=False)
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(help="Yes/no columns to predict together: a,b,c.", show_default=False),
    ] = None,
    task: Annotated[
        str | None, typer.Option(help="Column of related tasks.", show_default=False)
    ] = None,
    group: Annotated[
        str | None, typer.Option(help="Column whose rows are held out together.")
    ] = None,
    numeric: Annotated[
        str | None, typer.Option(help="Columns to take as numbers: a,b.", show_default=False)
    ] = None,
    categorical: Annotated[
        str | None, typer.Option(help="Columns to take as categories: a,b.", show_default=False)
    ] = None,
    drop: Annotated[
        str | None, typer.Option(help="Columns to leave out: a,b.", show_default=False)
    ] = None,
    missing: Annotated[
        str | None,
        typer.Option(help="Texts that mean missing, in place of the usual ones: NA,?,-9."),
    ] = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    as_json: Json = False,
) -> None:
    """Say what every column is taken for, what looks wrong, and how long training would take.

    Nothing is trained and nothing is written. With the same options, kinlearn train reads the
    table in the same way.
    """
    terminal = Terminal(as_json)
    with refusing():
        from kinlearn.tables.training import Wishes

        wishes = Wishes(
            target=target,
            labels=names_in(labels),
            task=task,
            group=group,
            numeric=names_in(numeric),
            categorical=names_in(categorical),
            drop=names_in(drop),
            missing=missing_texts(missing),
        )
        run(data, wishes, terminal, delimiter, encoding)


def run(data: Any, wishes: Any, terminal: Terminal, delimiter: Any, encoding: Any) -> None:
    """Open, read, judge, tell."""
    from kinlearn.cli.plan import time_text
    from kinlearn.cli.train import show_columns
    from kinlearn.tables.expected_time import expected_seconds
    from kinlearn.tables.files import open_table
    from kinlearn.tables.leaks import find_leaks
    from kinlearn.tables.problems import class_counts, find_problems
    from kinlearn.tables.training import read_training_table

    with terminal.working(f"Reading {data}"):
        file = open_table(data, delimiter=delimiter, encoding=encoding)
        table = read_training_table(file, wishes)
        leaks = [leak.sentence for leak in find_leaks(table.frame, table.answers)]
    show_columns(terminal, table)
    counts = class_counts(table)
    shown = [f"{name} {count}" for name, count in list(counts.items())[:_MOST_CLASSES]]
    rest = len(counts) - len(shown)
    terminal.heading("To predict")
    terminal.say(", ".join(shown) + (f" and {rest} more" if rest > 0 else ""))
    problems = [*leaks, *find_problems(table)]
    terminal.heading("What to look at" if problems else "Nothing that looks wrong was found")
    terminal.bullets(problems)
    low, high = expected_seconds(table)
    terminal.say()
    terminal.say(f"Training takes about {time_text(low)} to {time_text(high)} of one core.")
    terminal.result(
        {
            "rows": len(table.y),
            "columns": {column.name: column.kind for column in table.columns},
            "why": {column.name: column.why for column in table.columns},
            "answers": counts,
            "notes": table.notes,
            "problems": problems,
            "seconds": [round(low, 1), round(high, 1)],
        }
    )
