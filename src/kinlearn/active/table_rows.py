"""How the rows of a table lie: which stand for many others that nothing labelled is near."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.metrics import pairwise_distances

Array: TypeAlias = NDArray[np.float64]
Index: TypeAlias = NDArray[np.intp]

# So many random rows stand for the table, and so many may be asked for at a time.
N_REFERENCES, N_CANDIDATES = 500, 5_000


class TableRows:
    """Distances from candidates to a sample of the table.

    Parameters
    ----------
    X : table
        All rows, as the model sees them.
    scale : bool
        Whether columns are divided by their spread.
    seed : int
        Of the sample, and of which rows are candidates first where there are many.
    """

    def __init__(self, X: Any, scale: bool, seed: int) -> None:
        self.X = as_numbers(X, scale)
        self.n_rows = int(X.shape[0]) if hasattr(X, "shape") else len(X)
        random = np.random.default_rng([seed, 2])
        self.references = random.permutation(self.n_rows)[:N_REFERENCES]
        self.order = random.permutation(self.n_rows)
        self._chunk: tuple[int, Index, Array] | None = None
        self._labelled: list[int] = []
        self._nearest = np.full(len(self.references), np.inf)

    def candidates(self, is_open: NDArray[np.bool_]) -> tuple[Index, Array]:
        """Open rows to choose from, and the distances of each to the sample.

        Of a long table they are the open ones of a random part, the same from step to step until
        half of it is labelled.
        """
        starts = range(0, self.n_rows, N_CANDIDATES)
        still_open = [is_open[self.order[start : start + N_CANDIDATES]].mean() for start in starts]
        wanted = next((k for k, share in enumerate(still_open) if share > 0.5), None)
        chunk = int(np.argmax(still_open)) if wanted is None else wanted
        if self._chunk is None or self._chunk[0] != chunk:
            rows = np.sort(self.order[chunk * N_CANDIDATES : (chunk + 1) * N_CANDIDATES])
            self._chunk = chunk, rows, self._distances(rows)
        _, rows, distances = self._chunk
        some = is_open[rows]
        return rows[some], distances[some]

    def gain(self, distances: Array, labelled: list[int]) -> Array:
        """How much nearer the sample would on average be to a labelled row, by candidate."""
        known = len(self._labelled)
        if labelled[:known] != self._labelled:
            self._nearest[:], known = np.inf, 0
        if len(labelled) > known:
            new = self._distances(np.array(labelled[known:], dtype=np.intp))
            self._nearest = np.minimum(self._nearest, new.min(axis=0))
        self._labelled = list(labelled)
        nearest = self._nearest
        if not labelled:  # any row is an improvement: the one in the middle is the largest
            nearest = np.full(len(nearest), float(distances.max(initial=0.0)))
        return np.maximum(nearest - distances, 0.0).mean(axis=1)

    def _distances(self, rows: Index) -> Array:
        if self.X is None:
            return np.zeros((len(rows), len(self.references)))
        return pairwise_distances(self.X[rows], self.X[self.references])


def as_numbers(X: Any, scale: bool) -> Any:
    """The rows as an array or CSR matrix of numbers; None where they are none."""
    if sp.issparse(X):
        return X.tocsr()
    try:
        values = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    if values.ndim != 2 or not np.isfinite(values).all():
        return None
    if scale:
        spread = values.std(axis=0)
        values = values / np.where(spread > 0.0, spread, 1.0)
    return values
