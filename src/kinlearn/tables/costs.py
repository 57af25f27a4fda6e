"""Costs and limits as a person writes them: ``no:yes=20`` and ``yes=5%``."""

from __future__ import annotations

from collections.abc import Sequence

from kinlearn.cells.refusals import TableError, quoted

Costs = dict[tuple[str, str], float]


def read_costs(texts: Sequence[str], classes: Sequence[str]) -> Costs:
    """Costs by (answered, true) class.

    Parameters
    ----------
    texts : sequence of str
        Such as ``no:yes=20``: answering no where yes is true costs 20. Several may stand in one
        text, with commas.
    classes : sequence of str
        The classes there are.

    Examples
    --------
    >>> read_costs(["no:yes=20"], ["no", "yes"])
    {('no', 'yes'): 20.0}
    """
    found: Costs = {}
    for text in _pieces(texts):
        pair, _, number = text.rpartition("=")
        cost = _number(number)
        answered_and_true = _pair(pair, classes)
        if cost is None or cost < 0 or not pair:
            raise TableError(
                f"--cost {text!r} cannot be read: write ANSWERED:TRUE=NUMBER, such as "
                f"{classes[0]}:{classes[-1]}=20 where answering {classes[0]!r} is 20 times as bad "
                f"as usual when {classes[-1]!r} is true."
            )
        if answered_and_true is None:
            raise TableError(
                f"--cost {text!r} names no pair of classes (answered:true); there are "
                f"{quoted(classes)}."
            )
        if answered_and_true[0] == answered_and_true[1]:
            raise TableError(f"--cost {text!r} is of a right answer, which costs nothing.")
        found[answered_and_true] = cost
    return found


def read_limits(texts: Sequence[str], classes: Sequence[str]) -> dict[str, float]:
    """Allowed shares of missed rows by class.

    Examples
    --------
    >>> read_limits(["yes=5%"], ["no", "yes"])
    {'yes': 0.05}
    """
    found = {}
    for text in _pieces(texts):
        name, _, number = text.rpartition("=")
        share = _number(number.removesuffix("%"))
        share = share / 100 if share is not None and number.endswith("%") else share
        if share is None or not 0.0 < share < 1.0 or not name:
            raise TableError(
                f"--miss {text!r} cannot be read: write CLASS=SHARE, such as {classes[-1]}=0.05 "
                f"where at most 5 % of {classes[-1]!r} may be missed."
            )
        if name.strip() not in classes:
            raise TableError(
                f"--miss {text!r} names {name.strip()!r}, which is no class; there are "
                f"{quoted(classes)}."
            )
        found[name.strip()] = share
    return found


def _pieces(texts: Sequence[str]) -> list[str]:
    return [piece.strip() for text in texts for piece in text.split(",") if piece.strip()]


def _pair(text: str, classes: Sequence[str]) -> tuple[str, str] | None:
    """The two classes, which may have colons in their names."""
    for i, letter in enumerate(text):
        pair = text[:i].strip(), text[i + 1 :].strip()
        if letter == ":" and all(each in classes for each in pair):
            return pair
    return None


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) < float("inf") else None
