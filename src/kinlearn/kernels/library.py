"""The kernels by name: a measure between rows and a profile that turns it into similarity."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from kinlearn.kernels.measures import (
    ChiSquaredDistances,
    Cosines,
    InnerProducts,
    ManhattanDistances,
    Measure,
    Rows,
)
from kinlearn.kernels.overflow import LARGEST_FACTOR, LARGEST_SIMILARITY, LARGEST_VALUE
from kinlearn.kernels.squared_distances import SquaredDistances

Profile = Callable[[np.ndarray, float, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Kernel:
    """What a kernel is; how its matrices are computed is :class:`KernelMap`'s business.

    Parameters
    ----------
    name : str
        The name users give.
    measure : callable
        Makes the measure for a set of centres.
    profile : callable
        ``profile(values, sigma, out)`` writes the kernel's values for the measure's values.
    has_width : bool
        Whether ``sigma`` matters.
    unit_diagonal : bool
        Whether ``k(x, x) = 1`` for every x.
    isotropic : bool
        Whether all features count alike, so that differing scales matter.
    has_feature_space : bool
        Whether the rows are features (and not kernel values, or known to a function alone).
    width_measure : callable
        Makes the measure whose median is the default width.
    width_power : float
        The power of that measure's median which is a width (½ for squared distances).
    largest : float
        The largest value of a feature, of either sign, with which nothing overflows.
    """

    name: str
    measure: Callable[[Rows], Measure]
    profile: Profile
    has_width: bool = True
    unit_diagonal: bool = False
    isotropic: bool = False
    has_feature_space: bool = True
    width_measure: Callable[[Rows], Measure] = SquaredDistances
    width_power: float = 0.5
    largest: float = LARGEST_VALUE


def gaussian_profile(squared: np.ndarray, sigma: float, out: np.ndarray) -> np.ndarray:
    """``exp(-||x - c||² / (2 sigma²))``."""
    np.multiply(squared, -0.5 / sigma**2, out=out)
    return np.exp(out, out=out)


def exponential_profile(distance: np.ndarray, sigma: float, out: np.ndarray) -> np.ndarray:
    """``exp(-distance / sigma)``: the laplacian and the chi-squared kernel."""
    np.multiply(distance, -1.0 / sigma, out=out)
    return np.exp(out, out=out)


def identity_profile(values: np.ndarray, sigma: float, out: np.ndarray) -> np.ndarray:
    """The measure itself is the kernel."""
    if out is not values:
        out[...] = values
    return out


def polynomial_profile(degree: float, coef0: float) -> Profile:
    """``(xᵀc / sigma² + coef0)^degree``."""

    def profile(inner: np.ndarray, sigma: float, out: np.ndarray) -> np.ndarray:
        np.multiply(inner, 1.0 / sigma**2, out=out)
        out += coef0
        lowest, highest = (out.min(), out.max()) if out.size else (0.0, 0.0)
        if lowest < 0.0 and not float(degree).is_integer():
            raise ValueError(
                f"kernel='polynomial' takes {lowest:.3g} to the power degree={degree!r}, which is "
                "no real number: use a whole degree, or features that are never negative."
            )
        base = max(-lowest, highest)
        if base > 1.0 and degree * math.log10(base) > math.log10(LARGEST_SIMILARITY):
            raise ValueError(
                f"kernel='polynomial' takes {base:.3g} to the power degree={degree!r}, which "
                "overflows: scale the features, or use a larger sigma or a smaller degree."
            )
        return np.power(out, degree, out=out)

    return profile


class PrecomputedValues:
    """The rows are kernel values already; centres are positions of columns."""

    def __init__(self, centers: Rows) -> None:
        self.columns = np.asarray(centers, dtype=np.intp)

    def block(self, X: Rows) -> np.ndarray:
        columns = X[:, self.columns]
        if sp.issparse(columns):
            columns = columns.toarray()
        return np.array(columns, dtype=np.float64)

    def square(self) -> np.ndarray:
        raise NotImplementedError  # the values live in X: KernelMap.square takes them from there


def callable_measure(function: Callable[[Rows, Rows], Any]) -> Callable[[Rows], Measure]:
    """Wrap a user's ``function(X, centers)`` as a measure, checking what it returns."""

    class CalledValues:
        def __init__(self, centers: Rows) -> None:
            self.centers = centers

        def block(self, X: Rows) -> np.ndarray:
            values = np.array(function(X, self.centers), dtype=np.float64)
            expected = (X.shape[0], self.centers.shape[0])
            if values.shape != expected:
                raise ValueError(
                    f"The kernel function returned an array of shape {values.shape}, but for "
                    f"{expected[0]} rows and {expected[1]} centers it must be {expected}."
                )
            if not np.isfinite(values).all():
                raise ValueError("The kernel function returned NaN or infinite values.")
            largest = np.abs(values).max(initial=0.0)
            if largest > LARGEST_SIMILARITY:
                raise ValueError(
                    f"The kernel function returned values up to {largest:.3g}, but values beyond "
                    f"{LARGEST_SIMILARITY:g} cannot be squared: divide them by a constant."
                )
            return values

        def square(self) -> np.ndarray:
            return self.block(self.centers)

    return CalledValues


KERNELS: dict[str, Kernel] = {
    "rbf": Kernel("rbf", SquaredDistances, gaussian_profile, unit_diagonal=True, isotropic=True),
    "laplacian": Kernel(
        "laplacian",
        ManhattanDistances,
        exponential_profile,
        unit_diagonal=True,
        isotropic=True,
        width_measure=ManhattanDistances,
        width_power=1.0,
    ),
    "chi2": Kernel(
        "chi2",
        ChiSquaredDistances,
        exponential_profile,
        unit_diagonal=True,
        width_measure=ChiSquaredDistances,
        width_power=1.0,
    ),
    "polynomial": Kernel(
        "polynomial", InnerProducts, polynomial_profile(3, 1.0), largest=LARGEST_FACTOR
    ),
    "linear": Kernel(
        "linear", InnerProducts, identity_profile, has_width=False, largest=LARGEST_FACTOR
    ),
    "cosine": Kernel("cosine", Cosines, identity_profile, has_width=False, unit_diagonal=True),
    "precomputed": Kernel(
        "precomputed",
        PrecomputedValues,
        identity_profile,
        has_width=False,
        has_feature_space=False,
        largest=LARGEST_SIMILARITY,
    ),
}


def resolve_kernel(kernel: Any, degree: float = 3, coef0: float = 1.0) -> Kernel:
    """Return the kernel a user named, or wrap the function a user gave.

    Examples
    --------
    >>> from kinlearn.kernels import resolve_kernel
    >>> resolve_kernel("rbf").unit_diagonal
    True
    """
    if callable(kernel):
        name = getattr(kernel, "__name__", type(kernel).__name__)
        return Kernel(
            name,
            callable_measure(kernel),
            identity_profile,
            has_width=False,
            has_feature_space=False,
            largest=np.inf,
        )
    if not isinstance(kernel, str) or kernel not in KERNELS:
        raise ValueError(
            f"kernel={kernel!r} is not known. Choose one of {sorted(KERNELS)} "
            "or pass a function of two arrays of rows."
        )
    if kernel == "polynomial":
        return replace(KERNELS[kernel], profile=polynomial_profile(degree, coef0))
    return KERNELS[kernel]
