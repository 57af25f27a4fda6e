"""The application: addresses, who may ask, and refusals as answers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from kinlearn.answering.refusals import Refusal
from kinlearn.cells.refusals import TableError
from kinlearn.service import feedback_route, mlflow_protocol, open_inference, own_protocol
from kinlearn.service.core import Service
from kinlearn.service.describing import openapi_document
from kinlearn.service.guard import Guard
from kinlearn.service.help_page import help_page
from kinlearn.service.json_out import json_response, refused
from kinlearn.service.settings import Settings
from kinlearn.version import VERSION
from kinlearn.watch.metrics_text import metrics_text
from kinlearn.watch.page import monitor_page
from kinlearn.watch.watching import REQUESTS

FLUSH_SECONDS = 1.0
log = logging.getLogger("kinlearn.service")


def make_app(settings: Settings) -> FastAPI:
    """The application of one worker."""
    service = Service(settings)

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        begun = [asyncio.create_task(each(service)) for each in (_look, _flush)]
        try:
            yield
        finally:
            for each in begun:
                each.cancel()
                with suppress(asyncio.CancelledError):
                    await each
            await service.close()

    app = FastAPI(
        title="kinlearn", version=VERSION, lifespan=life, docs_url=None, redoc_url=None,
        openapi_url=None,
    )  # fmt: skip
    app.state.service = service
    app.add_middleware(Guard, token=service.settings.token, seen=service.seen)
    _refusals(app)
    _about(app, service)
    _watching(app, service)
    _answering(app, service)
    return app


async def _look(service: Service) -> None:
    """Look for files that were replaced, as long as the service runs."""
    while True:
        await asyncio.sleep(service.settings.poll_seconds)
        try:
            await asyncio.to_thread(service.registry.look)
        except Exception:  # whatever it is, the models that are there answer on
            log.exception("Looking for new models failed.")


async def _flush(service: Service) -> None:
    """Bring the watch's numbers to its file, as long as the service runs."""
    while True:
        await asyncio.sleep(FLUSH_SECONDS)
        try:
            await asyncio.to_thread(service.flush)
        except Exception:  # answers come first
            log.exception("The watch could not be written.")


# -- refusals -------------------------------------------------------------------------------------


def _refusals(app: FastAPI) -> None:
    @app.exception_handler(Refusal)
    async def on_refusal(request: Request, error: Refusal) -> Response:
        return refused(error, request.url.path)

    @app.exception_handler(TableError)
    async def on_table(request: Request, error: TableError) -> Response:
        return refused(Refusal.of(error), request.url.path)

    @app.exception_handler(HTTPException)
    async def on_http(request: Request, error: HTTPException) -> Response:
        sentence = {
            404: f"There is nothing at {request.url.path[:80]}: GET /docs lists what there is.",
            405: f"{request.method} is not what {request.url.path[:80]} answers.",
        }.get(error.status_code, "This request cannot be answered.")
        response = refused(Refusal(sentence, error.status_code), request.url.path)
        response.headers.update(error.headers or {})
        return response

    @app.exception_handler(ClientDisconnect)
    async def on_gone(request: Request, error: ClientDisconnect) -> Response:
        return refused(Refusal("The client has gone.", status=400), request.url.path)

    @app.exception_handler(Exception)
    async def on_fault(request: Request, error: Exception) -> Response:
        sentence = "This is a fault of the service, which its log describes."
        return refused(Refusal(sentence, 500), request.url.path)


# -- addresses ------------------------------------------------------------------------------------


def _about(app: FastAPI, service: Service) -> None:
    registry = service.registry

    @app.api_route("/ping", methods=["GET", "HEAD"])
    @app.api_route("/health", methods=["GET", "HEAD"])
    async def ping() -> Response:
        return PlainTextResponse("\n")

    @app.get("/version")
    async def version() -> Response:
        return PlainTextResponse(VERSION)

    @app.get("/")
    @app.get("/docs")
    async def docs(request: Request) -> Response:
        described, token = openapi_document(registry.all()), service.settings.token
        page = help_page(described, registry.all(), str(request.base_url), token=token is not None)
        return HTMLResponse(page)

    @app.get("/openapi.json")
    async def openapi() -> Response:
        return json_response(openapi_document(registry.all()))

    @app.get("/models")
    async def models() -> Response:
        return json_response(
            [
                {
                    **each.as_facts(),
                    "written": each.info["written"],
                    "columns": each.schema.features,
                    "classes": [str(name) for name in each.classes.tolist()],
                    "problem": registry.problems.get(each.name),
                }
                for each in registry.all()
            ]
        )

    @app.get("/v2")
    @app.get("/v2/")
    async def about() -> Response:
        return open_inference.server_metadata()

    @app.api_route("/v2/health/live", methods=["GET", "HEAD"])
    async def live() -> Response:
        return json_response({"live": True})

    @app.api_route("/v2/health/ready", methods=["GET", "HEAD"])
    async def ready() -> Response:
        if service.closing:
            return refused(Refusal("The service is about to stop.", status=503))
        return json_response({"ready": True})

    @app.post("/v2/repository/index")
    async def index() -> Response:
        return open_inference.repository_index(service)

    @app.get("/v2/models/{name}")
    @app.get("/v2/models/{name}/versions/{version}")
    async def metadata(name: str, version: str | None = None) -> Response:
        return open_inference.model_metadata(registry.get(name, version))

    @app.get("/v2/models/{name}/ready")
    @app.get("/v2/models/{name}/versions/{version}/ready")
    async def model_ready(name: str, version: str | None = None) -> Response:
        served = registry.get(name, version)
        return json_response({"name": served.name, "ready": True}, served)


def _watching(app: FastAPI, service: Service) -> None:
    def looked_at() -> tuple[list[dict[str, Any]], dict[str, Any]]:
        service.flush()
        states = [service.watch.state(each) for each in service.registry.all()]
        return states, service.watch.store.sums_of("", "").get(REQUESTS, {})

    @app.get("/monitor")
    async def monitor() -> Response:
        return HTMLResponse(monitor_page(*await asyncio.to_thread(looked_at)))

    @app.get("/monitor.json")
    async def monitor_json() -> Response:
        return json_response((await asyncio.to_thread(looked_at))[0])

    @app.get("/metrics")
    async def metrics() -> Response:
        text = metrics_text(*await asyncio.to_thread(looked_at))
        return Response(text, media_type="text/plain; version=0.0.4")


def _answering(app: FastAPI, service: Service) -> None:
    @app.post("/feedback")
    @app.post("/models/{name}/feedback")
    async def feedback(request: Request, name: str | None = None) -> Any:
        return await feedback_route.feedback(service, request, name)

    @app.post("/forget")
    @app.post("/models/{name}/forget")
    async def forget(request: Request, name: str | None = None) -> Any:
        return await feedback_route.forget(service, request, name)

    @app.post("/predict")
    @app.post("/models/{name}/predict")
    async def predict(request: Request, name: str | None = None) -> Any:
        return await own_protocol.predict(service, request, name)

    @app.post("/invocations")
    @app.post("/models/{name}/invocations")
    async def invocations(request: Request, name: str | None = None) -> Any:
        return await mlflow_protocol.invocations(service, request, name)

    @app.post("/v2/models/{name}/infer")
    @app.post("/v2/models/{name}/versions/{version}/infer")
    async def infer(request: Request, name: str, version: str | None = None) -> Any:
        return await open_inference.infer(service, request, name, version)
