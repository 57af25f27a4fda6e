"""The command line: ``kinlearn …``, the same as ``python -m kinlearn …`` (extra ``cli``)."""

from __future__ import annotations

from typing import Annotated

import typer

import kinlearn
from kinlearn.cli.added import add_commands
from kinlearn.cli.audit import audit
from kinlearn.cli.check import check
from kinlearn.cli.compare import compare
from kinlearn.cli.demo import demo
from kinlearn.cli.example import example
from kinlearn.cli.explain import explain
from kinlearn.cli.export import export
from kinlearn.cli.info import info
from kinlearn.cli.label import LabelCommand, label
from kinlearn.cli.monitor import monitor
from kinlearn.cli.plan import plan
from kinlearn.cli.predict import predict
from kinlearn.cli.report import report
from kinlearn.cli.rollback import rollback
from kinlearn.cli.serve import serve
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
app.command(
    cls=LabelCommand,
    epilog="Example: kinlearn label clinic.csv --target urgent --classes yes,no",
)(label)
app.command(epilog="Example: kinlearn audit clinic.csv --target readmitted --page audit.html")(
    audit
)
app.command(epilog="Example: kinlearn check clinic.csv --target readmitted")(check)
app.command(epilog="Example: kinlearn predict model.kin new.csv --out scored.csv")(predict)
app.command(epilog="Example: kinlearn report model.kin clinic.csv --out report.html")(report)
app.command(epilog="Example: kinlearn info model.kin")(info)
app.command(epilog="Example: kinlearn explain model.kin clinic.csv --row 17")(explain)
app.command(epilog="Example: kinlearn export model.kin model.onnx --data clinic.csv")(export)
app.command(epilog="Example: kinlearn compare old.kin new.kin labelled.csv")(compare)
app.command(
    epilog="Example: kinlearn plan --rows 1e9 --features 20 --centers 2000 --classes 5 --hours 1"
)(plan)
app.command(epilog="Example: kinlearn serve model.kin --port 8080")(serve)
app.command(epilog="Example: kinlearn monitor model.kin new.csv --out monitor.html")(monitor)
app.command(epilog="Example: kinlearn rollback model.kin --to 3")(rollback)
add_commands(app)
