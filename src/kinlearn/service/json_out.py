"""Answers as JSON, and which model they are of."""

from __future__ import annotations

from typing import Any

import numpy as np
import orjson
from starlette.responses import Response

from kinlearn.answering.refusals import Refusal
from kinlearn.answering.served_model import ServedModel

JSON = "application/json"
_OPTIONS = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS


def plain(value: Any) -> Any:
    """A class as a JSON value.

    Examples
    --------
    >>> plain(np.int64(3)), plain(np.str_("a"))
    (3, 'a')
    """
    return value.item() if isinstance(value, np.generic) else value


def dumped(content: Any) -> bytes:
    """JSON, in which numbers have all their digits and NaN is null."""
    return orjson.dumps(content, option=_OPTIONS, default=plain)


def json_response(content: Any, served: ServedModel | None = None, status: int = 200) -> Response:
    """A response of JSON."""
    headers = {} if served is None else model_headers(served)
    return Response(dumped(content), status, headers, media_type=JSON)


def model_headers(served: ServedModel) -> dict[str, str]:
    """Which model has answered, for protocols whose bodies have no place for it."""
    return {
        "X-Kinlearn-Model": served.name.encode("ascii", "replace").decode(),
        "X-Kinlearn-Version": served.version,
        "X-Kinlearn-Checksum": served.checksum,
    }


def refused(refusal: Refusal, path: str = "") -> Response:
    """A refusal, with the keys that each protocol's clients look for."""
    facts = refusal.as_facts()
    if path.startswith("/invocations"):
        facts = {"error_code": "BAD_REQUEST", "message": facts["error"], **facts}
    response = json_response(facts, status=refusal.status)
    if refusal.status == 429:
        response.headers["Retry-After"] = "1"
    if refusal.status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    return response
