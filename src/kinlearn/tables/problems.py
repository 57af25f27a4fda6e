"""What looks wrong with a table before anything is learnt from it."""

from __future__ import annotations

import numpy as np

from kinlearn.cells.refusals import quoted
from kinlearn.tables.belonging import columns_of_owners
from kinlearn.tables.columns import DROPPED
from kinlearn.tables.training import TrainingTable

# A column with more missing cells than this tells little; a class with fewer rows is hardly learnt.
_MOSTLY_MISSING = 0.5
_FEW_ROWS = 10
_FEW_IN_ALL = 100
_RARE = 0.02


def class_counts(table: TrainingTable) -> dict[str, int]:
    """How many rows each class has, or how many a yes of each label, the most first."""
    if table.schema.labels:
        yes = np.nansum(table.y, axis=0).astype(int).tolist()
        found = dict(zip(table.schema.labels, yes, strict=True))
    else:
        names, counts = np.unique(table.y.astype(str), return_counts=True)
        found = dict(zip(names.tolist(), counts.tolist(), strict=True))
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def find_problems(table: TrainingTable) -> list[str]:
    """What to look at, in sentences."""
    n_rows = len(table.y)
    said = []
    if n_rows < _FEW_IN_ALL:
        said.append(f"There are {n_rows} rows: with hundreds the result would be surer.")
    counts = class_counts(table)
    few = [name for name, count in counts.items() if count < _FEW_ROWS]
    if few:
        said.append(f"Fewer than {_FEW_ROWS} rows have {quoted(few)}: they are hardly learnt.")
    rare = [name for name, count in counts.items() if count < _RARE * n_rows and name not in few]
    if rare:
        said.append(
            f"Fewer than {_RARE:.0%} of the rows have {quoted(rare)}: look how many of them are "
            "found, not at the accuracy."
        )
    gaps = [
        column.name
        for column in table.columns
        if column.kind != DROPPED and column.n_missing > _MOSTLY_MISSING * n_rows
    ]
    if gaps:
        said.append(f"More than half of the cells are missing in {quoted(gaps)}.")
    stray = [column.name for column in table.columns if "count as missing" in column.why]
    if stray:
        said.append(f"Some cells hold no number in {quoted(stray)}: see the reasons above.")
    guessed = [column.name for column in table.columns if "a guess" in column.why]
    if guessed:
        said.append(f"Day and month cannot be told apart in {quoted(guessed)}.")
    belong = columns_of_owners(table)
    if belong and table.groups is None:
        said.append(
            f"Rows may belong together by {quoted(belong)}: without --group, what is measured may "
            "be too good."
        )
    return said
