"""Everything the report says, as numbers: computed once, read by the page and the command line."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn.cells.schema import TableSchema
from kinlearn.report.effects import Effect
from kinlearn.report.groups import GroupFigures
from kinlearn.report.importance import Importance
from kinlearn.report.measures import Measure, calibration_error, measure, share_of
from kinlearn.selection.hand_over import independent_share
from kinlearn.tables.columns import Column
from kinlearn.tables.evaluation import Evaluation, LabelEvaluation

# Tables of parts show figures without intervals below so many rows: they would say nothing.
FEW_ROWS = 30
N_SUSPECTS = 15
# A recorded class that held-out rows give less than this is worth a look.
SUSPICIOUS = 0.1
_SHARES = ("wrong", "answered_wrong", "recall")


@dataclass(frozen=True)
class HandOverPoint:
    """The rule in force, and what it does on the held-out rows.

    Attributes
    ----------
    max_error : float
        Error allowed among answered rows.
    threshold : float
        Confidence from which rows are answered; infinite when none are.
    coverage, error : float
        Share of held-out rows answered, and share of these that are wrong.
    """

    max_error: float
    threshold: float
    coverage: float
    error: float


@dataclass(frozen=True)
class Part:
    """A task, a class or a label on its own.

    Attributes
    ----------
    name : str
        What it is.
    n_rows : int
        Held-out rows of it.
    share : float
        For a label, of yes; for a class, of all rows.
    figures : dict
        As :func:`kinlearn.report.measures.measure` gives them.
    gain_alone, gain_pooled : float
        By how much sharing lowers the held-out error, against separate models and one for all;
        NaN where it was not measured.
    """

    name: str
    n_rows: int
    share: float
    figures: dict[str, Measure]
    gain_alone: float = float("nan")
    gain_pooled: float = float("nan")


@dataclass(frozen=True)
class Suspect:
    """A row whose recorded class the model, not having seen it, finds improbable."""

    position: int
    recorded: str
    predicted: str
    p_recorded: float
    cells: dict[str, str]


@dataclass(frozen=True)
class Findings:
    """What is known of a model and a table.

    Attributes
    ----------
    title : str
        Name of what is predicted.
    file : str
        Name of the table.
    held_out : Evaluation
        Rows and answers; for labels, all (row, label) pairs.
    labels : LabelEvaluation or None
        For labels.
    schema : TableSchema
        The columns in use.
    columns : list of Column
        All columns and what they were taken for.
    facts : dict
        What the model file notes of its training.
    overall : dict of Measure
        Figures over all rows.
    chance_ece : float
        95 % quantile of the calibration error that perfectly calibrated probabilities of the same
        sizes would show on as many rows.
    parts : list of Part
        Tasks or labels; empty where there are none.
    sharing : dict
        Held-out score of ``shared``, ``independent`` and ``pooled``; empty where there are none.
    by_class : list of Part
        Classes.
    hand_over : HandOverPoint or None
        The rule, if there is one.
    suspects : list of Suspect
        The most improbable records.
    expected_suspicious, n_suspicious : float, int
        How many records below ``SUSPICIOUS`` the probabilities lead to expect, and how many are.
    importance : list of Importance
        Columns by importance.
    is_training : bool
        Whether the rows are those of the training, held out.
    search : dict
        The settings that were searched.
    differences : list of str
        How the rows differ from those of the training, in sentences.
    withdrawn : bool
        Whether the bound on the error of answered rows does not apply to them.
    effects : list of Effect
        Which way the columns that matter push the answer.
    groups : list of GroupFigures
        Figures by the groups of the columns that were asked for.
    relevance : dict of str to float
        How much the scores change along every column, of mean one, the most relevant first; empty
        where no metric was learnt.
    """

    title: str
    file: str
    held_out: Evaluation
    labels: LabelEvaluation | None
    schema: TableSchema
    columns: list[Column]
    facts: dict[str, Any]
    overall: dict[str, Measure]
    chance_ece: float
    parts: list[Part]
    sharing: dict[str, float]
    by_class: list[Part]
    hand_over: HandOverPoint | None
    suspects: list[Suspect]
    expected_suspicious: float
    n_suspicious: int
    importance: list[Importance]
    is_training: bool
    search: dict[str, Any] = field(default_factory=dict)
    differences: list[str] = field(default_factory=list)
    withdrawn: bool = False
    effects: list[Effect] = field(default_factory=list)
    groups: list[GroupFigures] = field(default_factory=list)
    relevance: dict[str, float] = field(default_factory=dict)

    @property
    def base_rate(self) -> float:
        """Accuracy of always answering the most common class."""
        return float(np.bincount(self.held_out.truth).max() / self.held_out.n_rows)

    def as_facts(self) -> dict[str, Any]:
        """The figures with their intervals, and what is handed over, as plain values."""
        return {
            "figures": {name: found._asdict() for name, found in self.overall.items()},
            "hand_over": vars(self.hand_over) if self.hand_over else None,
            "like_training": not self.withdrawn,
            "relevance": self.relevance,
            "groups": [
                {**vars(group), **{k: v._asdict() for k, v in vars(group).items() if k in _SHARES}}
                for group in self.groups
            ],
        }


def chance_calibration_error(evaluation: Evaluation, seed: int, n_draws: int = 200) -> float:
    """The 95 % quantile of the calibration error if the probabilities were exactly right.

    Rows of a group come out alike as often as their errors do.
    """
    rng = np.random.default_rng(seed)
    member, alike = _alike(evaluation)
    confidence = evaluation.confidence
    errors = []
    ones = np.ones((1, evaluation.n_rows))
    reached = np.cumsum(evaluation.proba, axis=1)
    for _ in range(n_draws if len(confidence) <= 50_000 else n_draws // 10):
        chance = rng.random(evaluation.n_rows)
        if alike > 0:
            shared = rng.random(int(member.max()) + 1)[member]
            chance = np.where(rng.random(evaluation.n_rows) < alike, shared, chance)
        drawn = (chance[:, None] > reached).sum(axis=1)
        drawn = np.minimum(drawn, len(evaluation.classes) - 1)
        right = (evaluation.likeliest == drawn).astype(np.float64)
        errors.append(float(calibration_error(confidence, right, ones)[0]))
    return float(np.quantile(errors, 0.95))


def _alike(evaluation: Evaluation) -> tuple[NDArray[np.intp], float]:
    """Numbers of the rows' groups, and the chance that a row shares the luck of its group.

    Two rows of a group both do with the correlation of their errors.
    """
    if evaluation.group is None:
        return np.arange(evaluation.n_rows), 0.0
    _, member, sizes = np.unique(evaluation.group, return_inverse=True, return_counts=True)
    size = float((sizes**2.0).sum()) / evaluation.n_rows
    if size <= 1.0:
        return member, 0.0
    share = independent_share(~evaluation.right, member)
    return member, float(np.sqrt(min((1.0 / share - 1.0) / (size - 1.0), 1.0)))


def tasks_of(
    evaluation: Evaluation, sharing_report: dict[str, Any] | None, names: list[str], seed: int
) -> list[Part]:
    """Each task's rows on their own, with what sharing gained in training."""
    assert evaluation.task is not None
    parts = []
    for name in sorted(set(evaluation.task.tolist()), key=str):
        some = evaluation.part(evaluation.task == name)
        alone = pooled = float("nan")
        if sharing_report is not None and name in names:
            at = names.index(name)
            alone = _relative(sharing_report, "independent", at)
            pooled = _relative(sharing_report, "pooled", at)
        parts.append(
            Part(
                str(name),
                some.n_rows,
                some.n_rows / evaluation.n_rows,
                measure(some, seed=seed),
                alone,
                pooled,
            )
        )
    return parts


def _relative(report: dict[str, Any], rival: str, at: int) -> float:
    """Share of the rival's held-out squared error that sharing removes."""
    theirs, ours = -float(report[rival][at]), -float(report["shared"][at])
    return (theirs - ours) / theirs if theirs > 0 else float("nan")


def labels_of(evaluation: LabelEvaluation, gains: dict[str, float], seed: int) -> list[Part]:
    """Each label on its own, with what learning them together gained in training."""
    parts = []
    for t, name in enumerate(evaluation.labels):
        some = evaluation.label(t)
        share = float(some.truth.mean())
        gain = gains.get(name, float("nan"))
        parts.append(Part(name, some.n_rows, share, measure(some, seed=seed), gain))
    return parts


def classes_of(evaluation: Evaluation, answered: NDArray[np.bool_] | None = None) -> list[Part]:
    """How every class fares.

    ``recall`` (sensitivity) is the share of it that is recognised, ``specificity`` that of the
    others not taken for it, ``precision`` that of right ones where it is predicted, ``missed`` that
    of it answered as another class, ``handed`` that of it handed over.
    """
    answered = np.ones(evaluation.n_rows, dtype=bool) if answered is None else answered
    parts = []
    for k, name in enumerate(evaluation.classes):
        some, said = evaluation.truth == k, evaluation.predicted == k
        n, n_said = int(some.sum()), int(said.sum())
        figures = {
            "recall": share_of(int((some & said).sum()), n),
            "specificity": share_of(int((~some & ~said).sum()), evaluation.n_rows - n),
            "precision": share_of(int((some & said).sum()), n_said),
            "missed": share_of(int((some & ~said & answered).sum()), n),
            "handed": share_of(int((some & ~answered).sum()), n),
        }
        parts.append(Part(name, n, n / evaluation.n_rows, figures))
    return parts


def suspects_of(evaluation: Evaluation, cells: Any) -> list[Suspect]:
    """The records that the model finds most improbable; `cells` gives a row's texts."""
    wrong = np.flatnonzero(~evaluation.right)
    worst = wrong[np.argsort(evaluation.of_truth[wrong], kind="stable")][:N_SUSPECTS]
    return [
        Suspect(
            int(evaluation.positions[i]),
            _named(evaluation, i, int(evaluation.truth[i])),
            _named(evaluation, i, int(evaluation.predicted[i])),
            float(evaluation.of_truth[i]),
            cells(int(evaluation.positions[i])),
        )
        for i in worst
    ]


def _named(evaluation: Evaluation, row: int, number: int) -> str:
    """The class; for pairs of rows and labels, with the label."""
    name = evaluation.classes[number]
    return (
        f"{evaluation.task[row]}: {name}"
        if evaluation.pairs and evaluation.task is not None
        else name
    )


def suspicious_counts(evaluation: Evaluation) -> tuple[int, float]:
    """Records given less than ``SUSPICIOUS``, and how many the probabilities lead to expect."""
    small = evaluation.proba < SUSPICIOUS
    expected = float((evaluation.proba * small).sum())
    return int((evaluation.of_truth < SUSPICIOUS).sum()), expected
