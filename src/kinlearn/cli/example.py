"""``kinlearn example``: a made-up table to try the other commands on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kinlearn.cli.options import Force, Json, Seed
from kinlearn.cli.refusal import refusing
from kinlearn.cli.terminal import Terminal


def example(
    out: Annotated[
        Path,
        typer.Argument(help="Table to write, in the format of its ending.", show_default=False),
    ],
    rows: Annotated[int, typer.Option(min=1, help="Number of rows.")] = 900,
    seed: Seed = 0,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Write a made-up clinic's table: several sites, mixed columns, missing cells.

    Visits of patients to six sites, with a column readmitted (yes or no) to predict and three
    yes/no diagnoses to predict together. Everything in it is drawn at random.
    """
    from kinlearn.tables.example import write_example
    from kinlearn.tables.output import check_output, check_table_suffix

    terminal = Terminal(as_json)
    with refusing():
        check_table_suffix(out)
        check_output(out, force=force)
        with terminal.working(f"Drawing {rows} rows"):
            names = write_example(out, rows, seed)
        terminal.path("Table", out)
        terminal.say(f"Columns: {', '.join(names)}")
        terminal.say(
            f"Next: kinlearn train {out} --target readmitted --task site --group patient "
            "--out model.kin --report report.html"
        )
        terminal.result({"table": str(out), "rows": rows, "columns": names})
