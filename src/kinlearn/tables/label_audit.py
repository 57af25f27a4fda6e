"""Which records of a table have an answer that is likely wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn.active.label_noise import contradicted, suspicion
from kinlearn.tables.evaluation import Evaluation, LabelEvaluation
from kinlearn.tables.training import Trained


@dataclass(frozen=True)
class SuspectRecord:
    """A record and what is recorded of it.

    Attributes
    ----------
    row : int
        Its number in the file, counted from 1, without the names.
    column : str
        The target, or the label.
    recorded, likely : str
        The answer recorded, and the most probable other one.
    p_recorded, p_likely : float
        Their probabilities by models that have not seen the record.
    suspicion : float
        From 0 to 1, larger where the record is more likely to be wrong. Cases that are hard by
        nature are suspect, too, so that it is an order of records and no share of wrong ones.
    cells : dict
        The record as texts.
    """

    row: int
    column: str
    recorded: str
    likely: str
    p_recorded: float
    p_likely: float
    suspicion: float
    cells: dict[str, str]

    def as_columns(self) -> dict[str, Any]:
        """What is added to the record's cells, by name."""
        return {
            "row": self.row,
            "column": self.column,
            "recorded": self.recorded,
            "likely": self.likely,
            "p_recorded": round(self.p_recorded, 6),
            "p_likely": round(self.p_likely, 6),
            "suspicion": round(self.suspicion, 6),
        }


def suspect_records(trained: Trained) -> list[SuspectRecord]:
    """Return the records that another answer contradicts, most suspect first.

    Parameters
    ----------
    trained : Trained
        A model and its answers for the rows it was trained on, each held out.
    """
    found = trained.evaluation
    if isinstance(found, Evaluation):
        columns = [(str(trained.table.schema.target), found.classes, found.proba, found.truth)]
    else:
        columns = list(_by_label(found))
    positions = trained.table.sample.positions
    records = []
    for column, classes, proba, truth in columns:
        known = truth >= 0
        by = suspicion(proba[known], truth[known])
        against = contradicted(proba[known], truth[known])
        rows = np.flatnonzero(known)
        for k in np.flatnonzero(against):
            i = int(rows[k])
            others = proba[i].copy()
            others[truth[i]] = -np.inf
            likely = int(others.argmax())
            position = int(found.positions[i])
            at = int(np.searchsorted(positions, position))
            records.append(
                SuspectRecord(
                    position,
                    column,
                    classes[truth[i]],
                    classes[likely],
                    float(proba[i, truth[i]]),
                    float(proba[i, likely]),
                    float(by[k]),
                    _texts(trained.table.sample.table, at),
                )
            )
    return sorted(records, key=lambda record: -record.suspicion)


def _by_label(found: LabelEvaluation) -> Any:
    """Every label as a column of classes no and yes."""
    for name, p, truth in zip(found.labels, found.proba.T, found.truth.T, strict=True):
        codes = np.where(np.isfinite(truth) & np.isfinite(p), np.nan_to_num(truth), -1)
        both: NDArray[np.float64] = np.column_stack([1.0 - p, p])
        yield name, ["no", "yes"], both, codes.astype(np.intp)


def _texts(table: Any, at: int) -> dict[str, str]:
    row = table.slice(at, 1).to_pylist()[0]
    return {name: "" if value is None else str(value) for name, value in row.items()}
