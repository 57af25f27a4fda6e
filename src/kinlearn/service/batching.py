"""Requests that arrive together are answered by one matrix product.

While one product is under way those that arrive wait for it, and are then answered together; when
none is, a row is answered at once. So nobody waits longer than for the product before, which has a
bounded number of rows: a large request goes in parts, and lets others in between.

A row that comes alone is answered where it arrives if its model was quick the last time: handing it
to a thread and back can take a busy machine longer than the product does.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from kinlearn.answering.answers import RowAnswers, answer_rows, joined
from kinlearn.answering.refusals import Refusal
from kinlearn.answering.rows import Rows, together
from kinlearn.answering.served_model import ServedModel

# A product that takes less is not worth another thread.
QUICK_SECONDS = 0.001


@dataclass(eq=False)
class _Waiting:
    served: ServedModel
    rows: Rows
    familiarity: bool
    answer: asyncio.Future[RowAnswers] = field(init=False)

    def __post_init__(self) -> None:
        self.answer = asyncio.get_running_loop().create_future()

    def goes_with(self, other: _Waiting) -> bool:
        """Whether one product can answer both: of the same model, not of the same name."""
        return self.served is other.served and self.familiarity == other.familiarity


class Batcher:
    """Answers rows, in one thread of its own.

    Parameters
    ----------
    batch_rows : int
        Most rows of one product.
    max_waiting : int
        Rows that may wait; who comes then is asked to come again.
    """

    def __init__(self, batch_rows: int = 2048, max_waiting: int = 400_000) -> None:
        self.batch_rows, self.max_waiting = batch_rows, max_waiting
        self.products = 0
        self._waiting: deque[_Waiting] = deque()
        self._n_waiting = 0
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="kinlearn-answers")
        self._work: asyncio.Task[None] | None = None
        # processor time of the last row that was answered alone
        self._seconds: WeakKeyDictionary[ServedModel, float] = WeakKeyDictionary()

    async def answer(
        self, served: ServedModel, rows: Rows, *, familiarity: bool = True
    ) -> RowAnswers:
        """Answer the rows of one request."""
        if self._n_waiting and self._n_waiting + len(rows) > self.max_waiting:
            raise Refusal(
                f"{self._n_waiting} rows are waiting already, of at most {self.max_waiting}: send "
                "these again in a second.",
                status=429,
            )
        self._n_waiting += len(rows)
        try:
            parts = []
            for start in range(0, len(rows), self.batch_rows):
                part = rows
                if len(rows) > self.batch_rows:
                    part = rows.part(start, start + self.batch_rows)
                try:
                    parts.append(await self._one(_Waiting(served, part, familiarity)))
                except Refusal as refusal:
                    raise refusal.renumbered(start) from None
            return joined(parts)
        finally:
            self._n_waiting -= len(rows)

    async def _one(self, waiting: _Waiting) -> RowAnswers:
        self._waiting.append(waiting)
        if self._work is None or self._work.done():
            self._work = asyncio.create_task(self._drain())
        return await waiting.answer

    async def _drain(self) -> None:
        loop = asyncio.get_running_loop()
        while batch := self._next():
            alone = len(batch) == 1 and len(batch[0].rows) == 1
            model = batch[0].served
            if alone and self._seconds.get(model, QUICK_SECONDS) < QUICK_SECONDS:
                found, seconds = _timed(batch)
            else:
                found, seconds = await loop.run_in_executor(self._pool, _timed, batch)
            if alone:
                self._seconds[model] = seconds
            self.products += 1
            for each, answer in zip(batch, found, strict=True):
                if each.answer.done():  # its client has gone
                    continue
                if isinstance(answer, BaseException):
                    each.answer.set_exception(answer)
                else:
                    each.answer.set_result(answer)

    def _next(self) -> list[_Waiting]:
        """Who is answered next: the first that waits, and all that go with it."""
        batch: list[_Waiting] = []
        n_rows, left = 0, deque[_Waiting]()
        while self._waiting:
            each = self._waiting.popleft()
            if each.answer.done():
                continue
            fits = n_rows + len(each.rows) <= self.batch_rows
            if not batch or (fits and each.goes_with(batch[0])):
                batch.append(each)
                n_rows += len(each.rows)
            else:
                left.append(each)
        self._waiting = left
        return batch

    async def close(self) -> None:
        """Wait for what is under way."""
        if self._work is not None and not self._work.done():
            await self._work
        self._pool.shutdown()


def _timed(batch: list[_Waiting]) -> tuple[list[RowAnswers | BaseException], float]:
    """The answers, and what they took of the processor."""
    begun = time.thread_time()
    return _answer_together(batch), time.thread_time() - begun


def _answer_together(batch: list[_Waiting]) -> list[RowAnswers | BaseException]:
    served, familiarity = batch[0].served, batch[0].familiarity
    try:
        found = answer_rows(served, together([w.rows for w in batch]), familiarity=familiarity)
    except ValueError as error:  # what the model says of rows that it cannot take
        if len(batch) == 1:
            return [error if isinstance(error, Refusal) else Refusal.of(error)]
        return [_answer_together([each])[0] for each in batch]
    except Exception as error:
        if len(batch) == 1:
            return [error]
        return [_answer_together([each])[0] for each in batch]  # one of them is at fault
    answers: list[RowAnswers | BaseException] = []
    start = 0
    for each in batch:
        answers.append(found.part(start, start + len(each.rows)))
        start += len(each.rows)
    return answers
