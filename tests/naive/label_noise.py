"""The chance that a label is wrong, row by row."""

import numpy as np


def naive_suspicion(proba, T, codes, n_steps):
    """P(true != label | x, label) with mistakes T, the true chances by EM one row at a time."""
    found = []
    for p, j in zip(proba, codes, strict=True):
        true = list(p)
        for _ in range(n_steps):
            new = []
            for k in range(len(p)):
                shares = [
                    p[m] * T[m, k] * true[k] / sum(T[m, i] * true[i] for i in range(len(p)))
                    for m in range(len(p))
                ]
                new.append(sum(shares))
            true = [value / sum(new) for value in new]
        called = sum(T[j, k] * true[k] for k in range(len(p)))
        found.append(1 - T[j, j] * true[j] / called)
    return np.array(found)
