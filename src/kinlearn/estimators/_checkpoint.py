"""What a checkpoint of a stream says beside its sums: how far they reach, and of what they are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from kinlearn.estimators._batches import BatchReader, check_fits, stream_width
from kinlearn.streams import Batch
from kinlearn.sums import NormalEquations
from kinlearn.sums.batch import read_batch
from kinlearn.sums.row_hash import Hashes, entry_hashes, name_salt, row_hashes, scramble
from kinlearn.tasks import number_tasks


@dataclass(frozen=True)
class Reached:
    """How far a stream has come; replaced as a whole, batch by batch.

    Attributes
    ----------
    sums : NormalEquations
        Of the whole batches so far.
    rows, batches : int
        How many the source gave, rows without weight included.
    last_rows : int
        Rows of the last batch.
    last_print : int
        What tells that batch from others.
    """

    sums: NormalEquations
    rows: int = 0
    batches: int = 0
    last_rows: int = 0
    last_print: int = 0

    def after(self, sums: NormalEquations, n_rows: int, fingerprint: int) -> Reached:
        """One batch on."""
        last = (n_rows, fingerprint) if n_rows else (self.last_rows, self.last_print)
        return Reached(sums, self.rows + n_rows, self.batches + 1, *last)


def batch_keys(reader: BatchReader, batch: Batch) -> Hashes:
    """Numbers that tell the rows of a batch apart, with their labels, tasks and weights."""
    X, task = reader.rows_and_tasks(batch)
    read = read_batch(X, batch.y, task, None, X.shape[1])
    keys = entry_hashes(row_hashes(read.X), read.targets.salts(np.arange(read.n_rows)))
    if read.ids is not None:
        tasks, index = number_tasks(read.ids)
        salts = np.array([name_salt(task) for task in tasks.tolist()], dtype=np.uint64)
        keys = scramble(keys + salts[index])
    if batch.sample_weight is not None:
        keys = scramble(keys + row_hashes(np.asarray(batch.sample_weight, float).reshape(-1, 1)))
    return keys


def print_of(keys: Hashes) -> int:
    """A number for the rows of these keys, in any order; over parts of a batch it adds up."""
    return int(np.sum(scramble(keys), dtype=np.uint64))


def first_bad_row(batch: Batch) -> int | None:
    """The first row of a batch that holds no number where one belongs; None where none is seen."""
    bad = np.zeros(batch.n_rows, dtype=bool)
    for values in (batch.X, batch.y, batch.sample_weight):
        if values is None:
            continue
        if sp.issparse(values):
            rows = values.tocsr()
            bad[
                np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))[~np.isfinite(rows.data)]
            ] = 1
            continue
        array = np.asarray(values)
        if array.dtype.kind == "f" and len(array) == len(bad):
            bad |= ~np.isfinite(array).reshape(len(bad), -1).all(axis=1)
    return int(bad.argmax()) if bad.any() else None


def settings(model: Any, centers_from: str) -> dict[str, Any]:
    """What must not change between a checkpoint and its resumption, in JSON's types."""
    chosen, drawn = model.centers is None, model.random_state
    width = model.sigma if hasattr(model, "sigma") else stream_width(model)
    weights = model.class_weight
    found = {
        "centers": "chosen" if chosen else "given",
        "n_centers": model.n_centers if chosen else None,
        "center_selection": model.center_selection if chosen else None,
        "random_state": drawn if chosen and isinstance(drawn, (int, np.integer)) else None,
        "sigma": width,
        "centers_from": centers_from if chosen or isinstance(width, str) else None,
        "class_weight": sorted(weights.items(), key=str) if isinstance(weights, dict) else weights,
        "task_column": getattr(model, "task_column", None),
    }
    return {name: repr(value) for name, value in found.items()}


def check_settings(
    path: Path, model: Any, sums: NormalEquations, mine: dict[str, Any], theirs: dict[str, Any]
) -> None:
    """Raise where sums of a checkpoint are not those that this model would make."""
    check_fits(model, sums)
    differing = [name for name in mine if mine[name] != theirs.get(name)]
    if differing:
        name = differing[0]
        raise ValueError(
            f"{path} was begun with {name}={theirs.get(name)}, but this call has {mine[name]}: go "
            "on with the settings it was begun with, or choose another checkpoint."
        )
    if model.centers is not None and not _same_rows(model.centers, sums.centers):
        raise ValueError(
            f"{path} holds sums over other centers than centers=: go on with those it was begun "
            "with, or choose another checkpoint."
        )


def _same_rows(one: Any, other: Any) -> bool:
    if not sp.issparse(one):
        one = np.asarray(one, dtype=np.float64)
    if np.shape(one) != np.shape(other):
        return False
    if sp.issparse(one) or sp.issparse(other):
        return bool(abs(sp.csr_matrix(one) - sp.csr_matrix(other)).max() == 0)
    return np.array_equal(one, other)
