"""The command line: ``kinlearn …``, the same as ``python -m kinlearn …`` (extra ``cli``)."""

from __future__ import annotations

from typing import Annotated

import typer

import kinlearn
from kinlearn.cli.added import add_commands
from kinlearn.cli.demo import demo
from kinlearn.cli.example import example
from kinlearn.cli.info import info
from kinlearn.cli.plan import plan
from kinlearn.cli.predict import predict
from kinlearn.cli.report import report
from kinlearn.cli.train import train

__all__ = ["app"]

app = typer.Typer(
    name="kinlearn",
    help="Classification with trustworthy probabilities, in closed form, for one task or many.",
    epilog="Example: kinlearn demo --out demo-output",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_show_locals=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"kinlearn {kinlearn.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and stop."
        ),
    ] = False,
) -> None:
    """Classification with trustworthy probabilities, in closed form, for one task or many."""


app.command(epilog="Example: kinlearn demo --out demo-output --seed 1")(demo)
app.command(epilog="Example: kinlearn example clinic.csv --rows 900 --seed 1")(example)
app.command(
    epilog="Example: kinlearn train clinic.csv --target readmitted --task site --out model.kin "
    "--report report.html"
)(train)
app.command(epilog="Example: kinlearn predict model.kin new.csv --out scored.csv")(predict)
app.command(epilog="Example: kinlearn report model.kin clinic.csv --out report.html")(report)
app.command(epilog="Example: kinlearn info model.kin")(info)
app.command(
    epilog="Example: kinlearn plan --rows 1e9 --features 20 --centers 2000 --classes 5 --hours 1"
)(plan)
add_commands(app)
