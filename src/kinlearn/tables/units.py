"""Which change of unit would make values fit those of the training?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kinlearn.tables.input_profile import counts_in
from kinlearn.tables.shift_tests import counts_p, moved_share

Floats = NDArray[np.float64]

# new value = factor · old value + offset; those before the others that people meet most
_POWERS = tuple(10.0**k for k in (1, 2, 3, 4, 5, 6))
_FACTORS = (
    60.0, 3600.0, 24.0, 7.0, 365.25, 12.0, 30.4375,  # times
    2.54, 25.4, 30.48, 3.2808, 1.609344, 0.45359237, 28.349523, 4.184,  # lengths, weights, energy
    18.016, 38.67, 88.57, 88.42, 113.12, 7.50062, 17.1,  # laboratory: mmol, mg, µmol, kPa
    1024.0,
)  # fmt: skip
_OFFSETS = {
    "degrees Celsius and Fahrenheit": (1.8, 32.0),
    "degrees Celsius and Kelvin": (1.0, 273.15),
}
# A change is offered if it leaves no more than this to be explained, or nothing at this level.
_LEFT_OVER = 0.1
_LEVEL = 1e-3
_MARGIN = 0.05
_ENOUGH_ROWS = 8
_ENOUGH_BINS = 5


def fitting_change(edges: Floats, old: Floats, sample: Floats, per_case: float = 1.0) -> str | None:
    """Say by which change of unit `sample` would fit the counts `old` between `edges`, if any does.

    Examples
    --------
    >>> import numpy as np
    >>> edges, old = np.arange(1.0, 10.0), np.full(10, 50.0)
    >>> values = np.random.default_rng(0).uniform(0, 10, 80)
    >>> fitting_change(edges, old, 1000 * values)
    'a factor of 1000 would fit: another unit?'
    >>> fitting_change(edges, old, values) is None, fitting_change(edges, old, values + 7) is None
    (True, True)
    """
    if len(sample) < _ENOUGH_ROWS or len(edges) + 1 < _ENOUGH_BINS:
        return None
    for changes in (_by_factors(_POWERS), {**_by_factors(_FACTORS), **_by_offsets()}):
        best, words = 0.5 * _moved(edges, old, sample), None
        for said, (factor, offset) in changes.items():
            back = (sample - offset) / factor
            back -= 1e-9 * np.abs(back)  # what stood on an edge is to stay in its bin
            moved = _moved(edges, old, back)
            # nearly as good as one that came before is no reason to take the rarer one
            if moved < best - (_MARGIN if words else 0.0) and (
                moved <= _LEFT_OVER
                or counts_p(old, counts_in(edges, back).astype(np.float64), per_case) >= _LEVEL
            ):
                best, words = moved, said
        if words is not None:
            return f"{words} would fit: another unit?"
    return None


def _by_factors(factors: tuple[float, ...]) -> dict[str, tuple[float, float]]:
    both = [value for factor in factors for value in (factor, 1.0 / factor)]
    return {f"a factor of {value:.4g}": (value, 0.0) for value in both}


def _by_offsets() -> dict[str, tuple[float, float]]:
    found = {}
    for name, (factor, offset) in _OFFSETS.items():
        found[name] = (factor, offset)
        found[f"{name}, the other way,"] = (1.0 / factor, -offset / factor)
    return found


def _moved(edges: Floats, old: Floats, values: Floats) -> float:
    return moved_share(old, counts_in(edges, values).astype(np.float64))
