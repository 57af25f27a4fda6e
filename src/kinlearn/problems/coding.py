"""What the columns of the log-loss are, and how those of least squares become them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Coding:
    """What the columns of the log-loss are: softmax over classes, or sigmoids.

    Two classes have one column, the log-odds of the second.

    Attributes
    ----------
    sigmoids : bool
    indicators : bool
        Whether columns are labels, and not classes.
    """

    sigmoids: bool
    indicators: bool = False

    @classmethod
    def of_classes(cls, n_classes: int) -> Coding:
        return cls(sigmoids=n_classes == 2)

    def targets(self, Z: Array) -> Array:
        """Of the columns, from one column a class, or a label."""
        return Z[:, 1:] if self.sigmoids and not self.indicators else Z

    def moments(self, h: Array, everything: Array | None = None) -> Array:
        """``ΦᵀD`` times what least squares fits, from ``ΦᵀDZ``; for labels also from ``ΦᵀD1``."""
        if not self.sigmoids:
            return h
        if not self.indicators:
            return h[:, 1:] - h[:, :1]
        assert everything is not None
        return 2.0 * h - everything[:, None]

    def fitted(self, targets: Array) -> Array:
        """What least squares fits, from targets of the columns."""
        return 2.0 * targets - 1.0 if self.sigmoids else targets

    def columns(self, theta: Array) -> Array:
        """Score columns of a model, from those of the log-loss."""
        if not self.sigmoids:
            return theta
        if self.indicators:  # the sum of both scores, of which no probability depends
            return np.concatenate([theta, np.zeros_like(theta[..., :1])], axis=-1)
        return np.concatenate([-theta / 2.0, theta / 2.0], axis=-1)
