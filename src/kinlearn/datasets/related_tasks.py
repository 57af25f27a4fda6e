"""Related classification tasks to try multi-task learning on, with the truth known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.utils import check_random_state

Array = NDArray[np.float64]


class _RandomSurfaces:
    """Smooth random functions of x, one per class: f(x) = √(2/F) Σ_j w_j cos(ω_jᵀx + b_j)."""

    def __init__(self, random: np.random.RandomState, n_features: int, n_waves: int = 60) -> None:
        self.frequencies = random.normal(
            scale=1.0 / np.sqrt(n_features), size=(n_features, n_waves)
        )
        self.phases = random.uniform(0.0, 2.0 * np.pi, size=n_waves)

    def __call__(self, X: Array, weights: Array) -> Array:
        waves = np.cos(X @ self.frequencies + self.phases)
        return np.sqrt(2.0 / len(self.phases)) * waves @ weights


def make_related_tasks(
    *,
    n_tasks: int = 8,
    n_samples: int | Sequence[int] = 40,
    n_features: int = 5,
    n_classes: int = 2,
    relatedness: float = 0.8,
    sharpness: float = 6.0,
    class_balance: Sequence[float] | None = None,
    n_reversed: int = 0,
    return_posterior: bool = False,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[NDArray, ...]:
    """Draw samples of related tasks with known class probabilities.

    Task t has p(y|x,t) = softmax(sharpness · f_t(x) + b)_y with
    f_t = √relatedness · f_0 + √(1 - relatedness) · g_t, where f_0 is common and g_t the task's own,
    all smooth random functions of the same variance; b sets the classes' balance.

    Parameters
    ----------
    n_tasks : int
        Number of tasks.
    n_samples : int or sequence of int
        Samples per task, or one number for each task.
    n_features, n_classes : int
        Dimension of x, number of classes.
    relatedness : float in [0, 1]
        Correlation of the tasks' surfaces: 1 makes all tasks the same, 0 unrelated.
    sharpness : float
        How certain the labels are, given x: 0 makes them coin tosses.
    class_balance : sequence of float, optional
        Share of each class over all tasks; equal shares by default.
    n_reversed : int
        The last so many tasks get their labels in reverse (class k becomes n_classes - 1 - k).
    return_posterior : bool
        Also return the true probabilities p(y|x,t).
    random_state : int, RandomState or None
        Seed.

    Returns
    -------
    X : array of shape (n, n_features)
    y : array of shape (n,)
    task : array of shape (n,)
    posterior : array of shape (n, n_classes), only with ``return_posterior=True``

    Examples
    --------
    >>> from kinlearn.datasets import make_related_tasks
    >>> X, y, task = make_related_tasks(n_tasks=3, n_samples=[10, 5, 2], random_state=0)
    >>> X.shape, y.shape, task.tolist().count(2)
    ((17, 5), (17,), 2)
    """
    sizes = _sizes(n_samples, n_tasks)
    if not 0.0 <= relatedness <= 1.0:
        raise ValueError(f"relatedness must lie between 0 and 1, got {relatedness}.")
    if not 0 <= n_reversed <= n_tasks:
        raise ValueError(f"n_reversed must lie between 0 and n_tasks={n_tasks}, got {n_reversed}.")
    balance = _balance(class_balance, n_classes)
    random = check_random_state(random_state)
    surface = _RandomSurfaces(random, n_features)
    n_waves = len(surface.phases)
    common = random.normal(size=(n_waves, n_classes))
    task = np.repeat(np.arange(n_tasks), sizes)
    X = random.normal(scale=1.5, size=(len(task), n_features))
    scores = np.empty((len(task), n_classes))
    for t in range(n_tasks):
        own = random.normal(size=(n_waves, n_classes))
        weights = np.sqrt(relatedness) * common + np.sqrt(1.0 - relatedness) * own
        scores[task == t] = surface(X[task == t], weights)
    posterior = _balanced_posterior(sharpness * scores, balance)
    turned = task >= n_tasks - n_reversed
    posterior[turned] = posterior[turned, ::-1]
    reached = np.cumsum(posterior, axis=1)
    y = np.minimum((random.uniform(size=(len(task), 1)) > reached).sum(axis=1), n_classes - 1)
    return (X, y, task, posterior) if return_posterior else (X, y, task)


def _balanced_posterior(scores: Array, balance: Array) -> Array:
    """Shift the scores by one constant per class until the mean probabilities are the balance."""
    shift = np.log(balance)
    for _ in range(200):
        step = np.log(balance) - np.log(softmax(scores + shift, axis=1).mean(axis=0))
        shift = shift + step
        if np.abs(step).max() < 1e-9:
            break
    return softmax(scores + shift, axis=1)


def _sizes(n_samples: int | Sequence[int], n_tasks: int) -> NDArray[np.intp]:
    if np.ndim(n_samples) == 0:
        return np.full(n_tasks, n_samples, dtype=np.intp)
    sizes = np.asarray(n_samples, dtype=np.intp)
    if len(sizes) != n_tasks:
        raise ValueError(f"n_samples names {len(sizes)} sizes for n_tasks={n_tasks} tasks.")
    return sizes


def _balance(class_balance: Sequence[float] | None, n_classes: int) -> Array:
    if class_balance is None:
        return np.full(n_classes, 1.0 / n_classes)
    balance = np.asarray(class_balance, dtype=float)
    if balance.shape != (n_classes,) or np.any(balance <= 0.0):
        raise ValueError(
            f"class_balance must hold one positive share for each of n_classes={n_classes} "
            f"classes, got {class_balance!r}."
        )
    return balance / balance.sum()
