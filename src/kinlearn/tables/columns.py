"""What each column is: numbers, categories, or nothing to learn from; said, and open to change."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn.cells.cell_rules import CellRules
from kinlearn.cells.date_form import DateForm, find_date_form, speaks_of_dates
from kinlearn.cells.forms import Form, form_as_facts
from kinlearn.cells.number_form import STRAY, NumberForm, decimal_of, find_number_form, number_part
from kinlearn.cells.refusals import TableError, quoted, unknown_column
from kinlearn.cells.word_forms import find_code_form, find_word_form
from kinlearn.optional import require
from kinlearn.tables import ids

NUMERIC, CATEGORICAL, DROPPED = "numeric", "categorical", "dropped"
DATE = "date"
# Beyond this many categories, most of them seen once, a column names its rows or is free text.
MAX_CATEGORIES = 100
# ... or that many, if each has fewer than five rows.
_FEW_ROWS_EACH = 0.2
# Where --numeric is given, fewer of the cells than this may hold no number.
_MOSTLY_TEXT = 0.5
# Rows by which the decimal mark of a table is found, and digits of a day written as a number.
_LOOK_AT = 2000
# A mark that is set in fewer rows than this, or missing in fewer, teaches nothing.
_LEAST_MARKED = 5
_FIRST_DAY, _LAST_DAY = 19_000_101, 21_001_231


@dataclass(frozen=True)
class Column:
    """A column, what it was taken for and why.

    Attributes
    ----------
    name : str
        Its name.
    kind : {"numeric", "categorical", "date", "dropped"}
        What it was taken for.
    why : str
        The reason, in words.
    n_missing, n_distinct : int
        Missing cells and distinct values among the rest.
    example : str
        A value.
    form : dict
        How its cells are written, where that is out of the ordinary; see
        :func:`kinlearn.cells.forms.form_as_facts`.
    """

    name: str
    kind: str
    why: str
    n_missing: int
    n_distinct: int
    example: str
    form: dict[str, Any] = field(default_factory=dict)


def find_decimal(table: Any, rules: CellRules) -> str:
    """The decimal mark of a table: a comma where numbers show one and none shows a point.

    Parameters
    ----------
    table : pyarrow.Table or RecordBatch
        Rows, of which the first are looked at.
    rules : CellRules
        How cells are read.

    Examples
    --------
    >>> import pyarrow as pa
    >>> find_decimal(pa.table({"a": ["24,5", "3,25"], "b": ["1", "2"]}), CellRules())
    ','
    """
    found = "."
    for mark in _shown_marks(table, rules, table.schema.names):
        if mark == ".":  # no need to look further
            return "."
        found = mark
    return found


def decimal_marks(table: Any, rules: CellRules, names: Iterable[str]) -> set[str]:
    """The decimal marks that numbers in some columns of a table show without doubt."""
    return set(_shown_marks(table, rules, names))


def _shown_marks(table: Any, rules: CellRules, names: Iterable[str]) -> Iterator[str]:
    """Them one by one, as they are met."""
    arrow = require("pyarrow", "Reading a table")
    for name in names:
        column = table.slice(0, _LOOK_AT).column(name)
        if arrow.types.is_floating(column.type) and _has_fractions(column):
            yield "."  # of a table with types, texts apart
        if not arrow.types.is_string(column.type):
            continue
        texts = rules.counts(column)
        if find_number_form(texts) is not None:
            parts = (number_part(text) for text in texts)
            marks = {decimal_of(part) for part in parts if part is not None}
            yield from (mark for mark in marks if mark is not None)


def _has_fractions(column: Any) -> bool:
    values = np.asarray(column.to_numpy(), dtype=np.float64)
    finite = values[np.isfinite(values)]
    return bool((finite != np.rint(finite)).any())


def infer_columns(
    table: Any,
    rules: CellRules,
    *,
    numeric: Collection[str] = (),
    categorical: Collection[str] = (),
    drop: Collection[str] = (),
    apart: Collection[str] = (),
    where: str = "The table",
) -> list[Column]:
    """Say for every column of a ``pyarrow.Table`` what it is.

    Parameters
    ----------
    table : pyarrow.Table
        Rows to judge by.
    rules : CellRules
        How cells are read.
    numeric, categorical, drop : collections of str
        Columns the user has decided on.
    apart : collection of str
        Columns with another part: target, task, group.
    where : str
        What to call the table in an error.

    Returns
    -------
    list of Column
        In the table's order, without those set apart.
    """
    wishes = {NUMERIC: set(numeric), CATEGORICAL: set(categorical), DROPPED: set(drop)}
    _check_wishes(wishes, table.column_names, set(apart), where)
    decided = {name: kind for kind, names in wishes.items() for name in names}
    return [
        _judge(name, table[name].combine_chunks(), rules, decided.get(name))
        for name in table.column_names
        if name not in apart
    ]


def _check_wishes(
    wishes: dict[str, set[str]], names: list[str], apart: set[str], where: str
) -> None:
    seen: dict[str, str] = {}
    for kind, wanted in wishes.items():
        for name in sorted(wanted):
            if name not in names:
                raise unknown_column(name, names, where)
            if name in seen:
                raise TableError(f"Column {name!r} was given as both {seen[name]} and {kind}.")
            if name in apart and kind != DROPPED:
                raise TableError(
                    f"Column {name!r} is the target, task, group or a label, so it cannot be a "
                    f"{kind} column to learn from too."
                )
            seen[name] = kind


def _judge(name: str, column: Any, rules: CellRules, wish: str | None) -> Column:
    compute = require("pyarrow.compute", "Reading a table")
    guess = _guess(name, column, rules) if wish is None else _as_wished(name, column, rules, wish)
    texts = replace(rules, form=guess.form).texts(column)
    known = texts.drop_null()
    facts = {} if guess.form is None else form_as_facts(guess.form)
    return Column(
        name,
        guess.kind,
        guess.why,
        len(texts) - len(known),
        int(compute.count_distinct(known).as_py()),
        "" if len(known) == 0 else str(known[0].as_py()),
        facts,
    )


@dataclass(frozen=True)
class _Guess:
    kind: str
    why: str
    form: Form | None = None


def _as_wished(name: str, column: Any, rules: CellRules, wish: str) -> _Guess:
    """A kind that the user decided on: how its cells are written is found all the same."""
    why = "as you asked"
    if wish == CATEGORICAL:
        texts = rules.counts(column)
        return _Guess(wish, why, find_code_form(texts) or find_word_form(texts))
    if wish != NUMERIC:
        return _Guess(wish, why)
    if require("pyarrow", "Reading a table").types.is_temporal(column.type):
        raise TableError(
            f"Column {name!r} was given to --numeric, but holds dates: leave it out there, and it "
            "becomes numbers by itself."
        )
    form = None
    if _share_of_numbers(column, rules) < 1.0 - STRAY:
        form = find_number_form(rules.counts(column), _comma_if_known(rules))
    own = replace(rules, form=form)
    _, stray = own.numbers(column)
    n_known = len(column) - rules.texts(column).null_count
    if n_known and stray.sum() > _MOSTLY_TEXT * n_known:
        seen = own.texts(column.filter(_mask(stray))).unique().to_pylist()
        raise TableError(
            f"Column {name!r} was given to --numeric, but {int(stray.sum())} of its {n_known} "
            f"cells hold no number (such as {quoted(seen, 3)}): leave it out there, or give it to "
            "--categorical."
        )
    said = [why, *_in_costume(form)]
    if stray.any():
        first = rules.texts(column)[int(np.argmax(stray))].as_py()
        said.append(f"{int(stray.sum())} cells such as {first!r} are no numbers: missing")
    return _Guess(NUMERIC, "; ".join(said), form)


def _one_value(n_known: int, n_rows: int) -> _Guess:
    """A mark such as a cross: set or not, where there are enough rows of both."""
    if n_known == n_rows:
        return _Guess(DROPPED, "the same value in every row")
    if min(n_known, n_rows - n_known) < _LEAST_MARKED:
        return _Guess(DROPPED, "the same value in every row that has one")
    return _Guess(CATEGORICAL, "one value, or missing")


def _guess(name: str, column: Any, rules: CellRules) -> _Guess:
    arrow = require("pyarrow", "Reading a table")
    compute = require("pyarrow.compute", "Reading a table")
    if arrow.types.is_nested(column.type) or arrow.types.is_binary(column.type):
        return _Guess(DROPPED, f"cells of type {column.type}")
    texts = rules.texts(column)
    known = texts.drop_null()
    n_known, n_distinct = len(known), int(compute.count_distinct(known).as_py())
    if n_known == 0:
        return _Guess(DROPPED, "every cell is missing")
    if n_distinct == 1:
        return _one_value(n_known, len(column))
    if arrow.types.is_temporal(column.type):
        return _dates(DateForm())
    if not arrow.types.is_boolean(column.type):
        if _share_of_numbers(column, rules) >= 1.0 - STRAY:
            return _guess_of_numbers(name, column, rules, n_known, n_distinct)
        counts = rules.counts(column)
        if (dates := find_date_form(counts, name)) is not None:
            return _dates(dates)
        if (form := find_number_form(counts, _comma_if_known(rules))) is not None:
            own = replace(rules, form=form)
            values, stray = own.numbers(column)
            return _numbers(name, column, own, values, stray, n_distinct)
        if (words := find_word_form(counts)) is not None:
            own = replace(rules, form=words)
            n_distinct = int(compute.count_distinct(own.texts(column).drop_null()).as_py())
            if n_distinct == 1:
                return _one_value(n_known, len(column))
            guess = _texts(name, n_known, n_distinct, known)
            spelt = f"{guess.why}, in {len(counts)} spellings"
            return _Guess(guess.kind, spelt, words if guess.kind == CATEGORICAL else None)
    return _texts(name, n_known, n_distinct, known)


def _dates(form: DateForm) -> _Guess:
    why = f"dates ({form.in_words()}): days since the first, year, season, day of the week"
    return _Guess(DATE, why, form)


def _guess_of_numbers(
    name: str, column: Any, rules: CellRules, n_known: int, n_distinct: int
) -> _Guess:
    """A column of plain numbers, that may be codes, dates or ids none the less."""
    arrow = require("pyarrow", "Reading a table")
    compute = require("pyarrow.compute", "Reading a table")
    if (
        arrow.types.is_string(column.type)
        and compute.any(compute.match_substring_regex(column, r"^\s*0[0-9]")).as_py()
    ):
        codes = find_code_form(rules.counts(column))
        if codes is not None:
            own = replace(rules, form=codes)
            known = own.texts(column).drop_null()
            guess = _texts(name, n_known, int(compute.count_distinct(known).as_py()), known)
            why = f"{guess.why}; codes, whose zeros in front count"
            return _Guess(guess.kind, why, codes if guess.kind == CATEGORICAL else None)
    values, stray = rules.numbers(column)
    finite = values[np.isfinite(values)]
    days = ids.is_whole(finite) and finite.min() >= _FIRST_DAY and finite.max() <= _LAST_DAY
    if days or speaks_of_dates(name):
        dates = find_date_form(rules.counts(column), name)
        if dates is not None:
            return _dates(dates)
    return _numbers(name, column, rules, values, stray, n_distinct)


def _numbers(
    name: str,
    column: Any,
    rules: CellRules,
    values: NDArray[np.float64],
    stray: NDArray[np.bool_],
    n_distinct: int,
) -> _Guess:
    form = rules.form if isinstance(rules.form, NumberForm) else None
    finite = values[np.isfinite(values)]
    if stray.any():
        first = rules.texts(column)[int(np.argmax(stray))].as_py()
        said = f"{int(stray.sum())} cells such as {first!r} are none and count as missing"
        return _Guess(NUMERIC, "; ".join(["numbers", said, *_in_costume(form)]), form)
    if form is None and ids.is_whole(finite):
        why = (
            ids.row_number(name, values, n_distinct)
            or ids.owner(name, n_distinct, len(finite))
            or ids.owner_in_blocks(name, values, n_distinct)
        )
        if why is not None:
            return _Guess(DROPPED, why)
        if ids.is_id(name):
            return _Guess(CATEGORICAL, f"an id of {n_distinct} values: categories")
    return _Guess(NUMERIC, "; ".join([f"{n_distinct} different numbers", *_in_costume(form)]), form)


def _texts(name: str, n_known: int, n_distinct: int, known: Any) -> _Guess:
    if n_distinct == n_known and n_known > MAX_CATEGORIES // 5:
        return _Guess(DROPPED, "a text of its own in every row: an id or free text")
    if n_distinct > MAX_CATEGORIES and n_distinct > n_known / 2:
        return _Guess(
            DROPPED, f"{n_distinct} different texts in {n_known} rows: names or free text"
        )
    belongs = ids.owner(name, n_distinct, n_known)
    if belongs is not None:
        return _Guess(DROPPED, belongs)
    many = n_distinct >= ids.MIN_VALUES and n_distinct > STRAY * n_known
    if many and ids.names_people(name):
        return _Guess(DROPPED, f"{n_distinct} different names in {n_known} rows")
    if n_distinct > MAX_CATEGORIES and n_distinct > _FEW_ROWS_EACH * n_known:
        return _Guess(
            DROPPED,
            f"{n_distinct} different texts in {n_known} rows, few rows each: if they name what "
            f"rows belong to, give --group {name}",
        )
    return _Guess(CATEGORICAL, f"{n_distinct} categories")


def _comma_if_known(rules: CellRules) -> str | None:
    """The decimal comma, where it is the table's; else every column shows its own mark."""
    return rules.decimal if rules.decimal == "," else None


def _in_costume(form: NumberForm | None) -> list[str]:
    said = "" if form is None else form.in_words()
    return [f"written with {said}"] if said else []


def _share_of_numbers(column: Any, rules: CellRules) -> float:
    """Of the cells that are not missing, how many are numbers without costume."""
    plain = rules.are_plain_numbers(column)
    return 1.0 if len(plain) == 0 else float(plain.mean())


def _mask(values: NDArray[np.bool_]) -> Any:
    return require("pyarrow", "Reading a table").array(values)


def features_of(columns: Iterable[Column]) -> dict[str, list[str]]:
    """Names by kind, of the columns to learn from."""
    kinds: dict[str, list[str]] = {NUMERIC: [], CATEGORICAL: [], DATE: []}
    for column in columns:
        if column.kind != DROPPED:
            kinds[column.kind].append(column.name)
    return kinds
