"""Dates as people write them: the order of day and month, names of months, days as numbers.

The order is found from all cells of a column together and kept, so that every cell is then read by
itself, the same in every table.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
from numpy.typing import NDArray

_TIME = r"(?:[ T,]+(?P<time>\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?)\s*(?P<half>[AaPp][Mm])?)?"
_ZONE = r"\s*(?P<zone>Z|[+-]\d{2}:?\d{2})?"
_PATTERNS = {
    "iso": rf"^(?P<y>\d{{4}})([-/.])(?P<m>\d{{1,2}})\2(?P<d>\d{{1,2}}){_TIME}{_ZONE}$",
    "dmy": rf"^(?P<d>\d{{1,2}})([./-])(?P<m>\d{{1,2}})\2(?P<y>\d{{4}}|\d{{2}}){_TIME}$",
    "mdy": rf"^(?P<m>\d{{1,2}})([./-])(?P<d>\d{{1,2}})\2(?P<y>\d{{4}}|\d{{2}}){_TIME}$",
    "d mon y": (
        r"^(?P<d>\d{1,2})[ ./-]*(?P<mon>[^\W\d_]{3,9})[ ./,-]*(?P<y>\d{4}|\d{2})" + _TIME + "$"
    ),
    "mon d y": (
        r"^(?P<mon>[^\W\d_]{3,9})\.?[ -]+(?P<d>\d{1,2})(?:st|nd|rd|th)?[ ,-]+(?P<y>\d{4})"
        + _TIME
        + "$"
    ),
    "yyyymmdd": r"^(?P<y>\d{4})(?P<m>\d{2})(?P<d>\d{2})$",
}
_COMPILED = {style: re.compile(pattern) for style, pattern in _PATTERNS.items()}
_IN_WORDS = {
    "iso": "year-month-day",
    "dmy": "day/month/year",
    "mdy": "month/day/year",
    "d mon y": "day, name of the month, year",
    "mon d y": "name of the month, day, year",
    "yyyymmdd": "yyyymmdd",
    "excel": "days as spreadsheets count them",
}
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
# Of digits alone, years beyond these make no date.
_FIRST_YEAR, _LAST_YEAR = 1900, 2100
# Of the cells of a column, this share may be no date.
_STRAY = 0.05
# Day 60 of a spreadsheet is the 29th of February 1900, which never was: later days count from here.
_EXCEL_DAY_ZERO = datetime(1899, 12, 30)
_EXCEL_FROM, _EXCEL_TO = 10_000.0, 73_050.0  # 1927 to 2099
_NAMES = ("date", "datum", "day", "dob", "birthday", "birthdate", "fecha")
_FEW = 3


@dataclass(frozen=True)
class DateForm:
    """How a column writes its dates.

    Attributes
    ----------
    style : str
        "iso", "dmy", "mdy", "d mon y", "mon d y", "yyyymmdd" or "excel".
    sure : bool
        Whether a cell told day and month apart.
    """

    style: str = "iso"
    sure: bool = True

    def read(self, text: str) -> datetime | None:
        """The time that a cell says, of Greenwich where it has a zone; None where it is none.

        Examples
        --------
        >>> print(DateForm("d mon y").read("12-Jan-2023"), DateForm("dmy").read("13/2/24 8:05"))
        2023-01-12 00:00:00 2024-02-13 08:05:00
        >>> print(DateForm("excel").read("44927"), DateForm("mdy").read("13/2/24"))
        2023-01-01 00:00:00 None
        """
        made = self.read_strictly(text)
        if made is None and self.style != "iso":  # what a typed table says of any date
            return DateForm("iso").read_strictly(text)
        return made

    def read_strictly(self, text: str) -> datetime | None:
        """As :meth:`read`, in this style alone."""
        if self.style == "excel":
            return _excel(text)
        found = _COMPILED[self.style].match(_without_zeros(text, self.style))
        made = None if found is None else _made(found.groupdict())
        if made is None or self.style != "yyyymmdd":
            return made
        return made if _FIRST_YEAR <= made.year <= _LAST_YEAR else None

    def in_words(self) -> str:
        """The order, for a summary."""
        said = _IN_WORDS[self.style]
        return said if self.sure else f"{said}, a guess, for no day in it is beyond 12"


def find_date_form(texts: Mapping[str, int], name: str = "") -> DateForm | None:
    """The form in which all cells are dates, None where there is none.

    Numbers are dates where all of them write a day as yyyymmdd; as days of a spreadsheet only where
    the column's name speaks of a date, too.

    Examples
    --------
    >>> find_date_form({"12-Jan-2023": 1, "3-Feb-2023": 2})
    DateForm(style='d mon y', sure=True)
    >>> find_date_form({"01/02/2023": 1, "13/02/2023": 1})
    DateForm(style='dmy', sure=True)
    >>> find_date_form({"44927": 1}), find_date_form({"44927": 1}, "visit date")
    (None, DateForm(style='excel', sure=True))
    """
    total = sum(texts.values())
    enough = (1.0 - _STRAY) * max(total, 1)
    counts = {style: _fitting(texts, DateForm(style)) for style in _COMPILED}
    fits = [style for style, count in counts.items() if count >= enough]
    if "dmy" in fits and "mdy" in fits:
        if counts["dmy"] != counts["mdy"]:
            return DateForm("dmy" if counts["dmy"] > counts["mdy"] else "mdy")
        # A point between is a habit of countries that say the day first.
        points = all("." in text for text in texts)
        return DateForm("dmy" if points else "mdy", sure=points)
    if fits == ["yyyymmdd"] and len(texts) < _FEW and not speaks_of_dates(name):
        return None
    if fits:
        return DateForm(fits[0])
    if speaks_of_dates(name) and _fitting(texts, DateForm("excel")) >= enough:
        return DateForm("excel")
    return None


def speaks_of_dates(name: str) -> bool:
    """Whether a column's name says that it holds dates.

    Examples
    --------
    >>> speaks_of_dates("VisitDate"), speaks_of_dates("days_in_hospital")
    (True, False)
    """
    return any(word in _NAMES for word in words_of(name))


def words_of(name: str) -> list[str]:
    """The words of a column's name, in small letters.

    Examples
    --------
    >>> words_of("PatientID"), words_of("customer_Id 2"), words_of("HTTPServer")
    (['patient', 'id'], ['customer', 'id', '2'], ['http', 'server'])
    """
    found = re.findall(r"[A-ZÀ-Þ]+(?![a-zß-ÿ])|[A-ZÀ-Þ]?[a-zß-ÿ]+|\d+|[^\W\d_]+", name)
    return [word.lower() for word in found]


def _fitting(texts: Mapping[str, int], form: DateForm) -> int:
    return sum(count for text, count in texts.items() if form.read_strictly(text))


def _without_zeros(text: str, style: str) -> str:
    """Whole numbers that a reader has made floats."""
    return text[:-2] if style == "yyyymmdd" and text.endswith(".0") else text


def _excel(text: str) -> datetime | None:
    try:
        days = float(text)
    except ValueError:
        return None
    if not _EXCEL_FROM <= days <= _EXCEL_TO:
        return None
    return _EXCEL_DAY_ZERO + timedelta(days=days)


def _made(parts: dict[str, str | None]) -> datetime | None:
    year = int(parts["y"] or 0)
    if len(parts["y"] or "") == 2:
        year += 2000 if year < 69 else 1900  # as POSIX has it
    word = (parts.get("mon") or "")[:3].lower()
    if word and word not in _MONTHS:
        return None
    month = _MONTHS.index(word) + 1 if word else int(parts["m"] or 0)
    try:
        made = datetime(year, month, int(parts["d"] or 0)) + _time_of_day(parts)
    except (ValueError, OverflowError):
        return None
    zone = parts.get("zone")
    if zone and zone != "Z":
        minutes = int(zone[1:3]) * 60 + int(zone[-2:])
        made -= timedelta(minutes=minutes if zone[0] == "+" else -minutes)
    return made


def _time_of_day(parts: dict[str, str | None]) -> timedelta:
    if not parts.get("time"):
        return timedelta()
    hours, minutes, *rest = str(parts["time"]).split(":")
    hour = int(hours)
    if parts.get("half"):
        hour = hour % 12 + (12 if str(parts["half"]).lower() == "pm" else 0)
    if hour > 24 or int(minutes) > 59:
        raise ValueError
    return timedelta(hours=hour, minutes=int(minutes), seconds=float(rest[0]) if rest else 0.0)


def microseconds(moment: datetime) -> int:
    """Since the beginning of 1970."""
    gone = moment.replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    return gone // timedelta(microseconds=1)


def date_texts(moments: NDArray[np.datetime64]) -> list[str | None]:
    """Dates as texts that every form reads again, None where missing.

    Examples
    --------
    >>> date_texts(np.array(["2024-05-02", "2024-05-02T08:05", "NaT"], "datetime64[us]"))
    ['2024-05-02', '2024-05-02 08:05:00', None]
    """
    texts = np.datetime_as_string(moments.astype("datetime64[us]")).tolist()
    return [None if text == "NaT" else _shortened(text) for text in texts]


def _shortened(text: str) -> str:
    text = text.removesuffix(".000000").removesuffix("T00:00:00")
    return text.replace("T", " ")
