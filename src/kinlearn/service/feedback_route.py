"""``/feedback``: true labels, as records with the row or with the id of a row that was kept."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
from numpy.typing import NDArray
from starlette.requests import Request
from starlette.responses import Response

from kinlearn.answering.answers import RowAnswers
from kinlearn.answering.refusals import Refusal, cut
from kinlearn.answering.rows import Rows, rows_of_records
from kinlearn.answering.served_model import ServedModel
from kinlearn.cells.refusals import quoted
from kinlearn.service.bodies import kind_of, read_body, read_json
from kinlearn.service.core import Service
from kinlearn.service.json_out import json_response
from kinlearn.service.tables_in import check_count, table_of_csv

LABEL, ID = "label", "id"


async def feedback(service: Service, request: Request, name: str | None) -> Response:
    """Take labels; they are on disk when the answer is sent."""
    served, rows, truth, ids = await _told(service, request, name)
    found = await service.answer(served, rows, watched=False)
    content = await asyncio.to_thread(_taken, service, served, rows, found, truth, ids)
    return json_response(content, served)


async def forget(service: Service, request: Request, name: str | None) -> Response:
    """Take rows with their labels out of a model that learns, and out of what is kept."""
    served, rows, truth, ids = await _told(service, request, name)
    learner = service.learners.get(served.name)
    if learner is None:
        raise Refusal("This model does not learn on: serve it with --learn.", status=404)

    def forgotten() -> tuple[ServedModel, int]:
        count = learner.forget(rows, truth, ids)
        for number in ids:
            if number is not None:
                service.watch.store.forget_row(served.name, number)
        return learner.served, count

    served, count = await asyncio.to_thread(forgotten)
    service.registry.put(served)
    content = {**served.as_facts(), "forgotten": count, "known_before": len(rows) - count}
    return json_response(content, served)


async def _told(
    service: Service, request: Request, name: str | None
) -> tuple[ServedModel, Rows, NDArray[np.intp], list[str | None]]:
    """Rows with their true classes."""
    served = service.registry.get(name or request.query_params.get("model"))
    settings = service.settings
    body = await read_body(request, settings.max_mb, settings.max_seconds)
    kind = kind_of(request, body)
    if kind == "parquet":
        raise Refusal("Labels are read from JSON and CSV: send their rows as one of these.", 415)

    def read() -> tuple[list[dict[str, Any]], list[Any], list[str | None]]:
        if kind == "csv":
            records: Any = table_of_csv(body, service.folder, settings.max_rows).to_pylist()
        else:
            records = _records(read_json(body))
        check_count(len(records), settings.max_rows)
        return _parts(served, records, service)

    records, labels, ids = await service.made(body, read)
    rows = rows_of_records(served, records)
    return served, rows, _truth(served, labels), ids


def _taken(
    service: Service,
    served: ServedModel,
    rows: Rows,
    found: RowAnswers,
    truth: NDArray[np.intp],
    ids: list[str | None],
) -> dict[str, Any]:
    learner = service.learners.get(served.name)

    def learn(base: Any, fresh: NDArray[np.bool_]) -> None:
        if learner is not None:
            learner.write(base, rows.chosen(np.flatnonzero(fresh)), truth[fresh])

    new, told = service.watch.feedback(rows, found, truth, ids, learn)
    content = {**served.as_facts(), "taken": new, "known_before": len(ids) - new, "so_far": told}
    strange = int((truth < 0).sum())
    if strange:
        content["notes"] = [
            f"{strange} labels are of classes the model does not know (it knows "
            f"{quoted([str(each) for each in served.classes.tolist()])}): they count as answers "
            "that were wrong."
        ]
    return content


def _records(content: Any) -> list[Any]:
    if isinstance(content, dict):
        content = content.get("records", [content])
    if not isinstance(content, list) or not content:
        raise Refusal(
            "Feedback is a list of records, each a row with its true class, such as "
            '[{"age": 51, "label": "ill"}].'
        )
    return content


def _parts(
    served: ServedModel, records: list[Any], service: Service
) -> tuple[list[dict[str, Any]], list[Any], list[str | None]]:
    """Rows, labels and ids of records."""
    if served.is_labels:
        raise Refusal("Feedback is taken for models of one column of classes.", status=404)
    features, target = set(served.schema.features), served.schema.target
    rows, labels, ids = [], [], []
    for i, record in enumerate(records):
        if not isinstance(record, dict):
            raise Refusal(f"Row {i + 1} is {cut(record)}, where a record is expected.", row=i + 1)
        record = dict(record)
        key = target if target is not None and target in record else LABEL
        if key in features or key not in record or record[key] is None:
            raise Refusal(
                f"Row {i + 1} has no true class: give it as {target or LABEL!r}.",
                row=i + 1,
                column=target or LABEL,
            )
        labels.append(record.pop(key))
        number = record.pop(ID, None) if ID not in features else None
        if number is not None and (not isinstance(number, (str, int)) or len(str(number)) > 200):
            raise Refusal(f"Row {i + 1} has the id {cut(number)}: an id is a text.", row=i + 1)
        number = None if number is None else str(number)
        if not features & record.keys() and number is not None:
            kept = service.watch.store.kept_row(served.name, number)
            if kept is None:
                raise Refusal(
                    f"Row {i + 1} names {cut(number)!r}, and no such row was kept: send its cells "
                    "with the label, or serve with --keep-rows.",
                    row=i + 1,
                )
            record = kept
        rows.append(record)
        ids.append(number)
    return rows, labels, ids


def _truth(served: ServedModel, labels: list[Any]) -> NDArray[np.intp]:
    """Numbers of the classes that labels name."""
    names = {str(each): k for k, each in enumerate(served.classes.tolist())}
    rules, found = served.schema.rules.of_answers, []
    for i, label in enumerate(labels):
        if isinstance(label, (dict, list)):
            raise Refusal(
                f"Row {i + 1} has the label {cut(label)}: give one of {quoted(list(names))}.",
                row=i + 1,
            )
        text = str(label)
        if text not in names:
            text = rules.word(text) or ""
        if not text:
            raise Refusal(f"Row {i + 1} has no true class.", row=i + 1)
        # a column of whole numbers in which one is missing comes back as 1.0
        found.append(names.get(text, names.get(text.removesuffix(".0"), -1)))
    return np.array(found, dtype=np.intp)
