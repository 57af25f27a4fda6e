"""Pages in Markdown: findings, machine facts."""

from __future__ import annotations

from typing import Any

from kinlearn_experiments.reproduce.experiment import Experiment, Options, Page


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
