"""Tasks that share an application but not a feature space: generated ones, and digits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.utils import check_random_state

Floats = NDArray[np.float64]
Tasks = tuple[list[Floats], list[NDArray[Any]]]


def make_heterogeneous_tasks(
    *,
    n_features: Sequence[int] = (10, 40, 200),
    n_samples: int | Sequence[int] = 60,
    n_classes: int | Sequence[int] = 4,
    n_latent: int = 5,
    separation: float = 2.5,
    noise: float = 0.5,
    random_state: Any = None,
) -> Tasks:
    """Draw tasks in which one latent world is seen by different instruments.

    A row of class k has the latent position ``m_k + e`` with e standard normal; task i sees it as
    ``A_i (m_k + e) + noise``, with A_i of its own: d_i by ``n_latent``, orthonormal columns times
    scales between 1 and 3. Classes that tasks have in common (0, 1, ...) have common m_k.

    Parameters
    ----------
    n_features : sequence of int, default=(10, 40, 200)
        d_i: one task for each.
    n_samples : int or sequence of int, default=60
        Rows per task.
    n_classes : int or sequence of int, default=4
        Classes per task, in turn, so that they are of equal size.
    n_latent : int, default=5
        Dimensions of the latent world.
    separation : float, default=2.5
        Standard deviation of the class means.
    noise : float, default=0.5
        Standard deviation of what the instruments add to every feature.
    random_state : int, RandomState or None, default=None
        Seed of the draws.

    Returns
    -------
    Xs : list of ndarray of shape (n_i, d_i)
    ys : list of ndarray of shape (n_i,)

    Examples
    --------
    >>> from kinlearn.datasets import make_heterogeneous_tasks
    >>> Xs, ys = make_heterogeneous_tasks(n_features=(5, 30), n_classes=(2, 3), random_state=0)
    >>> [X.shape for X in Xs], [len(set(y.tolist())) for y in ys]
    ([(60, 5), (60, 30)], [2, 3])
    """
    widths = [int(d) for d in n_features]
    sizes = _per_task("n_samples", n_samples, len(widths))
    counts = _per_task("n_classes", n_classes, len(widths))
    if n_latent < 1:
        raise ValueError(f"n_latent must be at least 1, not {n_latent!r}.")
    rng = check_random_state(random_state)
    means = separation * rng.normal(size=(max(counts), n_latent))
    Xs, ys = [], []
    for d, n, c in zip(widths, sizes, counts, strict=True):
        y = rng.permutation(np.arange(n) % c)
        latent = means[y] + rng.normal(size=(n, n_latent))
        frame, _ = np.linalg.qr(rng.normal(size=(max(d, n_latent), n_latent)))
        instrument = frame[:d] * rng.uniform(1.0, 3.0, size=n_latent)
        Xs.append(latent @ instrument.T + noise * rng.normal(size=(n, d)))
        ys.append(y)
    return Xs, ys


def load_digits_resolutions(
    *, sizes: Sequence[int] = (16, 8, 4), random_state: Any = None
) -> Tasks:
    """scikit-learn's handwritten digits as tasks of different resolution.

    The 1,797 images of 8 by 8 pixels are dealt out to the tasks, so that no image is in two of
    them, and every task sees its images at its own size: by interpolation above 8, by averaging
    below.

    Parameters
    ----------
    sizes : sequence of int, default=(16, 8, 4)
        Pixels along a side, one task for each.
    random_state : int, RandomState or None, default=None
        Shuffles the images before they are dealt out.

    Returns
    -------
    Xs : list of ndarray of shape (n_i, size_i ** 2)
        Grey values between 0 and 1.
    ys : list of ndarray of shape (n_i,)

    Examples
    --------
    >>> from kinlearn.datasets import load_digits_resolutions
    >>> Xs, ys = load_digits_resolutions(random_state=0)
    >>> [X.shape for X in Xs]
    [(599, 256), (599, 64), (599, 16)]
    """
    images, labels = load_digits(return_X_y=True)
    images = images.reshape(-1, 8, 8) / 16.0
    order = check_random_state(random_state).permutation(len(images))
    Xs, ys = [], []
    for rows, size in zip(np.array_split(order, len(sizes)), sizes, strict=True):
        weights = _resampling(8, int(size))
        resized = weights @ images[rows] @ weights.T
        Xs.append(resized.reshape(len(rows), -1))
        ys.append(labels[rows])
    return Xs, ys


def _resampling(n_in: int, n_out: int) -> Floats:
    """Weights of a row of ``n_in`` pixels in one of ``n_out``: linear, averaging when shrinking."""
    if n_out < 1:
        raise ValueError(f"An image needs at least one pixel along a side, not {n_out}.")
    width = max(n_in / n_out, 1.0)
    centres = (np.arange(n_out) + 0.5) * n_in / n_out - 0.5
    distance = np.abs(np.arange(n_in) - centres[:, None])
    weights = np.maximum(0.0, 1.0 - distance / width)
    return weights / weights.sum(axis=1, keepdims=True)


def _per_task(name: str, value: int | Sequence[int], n_tasks: int) -> list[int]:
    values = [int(value)] * n_tasks if np.ndim(value) == 0 else [int(v) for v in value]  # type: ignore[arg-type, union-attr]
    if len(values) != n_tasks:
        raise ValueError(
            f"{name} has {len(values)} entries but n_features has {n_tasks}; give one per task."
        )
    if min(values) < 2:
        raise ValueError(f"{name} must be at least 2 in every task, not {min(values)}.")
    return values
