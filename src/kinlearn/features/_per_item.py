"""Transformers that turn every file (or array) into a set of vectors of its own."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Memory, Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from kinlearn.threads import own_threads

Floats = NDArray[np.float64]


class UnusableItem(ValueError):
    """A file or array that no features can be had from; the message names it."""


class PerItemTransformer(TransformerMixin, BaseEstimator):
    """Files or arrays in, one array of vectors for each out: in parallel, cached, with progress.

    Subclasses have parameters ``on_error``, ``n_jobs``, ``memory`` and ``verbose``, and give
    ``_work()``: a module-level function of (item, name, settings) and its settings.
    """

    on_error: str
    n_jobs: int | None
    memory: Any
    verbose: int

    def _work(self) -> tuple[Any, dict[str, Any]]:
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None) -> Any:
        """Check the settings; nothing is learnt.

        Parameters
        ----------
        X : sequence of paths or arrays
            Not looked at.
        y : ignored
            Here because scikit-learn passes it.

        Returns
        -------
        self
            The transformer itself.
        """
        self._work()
        if self.on_error not in ("raise", "skip"):
            raise ValueError(f"on_error must be 'raise' or 'skip', but it is {self.on_error!r}.")
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True  # there is nothing to learn

    def transform(self, X: Any) -> list[Floats]:
        """Return an array of shape (vectors, dimensions) for every item.

        Parameters
        ----------
        X : sequence of paths or arrays
            The items.

        Returns
        -------
        list of ndarray
            As many as there are items. With ``on_error="skip"`` an unusable item has no vectors: a
            warning names it, ``skipped_`` holds its position and the reason.
        """
        self.fit(X)
        function, settings = self._work()
        if self.memory is not None:
            memory = self.memory
            if not isinstance(memory, Memory):
                memory = Memory(memory, verbose=0)
            function = memory.cache(function, ignore=["name"])
        items = _items(X)
        with own_threads():
            outcomes = Parallel(n_jobs=self.n_jobs, verbose=self.verbose)(
                delayed(_attempt)(function, item, stamp(item), name_of(item, i), settings)
                for i, item in enumerate(items)
            )
        self.skipped_: list[tuple[int, str]] = []
        found: list[Floats] = []
        for i, (vectors, problem) in enumerate(outcomes):
            if problem is not None:
                if self.on_error == "raise":
                    raise UnusableItem(f'{problem} Mend or leave it out, or use on_error="skip".')
                warnings.warn(f"Skipped: {problem}", UserWarning, stacklevel=2)
                self.skipped_.append((i, problem))
            found.append(vectors)
        if self.skipped_:
            usable = [len(v) and v.shape[1] for v in found]
            width = max(usable, default=0)
            found = [v if len(v) else np.empty((0, width)) for v in found]
        return found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.no_validation = True
        tags.requires_fit = False
        return tags


def _items(X: Any) -> Sequence[Any]:
    if isinstance(X, str | os.PathLike):
        raise ValueError(f"X must be a sequence of paths or arrays, but it is the path {str(X)!r}.")
    return list(X)


def _attempt(
    function: Any, item: Any, version: Any, name: str, settings: dict[str, Any]
) -> tuple[Floats, str | None]:
    try:
        return function(item, version, name, settings), None
    except UnusableItem as error:
        return np.empty((0, 0)), str(error)


def stamp(item: Any) -> tuple[int, int] | None:
    """Size and time of change of a file, so that the cache notices another content."""
    if not isinstance(item, str | os.PathLike) or not Path(item).exists():
        return None
    found = Path(item).stat()
    return found.st_size, found.st_mtime_ns


def name_of(item: Any, position: int) -> str:
    """How messages call an item: its path, or its position."""
    return str(item) if isinstance(item, str | os.PathLike) else f"item {position}"


def check_vectors(X: Any, caller: str, *, allow_empty: bool) -> list[Floats]:
    """Return a list of two-dimensional arrays of one width."""
    found = [np.asarray(vectors, dtype=np.float64) for vectors in X]
    if not found:
        raise ValueError(f"{caller} was given no items.")
    widths = {vectors.shape[1] for vectors in found if vectors.ndim == 2 and len(vectors)}
    for i, vectors in enumerate(found):
        if vectors.ndim != 2:
            raise ValueError(
                f"{caller} takes an array of shape (vectors, dimensions) for every item, but item "
                f"{i} has {vectors.ndim} dimensions."
            )
        if len(vectors) == 0 and not allow_empty:
            raise ValueError(f"{caller}: item {i} has no vectors; leave it out.")
        if not np.isfinite(vectors).all():
            raise ValueError(f"{caller}: item {i} holds NaN or infinite values.")
    if len(widths) > 1:
        raise ValueError(f"{caller}: items have vectors of different lengths {sorted(widths)}.")
    if not widths:
        raise ValueError(f"{caller}: no item has any vectors.")
    return found
