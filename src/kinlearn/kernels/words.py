"""Rows of words: shares or counts of many words, of which each row has few."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from kinlearn.kernels.measures import Rows

# Fewer columns are no vocabulary.
LEAST_WORDS = 30
# In rows of words at least this share of all entries is zero.
LEAST_ZEROS = 0.5


def are_words(X: Rows) -> bool:
    """Whether no entry is negative and most are zero, over many columns.

    What matters about such rows is which words they have in which proportions, not how many: the
    cosine kernel sees that.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        Rows.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.kernels.words import are_words
    >>> counts = np.random.default_rng(0).poisson(0.2, size=(20, 50))
    >>> are_words(counts), are_words(counts - counts.mean(axis=0))
    (True, False)
    """
    n_entries = X.shape[0] * X.shape[1]
    if X.shape[1] < LEAST_WORDS or n_entries == 0:
        return False
    values = X.data if sp.issparse(X) else X
    if values.size and float(values.min()) < 0.0:
        return False
    return bool(1.0 - np.count_nonzero(values) / n_entries >= LEAST_ZEROS)
