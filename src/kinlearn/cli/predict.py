"""``kinlearn predict``: a copy of a table with answers, probabilities and decisions added."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kinlearn.cli.model_files import load_table_model
from kinlearn.cli.options import Delimiter, Encoding, Force, Json, ModelPath, TablePath
from kinlearn.cli.refusal import refusing
from kinlearn.cli.terminal import Stage, Terminal

if TYPE_CHECKING:
    from kinlearn.tables.scored_copy import Scored

_STEP = 250_000


def predict(
    model: ModelPath,
    data: TablePath,
    out: Annotated[
        Path,
        typer.Option(
            help="Table to write, in the format of its ending; - for standard output.",
            show_default=False,
        ),
    ],
    prefix: Annotated[str, typer.Option(help="Put before the names of new columns.")] = "",
    sets: Annotated[
        float | None,
        typer.Option(
            help="Also give each row the set of classes that holds the true one in this share of "
            "cases.",
            show_default=False,
        ),
    ] = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Answer every row of a table: class, probabilities, and whether a person should look.

    The table is read and written in pieces, so that it may be larger than memory. Its own columns
    are kept; it needs the columns the model was trained with, but no target. The column decision
    says answer or hand over, and reason why: the model is unsure between two answers, or the row
    is unlike those it was trained on, because of a column. Rows are compared with the training's,
    and what differs is said.
    """
    with refusing():
        if as_json and str(out) == "-":
            raise ValueError("--json and --out - both write to standard output: leave one out.")
        terminal = Terminal(as_json, out_taken=str(out) == "-")
        files = Files(model, data, out, prefix, delimiter, encoding, sets)
        run(files, terminal, force=force)


@dataclass(frozen=True)
class Files:
    """What is read and what is written."""

    model: Path
    data: Path
    out: Path
    prefix: str = ""
    delimiter: str | None = None
    encoding: str | None = None
    sets: float | None = None


def run(files: Files, terminal: Terminal, *, force: bool) -> None:
    """Check, load, answer, tell."""
    from kinlearn.tables.class_sets import ClassSets
    from kinlearn.tables.files import open_table
    from kinlearn.tables.output import check_output, check_table_suffix
    from kinlearn.tables.scored_copy import SCORING_MEMORY_MB, score_file

    started = time.perf_counter()
    check_table_suffix(files.out)
    check_output(files.out, force=force, inputs=[files.model, files.data])
    stored = load_table_model(files.model)
    stored.limit_memory(SCORING_MEMORY_MB)
    sets = None if files.sets is None else ClassSets.of_model(stored.model, files.sets)
    with terminal.working(f"Reading {files.data}") as stage:
        file = open_table(files.data, delimiter=files.delimiter, encoding=files.encoding)
        scored = score_file(
            stored.model,
            stored.schema,
            stored.facts,
            file,
            files.out,
            prefix=files.prefix,
            progress=_seldom(stage),
            sets=sets,
        )
    _tell(terminal, scored, labels=bool(stored.schema.labels))
    if str(files.out) != "-":
        terminal.path("Scored table", files.out)
    terminal.result(
        {
            "scored": str(files.out),
            "rows": scored.n_rows,
            "answered": scored.n_answered,
            "handed_over": scored.n_handed_over,
            "reasons": dict(scored.reasons),
            "classes": dict(scored.classes),
            "inputs": scored.inputs,
            "notes": scored.notes,
            "seconds": round(time.perf_counter() - started, 2),
        }
    )


def _tell(terminal: Terminal, scored: Scored, *, labels: bool) -> None:
    from kinlearn.tables.reasons import counted
    from kinlearn.tables.words import number_of, percent

    total = scored.n_answered + scored.n_handed_over
    unit = "label" if labels else "row"
    terminal.say(
        f"{number_of(scored.n_rows, 'row')}: {number_of(scored.n_answered, unit)} answered, "
        f"{scored.n_handed_over} handed over to a person "
        f"({percent(scored.n_handed_over / total)})."
    )
    if scored.reasons:
        terminal.say(f"Handed over: {counted(scored.reasons)}.")
    counts = ", ".join(f"{name} {n}" for name, n in scored.classes.most_common(12))
    terminal.say(f"{'Yes, by label' if labels else 'Predicted'}: {counts}.")
    for note in scored.notes:
        terminal.say(f"Note: {note}")


def _seldom(stage: Stage) -> Callable[[int], None]:
    """Speak only when another so many rows are done."""
    said = 0

    def progress(n_rows: int) -> None:
        nonlocal said
        if n_rows - said >= _STEP:
            said = n_rows
            stage(f"{n_rows} rows answered")

    return progress
