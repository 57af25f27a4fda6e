"""``kinlearn info``: what a model file holds, without loading it."""

from __future__ import annotations

from typing import Any

from kinlearn.cli.options import Json, ModelPath
from kinlearn.cli.refusal import refusing
from kinlearn.cli.terminal import Terminal


def info(model: ModelPath, as_json: Json = False) -> None:
    """Show what a model predicts, from which columns, how well, and what the file holds."""
    terminal = Terminal(as_json)
    with refusing():
        import kinlearn
        from kinlearn.cells.refusals import TableError

        if not model.exists():
            raise TableError(f"There is no file {model}.")
        found = kinlearn.model_info(model)
        if as_json:
            terminal.result(found)
            return
        _show(terminal, found, model.stat().st_size)


def _show(terminal: Terminal, found: dict[str, Any], n_bytes: int) -> None:
    about, facts = found["model"], found["facts"]
    rows = [
        ["model", str(about["estimator"])],
        ["written", f"{found['written']} by kinlearn {found['versions']['kinlearn']}"],
        ["size", f"{n_bytes / 2**20:.1f} MB"],
    ]
    if "table" in facts:
        rows += _table_rows(facts)
    if about.get("classes") and not facts.get("table", {}).get("labels"):
        rows.append(["classes", ", ".join(map(str, about["classes"][:20]))])
    terminal.table(["", ""], rows)
    if found["features"]:
        terminal.heading("Columns it needs")
        terminal.table(
            ["column", "type"], [[str(f["name"]), str(f["type"])] for f in found["features"]]
        )
    if "summary" in facts:
        terminal.heading("What its training found")
        terminal.bullets(facts["summary"]["conclusions"])
    held = found["training_rows_held"]
    if held:
        terminal.say()
        terminal.say(
            f"The file holds {held} training rows, scaled and encoded: treat it as confidentially "
            "as the table."
        )


def _table_rows(facts: dict[str, Any]) -> list[list[str]]:
    table, training = facts["table"], facts["training"]
    rows = [
        ["predicts", table["target"] or ", ".join(table["labels"])],
        ["trained on", f"{training['rows_used']} rows of {training['file']}"],
        ["judged by", training["held_out_by"]],
        ["allowed error", f"{training['wishes']['max_error']:g} among answered rows"],
    ]
    return rows + ([["tasks in", table["task"]]] if table["task"] else [])
