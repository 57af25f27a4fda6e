"""``kinlearn monitor``: the watch's page on a table, without a service."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from kinlearn.cli.model_files import load_table_model
from kinlearn.cli.options import Delimiter, Encoding, Force, Json, ModelPath, TablePath
from kinlearn.cli.refusal import refusing
from kinlearn.cli.terminal import Terminal


def monitor(
    model: ModelPath,
    data: TablePath,
    out: Annotated[Path, typer.Option(help="Page to write (.html).")] = Path("monitor.html"),
    window: Annotated[
        int, typer.Option(min=50, help="Rows that are compared with the training at a time.")
    ] = 500,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Say how a model does on new rows: the accuracy to expect, without labels, and what differs.

    Rows are taken in the order of the table, as if they arrived one after another. Where the table
    has the column that the model predicts, its answers are also compared with it.
    """
    terminal = Terminal(as_json)
    with refusing():
        from kinlearn.answering.served_model import load_served
        from kinlearn.tables.files import open_table
        from kinlearn.tables.output import check_output, write_text
        from kinlearn.watch.of_table import watched_table
        from kinlearn.watch.page import monitor_page

        check_output(out, force=force, inputs=[model, data])
        load_table_model(model)
        served = load_served(model)
        with terminal.working(f"Reading {data}"):
            file = open_table(data, delimiter=delimiter, encoding=encoding)
            state = watched_table(served, file, window)
        under = f"{served.name} on {file.path.name}, {state['traffic']['rows']} rows."
        title = "How the model is doing"
        write_text(out, monitor_page([state], title=title, under=under, live=False))
        _tell(terminal, state)
        terminal.path("Page", out)
        terminal.result({"page": str(out), **state})


def _tell(terminal: Terminal, state: dict[str, Any]) -> None:
    expected, feedback = state["overall"], state["feedback"]
    terminal.say(
        f"{state['traffic']['rows']} rows: {expected['accuracy']:.1%} of the answers are expected "
        f"to be right ({expected['low']:.1%} to {expected['high']:.1%})."
    )
    if feedback:
        terminal.say(
            f"{feedback['observed_accuracy']:.1%} of {feedback['rows']} labelled rows are answered "
            "right."
        )
    terminal.bullets(alarm["sentence"] for alarm in state["alarms"][:10])
