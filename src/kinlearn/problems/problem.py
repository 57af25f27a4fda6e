"""What a problem is asked: held-out scores at grid points, and coefficients of a mix of points.

One task, tasks in the dual, tasks from sums, labels, and logistic regression are such problems;
what they decompose, and what of it they keep, is their business alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kinlearn.kernels.library import Kernel

Array: TypeAlias = NDArray[np.float64]
Axes: TypeAlias = dict[str, Array]  # sorted values of each parameter; the last varies fastest
Point: TypeAlias = dict[str, float]


@dataclass(frozen=True)
class Solution:
    """Coefficients of a mix of grid points.

    Attributes
    ----------
    sigmas : ndarray of shape (S,)
        Widths with weight in the mix.
    coef : ndarray of shape (S, m, K), or (S, T, m, K) for tasks
        Their coefficients.
    shared : ndarray of shape (S, m, K), optional
        What tasks share.
    facts : dict
        What else there is to tell, by the names of fitted attributes.
    kernels : tuple of S Kernels, optional
        The kernel of each width, where there are several.
    """

    sigmas: Array
    coef: Array
    shared: Array | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    kernels: tuple[Kernel, ...] | None = None


def joined(parts: list[tuple[Kernel, Solution]]) -> Solution:
    """One solution out of those of several kernels, whose scores add up."""
    if len(parts) == 1:
        kernel, one = parts[0]
        return replace(one, kernels=(kernel,) * len(one.sigmas))
    found = [solution for _, solution in parts]
    facts: dict[str, Any] = {}
    for name in found[0].facts:
        values = [solution.facts[name] for solution in found]
        if name == "mix_blocks_":
            before = np.cumsum([0, *(len(solution.sigmas) for solution in found)])
            values = [own + start for own, start in zip(values, before, strict=False)]
        if isinstance(values[0], np.ndarray):
            facts[name] = np.concatenate(values)
        else:
            facts[name] = sum(values) if name == "n_factorisations_" else max(values)
    shared = [solution.shared for solution in found if solution.shared is not None]
    return Solution(
        np.concatenate([solution.sigmas for solution in found]),
        np.concatenate([solution.coef for solution in found]),
        np.concatenate(shared) if shared else None,
        facts,
        tuple(kernel for kernel, solution in parts for _ in solution.sigmas),
    )


class Problem(Protocol):
    """A fit to training rows whose width, reg (and sharing) are still open."""

    def held_out(self, axes: Axes, splits: Any) -> Array:
        """Return held-out scores of all points, shape (P, entries, K).

        What `splits` hold out; problems from sums hold out the rows these kept.
        """

    def mixed(self, points: list[Point], weights: Array) -> Solution:
        """Return the coefficients of a mix; points of weight 0 are left out."""

    def solve(self, point: Point, splits: Any) -> tuple[Solution, Array | None]:
        """Return the solution of one point and, if asked for, its held-out scores."""


def all_points(axes: Axes) -> list[Point]:
    """All points of a grid, in the order of their scores."""
    return [dict(zip(axes, map(float, values), strict=True)) for values in product(*axes.values())]


def by_width(points: list[Point], weights: Array) -> list[tuple[float, list[Point], Array]]:
    """Group the points with weight by their width: (sigma, its points, their weights)."""
    used = np.flatnonzero(weights)
    out = []
    for sigma in sorted({points[p]["sigma"] for p in used}):
        own = [p for p in used if points[p]["sigma"] == sigma]
        out.append((sigma, [points[p] for p in own], weights[own]))
    return out
