"""Columns that name rows, or what rows belong to: known by their cells, and by their names."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from kinlearn.cells.date_form import words_of

_ID = ("id", "ids", "uuid", "guid")
_NUMBER = ("index", "idx", "row", "rownum", "nr", "no", "nbr", "num", "number", "key", "serial")
# Who or what rows can be of, in the singular: a plural is counted, not named.
_WHO = (
    "patient", "customer", "client", "user", "subject", "person", "participant", "member",
    "household", "student", "pupil", "employee", "worker", "donor", "account", "animal", "mouse",
    "specimen", "machine", "device", "vehicle", "session", "order", "encounter", "visit", "case",
)  # fmt: skip
_NAMES = ("name", "surname", "lastname", "firstname", "fullname", "email", "phone", "address")
_UNNAMED = re.compile(r"^(column_\d+|Unnamed: \d+|)$")
MIN_ROWS = 20
# From this many values on, an id is no category.
MIN_VALUES = 20
_NEARLY = 0.95
_IN_ORDER = 0.99
_LONG = 7


def row_number(name: str, values: NDArray[np.float64], n_distinct: int) -> str | None:
    """Why whole numbers are taken to number the rows, None where they are not.

    Parameters
    ----------
    name : str
        The column.
    values : ndarray
        Its numbers, in the order of the rows, NaN where missing.
    n_distinct : int
        How many different ones there are.

    Examples
    --------
    >>> row_number("x", np.arange(30.0), 30)
    'a number of its own for every row'
    >>> row_number("x", np.arange(30.0) % 7, 7) is None
    True
    """
    known = values[np.isfinite(values)]
    n_known = len(known)
    if n_known < MIN_ROWS or n_known < _NEARLY * len(values) or not is_whole(known):
        return None
    if n_distinct == n_known:
        one_step = bool((np.diff(known) == 1.0).all())
        if one_step or _numbers_rows_by_name(name) or _of_one_length(known):
            return "a number of its own for every row"
    if n_distinct < _NEARLY * n_known:
        return None
    if _in_order(known):
        return "nearly a number of its own for every row, in their order: it counts them"
    if known.max() - known.min() < 1.05 * n_known and n_known > 2 * MIN_ROWS:
        return "nearly every number of a range once: it counts the rows"
    return None


def owner(name: str, n_distinct: int, n_known: int) -> str | None:
    """Why a column of repeated whole numbers or texts names what rows belong to, or None.

    Examples
    --------
    >>> owner("CustomerId", 400, 1000)
    '400 different ids in 1000 rows: where rows of one belong together, give --group CustomerId'
    """
    if n_distinct < MIN_VALUES or not _is_id_by_name(name):
        return None
    if n_distinct >= _NEARLY * n_known:
        return f"{n_distinct} different ids in {n_known} rows"
    return (
        f"{n_distinct} different ids in {n_known} rows: where rows of one belong together, give "
        f"--group {name}"
    )


def owner_in_blocks(name: str, values: NDArray[np.float64], n_distinct: int) -> str | None:
    """Why whole numbers that count up in blocks of rows name what these belong to, or None.

    Examples
    --------
    >>> owner_in_blocks("x", np.repeat(np.arange(200.0), 3), 200) is None
    False
    """
    known = values[np.isfinite(values)]
    if len(known) != len(values) or n_distinct < 100 or not is_whole(known):
        return None
    steps = np.diff(known)
    if not np.isin(steps, (0.0, 1.0)).all() or n_distinct > _NEARLY * len(known):
        return None
    return (
        f"{n_distinct} numbers that count up in blocks of rows: where rows of one belong together, "
        f"give --group {name}"
    )


def names_people(name: str) -> bool:
    """Whether a column's name says that its texts are names or addresses.

    Examples
    --------
    >>> names_people("Surname"), names_people("last_name"), names_people("renamed")
    (True, True, False)
    """
    return any(word in _NAMES for word in words_of(name))


def is_id(name: str) -> bool:
    """Whether a column's name ends in the word id.

    Examples
    --------
    >>> is_id("admission_type_id"), is_id("PatientID"), is_id("humid")
    (True, True, False)
    """
    words = words_of(name)
    return bool(words) and words[-1] in _ID


def is_whole(values: NDArray[np.float64]) -> bool:
    """Whether there are numbers, and all of them are whole."""
    return values.size > 0 and bool((values == np.rint(values)).all())


def _is_id_by_name(name: str) -> bool:
    words = words_of(name)
    if not words:
        return False
    if words[-1] in _ID:
        return True
    if words[-1] in _NUMBER and len(words) > 1:
        return words[-2] in _WHO
    return words[-1] in _WHO and not set(words[:-1]) & {*_NUMBER, "n", "count", "per", "by", "age"}


def _numbers_rows_by_name(name: str) -> bool:
    words = words_of(name)
    return bool(_UNNAMED.match(name)) or _is_id_by_name(name) or bool({*_ID, *_NUMBER} & set(words))


def _in_order(known: NDArray[np.float64]) -> bool:
    steps = np.diff(known)
    return bool((steps > 0).mean() >= _IN_ORDER or (steps < 0).mean() >= _IN_ORDER)


def _of_one_length(known: NDArray[np.float64]) -> bool:
    """Long numbers of as many digits each, all different and not rounded."""
    if len(known) < 5 * MIN_ROWS or known.min() < 10.0 ** (_LONG - 1):
        return False
    digits = np.floor(np.log10(known))
    return bool(digits.min() == digits.max()) and bool((known % 10 == 0).mean() < 0.2)
