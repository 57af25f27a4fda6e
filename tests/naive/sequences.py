"""Sequences of frames under hidden Markov models."""

import numpy as np


def naive_log_likelihood(sequence, start, transition, means, variances):
    """The forward recursion, in plain probabilities: α ← (αᵀP)·density(frame)."""

    def density(frame):
        gaps = -0.5 * ((frame - means) ** 2 / variances + np.log(2 * np.pi * variances))
        return np.exp(gaps.sum(axis=1))

    alpha = start * density(sequence[0])
    for frame in sequence[1:]:
        alpha = (alpha @ transition) * density(frame)
    return np.log(alpha.sum())
