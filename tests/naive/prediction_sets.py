"""CV+ prediction sets as their definition reads, one row and class at a time."""

import numpy as np


def naive_sets(scores, folds, new, coverage):
    """y in C(x) if #{i: s_i < S^{-k(i)}(x, y)} < coverage (n + 1); new[k] is S^{-k}, (m, c)."""
    n, (m, c) = len(scores), new[0].shape
    sets = np.zeros((m, c), dtype=bool)
    for x in range(m):
        for y in range(c):
            better = sum(scores[i] < new[folds[i]][x, y] for i in range(n))
            sets[x, y] = better < coverage * (n + 1) - 1e-9
    return sets
