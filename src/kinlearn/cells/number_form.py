"""Numbers in costume: marks between thousands, either decimal mark, a currency, a unit.

A cell is taken apart into what stands before the number, the number and what stands behind it. How
a column writes its numbers is found from all of its cells together, because one cell such as
``1,234`` may be a thousand or a little more than one; it is then read cell by cell, the same for
every table.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

# Of the cells of a column, this share may be no number.
STRAY = 0.05
_CURRENCIES = r"(?:US\$|R\$|A\$|C\$|[$€£¥₹₽₩₺]|USD|EUR|GBP|CHF|JPY|INR|Rs\.?|kr\.?|Fr\.?)"
_UNIT = (
    rf"(?:{_CURRENCIES}|[%‰°′″]|°[CF]"
    r"|[gmlshd]|[^\W\d_]{2,}\.?"  # letters right behind the number: a known one, or several
    r"|(?<=\s)[^\W\d_]|[^\W\d_]+[²³]|[^\W\d_]{1,8}(?:/[^\W\d_]{1,8}[²³0-9]?){1,2})"
)
_CELL = re.compile(
    rf"^(?P<sign>[+-]?)\s*(?P<before>{_CURRENCIES}?)\s*(?P<again>[+-]?)"
    r"(?P<number>(?:[0-9][0-9.,' ]*[0-9]|[0-9])[.,]?|[.,][0-9]+)(?P<power>[eE][+-]?[0-9]+)?"
    rf"\s*(?P<after>(?:{_UNIT})?)$"
)
_SPACES = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2009": " ", "−": "-", "’": "'"})
_OTHER = {".": ",", ",": "."}
_BLANKS = " '"


@dataclass(frozen=True)
class NumberForm:
    """How a column writes its numbers.

    Attributes
    ----------
    decimal : {".", ","}
        The decimal mark.
    thousands : str
        The mark that may stand between thousands; empty for none.
    unit : str
        What may stand before or behind a number, such as ``$``, ``%`` or ``mg``; empty for nothing.
    """

    decimal: str = "."
    thousands: str = ""
    unit: str = ""

    @classmethod
    def plain(cls, decimal: str) -> NumberForm:
        """Numbers without costume; where the comma is decimal, points may part thousands."""
        return cls(decimal, "." if decimal == "," else "")

    def read(self, text: str) -> float | None:
        """The number in a cell, None where there is none.

        Examples
        --------
        >>> [NumberForm(thousands=",", unit="$").read(t) for t in ("$1,234", "51,508.76", "x")]
        [1234.0, 51508.76, None]
        >>> [NumberForm(",", ".").read(text) for text in ("24,5", "1.234,5", "1.234", "24.5")]
        [24.5, 1234.5, 1234.0, 24.5]
        """
        found = _apart(text)
        if found is None or found.unit not in ("", unit_key(self.unit)):
            return None
        plain = self._plain(found.number)
        if plain is None and (mark := decimal_of(found.number)) is not None:
            # The other mark, where it can be no mark of thousands.
            plain = NumberForm(mark, _OTHER[mark])._plain(found.number)
        return None if plain is None else found.value(plain)

    def is_other_mark(self, text: str) -> bool:
        """Whether a cell can only be read by the other decimal mark.

        Examples
        --------
        >>> [NumberForm(",", ".").is_other_mark(text) for text in ("24.5", "24,5", "1.234")]
        [True, False, False]
        """
        found = _apart(text)
        return found is not None and decimal_of(found.number) == _OTHER[self.decimal]

    def in_words(self) -> str:
        """What is left out or meant, for a summary; empty for plain numbers.

        Examples
        --------
        >>> NumberForm(",", ".", "mg").in_words()
        "decimal comma, '.' between thousands, 'mg' left out"
        """
        said = ["decimal comma"] if self.decimal == "," else []
        if self.thousands:
            said.append(f"{self.thousands!r} between thousands")
        if self.unit:
            said.append(f"{self.unit!r} left out")
        return ", ".join(said)

    def _plain(self, number: str) -> str | None:
        """The number as Python writes it, if it fits the marks of this form."""
        whole, mark, rest = number.partition(self.decimal)
        if mark and (self.decimal in rest or not re.fullmatch(r"[0-9]*", rest)):
            return None
        if self.thousands and self.thousands in whole:
            groups = whole.split(self.thousands)
            if not (1 <= len(groups[0]) <= 3 and all(len(group) == 3 for group in groups[1:])):
                return None
            whole = "".join(groups)
        if not re.fullmatch(r"[0-9]*", whole) or not (whole or rest):
            return None
        return f"{whole or '0'}.{rest or '0'}"


@dataclass(frozen=True)
class _Parts:
    negative: bool
    number: str
    power: str
    unit: str
    unit_as_written: str

    def value(self, plain: str) -> float | None:
        value = float(plain + self.power)
        return None if value == float("inf") else -value if self.negative else value


def find_number_form(texts: Mapping[str, int], decimal: str | None = None) -> NumberForm | None:
    """The form in which nearly all cells are numbers, None where there is none.

    Parameters
    ----------
    texts : mapping of str to int
        Distinct cells that are not missing, and how often each occurs.
    decimal : str, optional
        The decimal mark, where it is known; a column alone with cells such as ``1,234`` does not
        tell.

    Examples
    --------
    >>> find_number_form({"$1,234": 1, "$950": 1})
    NumberForm(decimal='.', thousands=',', unit='$')
    >>> find_number_form({"5.1 mg": 3, "4,9 mg": 1}) is None
    True
    """
    total = sum(texts.values())
    parts = {text: found for text in texts if (found := _apart(text)) is not None}
    if not parts or _count(texts, parts) < (1.0 - STRAY) * total:
        return None
    units: Counter[str] = Counter()
    for text, found in parts.items():
        if found.unit:
            units[found.unit] += texts[text]
    if len(units) > 1:
        return None
    unit = next((found.unit_as_written for found in parts.values() if found.unit), "")
    numbers = {found.number: texts[text] for text, found in parts.items()}
    points = sum(n for number, n in numbers.items() if decimal_of(number) == ".")
    commas = sum(n for number, n in numbers.items() if decimal_of(number) == ",")
    if min(points, commas) > STRAY * total:
        return None
    if decimal is None:
        decimal = "," if commas > points else "."
    other = _OTHER[decimal]
    marks = [mark for mark in (other, *_BLANKS) if any(mark in number for number in numbers)]
    for thousands in marks or [""]:
        form = NumberForm(decimal, thousands, unit)
        if _count(texts, [t for t in texts if form.read(t) is not None]) >= (1.0 - STRAY) * total:
            return form
    return None


def decimal_of(number: str) -> str | None:
    """The decimal mark of a number where no other reading is possible, None where it does not tell.

    Examples
    --------
    >>> [decimal_of(number) for number in ("24,5", "1.234", "1,234.5", "0.125", "1,234,567")]
    [',', None, '.', '.', '.']
    """
    last = max(number.rfind("."), number.rfind(","))
    if last < 0:
        return None
    mark = number[last]
    other = _OTHER[mark]
    whole, rest = number[:last], number[last + 1 :]
    if other in whole:
        return mark
    if mark in whole:
        return other  # several of one mark part thousands
    leading_zero = whole in ("", "0") or (whole.startswith("0") and len(whole) > 1)
    return None if len(rest) == 3 and len(whole) <= 3 and not leading_zero else mark


def number_part(text: str) -> str | None:
    """The digits and marks of a cell, None where it holds no number.

    Examples
    --------
    >>> number_part("$1,234"), number_part("Q1")
    ('1,234', None)
    """
    found = _apart(text)
    return None if found is None else found.number


def unit_key(unit: str) -> str:
    """One word for a unit, in the plural, in capitals or with a point."""
    word = unit.casefold().rstrip(".")
    return word[:-1] if len(word) > 3 and word.endswith("s") else word


def _apart(text: str) -> _Parts | None:
    found = _CELL.match(text.strip().translate(_SPACES))
    if found is None or (found["sign"] and found["again"]):
        return None
    if found["before"] and found["after"]:
        return None
    unit = found["before"] or found["after"]
    if unit and unit[0] in "eE" and unit[1:].isdigit():
        return None
    negative = "-" in (found["sign"], found["again"])
    power = found["power"] or ""
    return _Parts(negative, found["number"].strip(), power, unit_key(unit), unit)


def _count(texts: Mapping[str, int], some: Iterable[str]) -> int:
    return sum(texts[text] for text in some)
