"""Checks of parameters, with sentences for the person who set them."""

from __future__ import annotations

import os
import time
import warnings
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp

from kinlearn import centers, posterior
from kinlearn.kernels import Kernel
from kinlearn.kernels.overflow import refuse_too_large

WARN_FULL_ROWS = 10_000
SPREAD_RATIO = 100.0
# Rounding errors by which numbers that were equal may come to differ.
ROUNDING = 64.0


def check_positive(name: str, value: Any) -> float:
    """Return a positive finite number, or say what was given instead."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < np.inf:
        raise ValueError(f"{name} must be a positive number, but {value!r} was given.")
    return float(value)


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Raise unless `value` is one of `choices`."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name}={value!r} is not known. Choose one of {list(choices)}.")


def check_grid(name: str, values: Any) -> np.ndarray:
    """Return a grid of positive numbers, sorted, each once."""
    grid = np.unique(np.asarray(values, dtype=np.float64).ravel())
    if grid.size == 0 or not (np.isfinite(grid).all() and (grid > 0).all()):
        raise ValueError(f"{name} must hold positive numbers, but {values!r} was given.")
    return grid


def check_sharing(sharing: Any, name: str = "sharing") -> float:
    """Return a number in [0, 1], or say what was given instead."""
    if isinstance(sharing, bool) or not isinstance(sharing, Real) or not 0 <= float(sharing) <= 1:
        raise ValueError(f"{name} must lie between 0 and 1, but {sharing!r} was given.")
    return float(sharing)


def check_model_choices(estimator: Any) -> None:
    """Check the parameters that all LSPC kinds share and that need no data."""
    check_choice("posterior", estimator.posterior, posterior.RULES)
    check_choice("fallback", estimator.fallback, ("uniform", "prior"))
    check_choice("center_selection", estimator.center_selection, centers.METHODS)
    check_positive("memory_mb", estimator.memory_mb)
    sigma = getattr(estimator, "sigma", None)
    if sigma is not None and not (isinstance(sigma, str) and sigma == "median"):
        if isinstance(sigma, str):
            raise ValueError(
                f'sigma must be a positive number or "median", but {sigma!r} was given.'
            )
        check_positive("sigma", sigma)
    if hasattr(estimator, "reg") and not (estimator.reg == 0 and estimator.limit_at_zero_reg):
        check_positive("reg", estimator.reg)


def count_centers(n_centers: Any, n_rows: int, given: Any) -> int | None:
    """Return how many centres to choose, or None for all rows (or the centres given)."""
    whole = isinstance(n_centers, (int, np.integer)) and not isinstance(n_centers, bool)
    automatic = isinstance(n_centers, str) and n_centers == "auto"
    if not (n_centers is None or automatic or (whole and n_centers >= 1)):
        raise ValueError(
            'n_centers must be "auto", None or a positive whole number, '
            f"but {n_centers!r} was given."
        )
    if not whole:
        everything = given is not None or n_centers is None or n_rows <= centers.AUTO_FULL_ROWS
        return None if everything else centers.AUTO_CENTERS
    if given is not None:
        raise ValueError(
            f"Both centers and n_centers={n_centers} were given: leave n_centers out to use "
            "the given centers, or leave centers out to have that many chosen."
        )
    if n_centers > n_rows:
        warnings.warn(
            f"n_centers={n_centers} exceeds the {n_rows} distinct training rows: "
            "all of them are used as centers.",
            UserWarning,
            stacklevel=5,
        )
    return int(n_centers) if n_centers < n_rows else None


def warn_if_large(n_rows: int, n_decompositions: int, weighted: bool) -> None:
    """Say what an exact fit with every row a centre will take, before it is started."""
    if n_rows <= WARN_FULL_ROWS:
        return
    gigabytes = 8 * n_rows**2 * (8 if weighted else 6) / 2**30
    unit = _seconds_per_product(n_rows)
    minutes = n_decompositions * unit * (22 if weighted else 7) / 60
    message = (
        f"{n_rows} distinct rows are all used as centers (n_centers=None): this takes about "
        f"{gigabytes:.1f} GB of memory and {minutes:.0f} minutes. "
        'n_centers="auto" or a number of centers takes far less.'
    )
    if gigabytes > _physical_gigabytes():
        raise MemoryError(message)
    warnings.warn(message, UserWarning, stacklevel=5)


def _physical_gigabytes() -> float:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    except (AttributeError, ValueError, OSError):  # no such question on this system
        return float("inf")


def _seconds_per_product(n: int) -> float:
    """Estimate the time of one n×n matrix product from a small one."""
    small = 512
    a = np.ones((small, small))
    a @ a
    start = time.perf_counter()
    a @ a
    return (time.perf_counter() - start) * (n / small) ** 3


def warn_if_spread_differs(X: Any, kernel: Kernel, names: Any) -> None:
    """Warn, naming the columns, when an isotropic kernel would see little but a few of them."""
    if not kernel.isotropic or sp.issparse(X) or X.shape[1] < 2 or X.shape[0] < 2:
        return
    # Two notions of spread must agree: a rarely used column has a small deviation, an outlier
    # makes a large range, and neither alone calls for scaling.
    lowest, highest = (f(axis=0).astype(np.float64) for f in (X.min, X.max))
    deviation, reach = X.std(axis=0, dtype=np.float64), highest - lowest
    # what differs by rounding alone is constant: a mean of equal numbers need not equal them
    noise = ROUNDING * np.finfo(X.dtype).eps * np.maximum(-lowest, highest)
    varying = reach > noise
    deviation, reach = deviation * varying, reach * varying
    wide = _outspread(deviation) & _outspread(reach)
    if not wide.any():
        return
    labels = [str(names[i]) if names is not None else str(i) for i in np.flatnonzero(wide)]
    shown = ", ".join(labels[:5]) + (f" and {len(labels) - 5} more" if len(labels) > 5 else "")
    warnings.warn(
        f"Columns spread from {deviation[varying].min():.3g} to {deviation.max():.3g} "
        f"(standard deviation), so that the {kernel.name} kernel sees little but: {shown}. "
        "Scale first, for example with make_pipeline(StandardScaler(), ...).",
        UserWarning,
        stacklevel=5,
    )


def _outspread(spread: np.ndarray) -> np.ndarray:
    varying = spread > 0
    if not varying.any():
        return np.zeros(spread.size, dtype=bool)
    return spread > SPREAD_RATIO * spread[varying].min()


def check_for_kernel(X: Any, kernel: Kernel, model: Any = None) -> None:
    """Raise unless the kernel can take these rows; `model` may know the columns' names."""
    refuse_too_large(X, kernel, getattr(model, "feature_names_in_", None))
    if kernel.name == "chi2":
        smallest = X.data.min(initial=0.0) if sp.issparse(X) else X.min()
        if smallest < 0:
            # the first words are those scikit-learn's own checks look for
            raise ValueError(
                f"Negative values in data passed to kernel='chi2' (smallest {smallest:.3g}): "
                "it is for counts and histograms; use kernel='rbf' for other features."
            )


def check_precomputed(X: Any, n_rows: int) -> None:
    """Raise unless a precomputed training kernel is square and symmetric."""
    if X.shape != (n_rows, n_rows):
        raise ValueError(
            f"A precomputed kernel must be square at fit, but X has shape {X.shape}: "
            "pass the kernel values between all training rows."
        )
    difference = abs(X - X.T).max()
    if difference > 1e-8 * max(abs(X).max(), 1e-300):
        raise ValueError(
            f"The precomputed kernel is not symmetric (entries differ by up to {difference:.3g}): "
            "pass K with K[i, j] = K[j, i], for example (K + K.T) / 2."
        )


def warn_if_indefinite(K: np.ndarray) -> None:
    """Warn when a kernel matrix given by the user has clearly negative eigenvalues."""
    n = K.shape[0]
    slack = 1e-8 * max(float(np.abs(np.diagonal(K)).max(initial=0.0)), float(np.abs(K).max()))
    try:
        np.linalg.cholesky(K + n * slack * np.eye(n))
    except np.linalg.LinAlgError:
        warnings.warn(
            "The kernel matrix is not positive semi-definite. The fit treats its columns as "
            "features, so the solution is still unique and valid, but check the kernel if this is "
            "unexpected.",
            UserWarning,
            stacklevel=5,
        )
