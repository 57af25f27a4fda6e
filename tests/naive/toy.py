"""The toy problem of the LSPC paper."""

import numpy as np
from scipy.stats import norm


def naive_posterior(x):
    """Bayes' rule: one normal density against the mean of two others."""
    first = norm.pdf(x)
    second = 0.5 * norm.pdf(x, -2) + 0.5 * norm.pdf(x, 2)
    return np.column_stack([first, second]) / (first + second)[:, None]
