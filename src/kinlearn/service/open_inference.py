"""The Open Inference Protocol, version 2, over REST: health, metadata, infer, and raw tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from starlette.requests import Request
from starlette.responses import Response

from kinlearn.answering.answers import RowAnswers
from kinlearn.answering.refusals import Refusal, cut
from kinlearn.answering.rows import Rows, rows_of_columns, rows_of_numbers
from kinlearn.answering.served_model import ServedModel
from kinlearn.cells.refusals import quoted
from kinlearn.service.bodies import read_body, read_json
from kinlearn.service.core import Service
from kinlearn.service.json_out import dumped, json_response, model_headers
from kinlearn.service.tables_in import check_count
from kinlearn.service.tensors import BYTES, datatype_of, read_tensor, written_tensor
from kinlearn.version import VERSION

HEADER = "Inference-Header-Content-Length"
MATRIX = "X"
EXTENSIONS = ["binary_tensor_data", "model_repository"]


def server_metadata() -> Response:
    """What this server is."""
    return json_response({"name": "kinlearn", "version": VERSION, "extensions": EXTENSIONS})


def repository_index(service: Service) -> Response:
    """The models there are."""
    return json_response(
        [
            {"name": each.name, "version": each.version, "state": "READY", "reason": ""}
            for each in service.registry.all()
        ]
    )


def model_metadata(served: ServedModel) -> Response:
    """What a model takes and gives."""
    c = len(served.classes)
    per_row = [-1, c] if served.is_labels else [-1]
    if served.is_matrix:
        inputs = [_tensor(MATRIX, "FP64", [-1, len(served.schema.numeric)])]
        if served.schema.task is not None:
            inputs.append(_tensor(served.schema.task, BYTES, [-1]))
    else:
        inputs = [
            _tensor(name, "FP64" if name in served.schema.numeric else BYTES, [-1])
            for name in served.schema.features
        ]
    content = {
        "name": served.name,
        "versions": [served.version],
        "platform": "kinlearn",
        "inputs": inputs,
        "outputs": [
            _tensor("predict", datatype_of(_classes_out(served)), per_row),
            _tensor("predict_proba", "FP64", [-1, c]),
            _tensor("decision", BYTES, per_row),
            _tensor("reason", BYTES, per_row),
            _tensor("familiarity", "FP64", [-1]),
        ],
        "parameters": {
            "checksum": served.checksum,
            "classes": [str(each) for each in served.classes.tolist()],
        },
    }
    return json_response(content, served)


def _tensor(name: str, datatype: str, shape: list[int]) -> dict[str, Any]:
    return {"name": name, "datatype": datatype, "shape": shape}


def _classes_out(served: ServedModel) -> NDArray:
    return np.zeros(0, dtype=np.bool_) if served.is_labels else served.classes


async def infer(service: Service, request: Request, name: str, version: str | None) -> Response:
    """Answer an inference request."""
    served = service.registry.get(name, version)
    settings = service.settings
    body = await read_body(request, settings.max_mb, settings.max_seconds)
    length = request.headers.get(HEADER)

    def read() -> tuple[dict[str, Any], Rows]:
        content, raw = _split(body, length)
        inputs = _inputs(content, raw)
        return content, _rows(served, inputs, settings.max_rows)

    # raw bytes become an array at once
    content, rows = await service.made(body if length is None else b"", read)
    wanted, binary = _wanted(content)
    found = await service.answer(served, rows, familiarity="familiarity" in wanted)
    return _response(found, content, wanted, binary, rows.notes)


def _split(body: bytes, length: str | None) -> tuple[dict[str, Any], bytes | None]:
    """The JSON of a request, and the bytes behind it."""
    raw = None
    if length is not None:
        if not (length.isascii() and length.isdigit()) or int(length[:12]) > len(body):
            raise Refusal(
                f"The header {HEADER} is {cut(length)!r}, and the body has {len(body)} bytes: give "
                "the length of the JSON at its beginning.",
                status=400,
            )
        body, raw = body[: int(length)], body[int(length) :]
    content = read_json(body)
    if not isinstance(content, dict) or not isinstance(content.get("inputs"), list):
        raise Refusal("An inference request is an object with a list of inputs.", status=400)
    return content, raw


def _inputs(content: dict[str, Any], raw: bytes | None) -> dict[str, tuple[Any, tuple[int, ...]]]:
    found: dict[str, tuple[Any, tuple[int, ...]]] = {}
    at = 0
    for given in content["inputs"]:
        piece = None
        size = _parameters(given).get("binary_data_size")
        if size is not None:
            if type(size) is not int or size < 0 or raw is None or at + size > len(raw):
                raise Refusal(
                    f"An input has a binary_data_size of {cut(size)}, and {len(raw or b'') - at} "
                    f"bytes are left behind the JSON: is the body complete, and {HEADER} set?",
                    status=400,
                )
            piece, at = raw[at : at + size], at + size
        name, values, shape = read_tensor(given, piece)
        if name in found:
            raise Refusal(f"There are two inputs named {name!r}.", column=name)
        found[name] = (values, shape)
    if raw is not None and at != len(raw):
        raise Refusal(
            f"{len(raw) - at} bytes are left behind the last input: give each its "
            "binary_data_size.",
            status=400,
        )
    return found


def _parameters(given: Any) -> dict[str, Any]:
    found = given.get("parameters") if isinstance(given, dict) else None
    return found if isinstance(found, dict) else {}


def _rows(served: ServedModel, inputs: dict[str, tuple[Any, tuple[int, ...]]], most: int) -> Rows:
    """Rows of one tensor for each column, or of one with all columns of numbers side by side."""
    schema = served.schema
    columns: dict[str, Any] = {}
    for name, (values, shape) in inputs.items():
        is_column = len(shape) == 1 or (len(shape) == 2 and shape[1] == 1)
        check_count(shape[0], most)
        if is_column and (name in schema.features or len(schema.numeric) > 1):
            columns[name] = values
            continue
        if len(shape) != 2 or shape[1] != len(schema.numeric):
            raise Refusal(
                f"Input {name!r} has the shape {list(shape)}: give one tensor of shape [rows] for "
                f"each column, or one of shape [rows, {len(schema.numeric)}] with the numbers "
                f"{quoted(schema.numeric, 4)} side by side.",
                column=name,
            )
        if served.all_numbers and len(inputs) == 1:
            found = rows_of_numbers(served, values, shape[0])
            if found is not None:
                return found
        for k, own in enumerate(schema.numeric):
            columns[own] = values[k :: shape[1]]
    return rows_of_columns(served, columns)


def _wanted(content: dict[str, Any]) -> tuple[dict[str, bool], bool]:
    """The outputs asked for, each with whether as bytes; the default of the others."""
    binary = _parameters(content).get("binary_data_output") is True
    known = ("predict", "predict_proba", "decision", "reason", "familiarity")
    asked = content.get("outputs")
    if not asked:
        return dict.fromkeys(known[:4], binary), binary
    if not isinstance(asked, list):
        raise Refusal("The outputs of an inference request are a list.", status=400)
    found: dict[str, bool] = {}
    for each in asked:
        name = each.get("name") if isinstance(each, dict) else each
        if name not in known:
            raise Refusal(f"There is no output {cut(name)!r}; there is {quoted(known)}.")
        found[name] = _parameters(each).get("binary_data", binary) is True
    return found, binary


def _response(
    found: RowAnswers,
    content: dict[str, Any],
    wanted: dict[str, bool],
    binary: bool,
    notes: list[str],
) -> Response:
    served = found.served
    outputs, pieces = [], []
    for name, as_bytes in wanted.items():
        values = _output(found, name)
        if values is None:
            continue
        head, raw = written_tensor(name, values, as_bytes)
        outputs.append(head)
        pieces.append(raw)
    told: dict[str, Any] = {
        "model_name": served.name,
        "model_version": served.version,
        "outputs": outputs,
        "parameters": {"checksum": served.checksum},
    }
    if isinstance(content.get("id"), str):
        told["id"] = content["id"]
    if notes:
        told["parameters"]["notes"] = " ".join(notes)
    if not any(wanted.values()):
        return json_response(told, served)
    beginning = dumped(told)
    headers = {**model_headers(served), HEADER: str(len(beginning))}
    body = b"".join([beginning, *pieces])
    return Response(body, headers=headers, media_type="application/octet-stream")


def _output(found: RowAnswers, name: str) -> NDArray | None:
    if name == "predict":
        return found.predicted if found.served.is_labels else found.classes
    if name == "predict_proba":
        return found.proba
    if name == "familiarity":
        return found.familiarity
    return found.decisions if name == "decision" else found.reason
