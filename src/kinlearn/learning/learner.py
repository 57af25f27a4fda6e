"""A model that learns on, exactly: the result is that of all its rows at once."""

from __future__ import annotations

import hashlib
import logging
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

import kinlearn
from kinlearn.all_or_nothing import aside
from kinlearn.answering.ready import make_ready
from kinlearn.answering.refusals import Refusal
from kinlearn.answering.rows import Rows, cells_of, rows_of_records
from kinlearn.answering.served_model import ServedModel, checksum_of
from kinlearn.cells.refusals import TableError
from kinlearn.learning.journal import Journal, lines_in
from kinlearn.learning.versions import Noted, Versions
from kinlearn.pipelines import before_last, last_step
from kinlearn.watch.store import WATCH_SUFFIX, Store

log = logging.getLogger("kinlearn.learning")
# A version is written after so many rows, or so many seconds after the first of fewer.
ROWS_A_VERSION = 500
SECONDS_A_VERSION = 60.0


def learns(served: ServedModel) -> bool:
    """Whether a model carries the sums that it takes to learn on."""
    last = served.classifier
    return hasattr(last, "statistics_") and hasattr(last, "partial_fit") and not served.is_labels


class Learner:
    """One model that learns on.

    Parameters
    ----------
    path : Path
        Its file.
    served : ServedModel
        As it was loaded from there.
    store : Store
        The file of the watch, which holds the journal.
    """

    def __init__(self, path: Path, served: ServedModel, store: Store) -> None:
        if not learns(served):
            raise TableError(
                f"{path} carries no sums to add to, so that it cannot learn on: fit it by "
                "fit_stream or partial_fit, and save it with kinlearn.save."
            )
        self.versions = Versions(path)
        self.journal = Journal(store, served.name)
        self._lock = RLock()
        self._since: float | None = None
        self.served = self._taken(served)

    # -- what is served ---------------------------------------------------------------------------

    def _taken(self, served: ServedModel) -> ServedModel:
        """A model from a file, with what it is yet to learn."""
        noted, line = Noted.of(served.info), self.journal.line()
        ours = line is not None and (line.line == noted.line or line.origin == served.checksum)
        if line is None or not ours:
            line = self.journal.begin(served.checksum)
            noted = Noted()
            self.versions.forget_before(None)
            self.versions.keep(0)
        self.versions.forget_before(noted.oldest)
        self.journal.not_forgotten_after(noted.forgets)
        self._oldest, self._forgets = noted.oldest, noted.forgets
        self._line, self._version, self._seq = line, noted.version, noted.seq
        self._saved = noted.seq
        self._base = served.version
        self.served = replace(served, line=line.line[:12])
        self.fold()
        return self.served

    def replaced(self, served: ServedModel) -> ServedModel:
        """What to serve once the file was replaced: by a version of ours, or by another model."""
        with self._lock:
            noted = Noted.of(served.info)
            if noted.line == self._line.line and noted.version == self._version:
                return self.served  # what we have just written
            return self._taken(served)

    # -- learning ---------------------------------------------------------------------------------

    def write(self, base: sqlite3.Connection, rows: Rows, labels: NDArray[np.intp]) -> None:
        """Keep rows that are to be learnt, inside a change; -1 is a class that is not known."""
        known = np.flatnonzero(labels >= 0)
        if not len(known):
            return
        cells = cells_of(self.served, rows.chosen(known))
        names = [str(each) for each in self.served.classes.tolist()]
        self.journal.write(base, cells, [names[k] for k in labels[known]])

    def fold(self) -> ServedModel:
        """Learn what was written since; the model that is served from now on."""
        with self._lock:
            entries = self.journal.after(self._seq)
            if entries:
                rows = rows_of_records(self.served, [each.cells for each in entries])
                model = self._changed(rows, self._labels([each.label for each in entries]))
                self._become(model, entries[-1].seq)
                self._since = self._since or time.monotonic()
            waiting = self._seq - self._saved
            late = self._since is not None and time.monotonic() - self._since > SECONDS_A_VERSION
            if waiting >= ROWS_A_VERSION or (waiting and late):
                self.save()
            return self.served

    def forget(self, rows: Rows, labels: NDArray[np.intp], ids: Sequence[str | None]) -> int:
        """Take rows out again; earlier versions, which knew them, are removed.

        Parameters
        ----------
        rows, labels : Rows and ndarray
            The rows and the numbers of their classes.
        ids : list of str or None
            What names each row, so that it is taken out once however often that is asked for.

        Returns
        -------
        int
            How many rows were taken out now.

        Raises
        ------
        Refusal
            When the rows cannot have been learnt; nothing is changed then.
        """
        with self._lock:
            self.fold()
            fresh = _first_of_each(ids, self.journal.forgotten())
            if not len(fresh):
                return 0
            rows, labels = rows.chosen(fresh), labels[fresh]
            if (labels < 0).any():
                raise Refusal("A row of a class the model does not know was never learnt.")
            try:
                names = [str(self.served.classes[k]) for k in labels]
                model = self._changed(rows, self._labels(names), forget=True)
            except ValueError as error:
                raise Refusal.of(error) from None
            if not hasattr(last_step(model), "model_"):
                raise Refusal("These are all rows that the model knows: one must be left.")
            before = self.served, self._oldest, self._forgets
            self._oldest, self._forgets = self._version + 1, self._forgets + 1
            named = [number for number in (ids[k] for k in fresh) if number is not None]
            # noted first: what is noted and in no file is dropped when the file is next taken
            self.journal.note_forgotten(named, self._forgets)
            try:
                self._become(model, self._seq)
                if not self.save():
                    raise Refusal(
                        "The file of the model has just been replaced: send this again in a "
                        "second.",
                        status=409,
                    )
            except BaseException:
                self.served, self._oldest, self._forgets = before
                self.journal.not_forgotten_after(self._forgets)
                raise
            self.versions.forget_before(self._version)
            self.journal.store.scrub()
            return len(fresh)

    def _is_ours(self) -> bool:
        """Whether the file is the one last taken or written; else it is soon looked at."""
        path = self.versions.path
        noted = Noted.of(kinlearn.model_info(path))
        if noted.line:
            return (noted.line, noted.version) == (self._line.line, self._version)
        return self._version == 0 and checksum_of(path) == self._line.origin

    def save(self) -> bool:
        """Write a version: the file that is served, and one that is kept.

        Returns
        -------
        bool
            False where somebody has put another file there, which stays.
        """
        with self._lock:
            if not self._is_ours():
                return False
            noted = Noted(
                self._line.line, self._version + 1, self._seq, self._oldest, self._forgets
            )
            self.versions.forget_after(self._version)
            # the old file may be read until the new one is whole; only then is the journal cut
            self.versions.save(self.served.model, self.served.info, noted)
            self._version, self._saved, self._since = noted.version, noted.seq, None
            self.journal.drop(noted.seq)
            return True

    def close(self) -> None:
        """Write what was learnt since the last version."""
        with self._lock:
            self.fold()
            if self._seq > self._saved:
                self.save()

    def _labels(self, names: list[str]) -> NDArray:
        known = {str(each): each for each in self.served.classes.tolist()}
        return np.array([known[name] for name in names], dtype=self.served.classes.dtype)

    def _changed(self, rows: Rows, labels: NDArray, *, forget: bool = False) -> Any:
        """The model with rows added or taken out; the present one stays as it is."""
        model, last = self.served.model, aside(self.served.classifier)
        X = before_last(model, rows.X)
        given = {} if rows.task is None else {"task": rows.task}
        (last.forget if forget else last.partial_fit)(X, labels, **given)
        if not isinstance(model, Pipeline):
            return last
        return Pipeline([*model.steps[:-1], (model.steps[-1][0], last)])

    def _become(self, model: Any, seq: int) -> None:
        told = f"{self._line.line}:{self._base}:{seq}:{time.time_ns()}".encode()
        checksum = hashlib.sha256(told).hexdigest()
        make_ready(model)
        self.served = replace(self.served, model=model, checksum=checksum)
        self._seq = seq


def _first_of_each(ids: Sequence[str | None], known: set[str]) -> NDArray[np.intp]:
    """Where an id is told for the first time; a row without one is another each time."""
    seen, fresh = set(known), []
    for k, each in enumerate(ids):
        if each is None or each not in seen:
            fresh.append(k)
        if each is not None:
            seen.add(each)
    return np.array(fresh, dtype=np.intp)


def roll_back(path: Path, watch: Path | None, version: int | None) -> int:
    """Serve an earlier version again; what was learnt since is dropped.

    Parameters
    ----------
    path : Path
        The file that is served.
    watch : Path, optional
        The file of the watch; when left out, that one beside the model which holds its journal.
    version : int, optional
        Which one; the one before the present one when left out.
    """
    line = Noted.of(kinlearn.model_info(path)).line
    beside = sorted(path.parent.glob(f"*{WATCH_SUFFIX}"))
    given = [each for each in beside if line in lines_in(each)] if watch is None else [watch]
    back = Versions(path).put_back(version)
    for each in given:
        store = Store(each)
        try:
            Journal(store, path.stem).drop()
        finally:
            store.close()
    return back
