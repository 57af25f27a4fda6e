"""``kinlearn audit``: records of a table whose answer is likely wrong."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kinlearn.cli.options import Delimiter, Encoding, Force, Json, Seed, TablePath, names_in
from kinlearn.cli.refusal import refusing
from kinlearn.cli.terminal import Terminal

if TYPE_CHECKING:
    from kinlearn.tables.label_audit import SuspectRecord

_SHOWN = 10


def audit(
    data: TablePath,
    target: Annotated[
        str | None, typer.Option(help="Column of classes to look into.", show_default=False)
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(help="Yes/no columns to look into: a,b,c.", show_default=False),
    ] = None,
    task: Annotated[
        str | None,
        typer.Option(help="Column of related tasks, such as a site.", show_default=False),
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(help="Column whose rows are held out together, such as a patient."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Table of the suspect records to write: .csv, .tsv or .parquet.",
            show_default=False,
        ),
    ] = None,
    page: Annotated[
        Path | None, typer.Option(help="Page of them to write (.html).", show_default=False)
    ] = None,
    drop: Annotated[
        str | None, typer.Option(help="Columns to leave out: a,b.", show_default=False)
    ] = None,
    max_rows: Annotated[
        int | None,
        typer.Option(min=10, help="Rows to look into, drawn evenly.", show_default=False),
    ] = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    seed: Seed = 0,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Name the records whose answer is likely wrong, most suspect first.

    A model is trained as kinlearn train does it. A record is suspect when models that have not seen
    it find another answer more probable, the more so where that answer is often recorded as this
    one. Nothing is changed: the records are listed, for a person to look at.
    """
    terminal = Terminal(as_json)
    with refusing():
        from kinlearn.report.audit_page import make_audit_page
        from kinlearn.tables.files import open_table
        from kinlearn.tables.label_audit import suspect_records
        from kinlearn.tables.output import (
            check_output,
            check_page_suffix,
            check_table_suffix,
            write_text,
        )
        from kinlearn.tables.training import Wishes, read_training_table, train

        wishes = Wishes(
            target=target,
            labels=names_in(labels),
            task=task,
            group=group,
            drop=names_in(drop),
            max_rows=max_rows,
            seed=seed,
        )
        if out is not None:
            check_table_suffix(out)
        for path in (out, page):
            if path is not None:
                check_output(path, force=force, inputs=[data])
        if page is not None:
            check_page_suffix(page)
        with warnings.catch_warnings(), terminal.working(f"Reading {data}") as stage:
            warnings.simplefilter("ignore", UserWarning)
            file = open_table(data, delimiter=delimiter, encoding=encoding)
            table = read_training_table(file, wishes)
            trained = train(table, wishes, stage)
        records = suspect_records(trained)
        n_rows = trained.evaluation.n_rows
        if out is not None:
            _write(out, records)
        if page is not None:
            write_text(page, make_audit_page(file.path.name, n_rows, records))
        _tell(terminal, n_rows, records)
        for name, path in (("Records", out), ("Page", page)):
            if path is not None:
                terminal.path(name, path)
        terminal.result(
            {
                "rows": n_rows,
                "suspects": [record.as_columns() for record in records],
                "out": None if out is None else str(out),
                "page": None if page is None else str(page),
            }
        )


def _tell(terminal: Terminal, n_rows: int, records: Sequence[SuspectRecord]) -> None:
    from kinlearn.report.audit_page import SUSPICION

    terminal.heading(f"{len(records)} of {n_rows} records are contradicted")
    if not records:
        return
    rows = [
        [
            str(record.row),
            record.column,
            record.recorded,
            f"{record.p_recorded:.1%}",
            record.likely,
            f"{record.p_likely:.1%}",
            f"{100 * record.suspicion:.0f}",
        ]
        for record in records[:_SHOWN]
    ]
    header = ["row", "column", "recorded", "probability", "likelier", "probability", "suspicion"]
    terminal.table(header, rows, right=(0, 3, 5, 6))
    if len(records) > _SHOWN:
        terminal.say(f"The {_SHOWN} most suspect; --out or --page for all of them.")
    terminal.say(f"{SUSPICION} Which are wrong records is for a person to say.")


def _write(out: Path, records: Sequence[SuspectRecord]) -> None:
    """The records with their cells, as a table."""
    from kinlearn.optional import require
    from kinlearn.tables.output import table_writer

    arrow = require("pyarrow", "Writing a table")
    columns: dict[str, list[Any]] = {}
    for record in records:
        for name, value in record.as_columns().items():
            columns.setdefault(name, []).append(value)
    taken = set(columns)
    for name in records[0].cells if records else ():
        free = name
        while free in taken:
            free += "_"
        taken.add(free)
        columns[free] = [record.cells[name] for record in records]
    if not records:
        columns = {name: [] for name in ("row", "column", "recorded", "likely", "suspicion")}
    arrays = [arrow.array(values) for values in columns.values()]
    with table_writer(out, safe=True) as writer:
        writer.write(arrow.RecordBatch.from_arrays(arrays, names=list(columns)))
