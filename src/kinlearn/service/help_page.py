"""The page that says what can be asked, with commands to copy; it loads nothing from elsewhere."""

from __future__ import annotations

import json
from typing import Any

from kinlearn.answering.served_model import ServedModel
from kinlearn.report.html import Markup, document, html, paragraph, section, table


def help_page(
    described: dict[str, Any], models: list[ServedModel], address: str, *, token: bool = False
) -> str:
    """The page, made of the OpenAPI document.

    Parameters
    ----------
    described : dict
        The document.
    models : list of ServedModel
        The models that answer.
    address : str
        Where the reader has found the page, such as ``"http://127.0.0.1:8080"``.
    token : bool
        Whether a token is asked for.
    """
    asking = address.rstrip("/") + "{}" + (" -H 'Authorization: Bearer TOKEN'" if token else "")
    rows = [
        [each.name, each.version, len(each.schema.features), ", ".join(map(str, each.classes[:8]))]
        for each in models
    ]
    parts = [
        Markup("<h1>kinlearn serve</h1>"),
        paragraph(
            Markup(
                'Models that answer here. <a href="/monitor">How they are doing</a> · '
                '<a href="/openapi.json">OpenAPI document</a> · '
                '<a href="/metrics">metrics</a>'
            ),
            "under",
        ),
        section("models", "Models", table(["model", "version", "columns", "classes"], rows, [2])),
    ]
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            if method == "post":
                parts.append(_asked(path, asking.format(path), operation))
    gets = [
        [path, methods["get"]["summary"]]
        for path, methods in described["paths"].items()
        if "get" in methods
    ]
    parts.append(section("more", "To look at", table(["address", "what it tells"], gets)))
    return document("kinlearn serve", parts)


def _asked(path: str, asking: str, operation: dict[str, Any]) -> Markup:
    example = operation["requestBody"]["content"]["application/json"]["example"]
    text = json.dumps(example, ensure_ascii=False).replace("'", "'\\''")
    command = f"curl -s {asking} -H 'Content-Type: application/json' -d '{text}'"
    anchor = path.strip("/").replace("/", "-")
    return section(
        anchor,
        f"POST {path}",
        paragraph(operation["summary"]),
        Markup(f'<pre class=scroll style="white-space:pre-wrap">{html(command)}</pre>'),
    )
