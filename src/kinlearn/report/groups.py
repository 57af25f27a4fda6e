"""Does the model serve all alike? Errors, hand-over and calibration by groups of a column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn.cells.cell_rules import CellRules
from kinlearn.cells.refusals import unknown_column
from kinlearn.report.measures import LEVEL, Measure, accuracy_of, share_of
from kinlearn.report.rare_pictures import rarest_class
from kinlearn.tables.evaluation import Evaluation
from kinlearn.tables.sample import Sample

MISSING = "(missing)"
OTHER = "(others)"
_MAX_GROUPS = 10
_FEW_NUMBERS = 6
# Fewer rows say nothing of a group.
MIN_ROWS = 30


@dataclass(frozen=True)
class GroupFigures:
    """How the rows of a group fare.

    Attributes
    ----------
    column, name : str
        The column, and the value or range that makes the group.
    n_rows : int
        Held-out rows of it.
    wrong : Measure
        Share of wrong answers, with its exact interval.
    handed : float
        Share handed over.
    answered_wrong : Measure
        Share of wrong ones among answered rows.
    recall : Measure
        Share of the rarest class that is recognised.
    too_sure : float
        Mean stated confidence less the share that is right.
    fares_worse : bool
        Whether the group is large enough to judge and clearly answered wrong more often than all
        rows, however many groups are looked at.
    """

    column: str
    name: str
    n_rows: int
    wrong: Measure
    handed: float
    answered_wrong: Measure
    recall: Measure
    too_sure: float
    fares_worse: bool


def groups_by(
    names: list[str],
    sample: Sample,
    rules: CellRules,
    evaluation: Evaluation,
    answered: NDArray[np.bool_],
    where: str,
) -> list[GroupFigures]:
    """Figures of the groups that each named column makes.

    Parameters
    ----------
    names : list of str
        Columns of the table, learnt from or not.
    sample : Sample
        The rows as read.
    rules : CellRules
        How cells are read.
    evaluation : Evaluation
        Held-out answers, of some or all rows of the sample.
    answered : ndarray of bool
        Which of them the rule answers.
    where : str
        Name of the table, for an error.
    """
    at = np.searchsorted(sample.positions, evaluation.positions)
    rarest = rarest_class(evaluation)
    found, groups = [], {}
    for name in names:
        if name not in sample.table.column_names:
            raise unknown_column(name, sample.table.column_names, where)
        groups[name] = group_names(sample.table[name].combine_chunks(), rules)[at]
    level = 1.0 - (1.0 - LEVEL) / max(sum(len(set(each.tolist())) for each in groups.values()), 1)
    for name, group in groups.items():
        for value in dict.fromkeys(sorted(group.tolist())):
            some = group == value
            rows, said = evaluation.part(some), answered[some]
            surely = accuracy_of(rows, level)
            own = rows.truth == rarest
            likeliest = rows.likeliest == rows.truth
            found.append(
                GroupFigures(
                    name,
                    value,
                    rows.n_rows,
                    _complement(accuracy_of(rows)),
                    float(1.0 - said.mean()),
                    share_of(int((~rows.right & said).sum()), int(said.sum())),
                    share_of(int(rows.right[own].sum()), int(own.sum())),
                    float(rows.confidence.mean() - likeliest.mean()),
                    rows.n_rows >= MIN_ROWS and surely.high < float(evaluation.right.mean()),
                )
            )
    return found


def group_names(column: Any, rules: CellRules) -> NDArray[np.object_]:
    """The group of every cell: its text, or the quarter of the numbers it is in.

    Examples
    --------
    >>> import pyarrow as pa
    >>> group_names(pa.array(["f", "m", ""]), CellRules()).tolist()
    ['f', 'm', '(missing)']
    >>> sorted(set(group_names(pa.array([str(i) for i in range(40)]), CellRules()).tolist()))
    ['1: up to 9', '2: over 9 to 19', '3: over 19 to 29', '4: over 29']
    """
    values, stray = rules.numbers(column)
    known = values[np.isfinite(values)]
    if not stray.any() and len(np.unique(known)) > _FEW_NUMBERS:
        cuts = np.unique(np.quantile(known, [0.25, 0.5, 0.75], method="lower"))
        names = [f"1: up to {cuts[0]:.6g}"]
        names += [f"{i + 2}: over {a:.6g} to {b:.6g}" for i, (a, b) in enumerate(_pairs(cuts))]
        names += [f"{len(cuts) + 1}: over {cuts[-1]:.6g}", MISSING]
        number = np.searchsorted(cuts, values, side="left")
        return np.array(names, dtype=object)[np.where(np.isfinite(values), number, len(cuts) + 1)]
    texts = np.array([text or MISSING for text in rules.texts(column).to_pylist()], dtype=object)
    levels, counts = np.unique(texts.astype(str), return_counts=True)
    if len(levels) <= _MAX_GROUPS:
        return texts
    kept = set(levels[np.argsort(-counts, kind="stable")[: _MAX_GROUPS - 1]].tolist())
    return np.array([text if text in kept else OTHER for text in texts], dtype=object)


def _complement(share: Measure) -> Measure:
    return Measure(1.0 - share.value, 1.0 - share.high, 1.0 - share.low)


def _pairs(cuts: NDArray[np.float64]) -> list[tuple[float, float]]:
    return list(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True))
