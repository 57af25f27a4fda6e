"""Demo, a person with a table: make it, train on it, report, and score new rows."""

from __future__ import annotations

import time
from pathlib import Path

from rich.console import Console

from kinlearn.cli.demo_parts.base import PartResult
from kinlearn.cli.predict import Files as PredictFiles
from kinlearn.cli.predict import run as run_predict
from kinlearn.cli.terminal import Terminal
from kinlearn.cli.train import Files as TrainFiles
from kinlearn.cli.train import run as run_train
from kinlearn.tables.example import write_example


def table(out: Path, console: Console, *, seed: int = 0, quick: bool = False) -> PartResult:
    """Run the commands a person would run, in their order."""
    from kinlearn.tables.training import Wishes

    rows, new_rows = (150, 60) if quick else (600, 300)
    data, fresh = out / "clinic.csv", out / "clinic_new.csv"
    model, report, scored = (
        out / "clinic.kin",
        out / "clinic_report.html",
        out / "clinic_scored.csv",
    )
    terminal = Terminal()
    say(console, f"kinlearn example {data} --rows {rows}")
    write_example(data, rows, seed)
    write_example(fresh, new_rows, seed + 1)
    # Tasks are the slower kind of training, and the quick demo has tasks elsewhere.
    by = "" if quick else " --task site --group patient"
    say(console, f"kinlearn train {data} --target readmitted{by} --out {model} --report {report}")
    wishes = Wishes(
        target="readmitted",
        task=None if quick else "site",
        group=None if quick else "patient",
        seed=seed,
    )
    files = TrainFiles(data, model, report)
    run_train(files, wishes, terminal, force=True, started=time.perf_counter())
    say(console, f"kinlearn predict {model} {fresh} --out {scored}")
    run_predict(PredictFiles(model, fresh, scored), terminal, force=True)
    return PartResult(files={"Model": model, "Report": report, "Scored table": scored})


def say(console: Console, command: str) -> None:
    """Show the command as a person would type it."""
    console.print()
    console.print(f"$ {command}", style="bold", highlight=False, markup=False, soft_wrap=True)
