"""One sentence on stderr for what a person did wrong; a fault of ours keeps its traceback."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer


@contextmanager
def refusing() -> Iterator[None]:
    """Turn bad values, unusable files and missing extras into one sentence and exit code 1."""
    try:
        yield
    except BrokenPipeError:  # whoever reads our output has seen enough, as head has
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(code=1) from None
    except FileExistsError as error:
        _refuse(f"{error.filename} is a file, not a folder: give another one.")
    except OSError as error:
        if error.filename is None:  # it says by itself what is wrong, as loaders do
            _refuse(str(error))
        _refuse(f"{error.filename} cannot be used ({error.strerror}): give another one.")
    except (ImportError, ValueError) as error:
        _refuse(str(error))


def _refuse(sentence: str) -> None:
    typer.echo(f"kinlearn: {sentence}", err=True)
    raise typer.Exit(code=1)
