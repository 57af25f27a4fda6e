"""Commands of other distributions, found by their entry points in the group ``kinlearn.commands``.

An entry point is named as its command and is a function that gets the application and adds it. A
command that is not installed keeps its place and refuses with what to install; one that cannot be
loaded refuses too, and the others work as ever.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points

import typer

from kinlearn.cli.refusal import refusing

GROUP = "kinlearn.commands"
# Commands of the distribution that holds the experiments, and what its absence shows in the help.
EXPERIMENTS = {
    "bench": "Measure kinlearn beside its rivals: in kinlearn-experiments, not installed here.",
    "reproduce": "Run an experiment of the papers: in kinlearn-experiments, not installed here.",
}


def add_commands(app: typer.Typer) -> None:
    """Add the commands that are installed, and a refusal for each experiment that is not."""
    own = {info.name or getattr(info.callback, "__name__", "") for info in app.registered_commands}
    found = {entry.name: entry for entry in entry_points(group=GROUP)}
    for name in sorted({*EXPERIMENTS, *found} - own):
        if name not in found:
            _add_refusal(app, name, EXPERIMENTS[name], not_installed(name))
            continue
        try:
            found[name].load()(app)
        except Exception as error:  # whatever is wrong there, the other commands must work
            refusal = broken(found[name], error)
            _add_refusal(app, name, "This command cannot be loaded.", refusal)


def not_installed(name: str) -> ImportError:
    """Say what to install."""
    return ImportError(
        f"kinlearn {name} comes with kinlearn-experiments, which is not installed: run pip install "
        "kinlearn-experiments or, in a checkout of the repository, pip install ./experiments."
    )


def broken(entry: EntryPoint, error: Exception) -> ImportError:
    """Say why a command cannot be loaded."""
    return ImportError(
        f"kinlearn {entry.name} cannot be loaded from {entry.value} ({type(error).__name__}: "
        f"{error}): install the version of it that fits this kinlearn."
    )


def _add_refusal(app: typer.Typer, name: str, about: str, error: ImportError) -> None:
    settings = {"allow_extra_args": True, "ignore_unknown_options": True}
    app.command(name, help=about, context_settings=settings)(_refusal(error))


def _refusal(error: ImportError) -> Callable[[], None]:
    def refuse() -> None:
        with refusing():
            raise error

    return refuse
