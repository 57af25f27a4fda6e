"""``kinlearn serve``: models that answer over HTTP."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Annotated

import typer

from kinlearn.cli.refusal import refusing
from kinlearn.cli.terminal import Terminal


def serve(
    models: Annotated[
        list[Path],
        typer.Argument(help="Model files (.kin), or folders of them.", show_default=False),
    ],
    host: Annotated[
        str, typer.Option(help="Where to listen; 127.0.0.1 is this machine alone.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port.")] = 8080,
    workers: Annotated[
        int, typer.Option(min=1, max=256, help="Processes, which share the cores out.")
    ] = 1,
    token_file: Annotated[
        Path | None, typer.Option(help="File with a token that clients must send.")
    ] = None,
    max_mb: Annotated[float, typer.Option(min=0.001, help="Largest body, in MB.")] = 16.0,
    max_stream_mb: Annotated[
        float, typer.Option(min=0.001, help="Largest body of CSV that is answered as CSV, in MB.")
    ] = 4096.0,
    max_rows: Annotated[int, typer.Option(min=1, help="Most rows of a request.")] = 100_000,
    max_seconds: Annotated[
        float, typer.Option(min=0.1, help="Most seconds for a request to arrive, and to answer it.")
    ] = 30.0,
    nearest: Annotated[
        int,
        typer.Option(min=0, max=50, help="Known rows shown beside a row that is handed over."),
    ] = 3,
    watch: Annotated[
        Path | None,
        typer.Option(help="File of the watch's numbers; beside the first model when left out."),
    ] = None,
    window: Annotated[
        int, typer.Option(min=50, help="Rows that the watch compares with the training at a time.")
    ] = 500,
    keep_rows: Annotated[
        bool,
        typer.Option("--keep-rows", help="Keep rows with ids, so that labels may name these."),
    ] = False,
    learn: Annotated[
        bool, typer.Option("--learn", help="Learn from feedback; for models that carry sums.")
    ] = False,
) -> None:
    """Answer over HTTP: by the Open Inference Protocol, by MLflow's, and by /predict.

    A file that is replaced takes over as soon as it has loaded and answers; a broken one never
    does. http://127.0.0.1:8080/docs shows what to ask, with examples of the models' own columns.
    """
    terminal = Terminal(as_json=False)
    with refusing():
        from kinlearn.service.running import read_token, run, watch_file
        from kinlearn.service.settings import Settings

        if learn and workers > 1:
            raise ValueError(
                "--learn has one worker, which alone changes the model: leave --workers."
            )
        logging.basicConfig(level=logging.INFO, format="%(message)s")
        kept = watch or watch_file(models[0])
        settings = Settings(
            models=[str(path) for path in models],
            host=host,
            port=port,
            workers=workers,
            token=None if token_file is None else read_token(token_file),
            max_mb=max_mb,
            max_stream_mb=max_stream_mb,
            max_rows=max_rows,
            max_seconds=max_seconds,
            nearest=nearest,
            watch=str(kept),
            window=window,
            keep_rows=keep_rows,
            learn=learn,
        )
        if watch is None and kept.parent not in (models[0], models[0].parent):
            terminal.say(
                f"Note: {models[0]} is where nothing can be written, so that the numbers of the "
                f"watch and labels are kept in {kept}; --watch names a better place."
            )
        if host not in ("127.0.0.1", "localhost", "::1") and token_file is None:
            terminal.say("Note: whoever reaches this machine may ask; --token-file asks for more.")
        run(
            settings,
            lambda address: terminal.say(f"Listening at {address} (docs: /docs). Ctrl-C stops."),
        )
