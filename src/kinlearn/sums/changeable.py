"""Rows entering sums and leaving them again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kinlearn.kernels.measures import Rows
from kinlearn.sums.batch import RowBatch
from kinlearn.sums.batch_targets import ALL
from kinlearn.sums.held_out_sample import HeldOutSample
from kinlearn.sums.readable import ReadableSums
from kinlearn.sums.row_hash import entry_hashes, name_salt, row_hashes
from kinlearn.sums.subtraction import NeverAddedError, subtract
from kinlearn.sums.task_sums import TaskSums
from kinlearn.tasks import number_tasks

Array = NDArray[np.float64]


class ChangeableSums(ReadableSums):
    """Adding batches that were validated, and taking sums out after looking at them."""

    def _absorb(self, batch: RowBatch) -> None:
        X, targets, ids, weights = batch.X, batch.targets, batch.ids, batch.weights
        self.kind = targets.kind
        self._as_objects = self._as_objects or targets.from_objects
        self._with_tasks = ids is not None
        columns = self._extend_columns(targets.names)
        if ids is None:
            index, places = None, np.array([self._place_of(None)], dtype=np.intp)
            salts = None
        else:
            tasks, index = number_tasks(ids)
            places = np.array([self._place_of(task) for task in tasks.tolist()], dtype=np.intp)
            salts = np.array([name_salt(task) for task in tasks.tolist()], dtype=np.uint64)
        for place in places:
            self._sums[place] = self._sums[place].copy()
        for rows, phi in self._blocks(X, index):
            part = X[rows]
            w = None if weights is None else weights[rows]
            Z = targets.dense(rows, columns, len(self._names))
            here = places[np.zeros(rows.size, dtype=np.intp) if index is None else index[rows]]
            keys = None
            if index is not None or self.n_held_out:
                own = None if salts is None or index is None else salts[index[rows]]
                keys = row_hashes(part, own)
            # rows come ordered by task, so that every task's are one slice
            starts = np.flatnonzero(np.diff(here, prepend=-1))
            for first, last in zip(starts, [*starts[1:], rows.size], strict=True):
                cut = slice(first, last)
                self._sums[here[first]].add(
                    phi[cut],
                    Z[cut],
                    None if w is None else w[cut],
                    None if keys is None else keys[cut],
                )
            if self.n_held_out and keys is not None:
                self._draw(entry_hashes(keys, targets.salts(rows)), part, here, w, Z)

    def _blocks(
        self, X: Rows, index: NDArray[np.intp] | None
    ) -> Iterator[tuple[NDArray[np.intp], Array]]:
        """Yield (positions, features) in blocks, ordered by task."""
        features = self.features()
        if index is None:
            for rows, phi in features.feature_blocks(X, self.sigma):
                yield np.arange(rows.start, rows.stop), phi
            return
        order = np.argsort(index, kind="stable")
        ordered = X[order]
        for rows, phi in features.feature_blocks(ordered, self.sigma):
            yield order[rows], phi

    def _draw(
        self,
        keys: NDArray[np.uint64],
        X: Rows,
        task: NDArray[np.intp],
        weights: Array | None,
        Z: Array,
    ) -> None:
        sample = self._sample_for(sp.issparse(X))
        at = sample.chosen(keys)
        if at.size == 0:
            return
        rows = X[at]
        if sp.issparse(sample.X):
            rows = sp.csr_matrix(rows)
        elif sp.issparse(rows):
            rows = rows.toarray()
        w = np.ones(at.size) if weights is None else weights[at]
        ones = np.ones(at.size, dtype=np.int64)
        self._sample = sample.add(keys[at], rows, task[at], w, w[:, None] * Z[at], ones)

    def _sample_for(self, sparse: bool) -> HeldOutSample:
        if self._sample is None:
            self._sample = HeldOutSample.empty(
                self.n_held_out, self.n_features, len(self._names), sparse
            )
        return self._sample

    def _extend_columns(self, names: list[Any]) -> NDArray[np.intp]:
        """Add columns for names not known yet; return where all of them stand."""
        if self.kind == "labels" and not self._names:
            self._names = [ALL]
        known = {name: k for k, name in enumerate(self._names)}
        before = len(self._names)
        for name in names:
            if name not in known:
                known[name] = len(self._names)
                self._names.append(name)
        if len(self._names) > before:
            stay = np.arange(before)
            self._sums = [sums.widened(stay, len(self._names)) for sums in self._sums]
            if self._sample is not None:
                nothing = np.empty(0, dtype=np.intp)
                self._sample = self._sample.renumbered(nothing, stay, len(self._names))
        return np.array([known[name] for name in names], dtype=np.intp)

    def _place_of(self, task: Any) -> int:
        if task in self._places:
            return self._places[task]
        place = self._places[task] = len(self._places)
        thin = task is not None
        self._sums.append(
            TaskSums(self.n_centers, len(self._names), thin, cross=self.kind == "labels")
        )
        return place

    def _join(self, other: ChangeableSums) -> None:
        """Add the rows of other sums over the same features."""
        self.kind = other.kind
        self._as_objects = self._as_objects or other._as_objects
        self._declared = list(dict.fromkeys([*self._declared, *other._declared]))
        columns = self._extend_columns(other._names)
        if other._with_tasks is None:
            return
        self._with_tasks = other._with_tasks
        places = np.array([self._place_of(task) for task in other._places], dtype=np.intp)
        for place, theirs in zip(places, other._sums, strict=True):
            joined = self._sums[place].copy()
            joined.merge(theirs.widened(columns, len(self._names)))
            self._sums[place] = joined
        if other._sample is not None:
            sample = other._sample.renumbered(places, columns, len(self._names))
            mine = self._sample_for(sp.issparse(sample.X))
            self._sample = mine.add(
                sample.keys,
                sample.X,
                sample.task,
                sample.weights,
                sample.targets,
                sample.counts,
                sample.limit,
            )

    def _without(self, removed: ChangeableSums) -> None:
        """Take out the rows of other sums, whose names are all known."""
        columns = np.array([self._names.index(name) for name in removed._names], dtype=np.intp)
        n_columns = len(self._names)
        gone = {
            task: removed._sums[place].widened(columns, n_columns).copy()
            for task, place in removed._places.items()
        }
        for task in gone:
            if task not in self._places:
                raise NeverAddedError(
                    f"No rows of task {task!r} were added, so none can be removed."
                )
        # sums first: what they know of a refused removal says more than the sample does
        found = None
        if self._sample is not None and removed._sample is not None:
            nothing = np.empty(0, dtype=np.intp)
            sample = removed._sample.renumbered(nothing, columns, n_columns)
            found = self._sample.remove(sample)
            if found is not None:
                # a row may go in other parts than it came in
                more = (found[1] - sample.counts)[:, None] * (sample.targets > 0)
                for place, sums in enumerate(gone.values()):
                    sums.counts += more[sample.task == place].sum(axis=0)
        for task, sums in gone.items():
            place = self._places[task]
            where = "" if task is None else f" from task {task!r}"
            self._sums[place] = subtract(self._sums[place], sums, self._names, where)
        if self._sample is not None and removed._sample is not None:
            if found is None:
                raise NeverAddedError(
                    "Some of the rows to be removed were never added with these labels, or not "
                    "with as much weight: remove what was added."
                )
            self._sample = found[0]
        self._drop_empty()

    def _drop_empty(self) -> None:
        """Forget tasks and undeclared classes of which no row is left."""
        present = np.array([sums.n_rows > 0 for sums in self._sums], dtype=bool)
        number = np.cumsum(present) - 1
        self._sums = [s for s, ok in zip(self._sums, present, strict=True) if ok]
        ids = [task for task, ok in zip(self._places, present, strict=True) if ok]
        self._places = {task: place for place, task in enumerate(ids)}
        counts = np.sum([s.counts for s in self._sums], axis=0) if self._sums else None
        kept = np.array(
            [
                k
                for k, name in enumerate(self._names)
                if name in self._declared
                or (counts is not None and (counts[k] > 0 or self.kind == "labels"))
            ],
            dtype=np.intp,
        )
        if self._sample is not None:
            renumbered = self._sample.renumbered(
                number, np.arange(len(self._names)), len(self._names)
            )
            self._sample = HeldOutSample(
                **{**renumbered.__dict__, "targets": renumbered.targets[:, kept]}
            )
        if kept.size < len(self._names):
            self._sums = [sums.narrowed(kept) for sums in self._sums]
            self._names = [self._names[k] for k in kept]
