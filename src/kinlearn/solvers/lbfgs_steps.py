"""L-BFGS that is told one evaluation at a time, by whoever goes over the rows.

A caller evaluates the objective at :attr:`LbfgsSteps.point` and tells its value and gradient. What
goes over the rows (memory, a stream, many machines) is none of its business, and what it holds is a
few arrays, which a checkpoint can store.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Pairs of a step and the gradient's change that the curvature is told from.
MOST_PAIRS = 20
# A step must gain this share of what the slope promises.
SUFFICIENT = 1e-4
# A step that went too far is shortened at least to the second, at most to the first share.
SHORTEST, LONGEST = 0.1, 0.5
# What rounding leaves of the value's digits: a fall this small is not told from none.
ROUNDING = 1e-14


class LbfgsSteps:
    """Minimise a convex function of an array.

    Parameters
    ----------
    start : ndarray
        Where to begin.
    scale : float
        About the inverse of the curvature, for the first step.

    Attributes
    ----------
    point : ndarray
        Where the function is to be evaluated next.
    at : ndarray or None
        The best point so far, which all told points before it led to.
    value, gradient : float and ndarray
        There.

    Examples
    --------
    >>> import numpy as np
    >>> steps = LbfgsSteps(np.array([3.0, -2.0]), scale=0.1)
    >>> for _ in range(20):
    ...     x = steps.point
    ...     moved = steps.tell(float(x @ x), 2.0 * x)
    >>> bool(np.abs(steps.at).max() < 1e-8)
    True
    """

    def __init__(self, start: Array, scale: float) -> None:
        self.point, self.scale = start, scale
        self.at: Array | None = None
        self.value, self.gradient = np.inf, np.zeros_like(start)
        self.steps: list[Array] = []
        self.changes: list[Array] = []
        self.direction, self.length = np.zeros_like(start), 1.0

    def tell(self, value: float, gradient: Array) -> bool:
        """Take the function's value and gradient at :attr:`point`; return whether it was kept."""
        if self.at is not None and not self._falls_enough(value):
            self._shorten(value)
            return False
        if self.at is not None:
            self._learn(self.point - self.at, gradient - self.gradient)
        self.at, self.value, self.gradient = self.point, value, gradient
        self.direction, self.length = self._direction(), 1.0
        self.point = self.at + self.direction
        return True

    def _slope(self) -> float:
        return float(np.vdot(self.gradient, self.direction))

    def _falls_enough(self, value: float) -> bool:
        allowed = self.value + SUFFICIENT * self.length * self._slope()
        return bool(value <= allowed + ROUNDING * abs(self.value))

    def _shorten(self, value: float) -> None:
        """The minimum of the parabola through what is known, within bounds."""
        slope, t = self._slope(), self.length
        bend = value - self.value - slope * t
        best = -slope * t * t / (2.0 * bend) if np.isfinite(bend) and bend > 0 else 0.0
        self.length = float(np.clip(best, SHORTEST * t, LONGEST * t))
        assert self.at is not None
        self.point = self.at + self.length * self.direction

    def _learn(self, step: Array, change: Array) -> None:
        if float(np.vdot(step, change)) <= 0.0:  # rounding: a convex function bends upwards
            return
        self.steps, self.changes = (
            [*kept, new][-MOST_PAIRS:] for kept, new in ((self.steps, step), (self.changes, change))
        )

    def _direction(self) -> Array:
        """The two-loop recursion: minus the gradient in the curvature that steps have shown."""
        out, shares = self.gradient.copy(), []
        for step, change in zip(self.steps[::-1], self.changes[::-1], strict=True):
            share = float(np.vdot(step, out)) / float(np.vdot(step, change))
            out -= share * change
            shares.append(share)
        if self.steps:
            last = self.changes[-1]
            out *= float(np.vdot(self.steps[-1], last)) / float(np.vdot(last, last))
        else:
            out *= self.scale
        for step, change, share in zip(self.steps, self.changes, shares[::-1], strict=True):
            back = float(np.vdot(change, out)) / float(np.vdot(step, change))
            out += (share - back) * step
        return -out

    # -- as plain arrays ----------------------------------------------------------------------

    def to_arrays(self) -> dict[str, Array]:
        """All there is to know, for a checkpoint."""
        nothing = np.zeros((0, *self.point.shape))
        return {
            "point": self.point,
            "at": self.point if self.at is None else self.at,
            "gradient": self.gradient,
            "direction": self.direction,
            "steps": np.stack(self.steps) if self.steps else nothing,
            "changes": np.stack(self.changes) if self.changes else nothing,
            "numbers": np.array([self.scale, self.value, self.length, float(self.at is not None)]),
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, Array]) -> LbfgsSteps:
        """What :meth:`to_arrays` told."""
        scale, value, length, begun = arrays["numbers"].tolist()
        found = cls(arrays["point"], scale)
        found.at = arrays["at"] if begun else None
        found.value, found.length = value, length
        found.gradient, found.direction = arrays["gradient"], arrays["direction"]
        found.steps, found.changes = list(arrays["steps"]), list(arrays["changes"])
        return found
