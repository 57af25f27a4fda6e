"""Marked places of a page: found, checked and written anew.

A figure in a sentence or a table stands between two comments, which no reader sees::

    took <!--= klr.bare -->1.6 to 3<!--/--> times as long

and whole tables, or paragraphs made of figures, between two lines of their own::

    <!-- table: klr.fits -->

    | fit | ... |

    <!-- / -->
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kinlearn_experiments.quotes.registry import render
from kinlearn_experiments.quotes.stored import QuoteError

CODE = (
    r"(?P<code>^(?P<fence>`{3,}|~{3,})(?!\{).*?^(?P=fence)[ ]*$"
    r"|(?<!`)(?P<ticks>`{1,2})(?!`)(?:(?!\n\n).)+?(?<!`)(?P=ticks)(?!`))"
)
FIGURE = r"(?P<open><!--=\s*(?P<what>[^\n]*?)\s*-->)(?P<text>[^\n]*?)(?P<close><!--/-->)"
BLOCK = r"^<!-- table: (?P<name>\S+) -->\n(?P<body>.*?)^<!-- / -->$"
PLACES = re.compile(f"{CODE}|{BLOCK}|{FIGURE}", re.MULTILINE | re.DOTALL)
LOOSE = re.compile(r"<!--=|<!-- table:|<!--/-->|<!-- / -->")
# A line that begins with a comment, after the sign of a list or of a quotation or not, is HTML as
# a whole to every reader of Markdown, and its other signs are no longer understood.
AT_START = re.compile(r"^\s*(?:[-*+>]\s+|\d+[.)]\s+)*$")


@dataclass(frozen=True)
class Place:
    """A marked place, with what it says and what it should say."""

    line: int
    start: int
    end: int
    what: str
    text: str
    wanted: str
    files: str


def line_of(page: str, position: int) -> int:
    return page.count("\n", 0, position) + 1


def places(page: str) -> Iterator[Place]:
    """Yield the marked places; marks that cannot be understood are errors."""
    rest = list(page)
    for match in PLACES.finditer(page):
        rest[match.start() : match.end()] = " " * (match.end() - match.start())
        if match["code"] is not None:
            continue
        line = line_of(page, match.start())
        what = match["name"] or match["what"]
        try:
            wanted, files = render(what)
        except QuoteError as error:
            raise QuoteError(f"line {line}: {error}") from error
        if match["name"] is not None:
            start, end = match.span("body")
            line += 1
            wanted = f"\n{wanted.strip()}\n\n"
        else:
            before = page[page.rfind("\n", 0, match.start()) + 1 : match.start()]
            if AT_START.match(before):
                raise QuoteError(
                    f"line {line} begins with the mark of {what}, which Markdown takes for HTML: "
                    "let a word stand before it."
                )
            start, end = match.span("text")
        yield Place(line, start, end, what, page[start:end], wanted, files)
    loose = LOOSE.search("".join(rest))
    if loose:
        line = line_of(page, loose.start())
        raise QuoteError(f"line {line}: the mark {loose[0]} has no counterpart on its line.")


def written(page: str) -> str:
    """The page with every marked place as the results have it."""
    parts, position = [], 0
    for place in places(page):
        parts += [page[position : place.start], place.wanted]
        position = place.end
    return "".join(parts) + page[position:]


def outdated(page: str) -> list[str]:
    """A sentence for every marked place that says something else than the results."""
    found = []
    for place in places(page):
        if place.text != place.wanted:
            line, text, wanted = first_difference(place)
            found.append(
                f"line {line}: the page says {text!r}, but {place.what} is {wanted!r} by "
                f"{place.files}. Run python -m kinlearn_experiments.quotes."
            )
    return found


def first_difference(place: Place) -> tuple[int, str, str]:
    """The line of a marked place that differs, as it is and as it should be."""
    lines, wanted = place.text.split("\n"), place.wanted.split("\n")
    for i, (one, other) in enumerate(zip(lines, wanted, strict=False)):
        if one != other:
            return place.line + i, one, other
    i = min(len(lines), len(wanted))
    return place.line + i, "\n".join(lines[i:]), "\n".join(wanted[i:])
