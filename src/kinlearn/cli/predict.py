"""``kinlearn predict``: a copy of a table with answers, probabilities and decisions added."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from kinlearn.cli.model_files import load_table_model
from kinlearn.cli.options import Delimiter, Encoding, Force, Json, ModelPath, TablePath
from kinlearn.cli.refusal import refusing
from kinlearn.cli.voice import Voice


def predict(
    model: ModelPath,
    data: TablePath,
    out: Annotated[
        Path, typer.Option(help="Table to write: .csv, .tsv or .parquet.", show_default=False)
    ],
    prefix: Annotated[str, typer.Option(help="Put before the names of new columns.")] = "",
    delimiter: Delimiter = None,
    encoding: Encoding = "utf-8",
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Answer every row of a table: class, probabilities, and whether a person should look.

    The table is read and written in pieces, so that it may be larger than memory. Its own columns
    are kept; it needs the columns the model was trained with, but no target. The column decision
    says answer, or hand over where the model is unsure or the row unlike those it was trained on.
    """
    voice = Voice(as_json)
    started = time.perf_counter()
    with refusing():
        from kinlearn.tables.files import open_table
        from kinlearn.tables.output import check_output, check_table_suffix
        from kinlearn.tables.scoring import SCORING_MEMORY_MB, score_file

        check_table_suffix(out)
        check_output(out, force=force, inputs=[model, data])
        stored = load_table_model(model)
        stored.limit_memory(SCORING_MEMORY_MB)
        with voice.working(f"Reading {data}") as stage:
            file = open_table(data, delimiter=delimiter, encoding=encoding)
            scored = score_file(
                stored.model,
                stored.schema,
                stored.facts.get("hand_over", {}),
                file,
                out,
                prefix=prefix,
                progress=_every(250_000, lambda n: stage(f"{n} rows answered")),
            )
        total = scored.n_answered + scored.n_handed_over
        unit = "labels" if stored.schema.labels else "rows"
        voice.say(
            f"{scored.n_rows} rows: {scored.n_answered} {unit} answered, {scored.n_handed_over} "
            f"handed over to a person ({scored.n_handed_over / total:.0%})."
        )
        what = "yes" if stored.schema.labels else "predicted"
        counts = ", ".join(f"{name}: {n}" for name, n in scored.classes.most_common(12))
        voice.say(f"Number of {what} by {unit[:-1] if unit == 'labels' else 'class'}: {counts}.")
        for note in scored.notes:
            voice.say(f"Note: {note}")
        voice.path("Scored table", out)
        voice.result(
            {
                "scored": str(out),
                "rows": scored.n_rows,
                "answered": scored.n_answered,
                "handed_over": scored.n_handed_over,
                "classes": dict(scored.classes),
                "notes": scored.notes,
                "seconds": round(time.perf_counter() - started, 2),
            }
        )


class _every:  # noqa: N801  (reads as a word where it is used)
    """Calls on only when another so many rows are done."""

    def __init__(self, step: int, call: object) -> None:
        self.step, self.call, self.next = step, call, step

    def __call__(self, n: int) -> None:
        if n >= self.next:
            self.next += self.step
            self.call(n)  # type: ignore[operator]
