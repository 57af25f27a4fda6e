"""What every protocol of the service works with: models, the queue, bounds and the watch."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import numpy as np

from kinlearn.answering.answers import RowAnswers
from kinlearn.answering.refusals import Refusal
from kinlearn.answering.rows import Rows, cells_of
from kinlearn.answering.served_model import ServedModel
from kinlearn.cells.refusals import TableError
from kinlearn.learning.learner import Learner
from kinlearn.service.batching import Batcher
from kinlearn.service.bodies import is_small
from kinlearn.service.registry import Registry
from kinlearn.service.settings import Settings
from kinlearn.service.tables_in import check_count
from kinlearn.watch.store import Store
from kinlearn.watch.watching import Watch

Made = TypeVar("Made")


class Service:
    """One worker of the service."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.registry = Registry(settings.models)
        self.batcher = Batcher(settings.batch_rows, settings.max_waiting_rows)
        self.folder = Path(tempfile.gettempdir())
        self.watch = Watch(Store(settings.watch or ":memory:"), settings.window)
        self.learners: dict[str, Learner] = {}
        if settings.learn:
            for served in self.registry.all():
                learner = Learner(self.registry.path(served.name), served, self.watch.store)
                self.learners[served.name] = learner
                self.registry.replaced[served.name] = learner.replaced
                self.registry.put(learner.served)
        self.closing = False

    async def made(self, body: bytes, make: Callable[[], Made]) -> Made:
        """What `make` makes of a body, by another thread where that takes a while."""
        try:
            return make() if is_small(body) else await asyncio.to_thread(make)
        except TableError as error:
            raise Refusal.of(error) from None

    async def answer(
        self, served: ServedModel, rows: Rows, *, familiarity: bool = True, watched: bool = True
    ) -> RowAnswers:
        """Answers within the bounds of rows and time."""
        settings = self.settings
        check_count(len(rows), settings.max_rows)
        try:
            async with asyncio.timeout(settings.max_seconds):
                found = await self.batcher.answer(served, rows, familiarity=familiarity)
        except TimeoutError:
            raise Refusal(
                f"{len(rows)} rows could not be answered within {settings.max_seconds:g} seconds: "
                "send fewer at a time.",
                status=413,
            ) from None
        if watched:
            self.watch.take(rows, found)
        return found

    def kept(self, rows: Rows, found: RowAnswers) -> list[str]:
        """Keep rows, and give each an id by which its true class can be told later."""
        served = found.served
        records = cells_of(served, rows)
        ids = [uuid4().hex for _ in records]
        texts = [json.dumps(record) for record in records]
        self.watch.store.keep_rows(
            served.name, served.watched_as, list(zip(ids, texts, strict=True))
        )
        return ids

    async def nearest(self, found: RowAnswers, rows: Rows) -> list[Any]:
        """Known rows beside each row that is handed over."""
        count = self.settings.nearest
        shown: list[Any] = [None] * len(found)
        if count <= 0 or found.served.is_labels:
            return shown
        at = [i for i, ok in enumerate(found.answered.tolist()) if not ok][:MOST_EXPLAINED]
        if not at:
            return shown

        def look() -> list[Any]:
            known = self.registry.known(found.served)
            return [] if known is None else known.nearest(rows.chosen(np.array(at)), count)

        for i, near in zip(at, await asyncio.to_thread(look), strict=False):
            shown[i] = near
        return shown

    def flush(self) -> None:
        """Bring the watch's numbers to its file, and learn what was written since."""
        self.watch.flush()
        for name, learner in self.learners.items():
            served = learner.fold()
            if name in self.registry.names and self.registry.get(name) is not served:
                self.registry.put(served)

    def seen(self, path: str, status: int, seconds: float) -> None:
        """Note that a request was answered."""
        route = path if path in ROUTES else "/" + path.rpartition("/")[2]
        self.watch.seen(route if route in ROUTES else "other", status, seconds)

    async def close(self) -> None:
        """Finish what was begun."""
        self.closing = True
        await self.batcher.close()
        await asyncio.to_thread(self.watch.flush)
        for learner in self.learners.values():
            await asyncio.to_thread(learner.close)
        self.watch.store.close()


# What requests are counted by: the last part of an address.
ROUTES = ("/predict", "/invocations", "/infer", "/feedback", "/ping", "/metrics", "/monitor")
# Rows of a request that are shown with their nearest known rows.
MOST_EXPLAINED = 1000
