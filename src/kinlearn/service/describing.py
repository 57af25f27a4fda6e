"""The OpenAPI document, with examples of the models' own columns and classes."""

from __future__ import annotations

from typing import Any

from kinlearn.answering.served_model import ServedModel, example_row
from kinlearn.service.json_out import plain
from kinlearn.version import VERSION

_ERROR = {
    "type": "object",
    "properties": {
        "error": {"type": "string", "description": "What was wrong, and what to do."},
        "column": {"type": "string"},
        "row": {"type": "integer", "description": "Counted from 1."},
        "value": {"type": "string"},
    },
    "required": ["error"],
}
_REFUSALS = {
    "400": "The body cannot be read.",
    "401": "A token is asked for.",
    "403": "A page of another site asks.",
    "404": "There is no such model.",
    "405": "The method is not the one of this address.",
    "408": "The body came too slowly.",
    "409": "The model's file has just been replaced.",
    "413": "The body, its rows or the time they take are beyond the limits.",
    "415": "The content type is not read here.",
    "422": "A column, row or value cannot be answered.",
    "429": "Too many rows are waiting.",
}


def openapi_document(models: list[ServedModel]) -> dict[str, Any]:
    """The document as JSON values."""
    first = models[0]
    several = len(models) > 1
    paths: dict[str, Any] = {
        "/ping": _get("Whether somebody is there.", "text/plain"),
        "/version": _get("The version of kinlearn.", "text/plain"),
        "/monitor": _get("How the models are doing, as a page.", "text/html"),
        "/monitor.json": _get("The same as JSON."),
        "/metrics": _get("The same for Prometheus.", "text/plain"),
        "/models": _get("The models, their columns, classes, versions and checksums."),
        "/v2": _get("What this server is."),
        "/v2/health/live": _get("Whether the server runs."),
        "/v2/health/ready": _get("Whether the server answers."),
    }
    if not several:
        paths["/predict"] = {"post": _predict(first)}
        paths["/invocations"] = {"post": _invocations(first)}
        if not first.is_labels:
            paths["/feedback"] = {"post": _feedback(first)}
    for served in models:
        if several:
            paths[f"/models/{served.name}/predict"] = {"post": _predict(served)}
            paths[f"/models/{served.name}/invocations"] = {"post": _invocations(served)}
            if not served.is_labels:
                paths[f"/models/{served.name}/feedback"] = {"post": _feedback(served)}
        at = f"/v2/models/{served.name}"
        paths[at] = _get("What the model takes and gives.")
        paths[f"{at}/ready"] = _get("Whether the model answers.")
        paths[f"{at}/infer"] = {"post": _infer(served)}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "kinlearn",
            "version": VERSION,
            "description": "Classes, probabilities and decisions for rows of a table.",
        },
        "paths": paths,
        "components": {
            "schemas": {"Error": _ERROR},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _get(about: str, kind: str = "application/json") -> dict[str, Any]:
    return {"get": {"summary": about, "responses": _responses({kind: {}})}}


def _responses(content: dict[str, Any]) -> dict[str, Any]:
    error = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    found: dict[str, Any] = {"200": {"description": "The answer.", "content": content}}
    for status, about in _REFUSALS.items():
        found[status] = {"description": about, "content": error}
    return found


def _operation(about: str, body: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    return {
        "summary": about,
        "requestBody": {"required": True, "content": body},
        "responses": _responses(answer),
    }


def _row_schema(served: ServedModel) -> dict[str, Any]:
    schema = served.schema
    number = ["number", "null"] if served.takes_missing else ["number"]
    properties: dict[str, dict[str, Any]] = {
        name: {"type": number}
        if name in schema.numeric
        else {"type": ["string", "number", "boolean", "null"]}
        for name in schema.features
    }
    for name, levels in served.levels.items():
        known = sorted(levels)
        properties[name]["description"] = "Known: " + ", ".join(known[:20])
    return {"type": "object", "properties": properties, "required": schema.features}


def example_request(served: ServedModel) -> dict[str, Any]:
    """A request of our own protocol."""
    return {"records": [example_row(served)]}


def _predict(served: ServedModel) -> dict[str, Any]:
    row = _row_schema(served)
    rows = {"type": "array", "items": row, "minItems": 1}
    body = {"type": "object", "properties": {"records": rows}, "required": ["records"]}
    names = [str(plain(each)) for each in served.classes]
    example = example_row(served)
    text = f"{_csv_line(example)}\n{_csv_line(example.values())}\n"
    answer = {
        "type": "object",
        "properties": {
            "model": {"type": "string"},
            "version": {"type": "string"},
            "checksum": {"type": "string"},
            "classes": {"type": "array", "description": ", ".join(names)},
            "answers": {"type": "array", "items": {"type": "object"}},
            "notes": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["model", "version", "checksum", "answers"],
    }
    return _operation(
        f"Class, probabilities, decision and familiarity by the model {served.name}.",
        {
            "application/json": {"schema": body, "example": example_request(served)},
            "text/csv": {"schema": {"type": "string"}, "example": text},
        },
        {"application/json": {"schema": answer}, "text/csv": {"schema": {"type": "string"}}},
    )


def _feedback(served: ServedModel) -> dict[str, Any]:
    label = served.schema.target or "label"
    row = _row_schema(served)
    classes = [plain(each) for each in served.classes]
    row["properties"][label] = {"enum": classes}
    row["required"] = [*row["required"], label]
    example = {**example_row(served), label: classes[0]}
    answer = {"type": "object", "required": ["taken", "known_before"]}
    return _operation(
        f"The true classes of rows, for the watch of the model {served.name}.",
        {
            "application/json": {
                "schema": {"type": "array", "items": row, "minItems": 1},
                "example": [example],
            }
        },
        {"application/json": {"schema": answer}},
    )


def _csv_line(cells: Any) -> str:
    return ",".join("" if cell is None else str(cell) for cell in cells)


def _invocations(served: ServedModel) -> dict[str, Any]:
    rows = {"type": "array", "items": _row_schema(served), "minItems": 1}
    split = {
        "type": "object",
        "properties": {
            "columns": {"type": "array", "items": {"type": "string"}},
            "data": {"type": "array", "items": {"type": "array"}},
        },
        "required": ["columns", "data"],
    }
    kinds = {"dataframe_records": rows, "dataframe_split": split, "instances": rows}
    body = {
        "oneOf": [
            {"type": "object", "properties": {name: kind}, "required": [name]}
            for name, kind in kinds.items()
        ]
    }
    example = example_row(served)
    told = {"columns": list(example), "data": [list(example.values())]}
    answer = {"type": "object", "required": ["predictions"]}
    return _operation(
        f"The same by MLflow's scoring protocol, for the model {served.name}.",
        {"application/json": {"schema": body, "example": {"dataframe_split": told}}},
        {"application/json": {"schema": answer}},
    )


def _infer(served: ServedModel) -> dict[str, Any]:
    tensor = {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "shape": {"type": "array", "items": {"type": "integer", "minimum": 0}},
            "datatype": {"enum": ["FP64", "FP32", "INT64", "INT32", "BOOL", "BYTES"]},
            "data": {"type": "array"},
        },
        "required": ["name", "shape", "datatype", "data"],
    }
    body = {
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "inputs": {"type": "array", "items": tensor, "minItems": 1},
        },
        "required": ["inputs"],
    }
    numeric = served.schema.numeric
    inputs = [
        {
            "name": name,
            "shape": [1],
            "datatype": "FP64" if name in numeric else "BYTES",
            "data": [value],
        }
        for name, value in example_row(served).items()
    ]
    answer = {"type": "object", "required": ["model_name", "model_version", "outputs"]}
    return _operation(
        f"The same by the Open Inference Protocol, for the model {served.name}.",
        {"application/json": {"schema": body, "example": {"inputs": inputs}}},
        {"application/json": {"schema": answer}, "application/octet-stream": {}},
    )
