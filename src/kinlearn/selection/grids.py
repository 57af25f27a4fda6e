"""The grids that measured well, and their widening when the optimum sits on an edge."""

from __future__ import annotations

import numpy as np

WIDTH_FACTORS = np.array([0.25, 0.5, 1.0, 2.0, 4.0, 8.0])
REG_EXPONENTS = np.linspace(-7.0, 0.5, 20)
SHARINGS = np.array([0.0, 0.2, 0.5, 0.8, 0.95, 0.99, 1.0])
WIDEN_ROUNDS = 3
WIDEN_REGS = 5
# An edge is worth moving while the last step towards it still gained this share of the score.
MATERIAL_GAIN = 1e-2


def default_regs(diagonal_scale: float = 1.0) -> np.ndarray:
    """Return 20 regs from 1e-7 to about 3, times the squared mean diagonal of the kernel."""
    return 10.0**REG_EXPONENTS * diagonal_scale**2


def default_sigmas(median: float) -> np.ndarray:
    """Return the widths around the median distance."""
    return median * WIDTH_FACTORS


def widen(values: np.ndarray, side: int, count: int) -> np.ndarray:
    """Return `count` further values beyond the lower (-1) or upper (1) end of a geometric grid.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.selection.grids import widen
    >>> widen(np.array([1.0, 2.0, 4.0]), side=1, count=2)
    array([ 8., 16.])
    """
    ratio = values[1] / values[0]
    if side < 0:
        return values[0] * ratio ** -np.arange(count, 0, -1.0)
    return values[-1] * ratio ** np.arange(1.0, count + 1)


def edge_advice(name: str, values: np.ndarray, side: int) -> str:
    """Say which way to widen a given grid whose optimum sits on an edge."""
    which, way = ("smallest", "smaller") if side < 0 else ("largest", "larger")
    return (
        f"The best {name} is the {which} of the grid ({values[0 if side < 0 else -1]:.4g}): "
        f"add {way} values to {name}s."
    )
