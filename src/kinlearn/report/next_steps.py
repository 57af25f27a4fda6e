"""What to do next: rows worth labelling, records and columns worth a look."""

from __future__ import annotations

import numpy as np

from kinlearn.cells.refusals import quoted
from kinlearn.report.findings import Findings

_SHOWN_ROWS = 8
_OFTEN_MISSING = 0.3


def next_steps(found: Findings) -> list[str]:
    """Sentences, the most useful step first."""
    return [*_columns(found), *_records(found), *_rows(found), _later(found)]


def _columns(found: Findings) -> list[str]:
    said = []
    leaks = found.facts.get("leaks")
    if leaks:
        said.append(
            f"Find out when {quoted(leaks['columns'])} is written down; if with the answer, train "
            f"anew with --drop {','.join(leaks['columns'])}."
        )
    belonging = found.facts.get("belonging")
    if belonging and found.is_training:
        name = belonging["column"]
        said.append(
            f"Find out whether new rows will be of a {name!r} that is in the table; if not, train "
            f"anew with --group {name}."
        )
    if found.withdrawn:
        said.append(
            "Put the columns named above right (units, gaps, codes), or train anew with rows like "
            "these among the training rows."
        )
    rows = max(int(found.facts["training"]["rows_used"]), 1)
    matter = {entry.column for entry in found.importance if entry.low > 0}
    gaps = [
        column.name
        for column in found.columns
        if column.name in matter and column.n_missing > _OFTEN_MISSING * rows
    ]
    if gaps:
        said.append(f"Fill in {quoted(gaps)} where you can: it matters and is often missing.")
    if matter and len(found.importance) > len(matter):
        idle = [entry.column for entry in found.importance if entry.high <= 0.002]
        if idle:
            said.append(
                f"Leaving out {quoted(idle)} should change little: a smaller table is easier to "
                "keep right."
            )
    return said


def _records(found: Findings) -> list[str]:
    n, expected = found.n_suspicious, found.expected_suspicious
    if found.withdrawn or n <= expected + 2 * np.sqrt(expected) or not found.suspects:
        return []
    rows = ", ".join(str(suspect.position) for suspect in found.suspects[:_SHOWN_ROWS])
    return [f"Check the records of rows {rows}: their answers surprise the model most."]


def _rows(found: Findings) -> list[str]:
    held = found.held_out
    top = np.sort(held.proba, axis=1)[:, ::-1]
    close = np.argsort(top[:, 0] - top[:, 1], kind="stable")
    rows = list(dict.fromkeys(held.positions[close].tolist()))[:_SHOWN_ROWS]
    said = (
        "More rows help most where the model wavers: label rows like "
        f"{', '.join(map(str, rows))}, which it is least sure of"
    )
    few = [part.name for part in found.parts if part.n_rows < 30]
    return [f"{said}; and of {quoted(few, 4)}, which have few." if few else f"{said}."]


def _later(found: Findings) -> str:
    return (
        "When answers of new rows are known, judge the model on them: kinlearn report MODEL "
        "NEW.csv. Until then, kinlearn predict says whether new rows are like the training's."
    )
