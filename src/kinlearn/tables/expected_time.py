"""How long training on a table takes, roughly."""

from __future__ import annotations

from kinlearn.tables.training import TrainingTable

# Seconds of one core that did a few billion operations a second: a start, a part for each row, and
# decompositions, whose cost grows with the cube of the rows up to where centres are a part of them.
_START, _EACH_ROW, _CUBE = 4.0, 0.004, 6e-9
_FULL_ROWS = 3000
_TASKS = 3.0
_LABELS = 1.5
_SPREAD = 2.0


def expected_seconds(table: TrainingTable) -> tuple[float, float]:
    """The least and the most that is to be expected, within a factor of four."""
    n_rows = len(table.y)
    n_full = min(n_rows, _FULL_ROWS)
    middle = _START + _EACH_ROW * n_rows + _CUBE * float(n_full) ** 3
    if table.schema.task is not None:
        middle *= _TASKS
    if table.schema.labels:
        middle *= _LABELS
    return middle / _SPREAD, middle * _SPREAD
