"""The kernels by name: a measure between rows and a profile that turns it into similarity."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from kinlearn.kernels.distances import EuclideanDistances
from kinlearn.kernels.measures import (
    ChiSquaredDistances,
    Cosines,
    InnerProducts,
    ManhattanDistances,
    Measure,
    Rows,
)
from kinlearn.kernels.metric import MeasureInMetric
from kinlearn.kernels.squared_distances import SquaredDistances
from kinlearn.kernels.steps import SharedSteps

Profile = Callable[[np.ndarray, float, np.ndarray], np.ndarray]
# A double ends at 1.8e308: differences are squared and added up over features.
LARGEST_VALUE = 1e150
# Three of a kernel's values are multiplied and added up over rows when a solution is refined.
LARGEST_SIMILARITY = 1e80
# Inner products of values up to here are similarities up to there.
LARGEST_FACTOR = 1e40
# So many rows tell the median distance.
MEDIAN_ROWS = 2000


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
    smooth : bool
        Whether it is analytic, so that a wide one has few eigenvalues that matter.
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
    numbers : dict
        Degree and constant of the polynomial.
    function : callable, optional
        The function that a user gave.
    metric : ndarray of shape (d,) or (d, k), optional
        The metric it sees rows in, where that was learnt.
    """

    name: str
    measure: Callable[[Rows], Measure]
    profile: Profile
    has_width: bool = True
    unit_diagonal: bool = False
    smooth: bool = False
    isotropic: bool = False
    has_feature_space: bool = True
    width_measure: Callable[[Rows], Measure] = SquaredDistances
    width_power: float = 0.5
    largest: float = LARGEST_VALUE
    numbers: dict[str, float] = field(default_factory=dict)
    function: Callable[[Rows, Rows], Any] | None = None
    metric: np.ndarray | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        # profiles may be closures: a kernel is made again from what a user calls it
        return _made_again, (self.spec, self.numbers, self.metric)

    def in_metric(self, metric: np.ndarray) -> Kernel:
        """The same kernel between rows seen in a metric: factors of columns, or a matrix."""
        return replace(
            self,
            measure=partial(MeasureInMetric, self.measure, metric),
            width_measure=partial(MeasureInMetric, self.width_measure, metric),
            metric=metric,
        )

    @property
    def measures_width(self) -> bool:
        """Whether its measure is the one that its width is taken from."""
        own, of_width = self.measure, self.width_measure
        if isinstance(own, partial) and isinstance(of_width, partial):  # in a metric
            return bool(own.args[0] is of_width.args[0])
        return own is of_width

    @property
    def spec(self) -> Any:
        """What a user gives for it: a name, or the function."""
        return self.name if self.function is None else self.function

    def check(self, X: Rows, names: Any = None) -> None:
        """Raise where X holds a value that the kernel cannot take, and say which.

        Values so large that their squares overflow would come out as NaN; counts are not negative.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d)
            Finite values.
        names : sequence of str, optional
            Names of the columns.

        Examples
        --------
        >>> import numpy as np
        >>> rows = np.array([[1.0, 1e160]])
        >>> resolve_kernel("rbf").check(rows, ["a", "b"])  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        ValueError: Column 'b' holds 1e+160 (row 0), but beyond 1e+150 the arithmetic...
        """
        values = X.data if sp.issparse(X) else X
        if values.size == 0:
            return
        smallest = float(values.min())
        if self.name == "chi2" and smallest < 0:
            # the first words are those scikit-learn's own checks look for
            raise ValueError(
                f"Negative values in data passed to kernel='chi2' (smallest {smallest:.3g}): "
                "it is for counts and histograms; use kernel='rbf' for other features."
            )
        if max(float(values.max()), -smallest) <= self.largest:
            return
        at = int(np.abs(values).argmax())
        if sp.issparse(X):
            found = X.tocoo()
            row, column, value = int(found.row[at]), int(found.col[at]), found.data[at]
        else:
            row, column = (int(i) for i in np.unravel_index(at, X.shape))
            value = X[row, column]
        name = repr(str(names[column])) if names is not None else f"{column} (counted from 0)"
        raise ValueError(
            f"Column {name} holds {value:.6g} (row {row}), but beyond {self.largest:g} the "
            f"arithmetic of kernel={self.name!r} overflows: look for a wrong value there, or "
            "divide the column by a constant."
        )


def gaussian_profile(squared: np.ndarray, sigma: float, out: np.ndarray) -> np.ndarray:
    """``exp(-||x - c||² / (2 sigma²))``."""
    np.multiply(squared, -0.5 / sigma**2, out=out)
    return np.exp(out, out=out)


def exponential_profile(distance: np.ndarray, sigma: float, out: np.ndarray) -> np.ndarray:
    """``exp(-distance / sigma)``: the laplacian, the exponential and the chi-squared kernel."""
    np.multiply(distance, -1.0 / sigma, out=out)
    return np.exp(out, out=out)


def matern32_profile(distance: np.ndarray, sigma: float, out: np.ndarray) -> np.ndarray:
    """``(1 + √3 ||x - c|| / sigma) exp(-√3 ||x - c|| / sigma)``."""
    np.multiply(distance, math.sqrt(3.0) / sigma, out=out)
    decay = np.exp(-out)
    out += 1.0
    return np.multiply(out, decay, out=out)


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
    "rbf": Kernel(
        "rbf",
        SquaredDistances,
        gaussian_profile,
        unit_diagonal=True,
        smooth=True,
        isotropic=True,
    ),
    "laplacian": Kernel(
        "laplacian",
        ManhattanDistances,
        exponential_profile,
        unit_diagonal=True,
        isotropic=True,
        width_measure=ManhattanDistances,
        width_power=1.0,
    ),
    "exponential": Kernel(
        "exponential", EuclideanDistances, exponential_profile, unit_diagonal=True, isotropic=True
    ),
    "matern32": Kernel(
        "matern32", EuclideanDistances, matern32_profile, unit_diagonal=True, isotropic=True
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
    "steps": Kernel("steps", SharedSteps, identity_profile, has_width=False),
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
            function=kernel,
        )
    if not isinstance(kernel, str) or kernel not in KERNELS:
        raise ValueError(
            f"kernel={kernel!r} is not known. Choose one of {sorted(KERNELS)} "
            "or pass a function of two arrays of rows."
        )
    if kernel == "polynomial":
        numbers = {"degree": float(degree), "coef0": float(coef0)}
        return replace(KERNELS[kernel], profile=polynomial_profile(degree, coef0), numbers=numbers)
    return KERNELS[kernel]


def _made_again(spec: Any, numbers: dict[str, float], metric: np.ndarray | None) -> Kernel:
    kernel = resolve_kernel(spec, **numbers)
    return kernel if metric is None else kernel.in_metric(metric)


def median_width(
    X: Rows, kernel: Kernel, order: np.ndarray | None = None, max_rows: int = MEDIAN_ROWS
) -> float:
    """Return the median distance between distinct rows, in the kernel's own measure.

    Exact up to `max_rows` rows; beyond that, of that many rows evenly spread over `order`, so that
    the answer depends neither on chance nor on how the data are shuffled. Kernels without
    a width, and a single distinct row, give 1.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        Distinct rows.
    kernel : Kernel
        Which kernel.
    order : ndarray of shape (n,), optional
        An order of the rows.
    max_rows : int
        Bound on the rows looked at.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.kernels import median_width, resolve_kernel
    >>> median_width(np.array([[0.0], [1.0], [3.0]]), resolve_kernel("rbf"))
    2.0
    """
    n_rows = X.shape[0]
    if not kernel.has_width or n_rows < 2:
        return 1.0
    if n_rows > max_rows:
        spread = np.linspace(0, n_rows - 1, max_rows).astype(np.intp)
        X = X[spread if order is None else order[spread]]
    distances = kernel.width_measure(X).square()
    pairs = distances[np.tri(distances.shape[0], k=-1, dtype=bool)]
    median = float(np.median(pairs, overwrite_input=True))
    if median <= 0.0:  # rows that differ by less than the arithmetic can tell
        positive = pairs[pairs > 0.0]
        if positive.size == 0:
            return 1.0
        median = float(positive.mean())
    return median**kernel.width_power
