"""The audit: rows drawn at random before any label is known, on which accuracy is measured.

Rows that a strategy chose are harder than the others, and what is left when they are gone is
easier; neither tells the accuracy on the table. So the audit walks along one random order of all
rows. A row that it meets and that is labelled already, for whatever reason, counts without being
asked for again. So the rows it has passed are a simple random sample of the table, however the
others were chosen.

Each is answered by a model without it. That alone is too pessimistic: the strategy knew that the
row is labelled and asked elsewhere, so that a model without it has a hole there. The model knows of
its holes, since it is less sure of these rows than of the table. By so much the share is raised.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kinlearn.selection.hand_over import upper_bound

AUDIT = "audit"


class AuditRows:
    """A random order of rows, and which of them the audit has passed.

    Parameters
    ----------
    n_rows : int
        Rows of the table.
    share : float
        How many of the rows asked for are the audit's.
    seed : int
        Of the order.
    """

    def __init__(self, n_rows: int, share: float, seed: int) -> None:
        self.share = share
        self.order = np.random.default_rng([seed, 1]).permutation(n_rows)
        self._place = np.empty(n_rows, dtype=np.intp)
        self._place[self.order] = np.arange(n_rows)

    def is_due(self, how: dict[int, str]) -> bool:
        """Whether the next row is the audit's, from how the labelled ones came to be asked for."""
        asked = [why for why in how.values() if why != "given"]
        # half a row ahead: the first audit comes soon, and the share is never far off
        return asked.count(AUDIT) + 0.5 < self.share * (len(asked) + 1)

    def next_row(self, is_open: NDArray[np.bool_]) -> int | None:
        """The next row in the order that is open; None where there is none."""
        found = self.order[is_open[self.order]]
        return int(found[0]) if found.size else None

    def passed(self, how: dict[int, str]) -> NDArray[np.intp]:
        """The labelled rows that the audit has passed: a random sample of the table."""
        places = [self._place[row] for row, why in how.items() if why == AUDIT]
        if not places:
            return np.empty(0, dtype=np.intp)
        end = max(places)
        return np.array([row for row in how if self._place[row] <= end], dtype=np.intp)


@dataclass(frozen=True)
class Audited:
    """The audit's rows, each answered by a model without it.

    Attributes
    ----------
    right : ndarray of bool
        Whether the answer is right.
    sure : ndarray of float
        The largest probability of each.
    sure_of_table : float
        Its mean over the table; of labelled rows without their label, too.
    """

    right: NDArray[np.bool_]
    sure: NDArray[np.float64]
    sure_of_table: float

    @property
    def accuracy(self) -> float:
        """Share right, raised by how much surer the model is of the table; NaN of no rows.

        Examples
        --------
        >>> round(Audited(np.array([True, True, False, True]), np.full(4, 0.7), 0.8).accuracy, 9)
        0.85
        """
        if not len(self.right):
            return float("nan")
        hole = self.sure_of_table - self.sure.mean()
        return float(np.clip(self.right.mean() + hole, 0.0, 1.0))

    @property
    def figure(self) -> tuple[float, float, float]:
        """The accuracy with Clopper and Pearson's interval."""
        n = len(self.right)
        return self.accuracy, *exact_interval(self.accuracy * n if n else 0.0, n)


def exact_interval(n_right: float, n: int, risk: float = 0.05) -> tuple[float, float]:
    """Clopper and Pearson's interval of a share; all of [0, 1] of no cases.

    Examples
    --------
    >>> [round(end, 3) for end in exact_interval(9, 10)]
    [0.555, 0.997]
    """
    if n == 0:
        return 0.0, 1.0
    return 1.0 - upper_bound(n - n_right, n, risk / 2), upper_bound(n_right, n, risk / 2)
