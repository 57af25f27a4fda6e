"""Who may ask, and how long answering took: before and after every request."""

from __future__ import annotations

import base64
import hmac
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers

from kinlearn.answering.refusals import Refusal
from kinlearn.service.json_out import refused

# Answered whoever asks: they tell no more than that somebody is there.
OPEN = ("/ping", "/v2/health/live", "/v2/health/ready")
# Opened by browsers, which ask their user for a password and send it in their own way.
PAGES = ("/", "/docs", "/monitor")


class Guard:
    """An ASGI application around another one.

    Parameters
    ----------
    app : ASGI application
        What answers.
    token : str, optional
        What a client must say.
    seen : callable
        Told the path, the status and the seconds of each request.
    """

    def __init__(
        self, app: Any, token: str | None, seen: Callable[[str, int, float], None]
    ) -> None:
        self.app, self.token, self.seen = app, token, seen

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started, status = time.perf_counter(), 500

        async def sending(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        refusal = self._refusal(scope["path"], Headers(scope=scope))
        try:
            if refusal is not None:
                answer = refused(refusal, scope["path"])
                if refusal.status == 401 and scope["path"] in PAGES:
                    answer.headers["WWW-Authenticate"] = 'Basic realm="kinlearn", charset="UTF-8"'
                await answer(scope, receive, sending)
            else:
                await self.app(scope, receive, sending)
        finally:
            self.seen(scope["path"], status, time.perf_counter() - started)

    def _refusal(self, path: str, headers: Headers) -> Refusal | None:
        if self.token is not None and path not in OPEN and not self._knows(headers):
            return Refusal(
                "This service asks for a token: send the header Authorization: Bearer TOKEN.",
                status=401,
            )
        origin = headers.get("origin")
        if origin is not None and _host_of(origin) != headers.get("host"):
            return Refusal("Pages of other sites may not ask this service.", status=403)
        return None

    def _knows(self, headers: Headers) -> bool:
        kind, _, said = headers.get("authorization", "").partition(" ")
        given = said.strip().encode()
        if kind.lower() == "basic":
            try:
                given = base64.b64decode(given, validate=True).partition(b":")[2]
            except ValueError:
                return False
        elif kind.lower() != "bearer":
            return False
        return hmac.compare_digest(given, (self.token or "").encode())


def _host_of(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return None
