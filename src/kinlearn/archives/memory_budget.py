"""How much memory reading a file may take: bounded by its size, asked before anything is made."""

from __future__ import annotations

import json
from typing import Any

from kinlearn.archives.errors import KinFileError

# What is held at the end. Besides it, a member is held as bytes while its array is made, and one
# row is answered: together at most four times the file and 50 MB.
FACTOR, SLACK = 3, 40 << 20
# A parsed value and what it is decoded to, by the character that announces it.
JSON_BYTES = {b"{": 400, b"[": 160, b'"': 20, b",": 40, b":": 120}


class Budget:
    """What is left of the memory that a file of `file_bytes` may take.

    Parameters
    ----------
    file_bytes : int
        Size of the file.

    Examples
    --------
    >>> budget = Budget(1000)
    >>> budget.parse(b"[1, 2]")
    [1, 2]
    >>> budget.take(10**9)
    Traceback (most recent call last):
        ...
    kinlearn.archives.errors.KinFileError: what it describes would take more memory than ...
    """

    def __init__(self, file_bytes: int) -> None:
        self.left = FACTOR * file_bytes + SLACK

    def take(self, n_bytes: int) -> None:
        """Count memory that is about to be taken; refused when there is not so much."""
        self.left -= n_bytes
        if self.left < 0:
            raise KinFileError(
                "what it describes would take more memory than a file of its size explains"
            )

    def parse(self, content: bytes) -> Any:
        """Return the values of a JSON text, counted first."""
        self.take(parsed_bytes(content))
        return json.loads(content)


def parsed_bytes(content: bytes) -> int:
    """Return a bound on the memory of the values in a JSON text."""
    text = len(content) if content.isascii() else 4 * len(content)
    return text + sum(size * content.count(mark) for mark, size in JSON_BYTES.items())
