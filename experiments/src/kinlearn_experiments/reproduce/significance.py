"""Which methods are the best, and which cannot be told from the best: paired t-tests."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats


def p_greater(a: ArrayLike, b: ArrayLike) -> float:
    """Return the p-value of a paired t-test for mean(a) > mean(b); equal samples give 1.

    Examples
    --------
    >>> from kinlearn_experiments.reproduce.significance import p_greater
    >>> p_greater([2.0, 3.1, 4.0, 5.2], [1.0, 2.0, 3.0, 4.0]) < 0.01
    True
    """
    gaps = np.asarray(a, dtype=float) - np.asarray(b, dtype=float)
    if gaps.size < 2 or np.ptp(gaps) == 0.0:
        return 0.0 if gaps.size > 1 and gaps[0] > 0 else 1.0
    return float(stats.ttest_1samp(gaps, 0.0, alternative="greater").pvalue)


def comparable(samples: Mapping[str, ArrayLike], level: float) -> set[str]:
    """Return the method of the highest mean and all that are not significantly below it."""
    means = {name: float(np.mean(np.asarray(sample))) for name, sample in samples.items()}
    best = max(means, key=lambda name: means[name])
    return {
        name
        for name, sample in samples.items()
        if name == best or p_greater(samples[best], sample) >= level
    }
