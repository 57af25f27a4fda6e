"""From a table to a fitted pipeline: what is read, what is left out, which classifier."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn import LSPCCV, MultiLabelLSPCCV, MultiTaskLSPCCV
from kinlearn.cells.cell_rules import MISSING, CellRules, objects
from kinlearn.cells.forms import form_as_facts, form_from_facts
from kinlearn.cells.refusals import TableError, quoted, unknown_column
from kinlearn.cells.schema import TableSchema
from kinlearn.cells.word_forms import CodeForm, WordForm, find_code_form, find_word_form
from kinlearn.estimators._duplicate_rows import find_copies
from kinlearn.estimators.lspc_cv import DEFAULT_KERNELS
from kinlearn.optional import require
from kinlearn.selection.decisions import cost_matrix
from kinlearn.tables.columns import Column, features_of, find_decimal, infer_columns
from kinlearn.tables.costs import read_costs, read_limits
from kinlearn.tables.evaluation import Evaluation, LabelEvaluation
from kinlearn.tables.files import TableFile
from kinlearn.tables.hand_over import bare_classifier, label_rule, with_hand_over
from kinlearn.tables.input_profile import profile_inputs
from kinlearn.tables.pipeline import encoders_of, make_model, task_names
from kinlearn.tables.sample import Sample, read_sample
from kinlearn.tables.targets import read_classes, read_labels
from kinlearn.training.copies import find_distinct_rows

# Rows read when the user names no number.
MAX_ROWS = 100_000
# Up to so many, tasks are solved together in the cube of their rows, beyond from each task's sums
# over centres. Groups cannot be left out of sums.
MAX_TASK_ROWS = 2_500
TASK_CENTERS = 400
# A column that names a task for fewer rows than this is an id.
ROWS_OF_TASK = 2
MIN_ROWS = 10
# Numbers of a table often act by steps, which none of the default kernels has.
TABLE_KERNELS = (*DEFAULT_KERNELS, "steps")
# Features of a large table are kept between passes up to this, not made again.
FEATURES_MB = 1024
# Groups are held out one by one up to this many, beyond in so many folds of whole groups.
MAX_FOLDS = 20

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Wishes:
    """What the user asked for.

    Attributes
    ----------
    target, labels : str or None, list of str
        The column of classes, or the columns of yes/no labels.
    task, group : str or None
        Columns that name the task, and what must be held out together.
    numeric, categorical, drop : list of str
        Kinds of columns decided on.
    missing, decimal
        How cells are read; see :class:`kinlearn.cells.cell_rules.CellRules`. Without a decimal
        mark, the table's own.
    max_rows : int or None
        Largest number of rows to train on.
    max_error : float
        Error allowed among answered rows.
    per_task : bool
        Whether that holds for every task on its own.
    seed : int
        Seed of the sample, of centres and of the bootstrap.
    cost, miss : list of str
        What errors cost, and how much of a class may be missed; see :mod:`kinlearn.tables.costs`.
    all_rows : bool
        Whether to go over all rows of the table once the drawn ones have been trained on.
    """

    target: str | None = None
    labels: list[str] = field(default_factory=list)
    task: str | None = None
    group: str | None = None
    numeric: list[str] = field(default_factory=list)
    categorical: list[str] = field(default_factory=list)
    drop: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=lambda: list(MISSING))
    decimal: str | None = None
    max_rows: int | None = None
    max_error: float = 0.05
    per_task: bool = False
    seed: int = 0
    cost: list[str] = field(default_factory=list)
    miss: list[str] = field(default_factory=list)
    all_rows: bool = False

    @property
    def rules(self) -> CellRules:
        return CellRules(tuple(self.missing), self.decimal or ".")

    @property
    def answers(self) -> list[str]:
        """The columns to predict."""
        return [self.target] if self.target else list(self.labels)

    @property
    def apart(self) -> list[str]:
        """Columns that are not learnt from."""
        return [*self.answers, *(name for name in (self.task, self.group) if name)]

    @property
    def most_rows(self) -> int:
        return self.max_rows or (MAX_TASK_ROWS if self.task and self.group else MAX_ROWS)


@dataclass(frozen=True)
class TrainingTable:
    """Rows ready to be learnt from.

    Attributes
    ----------
    sample : Sample
        The rows as read.
    columns : list of Column
        Every column that could be learnt from, and what it was taken for.
    schema : TableSchema
        What the model will ask of other tables.
    y : ndarray
        Classes as texts, or labels as floats.
    groups : ndarray or None
        What is held out together.
    n_without_answer : int
        Rows of the file that were left out for having no target.
    notes : list of str
        What was found out about the table, in sentences.
    """

    sample: Sample
    columns: list[Column]
    schema: TableSchema
    y: NDArray
    groups: NDArray | None
    n_without_answer: int
    notes: list[str] = field(default_factory=list)

    @property
    def frame(self) -> Any:
        """The columns to learn from, as the pipeline's first step gives them."""
        return self.schema.frame(self.sample.table)

    @property
    def answers(self) -> dict[str, NDArray]:
        """The target, or every label, by name."""
        if self.schema.labels:
            return dict(zip(self.schema.labels, self.y.T, strict=True))
        return {str(self.schema.target): self.y}

    def costs(self, wishes: Wishes) -> dict[str, Any]:
        """What errors cost, and how much of a class may be missed, for :class:`HandOver`."""
        classes = sorted({str(value) for value in self.y.tolist()})
        return {
            "costs": read_costs(wishes.cost, classes) or None,
            "max_missed": read_limits(wishes.miss, classes) or None,
        }

    @property
    def task(self) -> NDArray[np.object_] | None:
        if self.schema.task is None:
            return None
        return objects(self.schema.rules.texts(_column(self.sample.table, self.schema.task)))


def read_training_table(
    file: TableFile,
    wishes: Wishes,
    known: tuple[TableSchema, list[Column]] | None = None,
) -> TrainingTable:
    """Read the rows, decide on the columns, and refuse what cannot be learnt from.

    Parameters
    ----------
    file : TableFile
        The table.
    wishes : Wishes
        What is asked for.
    known : (TableSchema, list of Column), optional
        What was decided when a model was trained on this table, in place of deciding again.
    """
    check_wishes(file, wishes)
    rules = wishes.rules
    without = 0

    def usable(batch: Any) -> NDArray[np.bool_]:
        nonlocal without
        known = np.zeros(batch.num_rows, dtype=bool)
        for name in wishes.answers:
            texts = rules.of_answers.texts(batch.column(name))
            known |= texts.is_valid().to_numpy(zero_copy_only=False)
        without += int((~known).sum())
        return known

    sample = read_sample(file, wishes.most_rows, wishes.seed, usable)
    if sample.table.num_rows == 0:
        raise TableError(
            f"No row of {file.path} has a value in {', '.join(map(repr, wishes.answers))}: there "
            "is nothing to learn from."
        )
    table = sample.table
    if known is not None:
        rules = known[0].rules
    elif wishes.decimal is None:
        rules = replace(rules, decimal=find_decimal(table, rules))
    forms = known[0].forms if known is not None else _forms_of_classes(table, wishes, rules)
    y = (
        read_classes(
            _column(table, wishes.target), wishes.target, rules_of_classes(rules, forms, wishes)
        )
        if wishes.target
        else read_labels({name: _column(table, name) for name in wishes.labels}, rules.of_answers)
    )
    if table.num_rows < MIN_ROWS:
        raise TableError(
            f"{file.path} has {table.num_rows} rows with an answer: at least {MIN_ROWS} are needed "
            "to train on, and hundreds to be sure of the result."
        )
    if known is not None:
        schema, columns = known
    else:
        columns = infer_columns(
            table,
            rules,
            numeric=wishes.numeric,
            categorical=wishes.categorical,
            drop=wishes.drop,
            apart=wishes.apart,
            where=str(file.path),
        )
        schema = _schema(columns, wishes, rules, forms, str(file.path))
    groups = None
    if wishes.group is not None:
        groups = read_groups(rules.texts(_column(table, wishes.group)))
        if len(np.unique(groups)) < 2:
            raise TableError(
                f"Column {wishes.group!r} holds one group only, so nothing can be held out: choose "
                "another column for --group, or none."
            )
    notes = [*file.notes, *_notes(schema, wishes)]
    found = TrainingTable(sample, columns, schema, y, groups, without, notes)
    if wishes.target:
        found.costs(wishes)  # refused before any work
    if found.task is not None:
        _check_tasks(found.task, str(wishes.task))
    return found


def _schema(
    columns: list[Column],
    wishes: Wishes,
    rules: CellRules,
    forms: dict[str, dict[str, Any]],
    where: str,
) -> TableSchema:
    """What the model will ask of other tables."""
    kinds = features_of(columns)
    if not any(kinds.values()):
        raise TableError(_nothing_left(columns, where))
    used = {name for names in kinds.values() for name in names}
    own = {column.name: column.form for column in columns if column.form and column.name in used}
    return TableSchema(
        numeric=kinds["numeric"],
        categorical=kinds["categorical"],
        dates=kinds["date"],
        target=wishes.target,
        labels=list(wishes.labels),
        task=wishes.task,
        group=wishes.group,
        missing=list(wishes.missing),
        decimal=rules.decimal,
        forms={**forms, **own},
    )


def _nothing_left(columns: list[Column], where: str) -> str:
    """Why there is no column to learn from, and what to do."""
    if not columns:
        return (
            f"{where} has no columns but those to predict: there is nothing to learn from. Add "
            "columns that are known before the answer is."
        )
    reasons = quoted([f"{column.name}: {column.why}" for column in columns], 4)
    return (
        f"No column of {where} is left to learn from, all were dropped ({reasons}): leave one out "
        "of --drop, or keep one with --numeric or --categorical."
    )


def _forms_of_classes(table: Any, wishes: Wishes, rules: CellRules) -> dict[str, dict[str, Any]]:
    """How the classes are written: codes with zeros in front, or words in several spellings."""
    if wishes.target is None:
        return {}
    texts = rules.of_answers.counts(_column(table, wishes.target))
    form = find_code_form(texts) or find_word_form(texts)
    return {} if form is None else {wishes.target: form_as_facts(form)}


def rules_of_classes(
    rules: CellRules, forms: dict[str, dict[str, Any]], wishes: Wishes
) -> CellRules:
    """How cells of the answers are read."""
    known = forms.get(str(wishes.target))
    return replace(rules.of_answers, form=None if known is None else form_from_facts(known))


def _notes(schema: TableSchema, wishes: Wishes) -> list[str]:
    """What was found out, for the summary."""
    said = []
    form = schema.rules_of(str(schema.target)).form
    if isinstance(form, WordForm):
        shown = quoted(sorted(form.words.values()))
        said.append(f"Classes that differ in capitals alone are one: {shown}.")
    if isinstance(form, CodeForm):
        said.append("Classes are codes: zeros in front count.")
    if schema.decimal == "," and wishes.decimal is None:
        said.append("The decimal mark is a comma.")
    return said


def check_wishes(file: TableFile, wishes: Wishes) -> None:
    """Refuse columns that are not there, and combinations that mean nothing."""
    if bool(wishes.target) == bool(wishes.labels):
        raise TableError(
            "Give either --target, the column of classes to predict, or --labels, the yes/no "
            f"columns to predict together. {file.path} has {', '.join(map(repr, file.names))}."
        )
    if wishes.labels and wishes.task:
        raise TableError(
            "--labels and --task cannot be used together: a model shares what it learns between "
            "labels or between tasks. Leave one of them out."
        )
    if wishes.labels and (wishes.cost or wishes.miss):
        raise TableError(
            "--cost and --miss are of the classes of a --target, and labels are yes or no each: "
            "leave them out, or train one label as the --target."
        )
    if wishes.per_task and not wishes.task:
        raise TableError("--per-task needs tasks: name their column with --task.")
    if wishes.all_rows and (wishes.task or wishes.group):
        apart = "--task" if wishes.task else "--group"
        raise TableError(
            f"--all-rows and {apart} cannot be used together: all rows are gone over one by one, "
            f"and {apart} is about rows that belong together. Leave one of them out; --max-rows "
            "draws more rows."
        )
    if not 0.0 < wishes.max_error < 1.0:
        raise TableError(
            f"--max-error is a share between 0 and 1, such as 0.05; got {wishes.max_error:g}."
        )
    if len(wishes.labels) == 1:
        raise TableError(
            f"--labels names one column only, {wishes.labels[0]!r}: use --target for it."
        )
    for name in wishes.apart:
        if name not in file.names:
            raise unknown_column(name, file.names, str(file.path))
    twice = {name for name in wishes.apart if wishes.apart.count(name) > 1}
    if twice:
        raise TableError(
            f"Column {min(twice)!r} was given for two parts: target or labels, task and group must "
            "be different columns."
        )


def read_groups(texts: Any) -> NDArray:
    """Numbers of the groups; a row of unknown group is a group of its own."""
    names, member = np.unique(
        np.array([text or "" for text in texts.to_pylist()], dtype=object), return_inverse=True
    )
    unknown = texts.is_null().to_numpy(zero_copy_only=False)
    member = member.astype(np.int64)
    member[unknown] = len(names) + np.arange(int(unknown.sum()))
    return member


def _check_tasks(task: NDArray[np.object_], name: str) -> None:
    known = [value for value in task.tolist() if isinstance(value, str)]
    count = len(set(known))
    if count < 2:
        raise TableError(
            f"Column {name!r} names {count} task: leave --task out, or give a column with several."
        )
    if count * ROWS_OF_TASK > len(known):
        raise TableError(
            f"Column {name!r} names {count} tasks in {len(known)} rows: is it an id? A column "
            "whose rows belong together, such as a patient, is a --group."
        )


@dataclass(frozen=True)
class Trained:
    """A fitted pipeline and the rows that judge it.

    Attributes
    ----------
    model : Pipeline
        Preprocessing, classifier and hand-over rule.
    table : TrainingTable
        What it was trained on.
    evaluation : Evaluation or LabelEvaluation
        Its answers for rows it had not seen.
    wishes : Wishes
        What it was trained by.
    task_choice : dict or None
        Where tasks were compared with their column as a category: its name, the held-out log-loss
        of both, and whether tasks were kept.
    """

    model: Any
    table: TrainingTable
    evaluation: Evaluation | LabelEvaluation
    wishes: Wishes
    task_choice: dict[str, Any] | None = None


def train(table: TrainingTable, wishes: Wishes, progress: Progress = lambda _: None) -> Trained:
    """Fit the pipeline that the flags ask for, tuned by its leave-one-out scores.

    Of many rows tasks are not always worth their cost in other respects: the column of tasks as one
    category among others is then tried too, and kept where it does better on held-out rows.
    """
    found = fit_wished(table, wishes, progress)
    if wishes.task is None or wishes.per_task or len(table.y) <= MAX_TASK_ROWS:
        return found
    progress(f"Training with {wishes.task} as a category, for comparison")
    fewer = replace(wishes, task=None)
    other = fit_wished(with_task_as_category(table, fewer), fewer, progress)
    losses = [_held_out_loss(each.evaluation) for each in (found, other)]
    kept = losses[0] <= losses[1]
    choice = {"column": wishes.task, "tasks": losses[0], "category": losses[1], "kept": kept}
    return replace(found if kept else other, task_choice=choice)


def with_task_as_category(table: TrainingTable, wishes: Wishes) -> TrainingTable:
    """The same rows, with the column of tasks among those that are learnt from."""
    own, where = table.schema, "The table"
    columns = infer_columns(
        table.sample.table,
        own.rules,
        numeric=wishes.numeric,
        categorical=wishes.categorical,
        drop=wishes.drop,
        apart=wishes.apart,
        where=where,
    )
    answers = {name: form for name, form in own.forms.items() if name in wishes.answers}
    schema = _schema(columns, wishes, own.rules, answers, where)
    return replace(table, columns=columns, schema=schema)


def _held_out_loss(found: Evaluation | LabelEvaluation) -> float:
    """Mean log-loss of the answers for rows not seen."""
    assert isinstance(found, Evaluation)
    own = found.proba[np.arange(len(found.truth)), found.truth]
    return float(-np.log(np.maximum(own, np.finfo(float).tiny)).mean())


def fit_wished(table: TrainingTable, wishes: Wishes, progress: Progress) -> Trained:
    """The same for the very wishes."""
    if table.schema.labels:
        classifier: Any = MultiLabelLSPCCV(random_state=wishes.seed)
    elif table.schema.task is not None:
        classifier = MultiTaskLSPCCV(random_state=wishes.seed)
        if len(table.y) > MAX_TASK_ROWS and table.groups is None:
            classifier.set_params(n_centers=TASK_CENTERS)
    else:
        classifier = LSPCCV(kernel=TABLE_KERNELS, memory_mb=FEATURES_MB, random_state=wishes.seed)
    n_rows = len(table.y)
    progress(f"Tuning and fitting {type(classifier).__name__} on {n_rows} rows")
    last = with_hand_over(classifier, table.schema, wishes.max_error, wishes.per_task)
    if wishes.cost or wishes.miss:
        last.set_params(**table.costs(wishes))
    model = make_model(table.schema, last)
    X = table.schema.frame(table.sample.table)
    fit_with: dict[str, Any] = {}
    groups = folds_of_groups(table.groups, wishes)
    if groups is not None:
        fit_with["classifier__groups"] = groups
    model.fit(X, table.y, **fit_with)
    return Trained(model, table, held_out_evaluation(model, table), wishes)


def folds_of_groups(groups: NDArray | None, wishes: Wishes) -> NDArray | None:
    """Whole groups dealt out to a few folds, where tasks or labels make many groups slow."""
    if groups is None or (wishes.task is None and not wishes.labels):
        return groups
    names, member = np.unique(groups, return_inverse=True)
    if len(names) <= MAX_FOLDS:
        return groups
    fold = np.random.default_rng(wishes.seed).permutation(len(names)) % MAX_FOLDS
    return fold[member]


def held_out_evaluation(model: Any, table: TrainingTable) -> Evaluation | LabelEvaluation:
    """What the model says of each training row when it is left out."""
    classifier = bare_classifier(model)
    proba = classifier.held_out_proba()
    groups = table.groups
    if groups is None and not table.schema.labels:
        groups = copies_as_groups(model[1:-1].transform(table.frame), table.y)
    positions = table.sample.positions
    origin = describe_holding_out(classifier, table)
    if table.schema.labels:
        found = LabelEvaluation(
            table.schema.labels, table.y, proba, positions, origin, table.groups
        )
        return found.known()
    task = None
    if table.schema.task is not None:
        names = np.array(task_names(model), dtype=object)
        task = names[_task_numbers(model, table)]
    classes = [str(name) for name in classifier.classes_]
    truth = np.searchsorted(classifier.classes_.astype(str), table.y.astype(str))
    costs = cost_matrix(model[-1].costs, classifier.classes_)
    return Evaluation(classes, truth, proba, positions, origin, task, groups, costs=costs).known()


def copies_as_groups(X: Any, y: NDArray) -> NDArray | None:
    """Numbers of the cases that rows are copies of, where some case was recorded more than once.

    Equal rows are one case where :func:`find_copies` says so; of a table that holds everything
    several times, as many equal rows with one label are.
    """
    copies, same_thing = find_copies(X, y)
    if same_thing is not None or copies <= 1:
        return same_thing
    pandas = require("pandas", "Reading a table")
    row = find_distinct_rows(np.asarray(X, dtype=np.float64)).member
    kinds = pandas.DataFrame({"row": row, "y": y.astype(str)})
    kinds["copy"] = kinds.groupby(["row", "y"]).cumcount() // round(copies)
    return np.asarray(kinds.groupby(["row", "y", "copy"], sort=False).ngroup())


def describe_holding_out(classifier: Any, table: TrainingTable) -> str:
    """How rows were kept from the model that answers for them, in words."""
    if hasattr(classifier, "held_out_log_loss_"):  # polished: rows kept out say when to stop
        count = int((~np.isnan(classifier.held_out_scores_).any(axis=1)).sum())
        by = f", whole groups by {table.schema.group}" if table.groups is not None else ""
        return f"{count} rows kept out of the fit{by}"
    if table.groups is None:
        return "leave-one-out"
    folded = table.schema.task is not None or table.schema.labels
    if folded and len(np.unique(table.groups)) > MAX_FOLDS:
        return f"{MAX_FOLDS} folds of whole groups by {table.schema.group}"
    return f"leave-one-group-out by {table.schema.group}"


def _task_numbers(model: Any, table: TrainingTable) -> NDArray[np.intp]:
    encoder = encoders_of(model)["task"]
    column = table.schema.frame(table.sample.table)[[table.schema.task]]
    return encoder.transform(column)[:, 0].astype(np.intp)


def training_facts(file: TableFile, trained: Trained) -> dict[str, Any]:
    """What is noted in the model file: enough to read other tables and to report again."""
    table, wishes = trained.table, trained.wishes
    facts: dict[str, Any] = {
        "table": table.schema.as_facts(),
        "training": {
            "file": file.name,
            "made": date.today().isoformat(),
            "estimator": type(bare_classifier(trained.model)).__name__,
            "sha256": file.fingerprint(),
            "delimiter": file.delimiter,
            "encoding": file.encoding,
            "rows_in_file": table.sample.n_rows_in_file,
            "rows_without_answer": table.n_without_answer,
            "rows_used": len(table.y),
            "wishes": asdict(wishes),
            "held_out_by": trained.evaluation.origin,
            "columns": [vars(column) for column in table.columns],
        },
    }
    answers = trained.evaluation
    names = answers.labels if isinstance(answers, LabelEvaluation) else answers.classes
    facts["inputs"] = profile_inputs(
        table.schema.frame(table.sample.table),
        groups=table.groups,
        answers=dict(zip(names, answers.proba.T, strict=True)),
    )
    if isinstance(trained.evaluation, LabelEvaluation):
        found = trained.evaluation
        rule = label_rule(found.truth, found.proba, wishes.max_error, found.group)
        facts["hand_over"] = {**rule, "labels": list(found.labels)}
    if trained.task_choice is not None:
        facts["task_choice"] = trained.task_choice
    return facts


def _column(table: Any, name: str) -> Any:
    return table[name].combine_chunks()
