"""Write every figure the pages quote anew from the committed results, or check them.

::

    python -m kinlearn_experiments.quotes            # write
    python -m kinlearn_experiments.quotes --check    # change nothing; say what is out of date
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from kinlearn_experiments.quotes import load_all
from kinlearn_experiments.quotes.marks import outdated, written
from kinlearn_experiments.quotes.pages import WHOLE, experiments, quoting_pages, write_bench
from kinlearn_experiments.quotes.scan import unmarked
from kinlearn_experiments.quotes.stored import QuoteError, stored
from kinlearn_experiments.results import ROOT


def problems(path: Path) -> list[str]:
    """What is wrong with the figures of one page that quotes."""
    page, name = path.read_text("utf-8"), path.relative_to(ROOT).as_posix()
    try:
        found = outdated(page)
    except QuoteError as error:
        found = [str(error)]
    return [f"{name}, {sentence}" for sentence in [*found, *unmarked(page, name)]]


def whole_page_problems(name: str) -> list[str]:
    """Whether a page made as a whole is the one its results make."""
    if (ROOT / name).read_text("utf-8") == WHOLE[name]():
        return []
    return [f"{name} is not the page its results make. Run python -m kinlearn_experiments.quotes."]


def experiment_problems(path: Path) -> list[str]:
    """Whether an experiment's page states the findings of its results file."""
    page = path.with_suffix(".md")
    name = page.relative_to(ROOT).as_posix()
    if not page.is_file():
        return [f"{name} is missing, but {path.name} is there."]
    text = page.read_text("utf-8")
    return [
        f"{name} does not say what {path.name} says of {finding['claim']!r}: {finding['figures']}. "
        "Copy the page and the results of one run."
        for finding in stored(f"reproduction/{path.name}")["findings"]
        if f"{finding['claim']} ({finding['figures']})" not in text
    ]


def write() -> None:
    """Rewrite what can be written from results."""
    for name, make in WHOLE.items():
        if (ROOT / name).read_text("utf-8") != make():
            if name == "docs/should_i_use_this.md":
                write_bench()
            else:
                (ROOT / name).write_text(make(), "utf-8")
            print(f"{name} was written anew.")
    for path in quoting_pages():
        page = path.read_text("utf-8")
        try:
            new = written(page)
        except QuoteError:
            continue  # said below, with the other problems
        if new != page:
            path.write_text(new, "utf-8")
            print(f"{path.relative_to(ROOT).as_posix()} was brought up to date.")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing")
    options = parser.parse_args(arguments)
    load_all()
    if not options.check:
        write()
    found = [sentence for name in WHOLE for sentence in whole_page_problems(name)]
    found += [sentence for path in experiments() for sentence in experiment_problems(path)]
    found += [sentence for path in quoting_pages() for sentence in problems(path)]
    for sentence in found:
        print(sentence, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
