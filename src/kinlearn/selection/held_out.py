"""The copies of rows that held-out scores speak of, and how these scores are reported.

Scores of grid points are held out one row at a time. What is learnt from these (weights of points,
scales, offsets, beta) has seen all labels, and with few rows it fits their noise. So the rows are
dealt out to a few folds, and for each fold it is learnt once more without its rows: cheap, since
the points' scores stay as they are. The model itself uses all rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kinlearn.posterior import Calibration, ScoreLayout
from kinlearn.selection.links import MANY_COPIES, Block
from kinlearn.training.folds import Validation
from kinlearn.training.training_set import TrainingSet

Array: TypeAlias = NDArray[np.float64]
Index: TypeAlias = NDArray[np.intp]


@dataclass(frozen=True)
class HoldingOut:
    """How rows are held out, in words that hold for a part of them, too.

    Attributes
    ----------
    cv, groups, seed
        As in :meth:`TrainingSet.validation`.
    """

    cv: Any
    groups: Index | None
    seed: int

    @property
    def of_any_rows(self) -> bool:
        """Whether it may be asked of a part: folds of the user's own speak of all rows.

        Of two groups one alone would be left, and nothing to hold out.
        """
        of_two = self.groups is not None and np.unique(self.groups).size <= 2
        return isinstance(self.cv, (str, int, np.integer)) and not of_two

    def of(self, data: TrainingSet, max_rows: int | None = None) -> Validation:
        """What is held out of rows."""
        return data.validation(self.cv, self.groups, max_rows=max_rows, seed=self.seed)


@dataclass(frozen=True)
class Columns:
    """What the score columns of a problem are fitted to.

    Attributes
    ----------
    targets : ndarray of shape (U, K)
        Of the units.
    multiplicity : ndarray of shape (K,)
        How many labels' scores a column stands for.
    labels : ndarray of shape (K,)
        The label whose weights a column has.
    """

    targets: Array
    multiplicity: Array
    labels: Index


@dataclass(frozen=True)
class LabelTargets:
    """What held-out scores of labels are calibrated by, in the scores' order.

    Attributes
    ----------
    layout : ScoreLayout
    targets : list of ndarrays of shape (R, classes)
        Chance of every class of every label.
    weights : ndarray of shape (R, A)
        Numbers of copies, from ``sample_weight`` alone; 0 where unobserved.
    n_smooth : float
        Number of copies of all training rows.
    repeated : float
        Share of them that have another copy of their class, the mean over labels.
    """

    layout: ScoreLayout
    targets: list[Array]
    weights: Array
    n_smooth: float
    repeated: float

    @property
    def many_copies(self) -> bool:
        """Whether most rows were seen more than once."""
        return self.repeated >= MANY_COPIES

    def blocks(self, scores: Array) -> list[Block]:
        """Scores, targets and weights of every label's observed rows."""
        by_label = self.layout.by_label(scores.astype(np.float64, copy=False))
        if len(by_label) == 1:
            return [(by_label[0], self.targets[0], self.weights[:, 0])]
        blocks = []
        for q, z, weights in zip(by_label, self.targets, self.weights.T, strict=True):
            seen = weights > 0
            blocks.append((q[seen], z[seen], weights[seen]))
        return blocks


@dataclass(frozen=True)
class HeldOut(LabelTargets):
    """The copies of rows that held-out scores speak of, in the scores' order.

    Attributes
    ----------
    layout, targets, weights, n_smooth, repeated
        As in :class:`LabelTargets`.
    fit_targets, fit_weights : ndarrays of shape (R, K)
        What least squares fits, with ``class_weight`` too.
    pair_weights : ndarray of shape (R, A)
        The same weights by label.
    starts : ndarray or None
        Where each fold begins; None to score all rows together.
    validation : Validation, optional
        What was held out; None for a sample of rows that sums kept.
    data : TrainingSet, optional
        Of which rows; None likewise.
    balance : list of ndarrays, optional
        Factors of a class weight by which scores lean, by label.
    task : ndarray of shape (R,), optional
        Task number of each entry.
    n_tasks : int
        Number of tasks, of which some may have no entry.
    unknown : ndarray of bool of shape (R,), optional
        Entries that are not to be looked at.
    average : {"pooled", "tasks"}
        Whether rows of all tasks are scored together, or each task's on their own, with the mean
        over tasks as the score.
    beta : float, optional
        The beta of scores whose posterior is softmax(beta·q) as they are, such as log-odds; left
        out, log-loss and Brier score fit one.
    """

    fit_targets: Array
    fit_weights: Array
    pair_weights: Array
    starts: Index | None
    validation: Validation | None = None
    data: TrainingSet | None = None
    balance: list[Array] | None = None
    task: Index | None = None
    n_tasks: int = 1
    unknown: NDArray[np.bool_] | None = None
    average: str = "pooled"
    beta: float | None = None

    @classmethod
    def of(
        cls,
        data: TrainingSet,
        validation: Validation,
        columns: Columns | None = None,
        *,
        average: str = "pooled",
    ) -> HeldOut:
        """Describe what a validation tests; `columns` where they are not those of the classes."""
        unit, layout = validation.unit, ScoreLayout(data.table.indicator, data.sizes)
        factors = data.unit_factors[unit]
        weights = validation.copies[:, None] * (factors > 0)
        pair_weights = weights * factors
        pair_weights *= weights.sum() / pair_weights.sum()
        targets = data.unit_targets[unit]
        if columns is None:
            fit_targets = targets
            fit_weights = np.broadcast_to(pair_weights, targets.shape)
        else:
            fit_targets = columns.targets[unit]
            fit_weights = columns.multiplicity * pair_weights[:, columns.labels]
        return cls(
            layout=layout,
            targets=np.split(targets, np.cumsum(data.sizes)[:-1], axis=1),
            weights=weights,
            n_smooth=validation.n_copies,
            repeated=data.repeated,
            fit_targets=fit_targets,
            fit_weights=fit_weights,
            pair_weights=pair_weights,
            starts=None if validation.pooled else validation.splits.starts,
            validation=validation,
            data=data,
            balance=data.leaning,
            task=None if data.task is None else data.task[data.units.first][unit],
            n_tasks=1 if data.task is None else int(data.task.max()) + 1,
            average=average,
        )

    @property
    def splits(self) -> Any:
        """What solvers hold out; None for a sample of rows that sums kept."""
        return None if self.validation is None else self.validation.splits

    def parts(self) -> list[slice]:
        """Return the slices of rows scored together."""
        if self.starts is None:
            return [slice(0, len(self.weights))]
        return [slice(a, b) for a, b in zip(self.starts[:-1], self.starts[1:], strict=True)]

    @property
    def n_telling(self) -> float:
        """How many copies tell something: of tasks, those not of their task's commonest class."""
        weights = self.weights[:, 0]
        if self.task is None:
            return float(self.weights.sum())
        counts = np.stack(
            [
                np.bincount(self.task, weights=weights * share, minlength=self.n_tasks)
                for share in self.targets[0].T
            ]
        )
        return float((counts.sum(axis=0) - counts.max(axis=0)).sum())

    @property
    def strata(self) -> Index | None:
        """Of a single label, the class of each entry, one more where it is unobserved."""
        if self.layout.n_labels > 1:
            return None
        unknown = self.targets[0].shape[1]
        return np.where(self.weights[:, 0] > 0, self.targets[0].argmax(axis=1), unknown)

    def averaged(self, average: str) -> HeldOut:
        """The same with tasks scored together, or each on its own."""
        return replace(self, average=average)

    def as_log_odds(self, fitted_loss: bool) -> HeldOut:
        """The same for scores that are log-odds; with `fitted_loss` by the weights of the fit."""
        rows = replace(self, beta=1.0)
        return replace(rows, weights=rows.pair_weights) if fitted_loss else rows

    def reweighted(self, factors: Array) -> HeldOut:
        """The same with every entry's weights times a factor; entries of weight 0 are unknown."""
        column = factors[:, None]
        return replace(
            self,
            weights=self.weights * column,
            fit_weights=self.fit_weights * column,
            pair_weights=self.pair_weights * column,
            unknown=factors <= 0,
        )

    def as_passed(self, scores: Array, part: slice | Index) -> tuple[Any, Array]:
        """Return (labels, scores) of the rows as passed that a part holds out, as users see them.

        Indicators have one score a label, two classes one score; otherwise each class has its own.
        """
        looked_at = np.zeros(len(self.weights), dtype=bool)
        looked_at[part] = True
        if self.unknown is not None:
            looked_at &= ~self.unknown
        data, validation = self.data, self.validation
        if data is None or validation is None:
            raise ValueError(
                "A function of your own, or a ranking of labels, cannot score rows that only sums "
                "know: use the name of another criterion, or fit on the rows at once."
            )
        answers = self.layout.difference(scores) if self.layout.indicator else scores
        if data.table.single and self.layout.sizes == (2,):
            answers = scores[:, 1] - scores[:, 0]
        spread, entry = validation.spread(answers), validation.entry
        known = (entry >= 0) & looked_at[entry]
        return data.observed()[known], spread[known]


def rows_of_others(rows: HeldOut) -> Iterator[tuple[Index, HeldOut]]:
    """Yield (passed rows of a fold, the rows that held-out scores speak of without them)."""
    validation = rows.validation
    assert validation is not None
    tested = validation.entry >= 0
    for j in np.unique(validation.fold[tested & (validation.fold >= 0)]):
        own = np.flatnonzero(tested & (validation.fold == j))
        gone = np.bincount(
            validation.entry[own], weights=validation.share[own], minlength=validation.unit.size
        )
        yield own, rows.reweighted(np.clip(1.0 - gone, 0.0, 1.0))


def with_shares_of(rows: HeldOut, all_rows: HeldOut) -> HeldOut:
    """Return some rows with the classes weighing as in all rows."""
    assert rows.validation is not None
    assert all_rows.validation is not None
    copies, strata, all_strata = rows.validation.copies, rows.strata, all_rows.strata
    assert strata is not None
    assert all_strata is not None
    wanted = np.bincount(all_strata, weights=all_rows.validation.copies)
    own = np.bincount(strata, weights=copies, minlength=wanted.size)
    ratio = np.divide(wanted, own, out=np.ones_like(wanted), where=own > 0)
    factors = ratio[strata]
    return rows.reweighted(factors * (copies.sum() / float(copies @ factors)))


def with_own_share(scores: Array, rows: HeldOut) -> Array:
    """Return leave-one-out scores as of a model in which the classes keep their shares.

    Without one of its n_y rows a class is rarer by that one, and where features tell nothing, this
    alone lets every row lean away from its own class: of two classes equally frequent, all are
    then called wrong. Scores are linear in the targets, so that a class which keeps its weight
    scores ``n_y/(n_y-1)`` as much, and all of them ``(n-1)/n``.
    """
    strata, validation = rows.strata, rows.validation
    assert strata is not None
    assert validation is not None
    n = validation.n_copies
    totals = np.bincount(strata, weights=validation.copies)
    totals = totals * (n / totals.sum())
    gain = np.where(totals > 1.5, totals / np.maximum(totals - 1.0, 0.5), 1.0)
    out = scores * ((n - 1.0) / n)
    out[np.arange(len(out)), strata] *= gain[strata]
    return out


def gathered(
    rows: HeldOut, parts: list[tuple[Index, Array, Calibration]], n_columns: int
) -> tuple[Array, Array]:
    """Return scores and links of the passed rows, by what was learnt from the other folds.

    Parameters
    ----------
    rows : HeldOut
        What held-out scores speak of.
    parts : list of (passed rows of a fold, scores of all entries, calibration)
        As learnt without the fold.
    n_columns : int
        Of the scores.

    Returns
    -------
    scores : ndarray of shape (n_passed, K)
        NaN for rows never held out.
    links : ndarray of shape (n_passed, numbers)
        The link of each row's scores, as numbers; NaN likewise.
    """
    assert rows.validation is not None
    entry, layout = rows.validation.entry, rows.layout
    scores = np.full((entry.size, n_columns), np.nan)
    links = np.full((entry.size, 2 * layout.n_labels + 1 + sum(layout.sizes)), np.nan)
    for own, found, calibration in parts:
        scores[own] = found[entry[own]]
        links[own] = calibration.numbers()
    return scores, links
