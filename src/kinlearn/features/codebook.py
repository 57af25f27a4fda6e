"""Sets of vectors as histograms over a codebook: bags of words."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.cluster import MiniBatchKMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from kinlearn.features._per_item import check_vectors
from kinlearn.threads import on_own_threads

Floats = NDArray[np.float64]


class CodebookHistogram(TransformerMixin, BaseEstimator):
    """Share of an item's vectors that are nearest to each of D words.

    The words are centres of k-means in small batches, over a bounded random sample of all vectors:
    2048 words of MFCC frames in the multi-label paper, 500 of SURF in the LSPC-new paper.

    Parameters
    ----------
    n_words : int, default=2048
        D.
    max_vectors : int, default=200_000
        Vectors drawn evenly from all items to find the words: bounds the memory of ``fit``.
    normalize : bool, default=True
        Whether histograms add up to one; False counts.
    random_state : int, RandomState or None, default=None
        Seed of the sample and of k-means.

    Attributes
    ----------
    words_ : ndarray of shape (n_words_, dimensions)
        The codebook.
    n_words_ : int
        D, or the number of distinct vectors where there are fewer (with a warning).

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.features import CodebookHistogram
    >>> items = [np.zeros((3, 2)), np.vstack([np.zeros((1, 2)), np.ones((3, 2))])]
    >>> np.sort(CodebookHistogram(n_words=2, random_state=0).fit_transform(items), axis=1)
    array([[0.  , 1.  ],
           [0.25, 0.75]])
    """

    def __init__(
        self,
        *,
        n_words: int = 2048,
        max_vectors: int = 200_000,
        normalize: bool = True,
        random_state: Any = None,
    ) -> None:
        self.n_words = n_words
        self.max_vectors = max_vectors
        self.normalize = normalize
        self.random_state = random_state

    @on_own_threads
    def fit(self, X: Any, y: Any = None) -> CodebookHistogram:
        """Find the words.

        Parameters
        ----------
        X : sequence of arrays of shape (vectors, dimensions)
            One array for each item; an item may have none.
        y : ignored
            Here because scikit-learn passes it.

        Returns
        -------
        CodebookHistogram
            The fitted transformer itself.
        """
        if self.n_words < 1 or self.max_vectors < self.n_words:
            raise ValueError(
                f"n_words must be at least 1 and max_vectors at least n_words, but they are "
                f"{self.n_words} and {self.max_vectors}."
            )
        rng = check_random_state(self.random_state)
        sample = _sample(check_vectors(X, "CodebookHistogram", allow_empty=True), self, rng)
        distinct = len(np.unique(sample, axis=0))
        n_words = min(self.n_words, distinct)
        if n_words < self.n_words:
            warnings.warn(
                f"There are only {distinct} distinct vectors, so the codebook has that many words "
                f"instead of {self.n_words}.",
                UserWarning,
                stacklevel=3,
            )
        means = MiniBatchKMeans(
            n_words,
            init="random" if n_words > 256 else "k-means++",
            n_init=1,
            batch_size=max(1024, 2 * n_words),
            max_iter=20,
            reassignment_ratio=0.0,
            random_state=rng,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # any codebook will do
            self.words_: Floats = means.fit(sample).cluster_centers_
        self.n_words_ = n_words
        self._means = means
        return self

    @on_own_threads
    def transform(self, X: Any) -> Floats:
        """Return the histograms, one row an item; zeros for an item without vectors.

        Parameters
        ----------
        X : sequence of arrays of shape (vectors, dimensions)
            One array for each item.

        Returns
        -------
        ndarray of shape (items, n_words_)
            The histograms.
        """
        check_is_fitted(self, "words_")
        items = check_vectors(X, "CodebookHistogram", allow_empty=True)
        found = np.zeros((len(items), self.n_words_))
        for row, vectors in zip(found, items, strict=True):
            if not len(vectors):
                continue
            if vectors.shape[1] != self.words_.shape[1]:
                raise ValueError(
                    f"The codebook has words of length {self.words_.shape[1]}, but there are "
                    f"vectors of length {vectors.shape[1]}."
                )
            row += np.bincount(self._means.predict(vectors), minlength=self.n_words_)
            if self.normalize:
                row /= len(vectors)
        return found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.no_validation = True
        return tags


def _sample(items: list[Floats], owner: CodebookHistogram, rng: Any) -> Floats:
    """Draw vectors evenly from all items, without ever joining them all."""
    sizes = np.array([len(vectors) for vectors in items])
    total = int(sizes.sum())
    if total <= owner.max_vectors:
        return np.vstack([vectors for vectors in items if len(vectors)])
    chosen = np.sort(rng.choice(total, owner.max_vectors, replace=False))
    starts = np.concatenate([[0], np.cumsum(sizes)])
    bounds = np.searchsorted(chosen, starts)
    return np.vstack(
        [
            vectors[chosen[a:b] - start]
            for vectors, a, b, start in zip(items, bounds[:-1], bounds[1:], starts, strict=False)
            if b > a
        ]
    )
