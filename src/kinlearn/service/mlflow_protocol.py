"""MLflow's scoring protocol: ``/invocations`` in all its formats."""

from __future__ import annotations

from itertools import chain, repeat
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from kinlearn.answering.answers import RowAnswers
from kinlearn.answering.refusals import Refusal, cut
from kinlearn.answering.rows import Rows, rows_of_columns, rows_of_numbers, rows_of_records
from kinlearn.answering.served_model import ServedModel
from kinlearn.cells.refusals import quoted
from kinlearn.service.bodies import kind_of, read_body, read_json
from kinlearn.service.core import Service
from kinlearn.service.json_out import json_response, plain
from kinlearn.service.tables_in import check_count, rows_of_csv, rows_of_parquet

FORMATS = ("dataframe_split", "dataframe_records", "instances", "inputs")
METHODS = ("predict", "predict_proba")


async def invocations(service: Service, request: Request, name: str | None) -> Response:
    """Answer a request of MLflow's protocol."""
    served = service.registry.get(name or request.query_params.get("model"))
    settings = service.settings
    body = await read_body(request, settings.max_mb, settings.max_seconds)
    kind = kind_of(request, body)

    def read() -> tuple[Rows, str | None]:
        if kind == "csv":
            return rows_of_csv(served, body, service.folder, settings.max_rows), None
        if kind == "parquet":
            return rows_of_parquet(served, body, settings.max_rows), None
        content = read_json(body)
        return _rows(served, content, settings.max_rows), _method(content)

    rows, method = await service.made(body, read)
    found = await service.answer(served, rows, familiarity=False)
    content: dict[str, Any] = {"predictions": predictions(found, method), **served.as_facts()}
    if rows.notes:
        content["notes"] = rows.notes
    return json_response(content, served)


def _method(content: Any) -> str | None:
    given = content.get("params")
    if given is None:
        return None
    if not isinstance(given, dict) or given.get("predict_method", METHODS[0]) not in METHODS:
        raise Refusal(
            f"The params are {cut(given)}: the one known here is predict_method, which is "
            f"{' or '.join(METHODS)}.",
            status=400,
        )
    return given.get("predict_method")


def predictions(found: RowAnswers, method: str | None = None) -> Any:
    """One record a row; or the classes, or the probabilities alone."""
    served = found.served
    if method == "predict_proba":
        return found.proba.tolist()
    names = [str(plain(each)) for each in served.classes]
    decided = found.decisions.tolist()
    if served.is_labels:
        if method == "predict":
            return found.predicted.tolist()
        rows = zip(found.predicted.tolist(), found.proba.tolist(), decided, strict=True)
        return [
            {
                key: value
                for name, yes, p, decision in zip(names, *row, strict=True)
                for key, value in (
                    (f"predicted_{name}", "yes" if yes else "no"),
                    (f"p_{name}", p),
                    (f"decision_{name}", decision),
                )
            }
            for row in rows
        ]
    classes = found.classes.tolist()
    if method == "predict":
        return classes
    columns = ["predicted", *(f"p_{name}" for name in names), "decision"]
    cells = zip(classes, *found.proba.T.tolist(), decided, strict=True)
    return list(map(dict, map(zip, repeat(columns), cells)))


def _rows(served: ServedModel, content: Any, most: int) -> Rows:
    given = [name for name in FORMATS if isinstance(content, dict) and name in content]
    if len(given) != 1:
        raise Refusal(
            f"The body of /invocations is an object with one of {quoted(FORMATS)}.", status=400
        )
    [kind], value = given, content[given[0]]
    if kind == "dataframe_split":
        return _split(served, value, most)
    if kind == "inputs":
        return _inputs(served, value, most)
    if not isinstance(value, list):
        raise Refusal(f"{kind} is {cut(value)}, where a list of rows is expected.")
    check_count(len(value), most)
    if kind == "instances" and value and not isinstance(value[0], dict):
        return _positional(served, served.schema.features, value, most)
    return rows_of_records(served, value)


def _split(served: ServedModel, value: Any, most: int) -> Rows:
    if not isinstance(value, dict) or not isinstance(value.get("data"), list):
        raise Refusal("dataframe_split is an object with columns and data, a list of rows.")
    columns = value.get("columns", served.schema.features)
    if not isinstance(columns, list):
        raise Refusal(f"The columns of dataframe_split are {cut(columns)}: give a list of names.")
    return _positional(served, [str(name) for name in columns], value["data"], most)


def _inputs(served: ServedModel, value: Any, most: int) -> Rows:
    """Columns by name, or rows of values."""
    if isinstance(value, list):
        return _positional(served, served.schema.features, value, most)
    if not isinstance(value, dict):
        raise Refusal(f"inputs is {cut(value)}: give lists by column, or a list of rows.")
    columns = {}
    for name, cells in value.items():
        cells = cells if isinstance(cells, list) else [cells]
        check_count(len(cells), most)
        columns[name] = [cell[0] if _is_one(cell) else cell for cell in cells]
    return rows_of_columns(served, columns)


def _is_one(cell: Any) -> bool:
    return isinstance(cell, list) and len(cell) == 1


def _positional(served: ServedModel, names: list[str], data: list[Any], most: int) -> Rows:
    check_count(len(data), most)
    for i, row in enumerate(data):
        if not isinstance(row, list) or len(row) != len(names):
            count = f"{len(row)} cells" if isinstance(row, list) else cut(row)
            raise Refusal(
                f"Row {i + 1} has {count} where {len(names)} columns are named: {quoted(names)}.",
                row=i + 1,
            )
    twice = sorted({name for name in names if names.count(name) > 1}) if len(names) < 5000 else []
    if twice:
        raise Refusal(f"Column {twice[0]!r} is named twice: give every column a name of its own.")
    cells = list(chain.from_iterable(data))
    if served.all_numbers and names == served.schema.features:
        found = rows_of_numbers(served, cells, len(data))
        if found is not None:
            return found
    columns = {name: cells[k :: len(names)] for k, name in enumerate(names)}
    return rows_of_columns(served, columns)
