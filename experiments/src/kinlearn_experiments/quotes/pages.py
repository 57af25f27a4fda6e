"""The pages that quote, and those that are made from results as a whole."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from kinlearn_experiments.bench.journal import read_results
from kinlearn_experiments.bench.page import page_text, write_page
from kinlearn_experiments.measures import choices_page, costs_page
from kinlearn_experiments.quotes.stored import REPRODUCTION
from kinlearn_experiments.results import RESULTS, ROOT

NOT_OURS = ("auto_examples", "_build", "generated")  # made when the site is built


def choices() -> str:
    return choices_page.page(json.loads((RESULTS / "selection.json").read_text("utf-8")))


def bench_page() -> str:
    return page_text(read_results(RESULTS / "bench.json"))


def write_bench() -> None:
    """The page with its pictures."""
    write_page(read_results(RESULTS / "bench.json"), ROOT / "docs" / "should_i_use_this.md")


WHOLE: dict[str, Callable[[], str]] = {
    "docs/benchmarks.md": costs_page.page_text,
    "docs/choices.md": choices,
    "docs/should_i_use_this.md": bench_page,
}


def experiments() -> list[Path]:
    """Result files of the papers' experiments; each has a page of the same name beside it."""
    return sorted(path for path in REPRODUCTION.glob("*.json"))


def quoting_pages() -> list[Path]:
    """Pages whose figures must be marked."""
    made = {ROOT / name for name in WHOLE} | {path.with_suffix(".md") for path in experiments()}
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    for path in sorted((ROOT / "docs").rglob("*.md")):
        inside = path.relative_to(ROOT / "docs").parts
        if path not in made and not any(part in NOT_OURS for part in inside):
            found.append(path)
    return found
