"""How likely a label is wrong, from probabilities that have not seen it and a model of mistakes.

Let π_k(x) be the chance of the true class k and ``T_jk`` that a row of class k is labelled j. What
a model of the labels learns is ``p_j(x) = Σ_k T_jk π_k(x)``, and a label j is right with chance::

    P(true = j | x, label j) = T_jj π_j(x) / Σ_k T_jk π_k(x)

T is counted from rows whose probabilities are confident (Northcutt, Jiang, Chuang: Confident
learning, 2021: a class is confident at a row where its probability is at least the mean over the
rows labelled so). Classes that are hard to tell apart are taken for each other in both directions;
mistakes of a person often go in one. So only what goes in one direction more often than back, by
more than chance, counts for its pair of classes; all other mistakes are taken to be equally likely
between all classes, by which rows come in the order of the probability of their label. π is p with
T undone in a few steps of expectation-maximisation, few because p is itself an estimate.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Index: TypeAlias = NDArray[np.intp]

# Rows of each class by which one-way mistakes are drawn towards none, and steps that undo T.
DRAWN_BY, N_STEPS = 20.0, 3
# So many standard errors of one-way mistakes are taken for chance.
CHANCE = 0.5
# At most this share of a class is mistaken.
MOST = 0.9
LEAST = 1e-12


def mistakes(proba: Array, codes: Index) -> Array:
    """Return T: the chance that a row of the class of a column is labelled as the class of a row.

    Parameters
    ----------
    proba : ndarray of shape (n, c)
        Held-out probabilities.
    codes : ndarray of shape (n,)
        Column of each label.

    Examples
    --------
    >>> import numpy as np
    >>> proba = np.repeat([[0.9, 0.1], [0.1, 0.9]], 50, axis=0)
    >>> codes = np.repeat([0, 1], 50)
    >>> codes[:10] = 1  # of the first class, and of that alone, one in five is called the other
    >>> mistakes(proba, codes).round(2)
    array([[0.86, 0.03],
           [0.14, 0.97]])
    """
    n_classes = proba.shape[1]
    sizes = np.bincount(codes, minlength=n_classes)
    own = proba[np.arange(len(codes)), codes]
    usual = np.bincount(codes, weights=own, minlength=n_classes) / np.maximum(sizes, 1)
    usual[sizes == 0] = 1.0
    confident = proba >= usual - LEAST
    seen = confident.any(axis=1)
    likely = np.where(confident, proba, -1.0).argmax(axis=1)
    counts = np.eye(n_classes)  # by label and likely class
    np.add.at(counts, (codes[seen], likely[seen]), 1.0)
    counts *= (sizes / counts.sum(axis=1))[:, None]
    several = counts - np.diag(np.diagonal(counts))
    one_way = several - several.T - CHANCE * np.sqrt(several + several.T)
    one_way = np.maximum(one_way, 0.0)
    # where no mistake is seen there may still be one
    others = (several.sum() - one_way.sum()) / counts.sum() + 1.0 / (len(codes) + 1.0)
    T = one_way / (counts.sum(axis=0) + DRAWN_BY) + others / max(n_classes - 1, 1)
    np.fill_diagonal(T, 0.0)
    T /= np.maximum(T.sum(axis=0) / MOST, 1.0)
    np.fill_diagonal(T, 1.0 - T.sum(axis=0))
    return T


def suspicion(proba: Array, codes: Index) -> Array:
    """Return the chance that each label is wrong.

    Parameters
    ----------
    proba : ndarray of shape (n, c)
        Held-out probabilities; a row of NaN has a NaN.
    codes : ndarray of shape (n,)
        Column of each label.

    Examples
    --------
    >>> import numpy as np
    >>> proba = np.array([[0.9, 0.1], [0.2, 0.8], [0.2, 0.8]])
    >>> int(suspicion(proba, np.array([0, 0, 1])).argmax())
    1
    """
    chance = np.full(len(codes), np.nan)
    known = ~np.isnan(proba).any(axis=1)
    p, labels = proba[known], codes[known]
    if not known.any():
        return chance
    T, true = mistakes(p, labels), p
    for _ in range(N_STEPS):
        true = true * ((p / np.maximum(true @ T.T, LEAST)) @ T)
        true = true / np.maximum(true.sum(axis=1, keepdims=True), LEAST)
    rows = np.arange(len(labels))
    called = (true @ T.T)[rows, labels]
    right = true[rows, labels] * T[labels, labels]
    chance[known] = 1.0 - right / np.maximum(called, LEAST)
    return chance


def contradicted(proba: Array, codes: Index) -> NDArray[np.bool_]:
    """Return whether another class is more probable than each label."""
    known: NDArray[np.bool_] = np.logical_not(np.isnan(proba).any(axis=1))
    own = proba[np.arange(len(codes)), codes]
    most = np.max(proba, axis=1, where=known[:, None], initial=0.0)
    return np.logical_and(known, own < most)
