"""``kinlearn label``: a page on this computer where every answer retrains the model."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from kinlearn.cli.options import Delimiter, Encoding, Force, names_in
from kinlearn.cli.refusal import refusing
from kinlearn.cli.terminal import Terminal


def label(
    data: Annotated[
        Path,
        typer.Argument(
            help="Table: .csv, .tsv or .parquet. Or the word export; see below.",
            show_default=False,
        ),
    ],
    target: Annotated[
        str | None,
        typer.Option(help="Column of classes to fill; it need not be there.", show_default=False),
    ] = None,
    classes: Annotated[
        str | None,
        typer.Option(
            help="Classes in the order of their keys: yes,no. Those in the column when left out.",
            show_default=False,
        ),
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(
            help="Yes/no columns to fill together, in place of a target: a,b,c.",
            show_default=False,
        ),
    ] = None,
    task: Annotated[
        str | None,
        typer.Option(help="Column of related tasks, such as a site.", show_default=False),
    ] = None,
    who: Annotated[
        str,
        typer.Option(help="Who labels: anna, or anna,ben with an address for each."),
    ] = "me",
    state: Annotated[
        Path | None,
        typer.Option(
            help="File of labels; beside the table, TABLE.labels.db, when left out.",
            show_default=False,
        ),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(help="Go on where labels are kept already; --no-resume refuses to."),
    ] = True,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port of the page; 0 for one that is free.")
    ] = 0,
    no_open: Annotated[
        bool, typer.Option("--no-open", help="Do not open a browser; print the address alone.")
    ] = False,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
) -> None:
    """Label a table on a page on this computer, where every answer retrains the model.

    Starting again goes on where it was: labels are kept in one file beside the table, on disk
    before they are acknowledged. The table is never written to. Nobody else can reach the page: it
    listens to this computer alone, at an address that holds a secret.

    Labels leave by the page, or by: kinlearn label export TABLE.labels.db --out labels.csv
    """
    terminal = Terminal()
    with refusing():
        from kinlearn.studio.server import listen, make_app, serve
        from kinlearn.studio.start import Asked, start

        people = names_in(who) or ["me"]
        asked = Asked(
            target,
            names_in(classes),
            names_in(labels),
            task,
            people,
            state,
            delimiter,
            encoding,
            resume,
        )
        with listen(port) as door:
            with terminal.working(f"Reading {data}"):
                studio = start(data, asked)
            try:
                port = door.getsockname()[1]
                for note in studio.notes:
                    terminal.say(note)
                addresses = _tell(terminal, studio.people, port)
                if not no_open:
                    webbrowser.open(addresses[0])
                serve(make_app(studio.session, studio.people, port), door, studio.teacher.end)
            finally:
                studio.close()
        terminal.say(f"{studio.n_labels} labels are in {studio.store.path}.")


def _tell(terminal: Terminal, people: dict[str, str], port: int) -> list[str]:
    """Print every person's address on a line of its own."""
    addresses = []
    for token, who in people.items():
        address = f"http://127.0.0.1:{port}/{token}/"
        terminal.say(f"The page of {who}:" if len(people) > 1 else "The page:")
        print(address, flush=True)
        addresses.append(address)
    terminal.say("It ends with Ctrl-C.")
    return addresses


def export(
    labels: Annotated[
        Path, typer.Argument(help="File of labels (.labels.db).", show_default=False)
    ],
    out: Annotated[
        Path,
        typer.Option(
            help="What to write: labels.csv, model.kin or report.html by its ending.",
            show_default=False,
        ),
    ],
    table: Annotated[
        Path | None,
        typer.Option(help="The table; beside the labels when left out.", show_default=False),
    ] = None,
    whole: Annotated[
        bool,
        typer.Option(
            "--whole", help="The whole table with labels, probabilities and decisions, instead."
        ),
    ] = False,
    force: Force = False,
) -> None:
    """Write labels as CSV (row, label, who, when, note), or what a model makes of them."""
    terminal = Terminal()
    with refusing():
        from kinlearn.studio.start import export_labels
        from kinlearn.tables.output import check_output

        check_output(out, force=force, inputs=[labels])
        with terminal.working(f"Writing {out}"):
            said = export_labels(labels, out, table, whole)
        terminal.say(said)
        terminal.path("Written", out)


_export_app = typer.Typer(add_completion=False)
_export_app.command(name="export")(export)


class LabelCommand(TyperCommand):
    """``label``, of which ``label export`` is another command."""

    def further(self) -> dict[str, Any]:
        """The commands that begin with this one's name."""
        return {"export": typer.main.get_command(_export_app)}

    def make_context(
        self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any
    ) -> Any:
        """Read the arguments, as those of the export where that is asked for."""
        command = self.further().get(args[0]) if args else None
        if command is not None:
            return command.make_context(f"{info_name} {args[0]}", args[1:], parent=parent, **extra)
        return super().make_context(info_name, args, parent=parent, **extra)
