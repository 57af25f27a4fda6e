"""``kinlearn compare``: two models on one table."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from kinlearn.cli.model_files import TableModel, load_table_model
from kinlearn.cli.options import Delimiter, Encoding, Json, TablePath
from kinlearn.cli.refusal import refusing
from kinlearn.cli.terminal import Terminal

_TITLES = {
    "accuracy": "right",
    "auc": "AUC",
    "log_loss": "log-loss",
    "brier": "Brier score",
    "ece": "calibration error",
}


def compare(
    first: Annotated[Path, typer.Argument(help="Model file (.kin).", show_default=False)],
    second: Annotated[Path, typer.Argument(help="Another one.", show_default=False)],
    data: TablePath,
    max_rows: Annotated[
        int, typer.Option(min=10, help="Rows to judge by, drawn evenly from a larger table.")
    ] = 20_000,
    delimiter: Delimiter = None,
    encoding: Encoding = "utf-8",
    as_json: Json = False,
) -> None:
    """Judge two models on the same rows, and say whether they differ by more than chance.

    The table has the answers in it. A model that was trained on this very table is judged by its
    held-out answers, so that it does not profit from having seen the rows.
    """
    terminal = Terminal(as_json)
    with refusing():
        from kinlearn.report.comparison import compare as compared
        from kinlearn.report.gathering import evaluation_on
        from kinlearn.tables.files import open_table

        models = [load_table_model(path) for path in (first, second)]
        _check_alike(models, (first, second))
        with warnings.catch_warnings(), terminal.working(f"Reading {data}"):
            warnings.simplefilter("ignore", UserWarning)
            file = open_table(data, delimiter=delimiter, encoding=encoding)
            judged = [evaluation_on(each.model, each.facts, file, max_rows) for each in models]
        if judged[0].rows.classes != judged[1].rows.classes:
            raise ValueError(
                f"{first} answers {', '.join(judged[0].rows.classes[:5])} and {second} "
                f"{', '.join(judged[1].rows.classes[:5])}: models of the same classes are compared."
            )
        found = compared(judged[0].rows, judged[1].rows, (judged[0].answered, judged[1].answered))
        names = [path.name if first.name != second.name else str(path) for path in (first, second)]
        terminal.heading(f"{names[0]} and {names[1]} on {data}")
        for name, each in zip(names, judged, strict=True):
            if each.is_training:
                terminal.say(f"{name} was trained on this table: its held-out answers count.")
        rows = [
            [title, _cell(found.first[key]), _cell(found.second[key])]
            for key, title in _TITLES.items()
        ]
        terminal.table(["", *names], rows, right=(1, 2))
        terminal.bullets(found.sentences(*names))
        terminal.result(
            {
                **{key: value for key, value in vars(found).items() if key not in _SIDES},
                "models": names,
                **{side: {k: m.value for k, m in getattr(found, side).items()} for side in _SIDES},
                "conclusions": found.sentences(*names),
            }
        )


_SIDES = ("first", "second")


def _check_alike(models: list[TableModel], paths: tuple[Path, Path]) -> None:
    asked = [each.schema.target or each.schema.labels for each in models]
    if asked[0] != asked[1]:
        raise ValueError(
            f"{paths[0]} predicts {asked[0]} and {paths[1]} {asked[1]}: models of the same target "
            "are compared."
        )


def _cell(found: Any) -> str:
    return "–" if found.value != found.value else f"{found.value:.3f}"
