"""Tables as people have them: numbers and categories, cells that may be missing, one label.

Half of the tables are there to choose defaults by, the other half is held out. The halves are the
even and the odd positions (from 0) of the names in alphabetical order. The kernels and the metric
of LSPCCV's default were chosen with both halves in sight (``measures.kernels``). australian and
crx, which are one set of applicants coded in two ways, both fall into the first.

What a column needs (mean, spread, categories, the fill of missing cells) is learnt from the
training rows alone. Numbers are standardised, categories become one column each of 0 and 1. All
methods get this one matrix, the trees and CatBoost too, which could have taken categories as such.
"""

from __future__ import annotations

import csv
import gzip
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kinlearn_experiments.bench.data.folder import path_of
from kinlearn_experiments.bench.data.splits import Floats, codes_of, draw_rows
from kinlearn_experiments.bench.problem import DataSet, Problem
from kinlearn_experiments.bench.roles import CHOSEN_ON, HELD_OUT

Text = NDArray[np.str_]
LABEL = "class"
MISSING = ("", "?")
SIZE = 400


class Columns(NamedTuple):
    """A table by its columns.

    Attributes
    ----------
    columns : list of ndarray
        Floats with NaN where a cell is missing, or text, in which "" is missing.
    y : ndarray of str
    """

    columns: list[NDArray[Any]]
    y: Text


def read_table(name: str) -> Columns:
    """Read a table of the user's data folder."""
    return columns_of(path_of(name))


@cache
def columns_of(path: Path) -> Columns:
    """Read a gzipped file of comma-separated values whose last column is the label.

    A column is of numbers if all its cells that are not missing are numbers.
    """
    with gzip.open(path, "rt", encoding="utf-8", newline="") as lines:
        header, *rows = [row for row in csv.reader(lines) if row]
    if header[-1] != LABEL:
        raise ValueError(
            f"The last column of {path.name} is {header[-1]!r}; {LABEL!r} was expected."
        )
    table = np.char.strip(np.array(rows))
    table[np.isin(table, MISSING)] = ""
    return Columns([_typed(column) for column in table[:, :-1].T], table[:, -1])


def _typed(column: Text) -> NDArray[Any]:
    try:
        return np.where(column == "", "nan", column).astype(np.float64)
    except ValueError:
        return column


def encoded(column: NDArray[Any], train: NDArray[np.intp]) -> Floats:
    """Columns of numbers for one column of a table, learnt from its training rows.

    Numbers: centred and scaled, missing ones at the mean, and where training cells are missing a
    column that says so. Categories: a column for each that the training rows have, missing being
    one of them; others are 0 in all. What does not vary over the training rows is left out.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn_experiments.bench.data.tables import encoded
    >>> encoded(np.array([1.0, 3.0, 7.0]), np.array([0, 1])).ravel()
    array([-1.,  1.,  5.])
    >>> encoded(np.array(["red", "blue", "green"]), np.array([0, 1]))
    array([[0., 1.], [1., 0.], [0., 0.]])
    """
    if column.dtype.kind != "f":
        found = (column[:, None] == np.unique(column[train])).astype(np.float64)
    else:
        missing = np.isnan(column)
        seen = column[train][~missing[train]]
        mean, spread = (seen.mean(), seen.std()) if seen.size else (0.0, 0.0)
        scaled = np.where(missing, 0.0, (column - mean) / (spread or 1.0))
        found = np.column_stack([scaled, missing])
    return found[:, np.ptp(found[train], axis=0) > 0]


def draw(name: str, n_train: int, seed: int) -> Problem:
    """Draw rows as from the other single-task sets, and make numbers of them."""
    return split_of(read_table(name), n_train, seed)


def split_of(table: Columns, n_train: int, seed: int) -> Problem:
    """A split of a table."""
    columns, y = table
    train, test = draw_rows(y, n_train, seed)
    codes, truth, known = codes_of(y[train], y[test])
    X = np.hstack([encoded(column, train) for column in columns])
    return Problem((X[train], codes), (X[test][known],), [truth], len(train))


class Facts(NamedTuple):
    """What is known of a table before it is read."""

    rows: int
    classes: int
    features: int
    categories: int = 0


# In alphabetical order, of which the halves are made.
TABLES = {
    "australian": Facts(690, 2, 14),
    "bands": Facts(365, 2, 19),
    "breast": Facts(277, 2, 9, 8),
    "bupa": Facts(345, 2, 6),
    "crx": Facts(653, 2, 15, 9),
    "heart": Facts(270, 2, 13),
    "led7digit": Facts(500, 10, 7),
    "mammographic": Facts(830, 2, 5),
    "marketing": Facts(6876, 9, 13),
    "monk-2": Facts(432, 2, 6),
    "movement_libras": Facts(360, 15, 90),
    "mushroom": Facts(5644, 2, 22, 22),
    "pima": Facts(768, 2, 8),
    "ring": Facts(7400, 2, 20),
    "saheart": Facts(462, 2, 9, 1),
    "splice": Facts(3190, 3, 60, 60),
    "tic-tac-toe": Facts(958, 2, 9, 9),
    "twonorm": Facts(7400, 2, 20),
    "wisconsin": Facts(683, 2, 9),
}


def _about(facts: Facts) -> str:
    kinds = f", {facts.categories} of them categories" if facts.categories else ""
    return f"{facts.classes} classes, {facts.features} columns{kinds}"


DATA = tuple(
    DataSet(
        name,
        partial(draw, f"tables/{name}.csv.gz"),
        SIZE,
        None,
        _about(facts),
        (f"tables/{name}.csv.gz",),
        HELD_OUT if position % 2 else CHOSEN_ON,
        facts.rows,
        facts.classes,
    )
    for position, (name, facts) in enumerate(TABLES.items())
)
