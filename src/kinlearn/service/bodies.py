"""What clients send, read within bounds of size and time."""

from __future__ import annotations

import asyncio
import json
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson
from starlette.requests import Request

from kinlearn.answering.refusals import Refusal, cut

_PIECE = 65_536  # of a body of any length, so much must come within the seconds of a body
_IN_LINE = 65_536  # a body beyond this is read into rows by a thread of its own


async def read_body(request: Request, max_mb: float, seconds: float) -> bytes:
    """The whole body, or a refusal of what is too large or comes too slowly."""
    found = bytearray()
    limit = int(max_mb * 2**20)
    _check_announced(request, limit, max_mb)
    try:
        async with asyncio.timeout(seconds):
            async for chunk in request.stream():
                found += chunk
                if len(found) > limit:
                    raise _too_large(max_mb)
    except TimeoutError:
        raise _too_slow(seconds) from None
    return bytes(found)


async def spool_body(request: Request, folder: Path, max_mb: float, seconds: float) -> Path:
    """The whole body in a file, for bodies larger than memory."""
    limit, size = int(max_mb * 2**20), 0
    _check_announced(request, limit, max_mb)
    with tempfile.NamedTemporaryFile(dir=folder, suffix=".csv", delete=False) as file:
        path = Path(file.name)
        try:
            # the clock is of each piece: a large body may take its time, a trickle not
            loop, due = asyncio.get_running_loop(), size + _PIECE
            async with asyncio.timeout(seconds) as clock:
                async for chunk in request.stream():
                    size += len(chunk)
                    if size > limit:
                        raise _too_large(max_mb)
                    file.write(chunk)
                    if size >= due:
                        due = size + _PIECE
                        clock.reschedule(loop.time() + seconds)
            return path
        except TimeoutError:
            path.unlink(missing_ok=True)
            raise _too_slow(seconds) from None
        except BaseException:
            path.unlink(missing_ok=True)
            raise


def _check_announced(request: Request, limit: int, max_mb: float) -> None:
    if request.headers.get("content-encoding", "identity") not in ("identity", ""):
        coding = cut(request.headers["content-encoding"])
        raise Refusal(f"The body is encoded as {coding!r}: send it as it is.", status=415)
    announced = request.headers.get("content-length", "")
    if announced.isdigit() and int(announced) > limit:
        raise _too_large(max_mb)


def _too_large(max_mb: float) -> Refusal:
    return Refusal(
        f"The body is larger than {max_mb:g} MB: send fewer rows at a time, or CSV that is to be "
        "answered as CSV (Accept: text/csv), which is read in pieces.",
        status=413,
    )


def _too_slow(seconds: float) -> Refusal:
    return Refusal(
        f"The body did not arrive within {seconds:g} seconds: send it faster, or in parts.",
        status=408,
    )


def read_json(body: bytes) -> Any:
    """JSON, or a refusal that says where it is none."""
    if not body.strip():
        raise Refusal("The body is empty: send JSON, CSV or Parquet.", status=400)
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        if b"NaN" in body or b"Infinity" in body:  # as Python writes what JSON has no word for
            # what else Python reads there, such as numbers of any length, is no JSON either
            with suppress(ValueError, TypeError, RecursionError):
                return orjson.loads(orjson.dumps(json.loads(body)))
        raise Refusal(f"The body is no JSON: {cut(str(error))}.", status=400) from None


def is_small(body: bytes) -> bool:
    """Whether a body is quicker read at once than by another thread."""
    return len(body) <= _IN_LINE


def kind_of(request: Request, body: bytes | None = None) -> str:
    """What the body is: json, csv or parquet, by its content type and else by its first bytes."""
    given = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if body is not None and body[:4] == b"PAR1":
        return "parquet"
    if given in ("text/csv", "application/csv"):
        return "csv"
    if given in ("application/vnd.apache.parquet", "application/x-parquet"):
        return "parquet"
    if given in ("", "application/json", "application/octet-stream", "text/json", "*/*") or (
        given.endswith("+json")
    ):
        return "json"
    raise Refusal(
        f"The content type {cut(given)!r} is not read here: send application/json, text/csv or "
        "application/vnd.apache.parquet.",
        status=415,
    )
