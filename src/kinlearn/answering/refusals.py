"""What is wrong with a request, as one sentence, and the cell that it is about."""

from __future__ import annotations

from typing import Any

_LONGEST = 80


class Refusal(ValueError):
    """A request that cannot be answered: a sentence with the remedy, a status and a place.

    Parameters
    ----------
    sentence : str
        What was wrong, the value seen, and what to do.
    status : int
        Of HTTP.
    column : str, optional
        The column it is about.
    row : int, optional
        The row, counted from 1.
    value : object, optional
        The cell.

    Examples
    --------
    >>> Refusal("It is 'x'.", column="age", row=2, value="x").as_facts()
    {'error': "It is 'x'.", 'column': 'age', 'row': 2, 'value': 'x'}
    """

    def __init__(
        self,
        sentence: str,
        status: int = 422,
        *,
        column: str | None = None,
        row: int | None = None,
        value: Any = None,
    ) -> None:
        super().__init__(sentence)
        self.status = status
        self.place: dict[str, Any] = {
            "column": column,
            "row": row,
            "value": None if value is None else cut(value),
        }

    @classmethod
    def of(cls, error: Exception, status: int = 422, path: object = "") -> Refusal:
        """A refusal of what a sentence about a file says, of a request instead.

        Examples
        --------
        >>> str(Refusal.of(ValueError("/tmp/a.csv is empty."), 400, "/tmp/a.csv"))
        'The body is empty.'
        """
        sentence = str(error).replace(str(path), "the body") if path else str(error)
        return cls(sentence[:1].upper() + sentence[1:], status)

    def renumbered(self, start: int) -> Refusal:
        """The refusal of a part of a request, with its row counted from the beginning.

        Examples
        --------
        >>> str(Refusal("Row 2 holds 'x'.", row=2).renumbered(100))
        "Row 102 holds 'x'."
        """
        row = self.place["row"]
        if row is not None and start:
            self.args = (str(self).replace(f"Row {row} ", f"Row {row + start} ", 1),)
            self.place["row"] = row + start
        return self

    def as_facts(self) -> dict[str, Any]:
        """The refusal as JSON values."""
        known = {name: value for name, value in self.place.items() if value is not None}
        return {"error": str(self), **known}


def cut(value: Any) -> str:
    """A value as a text that is not too long to repeat.

    Examples
    --------
    >>> cut("x" * 100).endswith("…"), cut(3.5)
    (True, '3.5')
    """
    text = value if isinstance(value, str) else repr(value)[: 2 * _LONGEST]
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
