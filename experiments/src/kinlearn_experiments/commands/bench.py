"""``kinlearn bench``: the library beside its rivals, on the same splits."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from kinlearn_experiments.bench.journal import Key
    from kinlearn_experiments.bench.runner import Plan

QUICK_SEEDS, SEEDS = 2, 5
QUICK_LIMIT, LIMIT = 30.0, 120.0


def add(app: typer.Typer) -> None:
    """Add the command to the command line of kinlearn."""
    app.command(epilog="Example: kinlearn bench single --quick --out bench-output")(bench)


def bench(
    suites: Annotated[
        list[str] | None,
        typer.Argument(help="single, multitask, multilabel, heterogeneous; all when left out."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Small, and only data that need no download.")
    ] = False,
    seeds: Annotated[
        int | None, typer.Option(min=1, help=f"Splits; {SEEDS}, or {QUICK_SEEDS} if quick.")
    ] = None,
    out: Annotated[
        Path, typer.Option(help="Folder of results, tables, pictures; a second run goes on there.")
    ] = Path("bench-output"),
    methods: Annotated[
        list[str] | None, typer.Option(help="Only this method (and ours); may be repeated.")
    ] = None,
    datasets: Annotated[
        list[str] | None, typer.Option(help="Only this data set; may be repeated.")
    ] = None,
    sizes: Annotated[
        list[int] | None,
        typer.Option(
            min=20, help="Training rows, of single alone: 100, 400, 1500; may be repeated."
        ),
    ] = None,
    role: Annotated[
        str | None,
        typer.Option(help="Only data sets of this role: held-out, chosen-on or development."),
    ] = None,
    limit: Annotated[
        float | None,
        typer.Option(
            min=0.1, help=f"Processor seconds a cell; {LIMIT:g}, or {QUICK_LIMIT:g} if quick."
        ),
    ] = None,
    listing: Annotated[
        bool, typer.Option("--list", help="Show suites, data sets and methods, and stop.")
    ] = False,
    json_output: Annotated[
        bool, typer.Option("--json", help="Print the results as JSON instead of tables.")
    ] = False,
    retry: Annotated[bool, typer.Option("--retry", help="Try failed cells again.")] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Measure the cells asked for anew, finished or not.")
    ] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget the folder's results.")] = False,
    page: Annotated[
        Path | None,
        typer.Option(help="Measure nothing: write this page from the folder's results."),
    ] = None,
) -> None:
    """Measure kinlearn beside its rivals: identical splits, each tuned by its own best practice.

    Finished cells are kept at once and are not measured again: stop it when you like.
    """
    # Imported here so that --help does not wait for what only the benchmark needs, and because the
    # command line, when it is imported, loads this module.
    from kinlearn.cli.refusal import refusing

    with refusing():
        from kinlearn_experiments.bench.runner import Plan, check_names
        from kinlearn_experiments.bench.suites import SUITES

        unknown = [name for name in suites or () if name not in SUITES]
        if unknown:
            raise ValueError(f"There is no suite {unknown[0]!r}; there are {', '.join(SUITES)}.")
        plan = Plan(
            suites=list(dict.fromkeys(suites or SUITES)),
            seeds=seeds or (QUICK_SEEDS if quick else SEEDS),
            quick=quick,
            limit=limit or (QUICK_LIMIT if quick else LIMIT),
            data=datasets or (),
            methods=methods or (),
            sizes=sizes or (),
            role=role,
        )
        check_names(plan)
        from rich.console import Console

        console = Console(stderr=json_output)
        if listing:
            _show_list(plan, console)
        elif page is not None:
            _write_page(out, page, console)
        else:
            how = Rerun(retry=retry, again=again, fresh=fresh)
            _measure(plan, out, console, how, json_output=json_output)


class Rerun(NamedTuple):
    """What becomes of stored cells: failed ones tried again, all measured again, none kept."""

    retry: bool
    again: bool
    fresh: bool


def _measure(plan: Plan, out: Path, console: Console, how: Rerun, *, json_output: bool) -> None:
    from kinlearn_experiments.bench.journal import RESULTS, Journal
    from kinlearn_experiments.bench.plots import draw_all
    from kinlearn_experiments.bench.report import (
        failure_lines,
        markdown,
        overview,
        statistics_of,
        summaries_of,
        test_sentence,
    )
    from kinlearn_experiments.bench.runner import check_folder, facts_of, run
    from kinlearn_experiments.commands.bench_progress import CellProgress
    from kinlearn_experiments.results import readable

    journal = Journal(out, fresh=how.fresh)
    check_folder(plan, journal)
    for name, reason in plan.left_out().items():
        console.print(f"Left out: {name}, {reason}.", highlight=False, soft_wrap=True)
    wanted = sum(1 for _ in plan.cells())
    if not wanted:
        raise ValueError(
            "Nothing to measure: no data set asked for can be read here, or has so many rows."
        )
    facts = facts_of(plan)
    keys: list[Key] = []
    stopped = False
    with CellProgress(console, wanted) as progress:
        try:
            keys = run(plan, journal, retry=how.retry, again=how.again, report=progress)
        except KeyboardInterrupt:
            stopped = True
            keys = [key for key in plan.cells() if key in journal.cells]
    shown = summaries_of([journal.cells[key] for key in keys])
    content = journal.finish(
        **facts,
        statistics={
            summary.group.key: statistics_of(summary)
            for summary in summaries_of(journal.cells.values())
        },
    )
    report = out / "report.md"
    report.write_text(markdown(content), encoding="utf-8")
    if json_output:
        sys.stdout.write(readable(content) + "\n")
    else:
        for summary in shown:
            header, rows = overview(summary)
            console.print(_rich_table(summary.title, header, rows))
            console.print(test_sentence(summary), highlight=False)
            for line in failure_lines(summary):
                console.print(line, highlight=False)
    paths = [out / RESULTS, report]
    try:
        paths += draw_all(summaries_of(journal.cells.values()), out)
    except ImportError as error:
        console.print(str(error), highlight=False)
    for path in paths:
        console.print(f"Written: {path.resolve()}", soft_wrap=True, highlight=False)
    if stopped:
        then = "what was measured is kept" if how.again else "the same command goes on from here"
        console.print(f"Stopped; {then}.")
        raise typer.Exit(code=130)


def _rich_table(title: str, header: list[str], rows: list[list[str]]) -> Table:
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for i, name in enumerate(header):
        table.add_column(name, justify="left" if i == 0 else "right", no_wrap=i == 0)
    for row in rows:
        ours = row[0].startswith("**")
        table.add_row(row[0].strip("*"), *row[1:], style="bold" if ours else None)
    return table


def _show_list(plan: Plan, console: Console) -> None:
    from rich.table import Table

    from kinlearn_experiments.bench.suites import SUITES

    for name in plan.suites:
        suite = SUITES[name]
        data: Any = Table(title=f"{name}: data sets", title_justify="left")
        for column in ("data set", "role", "about", "size", "quick", "missing"):
            data.add_column(column)
        for entry in suite.data:
            quick = "" if entry.quick_size is None else str(entry.quick_size)
            missing = entry.missing() or ""
            data.add_row(entry.name, entry.role, entry.about, str(entry.size), quick, missing)
        known = Table(title=f"{name}: methods", title_justify="left")
        for column in ("method", "tuned by", "missing"):
            known.add_column(column)
        for method in suite.methods:
            known.add_row(method.name, method.tuning, method.missing() or "")
        console.print(data)
        console.print(known)


def _write_page(out: Path, page: Path, console: Console) -> None:
    from kinlearn_experiments.bench.journal import RESULTS, read_results
    from kinlearn_experiments.bench.page import write_page

    for path in write_page(read_results(out / RESULTS), page):
        console.print(f"Written: {path.resolve()}", soft_wrap=True, highlight=False)
