"""``kinlearn explain``: why a row gets its answer, column by column."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from kinlearn.cli.model_files import TableModel, load_table_model
from kinlearn.cli.options import Delimiter, Encoding, Json, ModelPath
from kinlearn.cli.refusal import refusing
from kinlearn.cli.terminal import Terminal


def explain(
    model: ModelPath,
    data: Annotated[
        Path | None,
        typer.Argument(help="Table the row is in; by default the training table.", show_default=""),
    ] = None,
    row: Annotated[int, typer.Option(min=1, help="Number of the row, from 1.")] = 1,
    delimiter: Delimiter = None,
    encoding: Encoding = "utf-8",
    as_json: Json = False,
) -> None:
    """Say what a row is answered, whether it is handed over, and which columns push which way.

    A column's part is by how much the probability of the answer is larger than it would be, on
    average, with that cell as other training rows have it. Without a table, the row is one of the
    training table, which is looked for beside the model and in the current folder.
    """
    terminal = Terminal(as_json)
    with refusing():
        from kinlearn.tables.explain import explain_row
        from kinlearn.tables.files import open_table
        from kinlearn.tables.hand_over import answer
        from kinlearn.tables.sample import row_at

        stored = load_table_model(model)
        path = data or _training_table(model, stored.facts)
        with terminal.working(f"Reading {path}"):
            file = open_table(path, delimiter=delimiter, encoding=encoding)
            stored.schema.check(file.names, str(path))
            frame = stored.schema.frame(row_at(file, row))
        profile = stored.facts.get("inputs")
        if profile is None:
            raise ValueError(
                f"{model} was written by an older kinlearn and does not remember what its rows "
                "were like, so that nothing can be explained: train anew."
            )
        rule = stored.facts.get("hand_over", {})
        found = answer(stored.model, frame, rule, profile)
        told = []
        for k in range(len(found.names)) if found.is_labels else [int(found.predicted[0])]:
            _, parts = explain_row(stored.model, frame, profile, k)
            told.append(_told(terminal, stored, found, k, parts, row, path))
        terminal.result({"row": row, "table": str(path), "answers": told})


def _training_table(model: Path, facts: dict[str, Any]) -> Path:
    """The table the model was trained on, if it is still where one would look."""
    from kinlearn.tables.sample import fingerprint

    training = facts["training"]
    for folder in (model.absolute().parent, Path.cwd()):
        path = folder / training["file"]
        if path.is_file() and fingerprint(path) == training["sha256"]:
            return path
    raise ValueError(
        f"The training table {training['file']} is neither beside {model} nor here, or has changed "
        "since: name the table that holds the row, kinlearn explain MODEL TABLE --row 17."
    )


def _told(
    terminal: Terminal,
    stored: TableModel,
    found: Any,
    k: int,
    parts: list[Any],
    row: int,
    path: Path,
) -> dict[str, Any]:
    from kinlearn.tables.words import percent

    name, p = found.names[k], float(found.proba[0, k])
    at = (0, k) if found.is_labels else 0
    answered, reason = bool(found.answered[at]), str(found.reason[at])
    decision = "answered" if answered else f"handed over: {reason}"
    what = f"{name}: yes" if found.is_labels else f"{stored.schema.target} {name}"
    terminal.heading(f"Row {row} of {path.name}: {what}, probability {percent(p, 1)} ({decision})")
    rows = [
        [part.column, part.value or "(missing)", part.usual, f"{100 * part.part:+.1f}"]
        for part in parts
    ]
    terminal.table(["column", "here", "usual", "points"], rows, right=(3,))
    terminal.say(
        f"Points: by how much the probability of {name!r} is larger, in per cent, than with that "
        "cell as training rows have it; one column at a time, so that they need not add up."
    )
    return {
        "answer": name,
        "probability": p,
        "answered": answered,
        "reason": reason,
        "columns": [vars(part) for part in parts],
    }
