"""A number for every row that depends on its values and its task alone.

Rows of the smallest numbers are a sample that any machine, in any order of the data, draws alike.
Equal rows have equal numbers, whether they come dense or sparse, in single or double precision.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kinlearn.kernels.measures import Rows

Hashes = NDArray[np.uint64]
# Rows are hashed in pieces of about this many values, to keep the passes within the cache.
PIECE = 1 << 18


def scramble(values: Hashes) -> Hashes:
    """The finaliser of splitmix64: flipping one bit of a value flips half the bits of the result.

    Examples
    --------
    >>> import numpy as np
    >>> scramble(np.array([0], dtype=np.uint64))
    array([0], dtype=uint64)
    """
    values = values ^ (values >> np.uint64(30))
    values *= np.uint64(0xBF58476D1CE4E5B9)
    values ^= values >> np.uint64(27)
    values *= np.uint64(0x94D049BB133111EB)
    values ^= values >> np.uint64(31)
    return values


def row_hashes(X: Rows, salts: Hashes | None = None) -> Hashes:
    """Hash every row of X, each with its salt if there are any.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        Rows.
    salts : ndarray of uint64, shape (n,), optional
        What tells equal rows of different tasks apart.

    Examples
    --------
    >>> import numpy as np
    >>> a, b, c = row_hashes(np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]))
    >>> bool(a == c), bool(a == b)
    (True, False)
    """
    n_rows, width = X.shape
    columns = scramble(np.arange(1, width + 1, dtype=np.uint64))
    out = np.zeros(n_rows, dtype=np.uint64)
    if sp.issparse(X):
        values = _value_bits(X.data, columns[X.indices])
        sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(values, dtype=np.uint64)])
        out = sums[X.indptr[1:]] - sums[X.indptr[:-1]]  # modulo 2⁶⁴, as everything here
    else:
        size = max(1, PIECE // max(width, 1))
        for start in range(0, n_rows, size):
            part = np.ascontiguousarray(X[start : start + size], dtype=np.float64)
            out[start : start + size] = _value_bits(part, columns).sum(axis=1, dtype=np.uint64)
    if salts is not None:
        out ^= salts
    return scramble(out + np.uint64(0x9E3779B97F4A7C15))


def entry_hashes(rows: Hashes, labels: Hashes) -> Hashes:
    """Hashes of rows with their labels, from those of the rows and the labels' salts.

    The smallest of them are the sample that sums keep, and that a fit of the rows at once can draw.
    """
    return scramble(rows + labels)


def _value_bits(values: np.ndarray, columns: Hashes) -> Hashes:
    bits = np.ascontiguousarray(values, dtype=np.float64).view(np.uint64)
    mixed = scramble(bits * np.uint64(0x9E3779B97F4A7C15) + columns)
    # zeros count for nothing, so that a sparse row hashes as the dense one it stands for
    mixed[values == 0] = 0
    return mixed


def name_salt(name: Any) -> np.uint64:
    """A salt from the id of a task, a class or a label: the same for 3, 3.0 and NumPy's 3."""
    if hasattr(name, "item"):
        name = name.item()
    if isinstance(name, float) and name.is_integer():
        name = int(name)
    digest = hashlib.blake2b(f"{type(name).__name__}:{name!r}".encode(), digest_size=8).digest()
    return np.uint64(int.from_bytes(digest, "little"))


def first_equal(keys: Hashes, among: Hashes) -> NDArray[np.intp]:
    """Return where each hash stands among others, for the first time; -1 for nowhere.

    Examples
    --------
    >>> import numpy as np
    >>> first_equal(np.array([7, 5, 6], np.uint64), np.array([5, 7, 7], np.uint64)).tolist()
    [1, 0, -1]
    """
    known, at = np.unique(among, return_index=True)
    near = np.minimum(np.searchsorted(known, keys), known.size - 1)
    return np.where(known[near] == keys, at[near], -1)
