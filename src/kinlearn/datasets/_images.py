"""Grey images made smaller or larger."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def resampling(n_in: int, n_out: int) -> Floats:
    """Weights of linear interpolation, averaging when an image gets smaller; rows add up to 1.

    Examples
    --------
    >>> from kinlearn.datasets._images import resampling
    >>> resampling(2, 1)
    array([[0.5, 0.5]])
    """
    width = max(n_in / n_out, 1.0)
    centres = (np.arange(n_out) + 0.5) * n_in / n_out - 0.5
    weights = np.maximum(0.0, 1.0 - np.abs(np.arange(n_in) - centres[:, None]) / width)
    return weights / weights.sum(axis=1, keepdims=True)


def resized(images: NDArray, shape: tuple[int, int] | None) -> Floats:
    """Images of another (height, width); blocks are averaged where the sizes divide."""
    images = np.asarray(images, dtype=np.float64)
    n, height, width = images.shape
    if shape is None or shape == (height, width):
        return images
    if min(shape) < 1:
        raise ValueError(f"shape must be a height and a width of at least 1, but it is {shape}.")
    if height % shape[0] == 0 and width % shape[1] == 0:
        blocks = (n, shape[0], height // shape[0], shape[1], width // shape[1])
        return images.reshape(blocks).mean(axis=(2, 4))
    return resampling(height, shape[0]) @ images @ resampling(width, shape[1]).T
