"""The polish of a streamed fit: further passes over a source that can be gone through again."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn.all_or_nothing import aside
from kinlearn.estimators._checkpoint import batch_keys, first_bad_row
from kinlearn.estimators._from_sums import target_factors
from kinlearn.estimators._polish import (
    TOO_FEW,
    PolishChoice,
    PolishedFit,
)
from kinlearn.estimators._stream_fit import StreamRun
from kinlearn.posterior import ScoreLayout
from kinlearn.problems.polish import Polish
from kinlearn.problems.polish_rows import BatchLoss, NewClassError, SumsToPolish
from kinlearn.streams import Batch, StreamError, StreamProgress

log = logging.getLogger("kinlearn.stream")
Array = NDArray[np.float64]


def polishes(model: Any) -> bool:
    """Whether an estimator goes over rows of a stream again."""
    return hasattr(model, "_polish_choice") and getattr(model, "polish", "auto") is not None


class SumsPolish:
    """One polish of a model that was solved from sums.

    Parameters
    ----------
    model : estimator
        Solved, with ``statistics_``; a copy of it becomes the polished one.
    choice : PolishChoice
    """

    def __init__(self, model: Any, choice: PolishChoice) -> None:
        self.model, self.choice = aside(model), choice
        self.model.polish_reason_ = choice.reason
        self.polish: Polish | None = None
        if choice.passes is None:
            return
        sums = model.statistics_
        options = model._polish_options(choice.passes)
        self.converges = "tol" in options
        self.sums = SumsToPolish.of(sums, target_factors(model, sums))
        held = self.sums.held(everything=self.converges)
        if held is None:
            self.model.polish_reason_ = TOO_FEW
            return
        rows, self.targets, self.weights = held
        reg = float(model.reg_ if hasattr(model, "reg_") else model.reg)
        self.polish = self.sums.polish(rows, reg, **options)

    @property
    def loss(self) -> BatchLoss:
        """Of batches of rows."""
        return BatchLoss.of(self.sums)

    def finished(self) -> Any:
        """The model that the polish came to."""
        polish, model = self.polish, self.model
        if polish is None:
            return model
        closed = model.model_
        layout: ScoreLayout = closed.labels.layout
        balances = None if model.class_weight is None else [self.sums.factors]
        found = PolishedFit.of(polish, layout, balances)
        if self.converges:  # nothing was held out, and the start is no model of this kind
            vars(model).update(gradient_norm_=polish.gradient_norm, n_iter_=polish.n_passes)
            for name in ("held_out_log_loss_", "polish_reason_"):
                delattr(model, name)
        else:
            vars(model).update(found.facts)
            if not found.helped:
                return model
            model.held_out_log_loss_ = found.held_out_log_loss(self.targets, self.weights)
        model.model_ = replace(
            closed,
            sigmas=np.array([model.statistics_.sigma]),
            coef=found.coef[None],
            calibration=found.calibration,
        )
        return model


def polish_stream(model: Any, run: StreamRun) -> Any:
    """Polish a streamed fit by further passes over its source, where that is asked for.

    Parameters
    ----------
    model : estimator
        Solved from the sums of `run`.
    run : StreamRun
        After its pass.

    Returns
    -------
    estimator
        Polished, or as it was, with the reason.
    """
    if not polishes(model):
        return model
    choice = model._polish_choice(model.statistics_)
    if choice.passes is not None and not (run.source.repeatable and run.whole):
        why = "An iterator can be gone through once"
        if run.source.repeatable:
            why = "The rows that the sums had before are not in this source"
        reason = (
            f"{why}, so that this fit keeps the closed form: a polish goes over all rows again. "
            "Pass arrays, files or a function that returns a new iterator, or polish=None."
        )
        if not run.source.repeatable or model.polish != "auto":
            warnings.warn(reason, UserWarning, stacklevel=5)
        choice = PolishChoice(None, reason)
    found = SumsPolish(model, choice)
    if found.polish is not None:
        _Passes(run, found.polish, found.loss).run()
    return found.finished()


class _Passes:
    """Goes over a source until a polish is done; a checkpoint holds how far it has come."""

    def __init__(self, run: StreamRun, polish: Polish, loss: BatchLoss) -> None:
        self.stream, self.polish, self.loss = run, polish, loss
        assert run.marks is not None
        self.marks = run.marks
        self.seen = run.marks.again()
        self.value, self.gradient = 0.0, np.zeros(polish.coef.shape)
        self.batches, self.began, self.rows_read = 0, time.perf_counter(), 0

    def run(self) -> None:
        """All passes that are left."""
        self._resume()
        try:
            while not self.polish.done:
                self._one_pass()
        finally:
            self._save()

    def _one_pass(self) -> None:
        coef = self.polish.coef
        for batch in self._batches():
            value, gradient = self._loss_of(batch, coef)
            self.value += value
            self.gradient += gradient
            self.batches += 1
            self.rows_read += batch.n_rows
            if self.batches % self.stream.checkpoint_every == 0:
                self._save()
            self._report()
        if not self.seen.complete:
            raise self._changed("it ended at another row")
        self.polish.tell(self.value, self.gradient)
        log.info("pass %d, held-out log-loss %.5f", self.polish.n_passes, min(self.polish.path))
        self._begin()

    def _begin(self) -> None:
        self.value, self.gradient = 0.0, np.zeros_like(self.gradient)
        self.seen, self.batches = self.marks.again(), 0

    def _batches(self) -> Iterator[Batch]:
        """The batches of this pass that are left."""
        batches = self.stream.source.batches(self.seen.rows)
        while True:
            try:
                batch = next(batches)
            except StopIteration:
                return
            except Exception as error:
                raise self._failure(str(error)) from error
            yield batch

    def _loss_of(self, batch: Batch, coef: Array) -> tuple[float, Array]:
        reader, first = self.stream.reader, self.seen.rows
        try:
            keys = batch_keys(reader, batch)
            X, _ = reader.rows_and_tasks(batch)
            found = self.loss(coef, *reader.read(X, batch.y, batch.sample_weight))
        except NewClassError as error:
            raise self._failure(f"Row {first + error.row}, counted from 0: {error}") from error
        except (ValueError, TypeError) as error:
            what, bad = str(error).partition("\n")[0], first_bad_row(batch)
            if bad is not None:
                what += f" The first such is row {first + bad} of the stream, counted from 0."
            raise self._failure(what) from error
        if not self.seen.compare(keys):
            raise self._changed(
                f"rows {first} to {first + len(keys) - 1}, counted from 0, or their order"
            )
        return found

    # -- checkpoints --------------------------------------------------------------------------

    def _save(self) -> None:
        if self.stream.checkpoint is None:
            return
        self.stream.polish_state = {
            **self.polish.to_arrays(),
            "value": np.array([self.value]),
            "gradient": self.gradient,
            "reached": np.array(
                [self.seen.rows, self.seen.print, self.batches, self.polish.max_passes],
                dtype=np.uint64,
            ),
        }
        self.stream.save()

    def _resume(self) -> None:
        state = self.stream.polish_state
        if not state:
            return
        reached = state["reached"].tolist()
        if reached[3] != self.polish.max_passes:
            raise ValueError(
                f"{self.stream.checkpoint} was begun with at most {reached[3]} passes, but this "
                f"call has {self.polish.max_passes}: go on with the polish= it was begun with, or "
                "choose another checkpoint."
            )
        own = {k: v for k, v in state.items() if k not in ("value", "gradient", "reached")}
        self.polish.go_on_from(own)
        self.value, self.gradient = float(state["value"][0]), state["gradient"].copy()
        self.seen.rows, self.seen.print, self.batches = reached[:3]

    # -- what is said -------------------------------------------------------------------------

    def _changed(self, what: str) -> StreamError:
        return self._failure(
            f"The source gave other rows than in its first pass ({what}): a polish goes over the "
            "same rows in the same order again."
        )

    def _failure(self, what: str) -> StreamError:
        checkpoint = self.stream.checkpoint
        kept = "The model keeps the closed form of all rows"
        kept += f", and {checkpoint} how far the polish has come." if checkpoint else "."
        number = self.polish.n_passes + 1
        return StreamError(
            f"Pass {number} of the polish, batch {self.batches}: {what} {kept} Put it right and "
            "call fit_stream again, or take polish=None.",
            self.batches,
        )

    def _report(self) -> None:
        if self.stream.progress is None:
            return
        seconds = time.perf_counter() - self.began
        rate = self.rows_read / max(seconds, 1e-9)
        least = min(self.polish.path, default=float("nan"))
        self.stream.progress(
            StreamProgress(
                self.batches, self.seen.rows, seconds, rate, self.polish.n_passes + 1, least
            )
        )
