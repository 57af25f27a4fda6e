"""Which of the papers' experiments have a page, from the results beside the pages."""

from __future__ import annotations

from kinlearn_experiments.quotes.registry import quote
from kinlearn_experiments.quotes.stored import REPRODUCTION, QuoteError, stored
from kinlearn_experiments.reproduce import NAMES, get_experiment


@quote("reproduction.pages")
def pages() -> str:
    """A line a page, with its repeats beside the paper's, and what has no page."""
    lines, missing = [], []
    for name in NAMES:
        if not (REPRODUCTION / f"{name}.json").is_file():
            missing.append(f"`{name}`")
            continue
        content = stored(f"reproduction/{name}.json")
        if content["quick"]:
            raise QuoteError(
                f"reproduction/{name}.json is of a quick run, which is not for a page."
            )
        paper = get_experiment(name).repeats
        held = sum(finding["holds"] for finding in content["findings"])
        lines.append(
            f"- [{name}]({name}.md): {content['repeats']} repeats (the paper: {paper}); {held} of "
            f"{len(content['findings'])} claims reproduced"
        )
    if missing:
        lines.append(f"- not run in full yet: {', '.join(missing)}")
    return "\n".join(lines)
