"""Gathering the findings: of a training, when it is done or later, or for new labelled rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from kinlearn.cells.refusals import TableError, unknown_column
from kinlearn.cells.schema import TableSchema
from kinlearn.report.baselines import (
    Baseline,
    baseline_models,
    cross_fitted_proba,
    error_of_mean,
    held_out_proba,
    row_losses,
    with_dates_as_days,
)
from kinlearn.report.effects import effects_of
from kinlearn.report.findings import (
    Findings,
    HandOverPoint,
    Part,
    chance_calibration_error,
    classes_of,
    labels_of,
    suspects_of,
    suspicious_counts,
    tasks_of,
)
from kinlearn.report.groups import groups_by
from kinlearn.report.importance import Importance, importance_of, importance_of_training
from kinlearn.report.measures import measure
from kinlearn.report.rare_pictures import rarest_class
from kinlearn.report.relevance import column_relevance
from kinlearn.selection.decisions import cost_matrix
from kinlearn.tables.columns import Column
from kinlearn.tables.evaluation import Evaluation, LabelEvaluation
from kinlearn.tables.files import TableFile
from kinlearn.tables.hand_over import Answers, answer, bare_classifier
from kinlearn.tables.input_check import InputCheck
from kinlearn.tables.leaks import Leak
from kinlearn.tables.pipeline import task_names
from kinlearn.tables.sample import Sample, fingerprint, read_sample
from kinlearn.tables.targets import read_label_cells
from kinlearn.tables.training import (
    Trained,
    Wishes,
    copies_as_groups,
    held_out_evaluation,
    read_training_table,
    train,
)
from kinlearn.threads import own_threads

# Rows answered for a report at one time, and learning labels apart costs a fit: not beyond.
_CHUNK = 5000
_MAX_ROWS_APART = 3000
# Baselines are fitted to each label on its own.
_MAX_LABELS = 10

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Judged:
    """A model's answers for rows of a table that it had not seen.

    Attributes
    ----------
    rows : Evaluation
        For labels, all known pairs of a row and a label.
    answered : ndarray of bool
        Which of them the rule answers.
    is_training : bool
        Whether the table is that of its training, so that the answers are held-out ones.
    """

    rows: Evaluation
    answered: NDArray[np.bool_]
    is_training: bool


@own_threads()
def evaluation_on(model: Any, facts: dict[str, Any], file: TableFile, max_rows: int) -> Judged:
    """A model's answers for the labelled rows of a table, held out if it was trained on it."""
    training = facts["training"]
    if fingerprint(file.path) == training["sha256"]:
        table = read_training_table(file, Wishes(**training["wishes"]))
        found = held_out_evaluation(model, table)
        answered = _answered_in_training(model, facts, found)
        return Judged(_as_rows(found), answered, True)
    schema = TableSchema.from_facts(facts["table"])
    check_answers(schema, file)
    sample = read_sample(file, max_rows, 0)
    answers = _answer_in_chunks(model, facts, schema.frame(sample.table))
    found, known, _ = _judge(model, schema, sample, answers, file.path.name)
    answered = answers.answered[known]
    if isinstance(found, LabelEvaluation):
        answered = answered[np.isfinite(found.truth)]
    return Judged(_as_rows(found), answered, False)


def _as_rows(found: Evaluation | LabelEvaluation) -> Evaluation:
    return found.pooled() if isinstance(found, LabelEvaluation) else found


def check_answers(schema: TableSchema, file: TableFile) -> None:
    """Refuse a table that lacks a column the model takes, or the answers to judge it by."""
    schema.check(file.names, str(file.path))
    for name in [schema.target] if schema.target else schema.labels:
        if name not in file.names:
            raise unknown_column(name, file.names, str(file.path))


@own_threads()
def of_training(
    trained: Trained,
    facts: dict[str, Any],
    progress: Progress = lambda _: None,
    by: Sequence[str] = (),
) -> Findings:
    """The findings on the training rows, each judged by a model that had not seen it.

    `by` names columns whose groups are judged on their own.
    """
    model, table = trained.model, trained.table
    seed = int(facts["training"]["wishes"]["seed"])
    progress("Shuffling columns to see which matter")
    frame = table.schema.frame(table.sample.table)
    importance = importance_of_training(model, table.schema, frame, table.y, table.groups, seed)
    progress("Drawing resamples for the intervals")
    return _gather(
        model,
        facts,
        trained.evaluation,
        _point_in_training(model, facts, trained.evaluation),
        table.sample,
        importance,
        _answered_in_training(model, facts, trained.evaluation),
        frame,
        list(by) or list(facts["training"].get("by", [])),
        is_training=True,
        file=str(facts["training"]["file"]),
    )


@own_threads()
def of_new_rows(
    model: Any,
    facts: dict[str, Any],
    sample: Sample,
    file: str,
    progress: Progress = lambda _: None,
    by: Sequence[str] = (),
) -> Findings:
    """The findings on labelled rows of another table."""
    schema = TableSchema.from_facts(facts["table"])
    progress(f"Answering {sample.table.num_rows} rows")
    frame = schema.frame(sample.table)
    answers = _answer_in_chunks(model, facts, frame)
    check = InputCheck.of_model(facts)
    check.add(frame, answers.by_name())
    evaluation, known, y = _judge(model, schema, sample, answers, file)
    progress("Shuffling columns to see which matter")
    seed = int(facts["training"]["wishes"]["seed"])
    importance = importance_of(model, schema, frame[known], y, seed)
    answered = answers.answered[known]
    if answers.is_labels:
        assert isinstance(evaluation, LabelEvaluation)
        seen = np.isfinite(evaluation.truth)
        right = ((evaluation.proba > 0.5) == (evaluation.truth == 1.0))[seen]
        answered = answered[seen]
        threshold = float(facts["hand_over"]["threshold"])
    else:
        assert isinstance(evaluation, Evaluation)
        right, threshold = evaluation.right, float(model[-1].threshold_)
    error = float(1.0 - right[answered].mean()) if answered.any() else float("nan")
    max_error = float(facts["training"]["wishes"]["max_error"])
    point = HandOverPoint(max_error, threshold, float(answered.mean()), error)
    progress("Drawing resamples for the intervals")
    found = _gather(
        model,
        facts,
        evaluation,
        point,
        sample,
        importance,
        answered,
        frame,
        list(by),
        is_training=False,
        file=file,
    )
    return replace(found, differences=check.sentences(), withdrawn=check.withdrawn)


def label_gains(trained: Trained, groups: NDArray | None) -> dict[str, float]:
    """By how much learning labels together lowers each one's held-out squared error.

    The rival is the same classifier without sharing, tuned as well; NaN-free, empty where the table
    is too large for a second fit.
    """
    evaluation = trained.evaluation
    if not isinstance(evaluation, LabelEvaluation) or len(trained.table.y) > _MAX_ROWS_APART:
        return {}
    X = trained.model[:-1].transform(trained.table.schema.frame(trained.table.sample.table))
    alone = clone(trained.model[-1]).set_params(sharings=[0.0])
    alone.fit(X, trained.table.y, groups=groups)
    proba = alone.held_out_proba()
    gains = {}
    for t, name in enumerate(evaluation.labels):
        seen = np.isfinite(trained.table.y[:, t]) & np.isfinite(proba[:, t])
        theirs = float(np.square(proba[seen, t] - trained.table.y[seen, t]).mean())
        some = evaluation.label(t)
        ours = float(np.square(some.proba[:, 1] - some.truth).mean())
        gains[name] = (theirs - ours) / theirs
    return gains


def baselines(trained: Trained, seed: int) -> list[dict[str, Any]]:
    """Logistic regression and boosted trees on the rows that judge the model, as plain values."""
    found = trained.evaluation
    frame = with_dates_as_days(trained.table.frame)
    if isinstance(found, LabelEvaluation) and len(found.labels) > _MAX_LABELS:
        return []
    rows = found.pooled() if isinstance(found, LabelEvaluation) else found
    made = []
    for name, model in baseline_models(frame, seed).items():
        try:
            proba = _rival_proba(model, trained, frame, seed)
        except ValueError:  # classes too small for any fold
            continue
        theirs = replace(rows, proba=proba)
        known = np.asarray(np.isfinite(proba).all(axis=1))
        if not known.any():
            continue
        gap = row_losses(rows.proba, rows.truth) - row_losses(proba, rows.truth)
        made.append(
            asdict(
                Baseline(
                    name,
                    {key: list(value) for key, value in measure(theirs.part(known)).items()},
                    float(gap[known].mean()),
                    error_of_mean(gap[known], theirs.part(known).group),
                    in_folds=not _kept_out(trained),
                )
            )
        )
    return made


def _kept_out(trained: Trained) -> bool:
    """Whether the rows that judge the model are a few that were kept out of its fit."""
    found = trained.evaluation
    return isinstance(found, Evaluation) and 2 * found.n_rows < len(trained.table.y)


def _rival_proba(model: Any, trained: Trained, frame: Any, seed: int) -> NDArray[np.float64]:
    """A rival's probabilities for the rows (or pairs of rows and labels) of the evaluation."""
    found, table = trained.evaluation, trained.table
    at = np.searchsorted(table.sample.positions, found.positions)
    if isinstance(found, Evaluation):
        classes = np.array(found.classes)
        y, groups = table.y.astype(str), table.groups
        if groups is None:  # a row must not be told by its own copy
            groups = copies_as_groups(trained.model[1:-1].transform(table.frame), table.y)
        if _kept_out(trained):
            return held_out_proba(model, frame, y, classes, groups, seed, at)[at]
        return cross_fitted_proba(model, frame, y, classes, groups, seed)[at]
    columns = np.full(found.truth.shape, np.nan)
    for t in range(len(found.labels)):
        seen = np.isfinite(table.y[:, t])
        groups = None if table.groups is None else table.groups[seen]
        y = table.y[seen, t].astype(int)
        own = np.full(len(seen), np.nan)
        fitted = cross_fitted_proba(model, frame[seen], y, np.array([0, 1]), groups, seed)
        own[seen] = fitted[:, 1]
        columns[:, t] = own[at]
    return replace(found, proba=columns).pooled().proba


def without_leaks(
    file: TableFile, wishes: Wishes, trained: Trained, leaks: list[Leak]
) -> dict[str, Any]:
    """Columns that tell too much, and held-out figures with and without them, side by side."""
    names = list(dict.fromkeys(leak.column for leak in leaks))
    said: dict[str, Any] = {"columns": names, "sentences": [leak.sentence for leak in leaks]}
    said["with"] = _figures_of(trained, wishes.seed)
    try:
        fewer = replace(
            wishes,
            drop=[*wishes.drop, *names],
            numeric=[name for name in wishes.numeric if name not in names],
            categorical=[name for name in wishes.categorical if name not in names],
        )
        rest = read_training_table(file, fewer)
    except TableError:  # no other column is left
        return said
    said["without"] = _figures_of(train(rest, fewer), wishes.seed)
    return said


def held_out_together(
    file: TableFile, wishes: Wishes, trained: Trained, column: str
) -> dict[str, Any]:
    """Held-out figures with rows of one value of a column held out together, beside the model's."""
    grouped = replace(wishes, group=column, all_rows=False)
    grouped = replace(grouped, drop=[name for name in grouped.drop if name != column])
    apart = train(read_training_table(file, grouped), grouped)
    sides = {"alone": trained, "together": apart}
    return {"column": column} | {
        side: _figures_of(each, wishes.seed) for side, each in sides.items()
    }


def _figures_of(trained: Trained, seed: int) -> dict[str, list[float]]:
    found = trained.evaluation
    rows = found.pooled() if isinstance(found, LabelEvaluation) else found
    return {name: list(value) for name, value in measure(rows, seed=seed).items()}


def _gather(
    model: Any,
    facts: dict[str, Any],
    evaluation: Evaluation | LabelEvaluation,
    point: HandOverPoint,
    sample: Sample,
    importance: list[Importance],
    answered: NDArray[np.bool_],
    frame: Any,
    by: list[str],
    *,
    is_training: bool,
    file: str,
) -> Findings:
    schema = TableSchema.from_facts(facts["table"])
    seed = int(facts["training"]["wishes"]["seed"])
    labels = evaluation if isinstance(evaluation, LabelEvaluation) else None
    rows = evaluation.pooled() if isinstance(evaluation, LabelEvaluation) else evaluation
    classifier = bare_classifier(model)
    report = getattr(classifier, "sharing_report_", None)
    parts: list[Part] = []
    if labels is not None:
        parts = labels_of(labels, facts.get("label_gains", {}), seed)
    elif schema.task is not None:
        parts = tasks_of(rows, report, task_names(model), seed)
    n_suspicious, expected = suspicious_counts(rows)
    shown = list(enumerate(schema.labels)) if labels is not None else _classes_to_show(rows)
    return Findings(
        title=schema.target or ", ".join(schema.labels),
        file=file,
        held_out=rows,
        labels=labels,
        schema=schema,
        columns=[Column(**column) for column in facts["training"]["columns"]],
        facts=facts,
        overall=measure(rows, seed=seed),
        chance_ece=chance_calibration_error(rows, seed),
        parts=parts,
        sharing={} if report is None else dict(report["overall"]),
        by_class=classes_of(rows, answered),
        hand_over=point,
        suspects=suspects_of(rows, _cells(sample, schema)),
        expected_suspicious=expected,
        n_suspicious=n_suspicious,
        importance=importance,
        is_training=is_training,
        effects=effects_of(model, frame, importance, shown, seed),
        groups=groups_by(by, sample, schema.rules, rows, answered, file),
        search={
            "results": classifier.cv_results_,
            "best_index": int(classifier.best_index_),
            "n_points": len(classifier.weights_),
            "n_mixed": int((classifier.weights_ > 0).sum()),
        },
        relevance=column_relevance(model, schema),
    )


def _classes_to_show(rows: Evaluation) -> list[tuple[int, str]]:
    """Of two classes the rarer one, else the most common ones first."""
    if len(rows.classes) == 2:
        return [(rarest_class(rows), rows.classes[rarest_class(rows)])]
    counts = np.bincount(rows.truth, minlength=len(rows.classes))
    return [(int(k), rows.classes[k]) for k in np.argsort(-counts, kind="stable")]


def _cells(sample: Sample, schema: TableSchema) -> Callable[[int], dict[str, str]]:
    def cells(position: int) -> dict[str, str]:
        row = sample.table.slice(int(np.searchsorted(sample.positions, position)), 1)
        texts = {name: row[name][0].as_py() for name in schema.features}
        return {name: "" if text is None else str(text) for name, text in texts.items()}

    return cells


def _point_in_training(
    model: Any, facts: dict[str, Any], evaluation: Evaluation | LabelEvaluation
) -> HandOverPoint:
    max_error = float(facts["training"]["wishes"]["max_error"])
    if isinstance(evaluation, Evaluation):
        last = model[-1]
        return HandOverPoint(
            max_error, float(last.threshold_), float(last.coverage_), float(last.expected_error_)
        )
    rows = evaluation.pooled()
    answered = rows.confidence > facts["hand_over"]["threshold"]
    error = float(1.0 - rows.right[answered].mean()) if answered.any() else float("nan")
    threshold = float(facts["hand_over"]["threshold"])
    return HandOverPoint(max_error, threshold, float(answered.mean()), error)


def _answered_in_training(
    model: Any, facts: dict[str, Any], evaluation: Evaluation | LabelEvaluation
) -> NDArray[np.bool_]:
    """Which held-out rows, or pairs of rows and labels, the rule answers."""
    if isinstance(evaluation, LabelEvaluation):
        confidence: NDArray = evaluation.pooled().confidence
        return confidence > facts["hand_over"]["threshold"]
    ids = None
    if evaluation.task is not None:
        number = {name: t for t, name in enumerate(task_names(model))}
        ids = np.array([float(number[name]) for name in evaluation.task.tolist()])
    return np.asarray(model[-1].answers_by(evaluation.proba, ids))


def _answer_in_chunks(model: Any, facts: dict[str, Any], frame: Any) -> Answers:
    parts = [
        answer(
            model,
            frame.iloc[start : start + _CHUNK],
            facts.get("hand_over", {}),
            facts.get("inputs"),
        )
        for start in range(0, len(frame), _CHUNK)
    ]
    return Answers(
        parts[0].names,
        np.concatenate([part.proba for part in parts]),
        np.concatenate([part.predicted for part in parts]),
        np.concatenate([part.answered for part in parts]),
        np.concatenate([part.reason for part in parts]),
    )


def _judge(
    model: Any, schema: TableSchema, sample: Sample, answers: Answers, file: str
) -> tuple[Evaluation | LabelEvaluation, NDArray[np.bool_], NDArray]:
    """Answers beside the truth, over rows that have one the model knows."""
    rules = schema.rules
    if schema.labels:
        truth = np.column_stack(
            [read_label_cells(name, sample.table[name], rules.of_answers) for name in schema.labels]
        )
        known = np.asarray(np.isfinite(truth).any(axis=1))
        found = LabelEvaluation(
            schema.labels, truth[known], answers.proba[known], sample.positions[known], "new rows"
        )
        return found, known, truth[known]
    assert schema.target is not None
    cells = sample.table[schema.target].combine_chunks()
    rules = schema.rules_of(schema.target)
    texts = np.array(rules.of_answers.texts(cells).to_pylist())
    number = {name: k for k, name in enumerate(answers.names)}
    strange = sorted({str(text) for text in texts if text is not None and text not in number})
    if strange:
        raise TableError(
            f"Column {schema.target!r} of {file} holds {strange[0]!r}, a class the model was not "
            f"trained on (it knows {', '.join(map(repr, answers.names[:10]))}): leave such rows "
            "out, or train anew."
        )
    known = np.array([text is not None for text in texts])
    task = None
    if schema.task is not None:
        column = sample.table[schema.task].combine_chunks()
        column = schema.rules_of(schema.task).texts(column).to_pylist()
        task = np.array([name or "(missing)" for name in column], dtype=object)[known]
    evaluation = Evaluation(
        answers.names,
        np.array([number[text] for text in texts[known]], dtype=np.intp),
        answers.proba[known],
        sample.positions[known],
        "new rows",
        task,
        costs=cost_matrix(model[-1].costs, model[-1].classes_),
    )
    return evaluation, known, texts[known].astype(object)
