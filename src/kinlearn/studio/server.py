"""The studio's address: routes from the browser to the session, and the files of the page."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import Any

from kinlearn.cells.refusals import TableError
from kinlearn.optional import require
from kinlearn.studio.media import media_type
from kinlearn.studio.safety import LOOPBACK, Guard
from kinlearn.studio.session import Session
from kinlearn.tables.plain import finite

PAGE = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/studio.css": ("studio.css", "text/css; charset=utf-8"),
    "/studio.js": ("studio.js", "text/javascript; charset=utf-8"),
    "/drawing.js": ("drawing.js", "text/javascript; charset=utf-8"),
    "/row.js": ("row.js", "text/javascript; charset=utf-8"),
    "/panel.js": ("panel.js", "text/javascript; charset=utf-8"),
    "/icon.png": ("icon.png", "image/png"),
}
# What can be told, and of which fields.
ACTIONS: dict[str, dict[str, type]] = {
    "answer": {"seat": str, "queue": str, "row": int, "value": str},
    "skip": {"seat": str, "row": int},
    "keep": {"seat": str, "row": int},
    "flag": {"seat": str, "row": int},
    "note": {"seat": str, "row": int, "text": str},
    "undo": {"seat": str},
    "leave": {"seat": str},
    "define": {"name": str, "text": str},
    "aim": {"goal": float, "max_error": float},
}


def make_app(session: Session, people: dict[str, str], port: int) -> Any:
    """The ASGI application: the session's routes behind the guard.

    Parameters
    ----------
    session : Session
        What answers.
    people : dict of str to str
        The person of each token.
    port : int
        Where it will listen.
    """
    applications = require("starlette.applications", "kinlearn label", "label")
    routing = require("starlette.routing", "kinlearn label", "label")
    routes = [
        *(routing.Route(path, _file(name, kind)) for path, (name, kind) in PAGE.items()),
        routing.Route("/api/about", _asked(session.about)),
        routing.Route("/api/now", _asked(session.now, seat=str, queue=str, order=_flag)),
        routing.Route("/api/why", _asked(session.why, seat=str)),
        routing.Route("/api/figures", _asked(session.figures, after=int)),
        routing.Route("/api/history", _asked(session.recent)),
        routing.Route("/media/{row:int}/{column:int}", _media(session)),
        routing.Route("/out/{name}", _download(session)),
        *(
            routing.Route(f"/api/{name}", _told(getattr(session, name), kinds), methods=["POST"])
            for name, kinds in ACTIONS.items()
        ),
    ]
    # what the library refuses is said in its own sentence, too
    sorry = {TableError: _sorry, ValueError: _sorry}
    app = applications.Starlette(routes=routes, exception_handlers=sorry)
    return Guard(app, people, port)


def listen(port: int) -> socket.socket:
    """A socket of this computer alone; from here on the address answers.

    Parameters
    ----------
    port : int
        The port; 0 for any that is free.
    """
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # connections take this over: else what follows the head of an answer waits for the browser to
    # say that it has the head, which it puts off for 40 milliseconds
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        found.bind((LOOPBACK, port))
        found.listen(64)
    except OSError as error:
        found.close()
        raise TableError(
            f"Port {port} cannot be used ({error.strerror}): give another --port, or none for one "
            "that is free."
        ) from None
    return found


def make_server(app: Any, ended: Callable[[], None]) -> Any:
    """The server for a page; its ``run(sockets=[door])`` answers until it is interrupted.

    Parameters
    ----------
    app : ASGI application
        What answers.
    ended : callable
        Called when it is to end, so that nothing waits any longer.
    """
    uvicorn = require("uvicorn", "kinlearn label", "label")
    config = uvicorn.Config(
        app,
        log_level="error",
        access_log=False,  # it would write the token down
        server_header=False,
        ws="none",
        proxy_headers=False,
        lifespan="off",
        timeout_graceful_shutdown=1,
        h11_max_incomplete_event_size=32 * 1024,
    )

    class Server(uvicorn.Server):  # type: ignore[name-defined]
        def handle_exit(self, sig: int, frame: Any) -> None:
            ended()
            super().handle_exit(sig, frame)

    return Server(config)


def serve(app: Any, door: socket.socket, ended: Callable[[], None]) -> None:
    """Answer until interrupted."""
    with suppress(KeyboardInterrupt):  # told again once all is closed
        make_server(app, ended).run(sockets=[door])


def _file(name: str, kind: str) -> Callable[..., Any]:
    responses = require("starlette.responses", "kinlearn label", "label")
    content = files("kinlearn.studio").joinpath("page", name).read_bytes()

    async def endpoint(request: Any) -> Any:
        return responses.Response(content, media_type=kind)

    return endpoint


def _flag(text: str) -> bool:
    return text == "yes"


def _asked(method: Callable[..., Any], **kinds: Callable[[str], Any]) -> Callable[..., Any]:
    """A question: its arguments stand in the address."""
    concurrency = require("starlette.concurrency", "kinlearn label", "label")

    async def endpoint(request: Any) -> Any:
        try:
            given = {
                name: kind(request.query_params[name])
                for name, kind in kinds.items()
                if name in request.query_params
            }
        except ValueError:
            return _json({"error": "This question cannot be read."}, 400)
        return _json(await concurrency.run_in_threadpool(method, request.state.who, **given))

    return endpoint


def _told(method: Callable[..., Any], kinds: dict[str, type]) -> Callable[..., Any]:
    """What somebody did: a JSON object with exactly these fields."""
    concurrency = require("starlette.concurrency", "kinlearn label", "label")

    async def endpoint(request: Any) -> Any:
        given = read_fields(await request.body(), kinds)
        if given is None:
            return _json({"error": "This answer cannot be read."}, 400)
        return _json(await concurrency.run_in_threadpool(method, request.state.who, **given))

    return endpoint


def read_fields(body: bytes, kinds: dict[str, type]) -> dict[str, Any] | None:
    """The fields of a JSON object, if it has exactly those of these kinds.

    Examples
    --------
    >>> read_fields(b'{"row": 3}', {"row": int}), read_fields(b'{"row": true}', {"row": int})
    ({'row': 3}, None)
    """
    try:
        given = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(given, dict) or given.keys() != kinds.keys():
        return None
    for name, kind in kinds.items():
        right = (int, float) if kind is float else kind
        if isinstance(given[name], bool) or not isinstance(given[name], right):
            return None
        if kind is str and not _is_text(given[name]):
            return None
    return given


def _is_text(value: str) -> bool:
    """Whether a text can stand in a file: halves of a character and zero bytes cannot."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in value


def _media(session: Session) -> Callable[..., Any]:
    responses = require("starlette.responses", "kinlearn label", "label")

    def endpoint(request: Any) -> Any:
        path = session.media(request.path_params["row"], request.path_params["column"])
        if path is None:
            return responses.PlainTextResponse("There is no such file.", 404)
        return responses.FileResponse(path, media_type=media_type(path))

    return endpoint


def _download(session: Session) -> Callable[..., Any]:
    responses = require("starlette.responses", "kinlearn label", "label")
    background = require("starlette.background", "kinlearn label", "label")

    def endpoint(request: Any) -> Any:
        path: Path = session.export(request.path_params["name"])
        return responses.FileResponse(
            path,
            media_type="application/octet-stream",
            filename=path.name,
            background=background.BackgroundTask(_remove, path),
        )

    return endpoint


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.parent.rmdir()


async def _sorry(request: Any, error: Exception) -> Any:
    if request.url.path.startswith("/out/"):
        responses = require("starlette.responses", "kinlearn label", "label")
        return responses.PlainTextResponse(str(error), 409)
    return _json({"error": str(error)}, 409)


def _json(content: Any, status: int = 200) -> Any:
    responses = require("starlette.responses", "kinlearn label", "label")
    text = json.dumps(finite(content), ensure_ascii=False, allow_nan=False)
    return responses.Response(text, status, media_type="application/json")
