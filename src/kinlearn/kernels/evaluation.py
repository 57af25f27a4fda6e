"""Kernel matrices against fixed centres, in blocks of bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import scipy.sparse as sp

from kinlearn.kernels.library import Kernel
from kinlearn.kernels.measures import Rows
from kinlearn.threads import side_by_side

# A block that stays in the processor's cache is exponentiated and multiplied faster than a large
# one: this many bytes a block measured best, whatever larger memory is allowed.
CACHE_BLOCK_BYTES = 2 << 20
DEFAULT_MEMORY_MB = 256


def row_blocks(n_rows: int, bytes_per_row: int, max_bytes: int) -> list[slice]:
    """Cut rows into slices of at most `max_bytes`, at least one row each."""
    size = max(1, int(max_bytes // max(bytes_per_row, 1)))
    return [slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]


class KernelMap:
    """The features ``phi(x) = (k(x, c_1), ..., k(x, c_m))`` of Eq. 2 (lspc-new).

    Parameters
    ----------
    kernel : Kernel
        Which kernel.
    centers : array or CSR matrix of shape (m, d)
        The centres; for a precomputed kernel, the positions of their columns.
    memory_mb : float
        Bound on the memory of the blocks in work at one time.
    """

    def __init__(self, kernel: Kernel, centers: Rows, memory_mb: float = DEFAULT_MEMORY_MB) -> None:
        self.kernel = kernel
        self.centers = centers
        self.memory_mb = memory_mb
        self.measure = kernel.measure(centers)

    @property
    def n_centers(self) -> int:
        return int(self.centers.shape[0])

    def square_measure(self, X: Rows | None = None) -> np.ndarray:
        """Return the measure between the centres; a precomputed kernel takes it from `X`."""
        if self.kernel.name == "precomputed":
            assert X is not None
            return self.measure.block(X)
        return self.measure.square()

    def square(self, sigma: float, X: Rows | None = None) -> np.ndarray:
        """Return the symmetric kernel matrix of the centres."""
        values = self.square_measure(X)
        return self.kernel.profile(values, sigma, values)

    def norm(self, sigma: float) -> np.ndarray | None:
        """Return the kernel between the centres, ``aᵀKa`` being the squared norm of ``aᵀphi``.

        None of a function of a user's, which need not be positive.
        """
        return self.square(sigma) if self.kernel.has_feature_space else None

    def features(self, X: Rows, sigma: float) -> np.ndarray:
        """Return all features of `X` at once, an array of shape (rows, centres)."""
        features = np.empty((X.shape[0], self.n_centers))
        for rows, block in self.feature_blocks(X, sigma):
            features[rows] = block
        return features

    def feature_blocks(self, X: Rows, sigma: float) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield (rows, features) over blocks large enough for efficient matrix products."""
        budget = min(self.memory_mb * 2**20 / 3, 64 << 20)
        for rows in row_blocks(X.shape[0], 8 * self.n_centers, int(budget)):
            yield rows, self._feature_block(X[rows], sigma)

    def _feature_block(self, X: Rows, sigma: float) -> np.ndarray:
        parts = row_blocks(X.shape[0], 8 * self.n_centers, CACHE_BLOCK_BYTES)
        features = np.empty((X.shape[0], self.n_centers))

        def work(rows: slice) -> None:
            self.kernel.profile(self.measure.block(X[rows]), sigma, features[rows])

        with side_by_side(len(parts)) as each:
            list(each(work, parts))
        return features

    def scores(
        self,
        X: Rows,
        sigmas: Sequence[float] | np.ndarray,
        coefs: Sequence[np.ndarray] | np.ndarray,
        seen: Callable[[slice, np.ndarray], None] | None = None,
    ) -> np.ndarray:
        """Return ``Σ_s k_s(X, centres) coefs[s]``, one measure and one profile a width.

        Blocks run side by side: most of the time goes into the exponential, which NumPy runs on one
        core. `seen` is shown the measure of each block of rows, and leaves it as it is.
        """
        n_rows = X.shape[0]
        out = np.empty((n_rows, coefs[0].shape[1]))
        buffers = 2 if len(sigmas) > 1 else 1
        allowed = self.memory_mb * 2**20 / buffers
        budget = min(allowed, CACHE_BLOCK_BYTES)
        blocks = row_blocks(n_rows, 8 * self.n_centers, int(budget))
        if sp.issparse(X) and not sp.isspmatrix_csr(X):
            X = X.tocsr()

        def work(rows: slice) -> None:
            values = self.measure.block(X[rows])
            if seen is not None:
                seen(rows, values)
            if len(sigmas) == 1:
                np.matmul(
                    self.kernel.profile(values, float(sigmas[0]), values), coefs[0], out[rows]
                )
                return
            buffer = np.empty_like(values)
            total = out[rows]
            total[...] = 0.0
            for sigma, coef in zip(sigmas, coefs, strict=True):
                total += self.kernel.profile(values, float(sigma), buffer) @ coef

        with side_by_side(len(blocks), at_most=int(allowed // budget)) as each:
            list(each(work, blocks))
        return out
