"""Checks of parameters, with sentences for the person who set them."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp

from kinlearn import posterior
from kinlearn.kernels import Kernel
from kinlearn.selection.kernel_grids import METRICS
from kinlearn.training import centers

SPREAD_RATIO = 100.0
# Columns that are never negative, and zero in more rows than this, are words or counts of them.
MOSTLY_ZERO = 0.8
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


def check_count(name: str, value: Any, *, minimum: int = 1) -> int:
    """A whole number of at least ``minimum``, or a sentence."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < minimum:
        raise ValueError(f"{name} must be a whole number of at least {minimum}, not {value!r}.")
    return int(value)


def sharing_grid(values: Any, default: np.ndarray) -> np.ndarray:
    """Return the degrees of sharing that were given, checked, or the default."""
    if values is None:
        return default
    given = np.ravel(values).tolist()
    if not given:
        raise ValueError("sharings is empty: give at least one degree of sharing in [0, 1].")
    return np.unique([check_sharing(value, "Each of sharings") for value in given])


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
    check_choice("basis", estimator.basis, ("full", "classwise"))
    check_positive("memory_mb", estimator.memory_mb)
    if getattr(estimator, "metric", None) is not None:
        check_choice("metric", estimator.metric, METRICS)
    sigma = getattr(estimator, "sigma", None)
    if sigma is not None and not (isinstance(sigma, str) and sigma == "median"):
        if isinstance(sigma, str):
            raise ValueError(
                f'sigma must be a positive number or "median", but {sigma!r} was given.'
            )
        check_positive("sigma", sigma)
    if hasattr(estimator, "reg") and not (estimator.reg == 0 and estimator.limit_at_zero_reg):
        check_positive("reg", estimator.reg)


def refuse_single_row(n_rows: int, instead: str) -> None:
    """Say why nothing can be tuned on one distinct row."""
    if n_rows == 1:
        raise ValueError(
            "All training rows are identical (1 distinct sample), so nothing can be held out "
            f"to tune on: use {instead}."
        )


def kernel_list(kernel: Any) -> list[Any]:
    """The kernels that a user named, one or several."""
    return list(kernel) if isinstance(kernel, (list, tuple)) else [kernel]


def check_several_kernels(estimator: Any, tuned: bool) -> None:
    """Refuse a list of kernels that cannot be weighed against each other."""
    given, name = kernel_list(estimator.kernel), type(estimator).__name__
    if not tuned:
        raise ValueError(
            f"{name} takes one kernel, but kernel={given!r} was given: the tuned estimators "
            "(LSPCCV and the like) weigh several."
        )
    if not given:
        raise ValueError("kernel=[] names no kernel: give at least one, such as ['rbf'].")
    for each in given:
        if given.count(each) > 1:
            raise ValueError(f"kernel={given!r} names {each!r} more than once.")
    if len(given) > 1 and "precomputed" in given:
        raise ValueError(
            f"kernel={given!r}: with 'precomputed' the rows are kernel values and no features, so "
            "that no other kernel can stand beside it."
        )


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
    # standardising would blow up each rare word to the spread of a usual one
    rare = (lowest >= 0) & ((X == 0).mean(axis=0) > MOSTLY_ZERO)
    advice = "make_pipeline(StandardScaler(), ...)"
    if rare.sum() > len(rare) / 2:
        advice = "make_pipeline(TableFeatures(), ...): counts of rare words keep their scale there"
    warnings.warn(
        f"Columns spread from {deviation[varying].min():.3g} to {deviation.max():.3g} "
        f"(standard deviation), so that the {kernel.name} kernel sees little but: {shown}. "
        f"Scale first, for example with {advice}.",
        UserWarning,
        stacklevel=5,
    )


def _outspread(spread: np.ndarray) -> np.ndarray:
    varying = spread > 0
    if not varying.any():
        return np.zeros(spread.size, dtype=bool)
    return spread > SPREAD_RATIO * spread[varying].min()


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
