"""Run an experiment: measure what is missing, then write its page, its figures and its pictures."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from kinlearn_experiments.machine import machine_facts
from kinlearn_experiments.reproduce.experiment import Experiment, Options, Page
from kinlearn_experiments.reproduce.journal import Journal
from kinlearn_experiments.reproduce.markdown import compose

Report = Callable[[int, int, str], None]


def run(
    experiment: Experiment, options: Options, out: Path, report: Report | None = None
) -> tuple[Path, Page]:
    """Measure every cell that the journal lacks, and write ``NAME.md`` and ``NAME.json``.

    Parameters
    ----------
    experiment : Experiment
        What to run.
    options : Options
        How.
    out : Path
        Folder; made if it does not exist. ``NAME.cells.jsonl`` in it keeps finished cells (a quick
        run has its own), so that a run that was stopped goes on where it was.
    report : callable of (cells done, cells in all, key of the next), optional
        Told of progress: before every cell, and at the end with an empty key.

    Returns
    -------
    path : Path
        The page.
    page : Page
        What it says.
    """
    out.mkdir(parents=True, exist_ok=True)
    suffix = ".quick" if options.quick else ""
    journal = Journal(out / f"{experiment.name}{suffix}.cells.jsonl")
    cells = experiment.cells(options)
    todo = [cell for cell in cells if cell.key not in journal.found]
    done = len(cells) - len(todo)
    # one thread each: times are comparable, and small problems are faster that way
    with threadpool_limits(1):
        for cell in todo:
            if report is not None:
                report(done, len(cells), cell.key)
            journal.add(cell.key, cell.measure())
            done += 1
        facts = machine_facts()
    if report is not None:
        report(done, len(cells), "")
    found = {cell.key: journal.found[cell.key] for cell in cells}
    page = experiment.page(found, options, out)
    path = out / f"{experiment.name}.md"
    path.write_text(compose(experiment, options, page, facts), encoding="utf-8")
    content: dict[str, Any] = {
        "experiment": experiment.name,
        "source": experiment.source,
        "repeats": options.repeats,
        "quick": options.quick,
        "protocols": list(options.protocols),
        "machine": facts,
        "findings": [vars(finding) for finding in page.findings],
        "summary": page.summary,
    }
    (out / f"{experiment.name}.json").write_text(
        json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    return path, page
