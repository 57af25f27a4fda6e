"""What a person did, as one value: the studio's state is a list of these and nothing else."""

from __future__ import annotations

from dataclasses import dataclass

LABEL, SKIP, NOTE, FLAG, KEEP, UNDO, DEFINE = (
    "label", "skip", "note", "flag", "keep", "undo", "define",
)  # fmt: skip
KINDS = (LABEL, SKIP, NOTE, FLAG, KEEP, UNDO, DEFINE)
# How a row came to be answered, where the library's loop did not say so itself.
GIVEN, STRATEGY, SUSPECT, DISAGREEMENT, OVERLAP = (
    "given", "strategy", "suspect", "disagreement", "overlap",
)  # fmt: skip


@dataclass(frozen=True)
class Event:
    """One thing that one person did.

    Attributes
    ----------
    kind : str
        One of ``KINDS``.
    who : str
        The person.
    row : int
        Number of the row in the table, from 1; 0 where no row is meant.
    value : str
        The class of a label, ``"yes"`` or nothing for a flag, the class that is defined.
    note : str
        Words of the person.
    how : str
        Why the row was asked.
    digest : str
        What the row held then, so that a changed table is noticed.
    of : int
        The event that is taken back.
    id, time : int, str
        Set by the store: the order, and when it was (UTC).
    """

    kind: str
    who: str
    row: int = 0
    value: str = ""
    note: str = ""
    how: str = ""
    digest: str = ""
    of: int = 0
    id: int = 0
    time: str = ""
