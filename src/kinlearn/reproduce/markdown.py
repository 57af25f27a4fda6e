"""Pages in Markdown: tables, findings, machine facts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from kinlearn.reproduce.experiment import Experiment, Options, Page


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table which reads well in a terminal too; the first column is to the left.

    Examples
    --------
    >>> from kinlearn.reproduce.markdown import table
    >>> print(table(["method", "AUC"], [["LSPC-MT", "0.81"]]))
    | method  |  AUC |
    |---------|-----:|
    | LSPC-MT | 0.81 |
    """
    cells = [[str(cell) for cell in row] for row in [header, *rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]

    def line(row: Sequence[str]) -> str:
        padded = [
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        return "| " + " | ".join(padded) + " |"

    rule = "|" + "|".join(
        "-" * (width + 2) if i == 0 else "-" * (width + 1) + ":" for i, width in enumerate(widths)
    )
    return "\n".join([line(cells[0]), rule + "|", *(line(row) for row in cells[1:])])


def compose(experiment: Experiment, options: Options, page: Page, facts: dict[str, Any]) -> str:
    """Return the whole page."""
    command = f"kinlearn reproduce {experiment.name}"
    usual = experiment.quick_repeats if options.quick else experiment.repeats
    if options.quick:
        command += " --quick"
    if options.repeats != usual:
        command += f" --seeds {options.repeats}"
    if len(options.protocols) == 1:
        command += f" --protocol {options.protocols[0]}"
    blocks = [f"# {experiment.title}", f"After {experiment.source}. Made by `{command}`."]
    if options.quick:
        blocks.append("**A quick run: too few repeats to conclude anything from.**")
    elif options.repeats < experiment.repeats:
        blocks.append(f"**{options.repeats} repeats; the paper has {experiment.repeats}.**")
    blocks += ["## Setting", page.setting]
    for heading, text in page.sections:
        blocks += [f"## {heading}", text]
    blocks += ["## What reproduced, what did not, and why"]
    if page.findings:
        yes, no = verdicts(options)
        blocks.append(
            "\n".join(
                f"- **{yes if f.holds else no}:** {f.claim} ({f.figures})" for f in page.findings
            )
        )
    blocks += [page.reasons, "## Machine", _machine(facts)]
    return "\n\n".join(block.strip() for block in blocks if block.strip()) + "\n"


def verdicts(options: Options) -> tuple[str, str]:
    """Words for a claim that the figures bear out and one that they do not."""
    if options.quick:
        return "Holds in this quick run", "Does not hold in this quick run"
    return "Reproduced", "Not reproduced"


def _machine(facts: dict[str, Any]) -> str:
    packages = ", ".join(f"{name} {version}" for name, version in facts["packages"].items())
    threads = sorted({str(pool["threads"]) for pool in facts["threads"]})
    return (
        f"{facts['processor']}, {facts['cores']} cores, {facts['system']}; BLAS threads: "
        f"{', '.join(threads)}; Python {facts['python']}, {packages}. Times are processor seconds, "
        "on a machine that did other work as well: read ratios, not absolute figures."
    )
