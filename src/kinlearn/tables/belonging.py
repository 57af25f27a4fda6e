"""Columns left out as ids whose rows have the same answers: rows of one may vouch for each other.

Where several rows are of one patient, leave-one-out tells a row by the patient's other rows, and
what it measures is for rows of patients that are known already.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn.tables.columns import DROPPED
from kinlearn.tables.training import TrainingTable, read_groups

# Words by which a column of ids that repeat is told from others that are left out.
SUGGESTION = "give --group"
# Answers that are less alike than this, from 0 for chance to 1, make no difference to speak of.
_ALIKE = 0.05
_N_SHUFFLES = 100


def columns_of_owners(table: TrainingTable) -> list[str]:
    """Columns that were left out because their values repeat over rows that may belong together."""
    return [
        column.name
        for column in table.columns
        if column.kind == DROPPED and SUGGESTION in column.why
    ]


def find_belonging(table: TrainingTable) -> str | None:
    """The column whose rows have the same answers most of all, None where none clearly has."""
    if table.groups is not None:
        return None
    found = {}
    for name in columns_of_owners(table):
        cells = table.sample.table[name].combine_chunks()
        member = read_groups(table.schema.rules.texts(cells))
        found[name] = max(likeness(member, values) for values in table.answers.values())
    best = max(found, key=lambda name: found[name], default=None)
    return best if best is not None and found[best] >= _ALIKE else None


def likeness(member: NDArray, answers: NDArray[Any]) -> float:
    """How much more often two rows of a group have the same answer than two rows of any: 0 to 1.

    Zero where shuffled answers come to as much.

    Examples
    --------
    >>> import numpy as np
    >>> patient, ill = np.repeat(np.arange(20), 3), np.repeat(np.arange(20) % 2, 3)
    >>> likeness(patient, ill), likeness(patient, np.arange(60) % 2)
    (1.0, 0.0)
    """
    known = np.array([value == value for value in answers], dtype=bool)
    group = np.unique(member[known], return_inverse=True)[1].ravel()
    answer = np.unique(answers[known].astype(str), return_inverse=True)[1].ravel()
    sizes = np.bincount(group).astype(np.float64)
    n_pairs = float(sizes @ (sizes - 1.0))
    if n_pairs == 0:
        return 0.0
    counts = np.bincount(answer).astype(np.float64)
    chance = float(counts @ (counts - 1.0)) / (len(answer) * (len(answer) - 1.0))

    def same(answer: NDArray[np.intp]) -> float:
        """Share of pairs in groups that have the same answer."""
        each = np.bincount(group * len(counts) + answer).astype(np.float64)
        return float(each @ (each - 1.0)) / n_pairs

    rng = np.random.default_rng(0)
    seen = same(answer)
    if chance >= 1.0 or seen <= max(same(rng.permutation(answer)) for _ in range(_N_SHUFFLES)):
        return 0.0
    return (seen - chance) / (1.0 - chance)
