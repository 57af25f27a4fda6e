"""Starting the service: one process, or several that share the machine's cores."""

from __future__ import annotations

import gc
import inspect
import os
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kinlearn.cells.refusals import TableError
from kinlearn.cores import available_cores
from kinlearn.optional import require
from kinlearn.service.settings import VARIABLE, Settings
from kinlearn.watch.store import WATCH_SUFFIX

STOP_SECONDS = 30
START_SECONDS = 300
_SHORTEST_TOKEN = 8
# Objects made and kept before the collector looks for cycles.
_OBJECTS_A_LOOK = 10_000
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def read_token(path: Path) -> str:
    """The token in a file."""
    token = path.read_text(encoding="utf-8").strip()
    if len(token) < _SHORTEST_TOKEN or any(letter.isspace() for letter in token):
        raise TableError(
            f"{path} holds no token: write one line of at least {_SHORTEST_TOKEN} letters without "
            "blanks, such as openssl rand -hex 24 makes."
        )
    return token


def watch_file(model: Path) -> Path:
    """Where the watch of a model or a folder of models is kept, if its folder can be written to."""
    if model.is_dir():
        path = model / f"kinlearn{WATCH_SUFFIX}"
    else:
        path = model.with_name(f"{model.stem}{WATCH_SUFFIX}")
    if os.access(path if path.exists() else path.parent, os.W_OK):
        return path
    return Path(tempfile.mkdtemp(prefix="kinlearn-")) / path.name


def threads_each(workers: int) -> int:
    """Threads of BLAS for each worker."""
    given = os.environ.get("OMP_NUM_THREADS", "")
    most = available_cores()
    if given.isdigit() and int(given) > 0:
        most = min(most, int(given) * workers)
    return max(1, most // workers)


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens, or a refusal in one sentence."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, OverflowError) as error:
        raise TableError(
            f"Nothing can listen at {host}:{port} ({getattr(error, 'strerror', None) or error}): "
            "choose another --port or --host."
        ) from None


def run(settings: Settings, said: Callable[[str], None] = lambda _: None) -> None:
    """Serve until told to stop.

    Parameters
    ----------
    settings : Settings
        What to serve.
    said : callable
        Told the address, once it is known.
    """
    uvicorn = require("uvicorn", "kinlearn serve", "serve")
    require("fastapi", "kinlearn serve", "serve")
    require("orjson", "kinlearn serve", "serve")
    from uvicorn.supervisors import Multiprocess

    from kinlearn.service.protocol import TimedProtocol
    from kinlearn.service.registry import Registry

    options: dict[str, Any] = {
        "http": TimedProtocol,
        "ws": "none",
        "lifespan": "on",
        "log_level": "warning",
        "access_log": False,
        "server_header": False,
        "timeout_keep_alive": 75,
        "timeout_graceful_shutdown": STOP_SECONDS,
    }
    if settings.workers > 1:
        Registry(settings.models)  # what cannot be served is refused once, not by each worker
    listening = bound(settings.host, settings.port)
    shown = f"[{settings.host}]" if ":" in settings.host else settings.host
    address = f"http://{shown}:{listening.getsockname()[1]}"
    if settings.workers == 1:
        config = uvicorn.Config(application(settings), **options)
        said(address)
        uvicorn.Server(config).run(sockets=[listening])
        return
    # Workers are new processes, whose BLAS reads its number of threads when it is loaded.
    os.environ.update(dict.fromkeys(_THREADS, str(threads_each(settings.workers))))
    os.environ[VARIABLE] = settings.as_text()
    if "timeout_worker_healthcheck" in inspect.signature(uvicorn.Config).parameters:
        # a new process is first heard of when it has loaded what it needs
        options["timeout_worker_healthcheck"] = START_SECONDS
    config = uvicorn.Config(
        "kinlearn.service.running:application", factory=True, workers=settings.workers, **options
    )
    # Who asks before a worker is ready waits for it.
    listening.set_inheritable(True)
    given: dict[str, Any] = {"sockets": [listening]}
    if "target" in inspect.signature(Multiprocess).parameters:  # as long as uvicorn asks for it
        given["target"] = uvicorn.Server(config).run
    said(address)
    Multiprocess(config, **given).run()


def application(settings: Settings | None = None) -> Any:
    """The application of one worker; one of several finds its settings in its environment."""
    from kinlearn.service.app import make_app
    from kinlearn.service.protocol import TimedProtocol

    settings = settings or Settings.from_text(os.environ[VARIABLE])
    TimedProtocol.head_seconds = settings.max_seconds
    made = make_app(settings)
    # What is there now stays: the collector need not look at it again and again, nor at answers of
    # many rows, which hold no cycles.
    gc.collect()
    gc.freeze()
    gc.set_threshold(_OBJECTS_A_LOOK)
    return made
