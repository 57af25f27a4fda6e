"""``kinlearn train``: from a table to a model file, a summary and a report."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from kinlearn.cli.column_summary import column_lines
from kinlearn.cli.options import (
    By,
    Delimiter,
    Encoding,
    Force,
    Json,
    Seed,
    TablePath,
    missing_texts,
    names_in,
)
from kinlearn.cli.refusal import refusing
from kinlearn.cli.terminal import Terminal, finite


def train(
    data: TablePath,
    target: Annotated[
        str | None, typer.Option(help="Column of classes to predict.", show_default=False)
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(help="Yes/no columns to predict together: a,b,c.", show_default=False),
    ] = None,
    task: Annotated[
        str | None,
        typer.Option(help="Column of related tasks, such as a site.", show_default=False),
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(help="Column whose rows are held out together, such as a patient."),
    ] = None,
    labels_from: Annotated[
        Path | None,
        typer.Option(
            help="Labels to fill the target with, as kinlearn label keeps them (.labels.db).",
            show_default=False,
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Model file to write.")] = Path("model.kin"),
    report: Annotated[
        Path | None, typer.Option(help="Report to write (.html).", show_default=False)
    ] = None,
    max_error: Annotated[
        float, typer.Option(help="Error allowed among answered rows; the others are handed over.")
    ] = 0.05,
    per_task: Annotated[
        bool, typer.Option("--per-task", help="Keep to --max-error in every task on its own.")
    ] = False,
    cost: Annotated[
        list[str] | None,
        typer.Option(
            help="What an error costs, ANSWERED:TRUE=NUMBER: no:yes=20 for answering no where yes "
            "is true; other errors cost 1. May be given several times.",
            show_default=False,
        ),
    ] = None,
    miss: Annotated[
        list[str] | None,
        typer.Option(
            help="Largest share of a class that may be answered otherwise, CLASS=SHARE "
            "or CLASS=PERCENT%. What is in doubt is handed over. May be given several times.",
            show_default=False,
        ),
    ] = None,
    by: By = None,
    numeric: Annotated[
        str | None, typer.Option(help="Columns to take as numbers: a,b.", show_default=False)
    ] = None,
    categorical: Annotated[
        str | None, typer.Option(help="Columns to take as categories: a,b.", show_default=False)
    ] = None,
    drop: Annotated[
        str | None, typer.Option(help="Columns to leave out: a,b.", show_default=False)
    ] = None,
    missing: Annotated[
        str | None,
        typer.Option(help="Texts that mean missing, in place of the usual ones: NA,?,-9."),
    ] = None,
    decimal: Annotated[
        str | None,
        typer.Option(
            help="Decimal mark, a point or a comma: found if left out.", show_default=False
        ),
    ] = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    max_rows: Annotated[
        int | None,
        typer.Option(
            min=10,
            help="Rows to train on, drawn evenly: by default up to 100000, "
            "with tasks and groups 2500.",
            show_default=False,
        ),
    ] = None,
    all_rows: Annotated[
        bool,
        typer.Option(
            "--all-rows",
            help="Go over all rows of a larger table, batch by batch, once those drawn have been "
            "trained on.",
        ),
    ] = False,
    seed: Seed = 0,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Train on a table, tuned and calibrated by leave-one-out, and say what to expect.

    Columns are taken as numbers or categories as they look; ids, dates, free text and constant
    columns are left out; all of this is shown first and can be changed. With --task, related tasks
    share what they learn; with --labels, several yes/no answers are learnt together.
    """
    terminal = Terminal(as_json)
    started = time.perf_counter()
    with refusing():
        from kinlearn.tables.training import Wishes

        if decimal not in (None, ".", ","):
            raise ValueError(f"--decimal must be a point or a comma, got {decimal!r}.")
        wishes = Wishes(
            target=target,
            labels=names_in(labels),
            task=task,
            group=group,
            numeric=names_in(numeric),
            categorical=names_in(categorical),
            drop=names_in(drop),
            missing=missing_texts(missing),
            decimal=decimal,
            max_rows=max_rows,
            max_error=max_error,
            per_task=per_task,
            seed=seed,
            cost=cost or [],
            miss=miss or [],
            all_rows=all_rows,
        )
        files = Files(data, out, report, delimiter, encoding, labels_from, names_in(by))
        run(files, wishes, terminal, force=force, started=started)


@dataclass(frozen=True)
class Files:
    """What is read and what is written."""

    data: Path
    out: Path
    report: Path | None = None
    delimiter: str | None = None
    encoding: str | None = None
    labels: Path | None = None
    by: list[str] = field(default_factory=list)


def run(files: Files, wishes: Any, terminal: Terminal, *, force: bool, started: float) -> None:
    """Check, read, train, save, report: nothing is written before all of the first three worked."""
    import kinlearn
    from kinlearn.cells.refusals import unknown_column
    from kinlearn.report import gathering
    from kinlearn.report.conclusions import conclusions
    from kinlearn.report.page import make_page
    from kinlearn.tables.all_rows import train_on_all_rows
    from kinlearn.tables.belonging import find_belonging
    from kinlearn.tables.files import open_table
    from kinlearn.tables.leaks import find_leaks
    from kinlearn.tables.output import check_output, check_page_suffix, write_text
    from kinlearn.tables.training import (
        folds_of_groups,
        read_training_table,
        train,
        training_facts,
    )

    data, out, report = files.data, files.out, files.report
    outputs = [out] if report is None else [out, report]
    for path in outputs:
        check_output(path, force=force, inputs=[data])
    if report is not None:
        check_page_suffix(report)
    if report is not None and out.absolute() == report.absolute():
        raise ValueError(f"--out and --report name the same file, {out}: give two.")
    with terminal.working(f"Reading {data}"):
        file = open_table(data, delimiter=files.delimiter, encoding=files.encoding)
        if files.labels is not None:
            file, wishes = labelled(file, files.labels, wishes)
        table = read_training_table(file, wishes)
        for name in files.by:
            if name not in file.names:
                raise unknown_column(name, file.names, str(data))
    show_columns(terminal, table)
    leaks = find_leaks(table.frame, table.answers)
    if leaks:
        terminal.heading("Too good to be true?")
        terminal.bullets(leak.sentence for leak in leaks)
    # What a fit has to warn of is said in the summary, in a sentence each.
    with warnings.catch_warnings(), terminal.working("Training") as stage:
        warnings.simplefilter("ignore", UserWarning)
        trained = train(table, wishes, stage)
        wishes, notes = trained.wishes, list[str]()
        if wishes.all_rows:
            trained, notes = train_on_all_rows(file, trained, wishes, stage)
        facts = training_facts(file, trained)
        facts["training"] |= {"by": files.by, "all_rows": notes}
        if wishes.labels:
            stage("Learning each label alone, for comparison")
            groups = folds_of_groups(table.groups, wishes)
            facts["label_gains"] = gathering.label_gains(trained, groups)
        if leaks:
            stage("Training without the columns that tell too much, for comparison")
            facts["leaks"] = gathering.without_leaks(file, wishes, trained, leaks)
        belonging = find_belonging(table)
        if belonging is not None:
            stage(f"Training with rows of one {belonging} held out together, for comparison")
            facts["belonging"] = gathering.held_out_together(file, wishes, trained, belonging)
        stage("Fitting logistic regression and boosted trees, for comparison")
        facts["baselines"] = gathering.baselines(trained, wishes.seed)
        found = gathering.of_training(trained, facts, stage)
    said = conclusions(found)
    facts["summary"] = {
        "conclusions": said,
        "figures": {name: value.value for name, value in found.overall.items()},
    }
    kinlearn.save(trained.model, out, facts=finite(facts))
    if report is not None:
        write_text(report, make_page(found))
    tell(terminal, found, said, trained.model, wishes)
    for note in notes:
        terminal.say(note)
    terminal.say()
    terminal.path("Model", out)
    if report is not None:
        terminal.path("Report", report)
    seconds = time.perf_counter() - started
    terminal.say(f"Done in {seconds:.1f} s. Next: kinlearn predict {out} NEW.csv --out scored.csv")
    terminal.result(
        {
            "model": str(out),
            "report": None if report is None else str(report),
            "rows": len(table.y),
            "columns": {column.name: column.kind for column in table.columns},
            "held_out_by": found.held_out.origin,
            **found.as_facts(),
            "conclusions": said,
            "all_rows": notes,
            "seconds": round(seconds, 2),
        }
    )


def labelled(file: Any, labels: Path, wishes: Any) -> tuple[Any, Any]:
    """The table with labels filled in, and the wish for their column."""
    from kinlearn.studio.labelled_file import with_labels_from

    filled = with_labels_from(file, labels, wishes.answers)
    asked = filled.question
    several = asked.columns if asked.several else []
    return filled, replace(wishes, target=asked.target or None, labels=several)


def show_columns(terminal: Terminal, table: Any) -> None:
    """Say what every column was taken for, before anything is learnt."""
    from kinlearn.tables.words import number_of

    used = sum(column.kind != "dropped" for column in table.columns)
    terminal.heading(
        f"{number_of(len(table.y), 'row')}, {used} of {number_of(len(table.columns), 'column')} to "
        "learn from"
    )
    lines = column_lines(table.columns)
    terminal.table(["column", "taken for", "because", "missing"], lines, right=(3,))
    terminal.say("Change this with --numeric, --categorical and --drop.")
    for note in table.notes:
        terminal.say(note)
    if table.n_without_answer:
        one = table.n_without_answer == 1
        terminal.say(
            f"{number_of(table.n_without_answer, 'row')} without an answer "
            f"{'is' if one else 'are'} left out."
        )
    known = table.sample.n_rows_in_file - table.n_without_answer
    if len(table.y) < known:
        terminal.say(
            f"{len(table.y)} of {known} rows are used, drawn evenly; --max-rows changes that, at "
            "a cost in time and memory; --all-rows goes over the others, too, at one in time."
        )


def _some(names: list[str], most: int = 6, longest: int = 40) -> str:
    """Names of classes, as many as can be read at a glance."""
    rest = len(names) - most
    short = [name if len(name) <= longest else f"{name[: longest - 1]}…" for name in names[:most]]
    return " / ".join(short) + (f" and {rest} more" if rest > 0 else "")


def tell(terminal: Terminal, found: Any, said: list[str], model: Any, wishes: Any) -> None:
    """The summary: what was trained, then what it is worth."""
    from kinlearn.tables.hand_over import bare_classifier
    from kinlearn.tables.words import number_of

    classifier = bare_classifier(model)
    what = (
        f"several yes/no answers together ({', '.join(wishes.labels)})"
        if wishes.labels
        else f"{wishes.target} ({_some(found.held_out.classes)})"
    )
    by = f", for the tasks in {wishes.task}" if wishes.task else ""
    terminal.heading("Summary")
    terminal.say(
        f"Trained to predict {what}{by}, from "
        f"{number_of(len(found.schema.features), 'column')} and "
        f"{number_of(found.facts['training']['rows_used'], 'row')}, with "
        f"{classifier.n_centers_} of them as centres. Judged by {found.held_out.origin}."
    )
    terminal.bullets(said)
