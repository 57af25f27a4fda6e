"""Tuning: a grid of points is scored by held-out scores, combined, calibrated and reported.

Every grid point's held-out scores are known, so the weights of a mix of points can be learnt from
them, and so can its calibration; nothing is refitted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from kinlearn.posterior import Calibration
from kinlearn.problems.one_task import POSED_AGAIN
from kinlearn.problems.problem import Solution
from kinlearn.selection.grid import PosedGrid
from kinlearn.selection.held_out import (
    HeldOut,
    HoldingOut,
    gathered,
    rows_of_others,
    with_own_share,
    with_shares_of,
)
from kinlearn.selection.search import GridSearch, Learnt, joined
from kinlearn.threads import side_by_side
from kinlearn.training.centers import Centers
from kinlearn.training.training_set import TrainingSet

Array: TypeAlias = NDArray[np.float64]
Index: TypeAlias = NDArray[np.intp]

# Learning from fewer numbers takes many short steps, in which threads wait for each other.
MANY_SCORES = 2_000_000


@dataclass(frozen=True)
class Tuned:
    """What a search found.

    Attributes
    ----------
    search : GridSearch
        After its run.
    learnt : Learnt
        From all rows.
    solution : Solution
        Coefficients of the mix.
    held_out : (scores, links)
        Of the rows as passed, by what was learnt from the other folds.
    """

    search: GridSearch
    learnt: Learnt
    solution: Solution
    held_out: tuple[Array, Array]

    def facts(self, store_scores: bool = False) -> dict[str, Any]:
        """What there is to tell, by the names of fitted attributes."""
        search, found = self.search, self.search.facts()
        found["weights_"] = self.learnt.weights
        found["held_out_scores_"], found["held_out_links_"] = self.held_out
        if search.rows.data is not None:
            found["held_out_codes_"] = search.rows.data.passed_codes
        if store_scores:
            assert search.rows.data is not None
            assert search.rows.validation is not None
            found["cv_scores_"] = search.scores
            found["cv_rows_"] = search.rows.data.units.first[search.rows.validation.unit]
        return {**self.solution.facts, **found}


class Repeated:
    """Repeats a search without some rows, for what is reported of few rows.

    Where rows are few, the scores of the others still tell much about a row that helped to make
    them.

    The problems of the search must be such that they can be posed again on some of their rows.

    Parameters
    ----------
    holding_out : HoldingOut
        How rows were held out.
    """

    def __init__(self, holding_out: HoldingOut) -> None:
        self.holding_out = holding_out

    @classmethod
    def where_cheap(
        cls, holding_out: HoldingOut, data: TrainingSet, centers: Centers
    ) -> Repeated | None:
        """Repeats searches of few rows, all of them centres; None where that is costly."""
        few = data.n_rows <= POSED_AGAIN and centers.everything
        return cls(holding_out) if few and holding_out.of_any_rows else None

    def search(self, search: GridSearch, passed: Index) -> GridSearch:
        """The search without some rows as passed."""
        assert search.rows.data is not None
        data, kept = search.rows.data.without(passed)
        validation = self.holding_out.of(data)
        scores = joined(
            [
                cast(Any, part.problem).part(kept, data).held_out(part.axes, validation.splits)
                for part in search.parts
            ]
        )
        rows = with_shares_of(HeldOut.of(data, validation), search.rows)
        return search.with_scores(scores, rows)


def tune(
    posed: list[PosedGrid],
    rows: HeldOut,
    scoring: Any,
    combine: str,
    *,
    scales: bool,
    repeated: Repeated | None = None,
    calibrated: bool = True,
    say: Callable[[str], None] | None = None,
) -> Tuned:
    """Search a grid, combine its points, calibrate the mix, and report by other folds.

    Parameters
    ----------
    posed : list of PosedGrid
        Problems, which answer with held-out scores and coefficients, and where to look.
    rows : HeldOut
        What is held out.
    scoring : str or callable
        The criterion.
    combine : {"stack", "within_se", "best"}
        How points become one model.
    scales : bool
        Whether a stack's weights are moved towards the least log-loss, and its classes have scales
        and offsets of their own.
    repeated : Repeated, optional
        Repeats the search without a fold, where that is affordable.
    calibrated : bool, default=True
        Whether the mix is calibrated at all.
    say : callable, optional
        Told of progress.
    """
    search = GridSearch(posed, rows, scoring, calibrated)
    search.run(say)
    learnt = search.learn(combine, scales)
    stacked = scales and combine == "stack"

    def learn_fold(fold: tuple[Index, HeldOut]) -> tuple[Index, Array, Calibration]:
        own, others = fold
        if repeated is None:
            found = search.on(others).learn(combine, scales, learnt.calibration)
            return own, found.scores, found.calibration
        found = repeated.search(search, own).learn(combine, scales, learnt.calibration)
        mixed = search.mixed_scores(found.weights)
        if stacked and not rows.many_copies:  # of many copies, one leaves the shares as they are
            mixed = with_own_share(mixed, rows)
        return own, found.calibration.scores(mixed, rows.task), found.calibration

    folds = list(rows_of_others(rows))
    at_once = None if search.scores.size >= MANY_SCORES else 1
    with side_by_side(len(folds), at_most=at_once) as each:
        parts = list(each(learn_fold, folds))
    held_out = gathered(rows, parts, search.scores.shape[2])
    return Tuned(search, learnt, search.solution(learnt.weights), held_out)


def search_grid(
    posed: PosedGrid,
    rows: HeldOut,
    scoring: Any,
    combine: str,
    *,
    scales: bool,
) -> tuple[GridSearch, Learnt]:
    """Search a grid, and learn from all rows; parameters as in :func:`tune`."""
    search = GridSearch([posed], rows, scoring)
    search.run()
    return search, search.learn(combine, scales)
