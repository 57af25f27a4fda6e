"""``kinlearn report``: the page on a model again, or on how it does on new labelled rows."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from kinlearn.cli.model_files import TableModel, load_table_model
from kinlearn.cli.options import (
    By,
    Delimiter,
    Encoding,
    Force,
    Json,
    ModelPath,
    TablePath,
    names_in,
)
from kinlearn.cli.refusal import refusing
from kinlearn.cli.terminal import Terminal


def report(
    model: ModelPath,
    data: TablePath,
    out: Annotated[Path, typer.Option(help="Report to write (.html).")] = Path("report.html"),
    labels_from: Annotated[
        Path | None,
        typer.Option(
            help="Labels to fill the target with, as in kinlearn train.", show_default=False
        ),
    ] = None,
    max_rows: Annotated[
        int, typer.Option(min=10, help="Rows to judge by, drawn evenly from a larger table.")
    ] = 20_000,
    by: By = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Write the report on a model: on its training table, or on new rows with known answers.

    Given the table the model was trained on, every row is judged by its leave-one-out score; given
    another one, by the model itself, which has not seen it.
    """
    terminal = Terminal(as_json)
    with refusing():
        from kinlearn.report.conclusions import conclusions
        from kinlearn.report.page import make_page
        from kinlearn.tables.files import open_table
        from kinlearn.tables.output import check_output, check_page_suffix, write_text

        check_output(out, force=force, inputs=[model, data])
        check_page_suffix(out)
        stored = load_table_model(model)
        with warnings.catch_warnings(), terminal.working(f"Reading {data}") as stage:
            warnings.simplefilter("ignore", UserWarning)
            file = open_table(data, delimiter=delimiter, encoding=encoding)
            if labels_from is not None:
                from kinlearn.studio.labelled_file import with_labels_from

                answers = stored.schema.labels or [str(stored.schema.target)]
                file = with_labels_from(file, labels_from, answers)
            found = _findings(stored, file, max_rows, names_in(by), stage)
        write_text(out, make_page(found))
        said = conclusions(found)
        where = "the training rows, held out" if found.is_training else f"new rows of {data}"
        terminal.heading(f"Judged on {where}")
        terminal.bullets(said)
        terminal.say()
        terminal.path("Report", out)
        terminal.result(
            {
                "report": str(out),
                "judged_on": "training rows, held out" if found.is_training else "new rows",
                "rows": found.held_out.n_rows,
                **found.as_facts(),
                "conclusions": said,
            }
        )


def _findings(stored: TableModel, file: Any, max_rows: int, by: list[str], stage: Any) -> Any:
    from kinlearn.report import gathering
    from kinlearn.tables.columns import Column
    from kinlearn.tables.sample import read_sample
    from kinlearn.tables.training import Trained, Wishes, held_out_evaluation, read_training_table

    training = stored.facts["training"]
    if file.fingerprint() == training["sha256"]:
        columns = [Column(**column) for column in training["columns"]]
        wishes = Wishes(**training["wishes"])
        table = read_training_table(file, wishes, (stored.schema, columns))
        evaluation = held_out_evaluation(stored.model, table)
        trained = Trained(stored.model, table, evaluation, wishes)
        return gathering.of_training(trained, stored.facts, stage, by)
    gathering.check_answers(stored.schema, file)
    sample = read_sample(file, max_rows, int(training["wishes"]["seed"]))
    return gathering.of_new_rows(stored.model, stored.facts, sample, file.name, stage, by)
