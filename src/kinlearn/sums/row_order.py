"""A number for rows in their order, by which a second pass is compared with the first."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kinlearn.sums.row_hash import scramble

Hashes = NDArray[np.uint64]


def ordered_print(keys: Hashes, first: int) -> int:
    """A number that depends on rows and their places; over parts of the rows it adds up (mod 2⁶⁴).

    Parameters
    ----------
    keys : ndarray of uint64, shape (n,)
        What tells rows apart.
    first : int
        The place of the first of them.

    Examples
    --------
    >>> import numpy as np
    >>> keys = np.array([3, 1, 2], dtype=np.uint64)
    >>> whole = ordered_print(keys, 0)
    >>> whole == (ordered_print(keys[:1], 0) + ordered_print(keys[1:], 1)) % 2**64
    True
    >>> whole == ordered_print(keys[::-1], 0)
    False
    """
    places = scramble(np.arange(first + 1, first + 1 + keys.size, dtype=np.uint64))
    return int(np.sum(scramble(keys + places), dtype=np.uint64))


class Marks:
    """What a first pass gave, place by place, and whether another gives the same.

    Parameters
    ----------
    marks : ndarray of uint64, shape (k, 2), optional
        Numbers of rows, and the print of all rows up to there, as a checkpoint kept them.

    Examples
    --------
    >>> import numpy as np
    >>> first, keys = Marks(), np.arange(6, dtype=np.uint64)
    >>> for part in (keys[:4], keys[4:]):
    ...     first.add(part)
    >>> again = first.again()
    >>> again.compare(keys[:4]), again.compare(keys[[5, 4]])
    (True, False)
    """

    def __init__(self, marks: Hashes | None = None) -> None:
        self.rows, self.print = 0, 0
        self.known: dict[int, int] = {}
        if marks is not None:
            self.known = {int(rows): int(found) for rows, found in marks}
            if self.known:
                self.rows = max(self.known)
                self.print = self.known[self.rows]

    def _step(self, keys: Hashes) -> None:
        self.print = (self.print + ordered_print(keys, self.rows)) % 2**64
        self.rows += int(keys.size)

    def add(self, keys: Hashes) -> None:
        """Rows of the first pass."""
        self._step(keys)
        self.known[self.rows] = self.print

    def again(self) -> Marks:
        """The same, about to be compared with another pass."""
        other = Marks()
        other.known = self.known
        return other

    def compare(self, keys: Hashes) -> bool:
        """Whether rows of another pass are those of the first, as far as can be told here.

        Rows that are not leave everything as it was before them.
        """
        before = self.rows, self.print
        self._step(keys)
        if self.known.get(self.rows, self.print) == self.print:
            return True
        self.rows, self.print = before
        return False

    @property
    def complete(self) -> bool:
        """Whether a pass has come to where the first one ended."""
        return self.rows == max(self.known, default=0) and self.known.get(self.rows) == self.print

    def to_array(self) -> Hashes:
        """For a checkpoint."""
        pairs = sorted(self.known.items())
        return np.array(pairs, dtype=np.uint64).reshape(len(pairs), 2)
