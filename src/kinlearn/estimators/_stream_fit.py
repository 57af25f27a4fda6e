"""fit_stream: one pass over rows that arrive in batches, with checkpoints."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from kinlearn.all_or_nothing import unfitted
from kinlearn.estimators._batches import BatchReader, stream_width
from kinlearn.estimators._checkpoint import (
    Reached,
    batch_keys,
    check_settings,
    first_bad_row,
    print_of,
    settings,
)
from kinlearn.estimators._checks import check_choice
from kinlearn.estimators._polish import AUTO_ROWS
from kinlearn.kernels.library import MEDIAN_ROWS
from kinlearn.kernels.measures import Rows
from kinlearn.streams import Batch, ColumnRoles, StreamError, StreamProgress, open_source
from kinlearn.streams.batches import stacked
from kinlearn.sums import NormalEquations
from kinlearn.sums.held_out_sample import HeldOutSample
from kinlearn.sums.row_hash import row_hashes
from kinlearn.sums.row_order import Marks
from kinlearn.sums.storage import Arrays, read_all, write
from kinlearn.training.centers import AUTO_CENTERS, POOL_FACTOR

log = logging.getLogger("kinlearn.stream")


class StreamRun:
    """One call of ``fit_stream``.

    Parameters
    ----------
    model : estimator
        Of this run alone; with ``statistics_`` if these are to be added to.
    source : path, arrays, table or iterable
    roles : ColumnRoles
        For the names of features.
    classes : array-like or None
    batch_rows : int
    centers_from : {"first", "reservoir"}
    checkpoint : path or None
    checkpoint_every : int
        Batches between checkpoints.
    progress : callable or None
    """

    def __init__(
        self,
        model: Any,
        source: Any,
        roles: ColumnRoles,
        *,
        classes: Any,
        batch_rows: int,
        centers_from: str,
        checkpoint: str | os.PathLike[str] | None,
        checkpoint_every: int,
        progress: Callable[[StreamProgress], None] | None,
    ) -> None:
        check_choice("centers_from", centers_from, ("first", "reservoir"))
        for name, value in (("batch_rows", batch_rows), ("checkpoint_every", checkpoint_every)):
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
                raise ValueError(
                    f"{name} must be a positive whole number, but {value!r} was given."
                )
        self.model, self.roles, self.classes = model, roles, classes
        self.reader = BatchReader(model)
        self.source = open_source(source, roles, batch_rows)
        self.centers_from = centers_from
        self.checkpoint = None if checkpoint is None else Path(checkpoint)
        self.checkpoint_every, self.progress = checkpoint_every, progress
        self.reached: Reached | None = None
        self.began = time.perf_counter()
        self.rows_before = 0
        self.added = False
        # whether the sums are of this source alone, which can then be gone through again
        self.whole = not hasattr(model, "statistics_")
        again = self.source.repeatable and hasattr(model, "_polish_choice")
        self.marks = Marks() if again else None
        self.polish_state: Arrays = {}

    def run(self) -> None:
        """Choose centres where there are none, then add batch after batch."""
        resumed = self._resume()
        if not resumed and hasattr(self.model, "statistics_"):
            self.reached = Reached(self.model.statistics_.copy())
        if self.roles.y is not None:
            # tables come out as plain arrays, by the names of their columns
            names = self.model.__dict__.pop("feature_names_in_", None)
            self.roles.features = self.roles.features or (None if names is None else names.tolist())
        try:
            batches = self._begin()
            assert self.reached is not None
            self.rows_before = self.reached.sums.n_rows
            for batch in batches:
                self._add(batch)
                if self.reached.batches % self.checkpoint_every == 0:
                    self.save()
                self._report()
        finally:
            self.save()

    def model_so_far(self) -> Any:
        """The model with the sums of the whole batches so far, not solved."""
        assert self.reached is not None
        found = unfitted(self.model)
        found.statistics_ = self.reached.sums
        found.n_features_in_ = self.reached.sums.n_features
        names = getattr(self.model, "feature_names_in_", None)
        if self.roles.features is not None:
            names = np.array(self.roles.features, dtype=object)
        if names is not None:
            found.feature_names_in_ = names
        return found

    # -- checkpoints --------------------------------------------------------------------------

    def _resume(self) -> bool:
        """Take over an earlier run's sums, if there are any."""
        if self.checkpoint is None or not self.checkpoint.exists():
            return False
        kernel = self.model._kernel().function
        sums, extra, arrays = read_all(self.checkpoint, kernel)
        if "rows" not in extra:
            raise ValueError(
                f"{self.checkpoint} holds sums, but not how far a stream had come: it was not "
                "written by fit_stream. Choose another checkpoint, or move it away."
            )
        mine = settings(self.model, self.centers_from)
        check_settings(self.checkpoint, self.model, sums, mine, extra["settings"])
        self.model.n_features_in_ = sums.n_features
        if extra["features"] is not None:
            self.roles.features = list(extra["features"])
        if extra["names"] is not None:
            self.model.feature_names_in_ = np.array(extra["names"], dtype=object)
        numbers = ("rows", "batches", "last_rows", "last_print")
        self.reached = Reached(sums, *(int(extra[name]) for name in numbers))
        self.whole = bool(extra.get("whole", False)) and "marks" in arrays
        if self.marks is not None:
            self.marks = Marks(arrays.get("marks"))
        self.polish_state = {
            name.removeprefix("polish_"): array
            for name, array in arrays.items()
            if name.startswith("polish_")
        }
        self.added = True
        log.info("resumed after %d batches (%d rows)", self.reached.batches, self.reached.rows)
        return True

    def save(self) -> None:
        """Write the sums and how far they reach, all or nothing."""
        reached = self.reached
        if self.checkpoint is None or reached is None or not self.added:
            return
        names = getattr(self.model, "feature_names_in_", None)
        extra = {
            "rows": reached.rows,
            "batches": reached.batches,
            "last_rows": reached.last_rows,
            "last_print": reached.last_print,
            "settings": settings(self.model, self.centers_from),
            "features": self.roles.features,
            "names": None if names is None or self.roles.features else names.tolist(),
            "whole": self.whole,
        }
        further = {f"polish_{name}": array for name, array in self.polish_state.items()}
        if self.marks is not None:
            further["marks"] = self.marks.to_array()
        write(reached.sums, self.checkpoint, extra, further)

    def _past(self, reached: Reached) -> Iterator[Batch]:
        """Batches after those of a checkpoint, if the last rows before are those it ended with."""
        left, found = reached.last_rows, 0
        batches = self._guarded(self.source.batches(reached.rows - left))
        rest: list[Batch] = []
        while left and (batch := next(batches, None)) is not None:
            over = min(left, batch.n_rows)
            found += print_of(batch_keys(self.reader, batch.rows(slice(0, over))))
            left -= over
            if over < batch.n_rows:
                rest.append(batch.rows(slice(over, None)))
        if left or found % 2**64 != reached.last_print:
            self.added = False
            raise ValueError(
                f"{self.checkpoint} was made from another source: it holds {reached.rows} rows, "
                f"the last {reached.last_rows} of which are not where this source has them. Go on "
                "with the source it was begun with, or choose another checkpoint."
            )
        return chain(rest, batches)

    # -- the pass -----------------------------------------------------------------------------

    def _begin(self) -> Iterator[Batch]:
        """The batches to add, once there are sums to add them to."""
        if self.reached is not None:
            batches = self._past(self.reached)
        else:
            batches = self._guarded(self.source.batches())
            if self.centers_from == "reservoir":
                self._start_from_reservoir()
            else:
                batches = self._start_from_first(batches)
        assert self.reached is not None
        if self.classes is not None:
            self.reached = replace(
                self.reached, sums=self.reached.sums.copy().declare(self.classes)
            )
        return batches

    def _add(self, batch: Batch) -> None:
        assert self.reached is not None
        try:
            sums = self.reader.add(self.reached.sums, batch)
            keys = None
            if self.checkpoint is not None or self.marks is not None:
                keys = batch_keys(self.reader, batch)
        except (ValueError, TypeError) as error:
            raise self._failure(error, batch.where, batch=batch) from error
        if self.marks is not None and keys is not None:
            self.marks.add(keys)
        fingerprint = 0 if self.checkpoint is None or keys is None else print_of(keys)
        self.reached = self.reached.after(sums, batch.n_rows, fingerprint)
        self.added = True

    def _guarded(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """Name the batch that could not be read."""
        reached = self.reached
        number = 0 if reached is None else reached.batches - (reached.last_rows > 0)
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

    def _failure(
        self,
        error: Exception,
        where: str,
        number: int | None = None,
        batch: Batch | None = None,
    ) -> StreamError:
        reached = self.reached
        if number is None:
            number = 0 if reached is None else reached.batches
        kept = "No rows were added before it."
        if reached is not None and reached.sums.n_rows:
            kept = f"The {reached.sums.n_rows} rows before it are kept in statistics_"
            kept += f" and in {self.checkpoint}." if self.checkpoint else "."
        place = f" ({where})" if where else ""
        advice = (
            "Put it right and call fit_stream again with this checkpoint to go on from there."
            if self.checkpoint
            else "With checkpoint= a repeated call goes on from there."
        )
        # further lines of scikit-learn's messages advise on estimators, not on data
        what = str(error).partition("\n")[0] or type(error).__name__
        bad = None if batch is None else first_bad_row(batch)
        if bad is not None:
            before = 0 if reached is None else reached.rows
            what += f" The first such is row {before + bad} of the stream, counted from 0."
        return StreamError(f"Batch {number}{place}: {what} {kept} {advice}", number, where)

    def _report(self) -> None:
        assert self.reached is not None
        seconds = time.perf_counter() - self.began
        batches, rows = self.reached.batches, self.reached.sums.n_rows
        rate = (rows - self.rows_before) / max(seconds, 1e-9)
        log.info("%d batches, %d rows, %.0f rows/s", batches, rows, rate)
        if self.progress is not None:
            self.progress(StreamProgress(batches, rows, seconds, rate))

    # -- centres ------------------------------------------------------------------------------

    def _start_from_first(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """Choose centres from the first rows; return all batches, those included."""
        init_rows = self._init_rows()
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
        self.reached = Reached(self._begin_with(stacked(first), waiting))
        first.clear()

        def everything() -> Iterator[Batch]:
            yield from waiting
            if failure is not None:
                cause = failure.__cause__
                assert isinstance(cause, Exception)
                raise self._failure(cause, failure.where, failure.batch) from cause
            yield from batches

        return everything()

    def _begin_with(self, X: Rows, waiting: list[Batch]) -> NormalEquations:
        """Sums of no rows, from some rows and their labels, where those can be read."""
        try:
            return self.reader.begin(X, waiting)
        except StreamError:
            raise
        except (ValueError, TypeError):
            # whatever is wrong with labels is said of its batch, when it is added
            return self.reader.begin(X)

    def _init_rows(self) -> int:
        return init_row_count(self.model)

    def _start_from_reservoir(self) -> None:
        """A pass of its own keeps a sample of all rows, from which centres are chosen."""
        if not self.source.repeatable:
            raise ValueError(
                'centers_from="reservoir" goes over the rows twice, but an iterator can be gone '
                "through once: pass a function that returns a new iterator, files or arrays, or "
                'use centers_from="first".'
            )
        sample: HeldOutSample | None = None
        labelled: list[Batch] = []
        for k, batch in enumerate(self._guarded(self.source.batches())):
            X = self._rows_of(batch, k)
            if sample is None:
                sample = HeldOutSample.empty(self._init_rows(), X.shape[1], 1, sp.issparse(X))
            keys = row_hashes(X)
            at = sample.chosen(keys)
            ones = np.ones(at.size)
            nothing = np.zeros(at.size, dtype=np.intp)
            counts = np.ones(at.size, dtype=np.int64)
            sample = sample.add(keys[at], X[at], nothing, ones, ones[:, None], counts)
            weighed = np.arange(batch.n_rows)
            if batch.sample_weight is not None:  # only such rows are among the features
                weighed = np.flatnonzero(np.asarray(batch.sample_weight, dtype=float) > 0)
            labelled.append(replace(batch.rows(weighed[at]), X=X[at]))
            if sum(part.n_rows for part in labelled) > 2 * sample.capacity:
                labelled = _still_in(sample, labelled)
        if sample is None or sample.size == 0:
            raise StreamError("The stream holds no rows.")
        self.reached = Reached(self._begin_with(sample.X, _still_in(sample, labelled)))

    def _rows_of(self, batch: Batch, number: int) -> Rows:
        """The features of a batch among the first, checked as far as they can be yet."""
        try:
            return self.reader.features(batch, reset=number == 0)
        except (ValueError, TypeError) as error:
            raise self._failure(error, batch.where, number) from error


def _still_in(sample: HeldOutSample, batches: list[Batch]) -> list[Batch]:
    """Batches without the rows that a sample has let go."""
    kept = [np.flatnonzero(row_hashes(batch.X) < sample.limit) for batch in batches]
    return [batch.rows(at) for batch, at in zip(batches, kept, strict=True) if at.size]


def rows_of_width(model: Any) -> int:
    """How many rows a width is taken from; of a tuned model, kernel and metric as well."""
    tuned = hasattr(model, "_block_of_rows") and isinstance(stream_width(model), str)
    return AUTO_ROWS if tuned else MEDIAN_ROWS


def init_row_count(model: Any) -> int:
    """How many rows to choose centres, or only a width, from."""
    least = rows_of_width(model)
    if model.centers is not None:
        return least if isinstance(stream_width(model), str) else 1
    count = model.n_centers
    wanted = count if isinstance(count, (int, np.integer)) else AUTO_CENTERS
    return max(least, POOL_FACTOR * int(wanted))
