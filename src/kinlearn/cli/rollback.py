"""``kinlearn rollback``: an earlier version of a model that learns on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kinlearn.cli.options import Json, ModelPath
from kinlearn.cli.refusal import refusing
from kinlearn.cli.terminal import Terminal


def rollback(
    model: ModelPath,
    to: Annotated[
        int | None, typer.Option(help="Version to go back to; the one before, if left out.")
    ] = None,
    show: Annotated[bool, typer.Option("--list", help="Only show the versions there are.")] = False,
    watch: Annotated[
        Path | None,
        typer.Option(help="File of the watch, if it is not beside the model."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Put an earlier version of a model that learns on in its place.

    A service that runs takes it over within a second. What was learnt since is dropped.
    """
    terminal = Terminal(as_json)
    with refusing():
        import kinlearn
        from kinlearn.cells.refusals import TableError
        from kinlearn.learning.learner import roll_back
        from kinlearn.learning.versions import Noted, Versions

        if not model.is_file():
            raise TableError(f"There is no file {model}.")
        if not show:
            roll_back(model, watch, to)
        present = Noted.of(kinlearn.model_info(model)).version
        kept = Versions(model).numbers()
        terminal.say(
            f"{model} is version {present}; kept are {', '.join(map(str, kept)) or 'none'}."
        )
        terminal.result({"model": str(model), "version": present, "kept": kept})
