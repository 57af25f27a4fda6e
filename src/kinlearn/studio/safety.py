"""Who may speak to the studio: this computer's browser, at the address that was printed, alone.

Cells are untrusted, and so is every other page the browser has open. A request must name this host
(against names that are made to point here), must not come from another site's page, and must carry
the token; answers forbid the page everything but its own files.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

LOOPBACK = "127.0.0.1"
MAX_BODY = 64 * 1024
_TOKEN_BYTES = 24
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cache-Control": "no-store",
}

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


def new_token() -> str:
    """A token that nobody can guess, fit for an address.

    Examples
    --------
    >>> len(new_token()), new_token() == new_token()
    (32, False)
    """
    return secrets.token_urlsafe(_TOKEN_BYTES)


class Guard:
    """ASGI: lets through what may come in, without the token, with the person it belongs to.

    Parameters
    ----------
    app : ASGI application
        Gets the path behind the token, and ``scope["state"]["who"]``.
    people : dict of str to str
        The person of each token.
    port : int
        Where the studio listens.
    """

    def __init__(self, app: Any, people: dict[str, str], port: int) -> None:
        self.app = app
        self.people = {token.encode(): who for token, who in people.items()}
        self.hosts = {f"{name}:{port}" for name in (LOOPBACK, "localhost")}
        if port == 80:
            self.hosts |= {LOOPBACK, "localhost"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers = _headers(scope)
        refusal = self._refusal(scope, headers)
        token, rest = _split(scope["path"])
        who = self._who(token)
        if refusal is None and who is None:
            refusal = (
                404,
                "This address lacks the token of the studio that runs now: use the address that "
                "kinlearn label printed.",
            )
        if refusal is not None:
            await _refuse(send, *refusal)
            return
        if not rest:  # without its last slash the page's own files would not be found
            await _refuse(send, 308, "", (b"location", f"/{token}/".encode()))
            return
        inner = dict(scope, path=rest, raw_path=rest.encode(), root_path="")
        inner["state"] = {**scope.get("state", {}), "who": who}
        await self.app(inner, _bounded(receive), _with_headers(send))

    def _who(self, token: str) -> str | None:
        found = None
        for known, who in self.people.items():  # all of them, so that time tells nothing
            if secrets.compare_digest(known, token.encode()):
                found = who
        return found

    def _refusal(self, scope: Scope, headers: dict[str, list[str]]) -> tuple[int, str] | None:
        method = scope["method"]
        if method not in ("GET", "HEAD", "POST"):
            return 405, "This cannot be done here."
        hosts = headers.get("host", [])
        if len(hosts) != 1 or hosts[0].lower() not in self.hosts:
            return 403, "This page answers to this computer's own address alone."
        origins = headers.get("origin", [])
        foreign = any(self._foreign(origin) for origin in origins)
        if foreign or self._from_elsewhere(method, headers):
            return 403, "This came from another site's page, which may not speak to the studio."
        if method == "POST":
            if not origins:
                return 403, "Nothing says which page this came from."
            kinds = headers.get("content-type", [])
            if [kind.partition(";")[0].strip().lower() for kind in kinds] != ["application/json"]:
                return 415, "Answers are sent as JSON."
            lengths = headers.get("content-length", [])
            if len(lengths) != 1 or not lengths[0].isdigit() or int(lengths[0]) > MAX_BODY:
                return 413, f"An answer has at most {MAX_BODY} bytes."
        return None

    @staticmethod
    def _from_elsewhere(method: str, headers: dict[str, list[str]]) -> bool:
        """Whether another site asks; that somebody there follows the address itself is no harm."""
        if all(site in ("same-origin", "none") for site in headers.get("sec-fetch-site", [])):
            return False
        followed = (headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest"))
        return method != "GET" or followed != (["navigate"], ["document"])

    def _foreign(self, origin: str) -> bool:
        parts = urlsplit(origin)
        return parts.scheme != "http" or parts.netloc.lower() not in self.hosts


def _headers(scope: Scope) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in scope["headers"]:
        found.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return found


def _split(path: str) -> tuple[str, str]:
    token, slash, rest = path.removeprefix("/").partition("/")
    return token, slash + rest


def _bounded(receive: Receive) -> Receive:
    """Read no more than was announced, whatever comes."""
    left = MAX_BODY

    async def read() -> Message:
        nonlocal left
        message = await receive()
        left -= len(message.get("body", b""))
        return message if left >= 0 else {"type": "http.disconnect"}

    return read


def _with_headers(send: Send) -> Send:
    async def write(message: Message) -> None:
        if message["type"] == "http.response.start":
            present = {name.lower() for name, _ in message.get("headers", [])}
            extra = [
                (name.lower().encode(), value.encode())
                for name, value in HEADERS.items()
                if name.lower().encode() not in present
            ]
            message = {**message, "headers": [*message.get("headers", []), *extra]}
        await send(message)

    return write


async def _refuse(send: Send, status: int, sentence: str, *more: tuple[bytes, bytes]) -> None:
    body = sentence.encode()
    send = _with_headers(send)
    length = (b"content-length", b"%d" % len(body))
    head = [(b"content-type", b"text/plain; charset=utf-8"), length, *more]
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": body})
