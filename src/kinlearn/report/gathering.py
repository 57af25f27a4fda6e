"""Gathering the findings: of a training, when it is done or later, or for new labelled rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from kinlearn.cells.refusals import TableError
from kinlearn.cells.schema import TableSchema
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
from kinlearn.report.importance import Importance, importance_of, importance_of_training
from kinlearn.report.measures import measure
from kinlearn.tables.columns import Column
from kinlearn.tables.evaluation import Evaluation, LabelEvaluation
from kinlearn.tables.hand_over import Answers, answer, bare_classifier
from kinlearn.tables.pipeline import task_names
from kinlearn.tables.sample import Sample
from kinlearn.tables.targets import read_label_cells
from kinlearn.tables.training import Trained
from kinlearn.threads import own_threads

# Rows answered for a report at one time, and learning labels apart costs a fit: not beyond.
_CHUNK = 5000
_MAX_ROWS_APART = 3000

Progress = Callable[[str], None]


@own_threads()
def of_training(
    trained: Trained, facts: dict[str, Any], progress: Progress = lambda _: None
) -> Findings:
    """The findings on the training rows, each judged by a model that had not seen it."""
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
) -> Findings:
    """The findings on labelled rows of another table."""
    schema = TableSchema.from_facts(facts["table"])
    progress(f"Answering {sample.table.num_rows} rows")
    frame = schema.frame(sample.table)
    answers = _answer_in_chunks(model, facts, frame)
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
    return _gather(
        model, facts, evaluation, point, sample, importance, is_training=False, file=file
    )


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


def _gather(
    model: Any,
    facts: dict[str, Any],
    evaluation: Evaluation | LabelEvaluation,
    point: HandOverPoint,
    sample: Sample,
    importance: list[Importance],
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
        by_class=classes_of(rows),
        hand_over=point,
        suspects=suspects_of(rows, _cells(sample, schema)),
        expected_suspicious=expected,
        n_suspicious=n_suspicious,
        importance=importance,
        is_training=is_training,
        search={
            "results": classifier.cv_results_,
            "best_index": int(classifier.best_index_),
            "n_points": len(classifier.weights_),
            "n_mixed": int((classifier.weights_ > 0).sum()),
        },
    )


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


def _answer_in_chunks(model: Any, facts: dict[str, Any], frame: Any) -> Answers:
    parts = [
        answer(model, frame.iloc[start : start + _CHUNK], facts.get("hand_over", {}))
        for start in range(0, len(frame), _CHUNK)
    ]
    return Answers(
        parts[0].names,
        np.concatenate([part.proba for part in parts]),
        np.concatenate([part.predicted for part in parts]),
        np.concatenate([part.answered for part in parts]),
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
        column = rules.texts(sample.table[schema.task].combine_chunks()).to_pylist()
        task = np.array([name or "(missing)" for name in column], dtype=object)[known]
    evaluation = Evaluation(
        answers.names,
        np.array([number[text] for text in texts[known]], dtype=np.intp),
        answers.proba[known],
        sample.positions[known],
        "new rows",
        task,
    )
    return evaluation, known, texts[known].astype(object)
