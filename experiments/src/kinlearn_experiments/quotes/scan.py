"""Figures that nothing vouches for: numbers that look measured, outside every mark.

What looks measured: a number with a decimal point, 7e-12, a number before a unit (times, %, s,
MB, ...). What does not count: code, formulas, addresses, marked places, bare powers of ten (1e-8:
settings and tolerances), sizes (28 × 28), numbers of versions, equations and sections, and blocks
of text that hold ``<!-- stated: why -->``, because their numbers are defaults, bounds that tests
hold, published figures, or arithmetic.
"""

from __future__ import annotations

import re

from kinlearn_experiments.quotes.marks import PLACES, line_of
from kinlearn_experiments.quotes.not_measured import NOT_MEASURED

UNITS = (
    r"\s?×(?!\s?\d)|x\b|\s?%|\s?‰|\s(?:times|percent|seconds?|minutes?|hours?|ms|s|min|h)\b|"
    r"(?:-|\s)?fold\b|\s?[kKMGT]i?B\b|\s?[kMG]FLOP|\srows/s|\srows a second"
)
WORDS = (
    "two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|"
    "fifty|hundred|a thousand"
)
FIGURE = re.compile(
    r"(?<![\w.,/√-])(?:"
    r"(?!1e)\d[\d,]*(?:\.\d+)?e[-+−]?\d+"  # a number times a power of ten
    r"|\d[\d,]*\.\d+(?!\.\d)|\.\d+"  # a decimal point
    rf"|\d[\d,]*(?:{UNITS})"  # a number before a unit
    rf"|(?:{WORDS})(?:\s|-)?(?:times\b|fold\b|percent\b|seconds\b|minutes\b|hours\b)"
    r")",
    re.IGNORECASE,
)
# Text that is not prose, in the order in which it is taken out. Fences of MyST's directives that
# hold prose are left in.
HIDDEN = (
    re.compile(r"\A---\n.*?\n---\n", re.DOTALL),
    re.compile(r"<!--.*?-->", re.DOTALL),
    re.compile(r"\$\$.*?\$\$", re.DOTALL),
    re.compile(r"\$[^$\n]+\$"),
    re.compile(r"^(?:    |\t).*$", re.MULTILINE),
    re.compile(r"\]\([^)\n]*\)"),
    re.compile(r"https?://\S+"),
    re.compile(r"<[a-zA-Z/][^>\n]*>"),
    re.compile(r"^```\{(?:code|code-block|eval-rst|math|toctree|image|figure).*?^```", re.M | re.S),
)
NUMBERED = re.compile(
    r"(?:Python|NumPy|SciPy|scikit-learn|version|BSD|CC|[Ss]ections?|Eqs?\.|Tables?|Figs?\.|Theorem|"
    r"Lemma|Algorithm|steps?|RFC|kinlearn|schema)[ \u00a0]?\d[\d.]*(?:(?:,| and| to|–)? ?\d[\d.]*)*"
)
STATED = re.compile(r"<!-- stated: \S.*?-->")
START_OF_BLOCK = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s")


def blanked(text: str, pattern: re.Pattern[str]) -> str:
    """The text with all matches as blanks, lines kept where they are."""
    return pattern.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def blocks(page: str) -> list[tuple[int, int]]:
    """Paragraphs, items of lists and tables, as ranges of characters."""
    found, start, position = [], 0, 0
    blank = True
    for line in page.splitlines(keepends=True):
        if not line.strip() or blank or START_OF_BLOCK.match(line):
            found.append((start, position))
            start = position
        blank = not line.strip()
        position += len(line)
    return [*found, (start, position)]


def without_stated(page: str) -> str:
    """The page with blocks of stated numbers as blanks; a comment alone speaks for the next."""
    parts, pending = [], False
    for start, end in blocks(page):
        block = page[start:end]
        stated = STATED.search(block)
        if not block.strip():
            parts.append(block)
            continue
        parts.append(re.sub(r"[^\n]", " ", block) if stated or pending else block)
        pending = bool(stated) and not STATED.sub("", block).strip()
    return "".join(parts)


def unmarked(page: str, name: str) -> list[str]:
    """A sentence for every figure that looks measured and is not marked."""
    text = blanked(page, PLACES)
    text = without_stated(text)
    for pattern in HIDDEN:
        text = blanked(text, pattern)
    text = blanked(text, NUMBERED)
    allowed = NOT_MEASURED.get(name, {})
    found = []
    for match in FIGURE.finditer(text):
        line = line_of(text, match.start())
        words = text[max(0, match.start() - 40) : match.end() + 40]
        if any(
            known in text[max(0, match.start() - len(known)) : match.end() + len(known)]
            for known in allowed
        ):
            continue
        found.append(
            f"line {line}: {match[0].strip()!r} in {' '.join(words.split())!r} looks measured, but "
            "no results file vouches for it. Mark it (<!--= name -->...<!--/-->), or say why it is "
            "no measurement (<!-- stated: why -->)."
        )
    return found
