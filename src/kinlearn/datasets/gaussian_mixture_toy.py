"""The one-dimensional two-class problem of the LSPC-new paper, with its true posterior.

p(x|y=1) = N(x; 0, 1),  p(x|y=2) = ½ N(x; -2, 1) + ½ N(x; 2, 1),  p(y=1) = p(y=2) = ½.

The posterior is a bump between two far ends where it tends to zero: rounding negative parameters
up to zero flattens it, rounding negative outputs does not.

References
----------
Yamada, Sugiyama, Wichern, Simm: Improving the accuracy of least-squares probabilistic classifiers,
2011, section 3.1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.utils import check_array, check_random_state

__all__ = ["gaussian_mixture_toy_posterior", "make_gaussian_mixture_toy"]

_OFFSET = 2.0  # the means of the second class lie at plus and minus this


def make_gaussian_mixture_toy(
    n_per_class: int = 250, random_state: int | np.random.RandomState | None = None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Draw the same number of samples of both classes, in random order.

    Parameters
    ----------
    n_per_class : int, default=250
        Samples of each class; 250 is the paper's training and test set.
    random_state : int, RandomState instance or None, default=None
        Seed for a repeatable draw.

    Returns
    -------
    X : ndarray of shape (2 * n_per_class, 1)
    y : ndarray of shape (2 * n_per_class,)
        The paper's classes, 1 (the middle) and 2 (both sides).

    Examples
    --------
    >>> from kinlearn.datasets import make_gaussian_mixture_toy
    >>> X, y = make_gaussian_mixture_toy(n_per_class=250, random_state=0)
    >>> X.shape, y.shape, int((y == 1).sum())
    ((500, 1), (500,), 250)
    """
    whole = isinstance(n_per_class, int | np.integer) and not isinstance(n_per_class, bool)
    if not whole or n_per_class < 1:
        raise ValueError(f"n_per_class must be a whole number of at least 1; got {n_per_class!r}.")
    rng = check_random_state(random_state)
    y = np.repeat(np.array([1, 2], dtype=np.int64), n_per_class)
    sides = _OFFSET * rng.choice([-1.0, 1.0], size=n_per_class)
    means = np.concatenate([np.zeros(n_per_class), sides])
    x = means + rng.standard_normal(2 * n_per_class)
    order = rng.permutation(2 * n_per_class)
    return x[order, None], y[order]


def gaussian_mixture_toy_posterior(X: ArrayLike) -> NDArray[np.float64]:
    """True class posterior of :func:`make_gaussian_mixture_toy`, one column for each of 1 and 2.

    p(x|y=2) / p(x|y=1) = exp(-2) cosh(2x), so p(y=1|x) = 1 / (1 + exp(log cosh(2x) - 2)).

    Parameters
    ----------
    X : array-like of shape (n, 1)
        Where to evaluate it.

    Returns
    -------
    ndarray of shape (n, 2)

    Examples
    --------
    >>> from kinlearn.datasets import gaussian_mixture_toy_posterior
    >>> gaussian_mixture_toy_posterior([[0.0], [4.0]]).round(4)
    array([[0.8808, 0.1192],
           [0.0049, 0.9951]])
    """
    points: NDArray[np.float64] = check_array(X, dtype=np.float64, input_name="X")
    if points.shape[1] != 1:
        raise ValueError(
            f"X must have the one feature of this toy problem; it has {points.shape[1]} columns."
        )
    x = np.abs(points[:, 0])
    # log cosh(a x) written so that it neither overflows nor loses the far ends.
    log_cosh = _OFFSET * x + np.log1p(np.exp(-2 * _OFFSET * x)) - np.log(2)
    log_ratio = log_cosh - _OFFSET**2 / 2
    return np.column_stack([expit(-log_ratio), expit(log_ratio)])
