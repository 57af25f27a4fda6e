"""How far two people agree beyond chance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def cohens_kappa(first: Sequence[str], second: Sequence[str]) -> float:
    """Cohen's kappa ``(p - e) / (1 - e)`` of two people's labels of the same rows.

    `p` is the share on which they agree, `e` the share on which they would by chance, each with
    their own frequencies. NaN where nothing can be said: no rows, or both used one class alone.

    Examples
    --------
    >>> cohens_kappa(["a", "a", "b", "b"], ["a", "a", "b", "a"])
    0.5
    """
    if len(first) == 0:
        return float("nan")
    one, two = np.asarray(first), np.asarray(second)
    chance = sum(float(np.mean(one == name) * np.mean(two == name)) for name in np.unique(one))
    agreed = float(np.mean(one == two))
    return float("nan") if chance >= 1.0 else (agreed - chance) / (1.0 - chance)
