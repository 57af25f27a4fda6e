"""fit_stream: one pass over rows that arrive in batches, with checkpoints."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from kinlearn.centers import POOL_FACTOR
from kinlearn.estimators._checks import AUTO_CENTERS, check_choice
from kinlearn.kernels.measures import Rows
from kinlearn.kernels.width import MEDIAN_ROWS
from kinlearn.statistics import NormalEquations
from kinlearn.statistics.held_out_sample import HeldOutSample
from kinlearn.statistics.row_hash import row_hashes
from kinlearn.statistics.storage import read, write
from kinlearn.streams import Batch, ColumnRoles, StreamError, StreamProgress, open_source
from kinlearn.streams.sources import Source

log = logging.getLogger("kinlearn.stream")


class StreamRun:
    """One call of ``fit_stream``.

    Parameters
    ----------
    model : estimator
        With ``_start``, ``_add_batch`` and ``fit_statistics``.
    source : Source
        Batches.
    roles : ColumnRoles
        For the names of features.
    checkpoint : path or None
    every : int
        Batches between checkpoints.
    progress : callable or None
    """

    def __init__(
        self,
        model: Any,
        source: Source,
        roles: ColumnRoles,
        checkpoint: str | os.PathLike[str] | None,
        every: int,
        progress: Callable[[StreamProgress], None] | None,
    ) -> None:
        self.model, self.source, self.roles = model, source, roles
        self.checkpoint = None if checkpoint is None else Path(checkpoint)
        self.every, self.progress = every, progress
        self.done = 0
        self.began = time.perf_counter()
        self.rows_before = 0

    # -- checkpoints --------------------------------------------------------------------------

    def resume(self) -> bool:
        """Take over an earlier run's sums, if there are any."""
        if self.checkpoint is None or not self.checkpoint.exists():
            return False
        kernel = self.model.kernel if callable(self.model.kernel) else None
        sums, extra = read(self.checkpoint, kernel)
        if "batches" not in extra:
            raise ValueError(
                f"{self.checkpoint} holds sums, but not how far a stream had come: it was not "
                "written by fit_stream. Choose another checkpoint, or move it away."
            )
        self.model._check_fits(sums)
        self.done = int(extra["batches"])
        self.adopt(sums, extra["features"], extra["names"])
        log.info("resumed after %d batches (%d rows)", self.done, sums.n_rows)
        return True

    def adopt(
        self, sums: NormalEquations, features: list[str] | None, names: list[str] | None
    ) -> None:
        """Add to sums that are there already.

        Parameters
        ----------
        sums : NormalEquations
        features : list or None
            Columns that are features, for a stream of tables.
        names : list or None
            Names of features, for a stream of arrays with such.
        """
        self.model.statistics_ = sums
        self.model.n_features_in_ = sums.n_features
        if features is not None:
            self.roles.features = list(features)
        if names is not None:
            self.model.feature_names_in_ = np.array(names, dtype=object)
        self.rows_before = sums.n_rows

    def save(self) -> None:
        """Write the sums and how far they reach, all or nothing."""
        if self.checkpoint is not None and hasattr(self.model, "statistics_"):
            names = getattr(self.model, "feature_names_in_", None)
            extra = {
                "batches": self.done,
                "features": self.roles.features,
                "names": None if names is None or self.roles.features else names.tolist(),
            }
            write(self.model.statistics_, self.checkpoint, extra)

    # -- the pass -----------------------------------------------------------------------------

    def run(self, classes: Any, init_rows: int, centers_from: str) -> None:
        """Choose centres where there are none, then add batch after batch."""
        batches = self._guarded(self.source.batches(self.done))
        if not hasattr(self.model, "statistics_"):
            if centers_from == "reservoir":
                self._start_from_reservoir(init_rows)
            else:
                batches = self._start_from_first(batches, init_rows)
        if classes is not None:
            self.model.statistics_.declare(classes)
        for batch in batches:
            try:
                self.model._add_batch(batch)
            except (ValueError, TypeError) as error:
                raise self._failure(error, batch.where) from error
            self.done += 1
            if self.done % self.every == 0:
                self.save()
            self._report()
        self.save()
        if self.roles.features is not None:
            self.model.feature_names_in_ = np.array(self.roles.features, dtype=object)

    def _guarded(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """Name the batch that could not be read."""
        number = self.done
        while True:
            try:
                batch = next(batches)
            except StopIteration:
                return
            except StreamError:
                raise
            except Exception as error:
                raise self._failure(error, "", number) from error
            number += 1
            yield batch

    def _failure(self, error: Exception, where: str, number: int | None = None) -> StreamError:
        number = self.done if number is None else number
        sums = getattr(self.model, "statistics_", None)
        kept = "No rows were added before it."
        if sums is not None and sums.n_rows:
            kept = f"The {sums.n_rows} rows before it are kept in statistics_"
            kept += f" and in {self.checkpoint}." if self.checkpoint else "."
        self.save()
        place = f" ({where})" if where else ""
        advice = (
            "Put it right and call fit_stream again with this checkpoint to go on from there."
            if self.checkpoint
            else "With checkpoint= a repeated call goes on from there."
        )
        # further lines of scikit-learn's messages advise on estimators, not on data
        what = str(error).partition("\n")[0] or type(error).__name__
        return StreamError(f"Batch {number}{place}: {what} {kept} {advice}", number, where)

    def _report(self) -> None:
        seconds = time.perf_counter() - self.began
        rows = self.model.statistics_.n_rows
        rate = (rows - self.rows_before) / max(seconds, 1e-9)
        log.info("%d batches, %d rows, %.0f rows/s", self.done, rows, rate)
        if self.progress is not None:
            self.progress(StreamProgress(self.done, rows, seconds, rate))

    # -- centres ------------------------------------------------------------------------------

    def _start_from_first(self, batches: Iterator[Batch], init_rows: int) -> Iterator[Batch]:
        """Choose centres from the first rows; return all batches, those included."""
        waiting: list[Batch] = []
        first: list[Rows] = []
        n_rows = 0
        failure: StreamError | None = None
        try:
            for batch in batches:
                first.append(self._rows_of(batch, len(waiting)))
                waiting.append(batch)
                n_rows += first[-1].shape[0]
                if n_rows >= init_rows:
                    break
        except StreamError as error:
            if n_rows == 0:
                raise
            failure = error  # the rows before it are worth keeping first
        if n_rows == 0:
            raise StreamError("The stream holds no rows.")
        self.model.statistics_ = self.model._start(_stacked(first))
        first.clear()

        def everything() -> Iterator[Batch]:
            yield from waiting
            if failure is not None:
                cause = failure.__cause__
                assert isinstance(cause, Exception)
                raise self._failure(cause, failure.where, failure.batch) from cause
            yield from batches

        return everything()

    def _start_from_reservoir(self, init_rows: int) -> None:
        """A pass of its own keeps a sample of all rows, from which centres are chosen."""
        if not self.source.repeatable:
            raise ValueError(
                'centers_from="reservoir" goes over the rows twice, but an iterator can be gone '
                "through once: pass a function that returns a new iterator, files or arrays, or "
                'use centers_from="first".'
            )
        sample: HeldOutSample | None = None
        for k, batch in enumerate(self._guarded(self.source.batches())):
            X = self._rows_of(batch, k)
            if sample is None:
                sample = HeldOutSample.empty(init_rows, X.shape[1], 1, sp.issparse(X))
            keys = row_hashes(X)
            at = sample.chosen(keys)
            ones = np.ones(at.size)
            nothing = np.zeros(at.size, dtype=np.intp)
            counts = np.ones(at.size, dtype=np.int64)
            sample = sample.add(keys[at], X[at], nothing, ones, ones[:, None], counts)
        if sample is None or sample.size == 0:
            raise StreamError("The stream holds no rows.")
        self.model.statistics_ = self.model._start(sample.X)

    def _rows_of(self, batch: Batch, number: int) -> Rows:
        """The features of a batch among the first, checked as far as they can be yet."""
        try:
            return self.model._features_of(batch, reset=number == 0)
        except (ValueError, TypeError) as error:
            raise self._failure(error, batch.where, number) from error


def _stacked(parts: list[Rows]) -> Rows:
    if any(sp.issparse(part) for part in parts):
        return sp.vstack(parts, format="csr")
    return np.vstack(parts)


def init_row_count(n_centers: Any, given: Any, sigma: Any) -> int:
    """How many rows to choose centres, or only a width, from."""
    if given is not None:
        return MEDIAN_ROWS if isinstance(sigma, str) else 1
    wanted = n_centers if isinstance(n_centers, (int, np.integer)) else AUTO_CENTERS
    return max(MEDIAN_ROWS, POOL_FACTOR * int(wanted))


def run_stream(
    model: Any,
    source: Any,
    roles: ColumnRoles,
    *,
    classes: Any,
    batch_rows: int,
    centers_from: str,
    checkpoint: Any,
    every: int,
    progress: Any,
    warm_start: bool,
) -> None:
    """Go through a stream and leave the sums in ``model.statistics_``."""
    check_choice("centers_from", centers_from, ("first", "reservoir"))
    for name, value in (("batch_rows", batch_rows), ("every", every)):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
            raise ValueError(f"{name} must be a positive whole number, but {value!r} was given.")
    sums = getattr(model, "statistics_", None)
    if not warm_start:
        model._drop_stream()
        model.__dict__.pop("feature_names_in_", None)
    run = StreamRun(
        model, open_source(source, roles, batch_rows), roles, checkpoint, every, progress
    )
    if not run.resume() and warm_start and sums is not None:
        names = getattr(model, "feature_names_in_", None)
        run.adopt(sums, roles.features, None if names is None else names.tolist())
    if roles.y is not None:
        # tables come out as plain arrays, by the names of their columns
        names = model.__dict__.pop("feature_names_in_", None)
        roles.features = roles.features or (None if names is None else names.tolist())
    run.run(classes, init_row_count(model.n_centers, model.centers, model.sigma), centers_from)
