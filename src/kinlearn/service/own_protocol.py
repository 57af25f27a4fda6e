"""``/predict``: records, CSV or Parquet in; class, probabilities, decision and reason out."""

from __future__ import annotations

import asyncio
import csv
import io
from collections.abc import AsyncIterator
from contextlib import suppress
from itertools import repeat
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from kinlearn.answering.answers import RowAnswers
from kinlearn.answering.refusals import Refusal, cut
from kinlearn.answering.rows import Rows, rows_of_columns, rows_of_records
from kinlearn.answering.served_model import ServedModel
from kinlearn.cells.refusals import TableError, quoted
from kinlearn.service.bodies import kind_of, read_body, read_json, spool_body
from kinlearn.service.core import Service
from kinlearn.service.json_out import json_response, model_headers, plain
from kinlearn.service.tables_in import (
    check_count,
    rows_of_csv,
    rows_of_parquet,
    unreadable,
)
from kinlearn.tables.files import TableFile, open_table

CSV = "text/csv"


async def predict(service: Service, request: Request, name: str | None) -> Response:
    """Answer a request of our own protocol."""
    served = service.registry.get(name or request.query_params.get("model"))
    settings = service.settings
    kind = kind_of(request)
    accepted = request.headers.get("accept", "*/*")
    if kind == "csv" and "application/json" not in accepted:
        return await _stream(service, request, served)
    body = await read_body(request, settings.max_mb, settings.max_seconds)
    kind = kind_of(request, body)
    rows = await service.made(body, lambda: rows_in(service, served, kind, body))
    found = await service.answer(served, rows)
    if accepted.startswith(CSV):
        text = "".join([_header(served, []), _lines(found, None)])
        return Response(text, media_type=CSV, headers=model_headers(served))
    nearest = await service.nearest(found, rows)
    answers = told(found, nearest)
    if settings.keep_rows:
        ids = await asyncio.to_thread(service.kept, rows, found)
        for answer, number in zip(answers, ids, strict=True):
            answer["id"] = number
    content = {
        **served.as_facts(),
        "classes": [plain(each) for each in served.classes],
        "answers": answers,
        "notes": rows.notes,
    }
    return json_response(content, served)


def rows_in(service: Service, served: ServedModel, kind: str, body: bytes) -> Rows:
    """Rows of a body of any kind."""
    most = service.settings.max_rows
    if kind == "csv":
        return rows_of_csv(served, body, service.folder, most)
    if kind == "parquet":
        return rows_of_parquet(served, body, most)
    return rows_of_json(served, read_json(body), most)


def rows_of_json(served: ServedModel, content: Any, most: int) -> Rows:
    """Rows of records: a list, one record alone, or either under ``records`` or ``columns``."""
    features = served.schema.features
    if isinstance(content, dict) and "records" in content and "records" not in features:
        content = content["records"]
    if isinstance(content, dict):
        columns = content.get("columns")
        if isinstance(columns, dict) and "columns" not in features:
            for name, cells in columns.items():
                if not isinstance(cells, list):
                    raise Refusal(
                        f"Column {name!r} is {cut(cells)}, where a list with a cell for every row "
                        "is expected.",
                        column=name,
                        value=cells,
                    )
            check_count(max(map(len, columns.values()), default=0), most)
            return rows_of_columns(served, columns)
        content = [content]
    if not isinstance(content, list):
        raise Refusal(
            f"The body is {cut(content)}, where records are expected: a list of objects with a "
            f"value for each column, {quoted(features)}."
        )
    check_count(len(content), most)
    return rows_of_records(served, content)


def told(found: RowAnswers, nearest: list[Any]) -> list[dict[str, Any]]:
    """Answers as JSON values, one object a row."""
    served = found.served
    names = [str(plain(each)) for each in served.classes]
    familiar = [None] * len(found) if found.familiarity is None else found.familiarity.tolist()
    if served.is_labels:
        return [
            {
                "labels": {
                    name: {
                        "yes": yes,
                        "probability": p,
                        "decision": decision,
                        "reason": reason,
                    }
                    for name, yes, p, decision, reason in zip(names, *row, strict=True)
                },
                "familiarity": familiarity,
            }
            for *row, familiarity in zip(
                found.predicted.tolist(),
                found.proba.tolist(),
                found.decisions.tolist(),
                found.reason.tolist(),
                familiar,
                strict=True,
            )
        ]
    rows = zip(
        found.classes.tolist(),
        map(dict, map(zip, repeat(names), found.proba.tolist())),
        found.decisions.tolist(),
        found.reason.tolist(),
        familiar,
        strict=True,
    )
    answers = [
        {
            "class": own,
            "probabilities": proba,
            "decision": decision,
            "reason": reason,
            "familiarity": familiarity,
        }
        for own, proba, decision, reason, familiarity in rows
    ]
    for answer, near in zip(answers, nearest, strict=True):
        if near is not None:
            answer["nearest"] = near
    return answers


# -- CSV in, CSV out ------------------------------------------------------------------------------


async def _stream(service: Service, request: Request, served: ServedModel) -> Response:
    """Answer CSV as CSV, piece by piece, however long.

    What comes is kept in a file first, so that a client which sends all before it reads anything
    is answered too; it is read once before anything is said, so that a table that cannot be
    answered to its end is refused as any other request is.
    """
    settings = service.settings
    path = await spool_body(request, service.folder, settings.max_stream_mb, settings.max_seconds)
    try:
        file = await asyncio.to_thread(_readable, served, path)
        batches = file.batches()
    except (Refusal, TableError) as error:
        path.unlink(missing_ok=True)
        if str(path) in str(error):
            raise unreadable(error, path) from None
        raise
    except BaseException:
        path.unlink(missing_ok=True)
        raise

    async def pieces() -> AsyncIterator[str]:
        try:
            yield _header(served, file.names)
            while (batch := await asyncio.to_thread(next, batches, None)) is not None:
                with suppress(OSError):  # it is open, and so gone whatever happens to us
                    path.unlink(missing_ok=True)
                yield await _piece(service, served, batch)
        finally:
            path.unlink(missing_ok=True)

    return StreamingResponse(pieces(), media_type=CSV, headers=model_headers(served))


def _readable(served: ServedModel, path: Path) -> TableFile:
    """The table in a file, every cell of which can be answered."""
    file = open_table(path, delimiter=",", encoding="utf-8")
    n_rows = 0
    for batch in file.batches():
        try:
            _rows_of(served, batch)
        except Refusal as refusal:
            raise refusal.renumbered(n_rows) from None
        n_rows += batch.num_rows
    if n_rows == 0:
        raise Refusal("The body has column names but no rows below them.")
    return file


def _rows_of(served: ServedModel, batch: Any) -> Rows:
    return rows_of_columns(served, {name: batch.column(name) for name in batch.schema.names})


async def _piece(service: Service, served: ServedModel, batch: Any) -> str:
    rows = await asyncio.to_thread(_rows_of, served, batch)
    found = await service.batcher.answer(served, rows)
    service.watch.take(rows, found)
    return _lines(found, batch)


def _names(served: ServedModel) -> list[str]:
    classes = [str(plain(each)) for each in served.classes]
    if served.is_labels:
        parts = (("predicted", "p", "decision", "reason"), classes)
        return [f"{part}_{name}" for name in parts[1] for part in parts[0]] + ["familiarity"]
    return ["predicted", *(f"p_{name}" for name in classes), "decision", "reason", "familiarity"]


def _header(served: ServedModel, given: list[str]) -> str:
    names = list(given)
    for name in _names(served):
        while name in names:  # what was there keeps its name
            name = f"kin_{name}"
        names.append(name)
    return _csv([names])


def _lines(found: RowAnswers, batch: Any) -> str:
    """Lines of CSV: the columns that were given, then the answers."""
    given = [] if batch is None else [column.to_pylist() for column in batch.columns]
    familiar = [None] * len(found) if found.familiarity is None else found.familiarity.tolist()
    if found.served.is_labels:
        answers = [
            column
            for t in range(found.proba.shape[1])
            for column in (
                ["yes" if yes else "no" for yes in found.predicted[:, t].tolist()],
                found.proba[:, t].tolist(),
                found.decisions[:, t].tolist(),
                found.reason[:, t].tolist(),
            )
        ]
    else:
        answers = [
            [plain(each) for each in found.classes],
            *found.proba.T.tolist(),
            found.decisions.tolist(),
            found.reason.tolist(),
        ]
    return _csv(zip(*given, *answers, familiar, strict=True))


def _csv(rows: Any) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
