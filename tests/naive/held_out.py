"""What is said of rows that were held out: refit without them, and ask."""

import numpy as np

from naive.lspc import naive_ridge, one_hot


def one_by_one(n):
    """Pairs (train, test) of leave-one-out."""
    return [(np.delete(np.arange(n), i), np.array([i])) for i in range(n)]


def group_by_group(groups):
    """Pairs (train, test) of leaving one group out at a time."""
    return [(np.flatnonzero(groups != g), np.flatnonzero(groups == g)) for g in np.unique(groups)]


def without_the_mean_weight(weights):
    """The sum of weights that leave-one-out keeps for every row."""
    return weights.sum() * (len(weights) - 1) / len(weights)


def convention(reg, weights):
    """The ridge of weighted leave-one-out: the mean weight is left out."""
    return reg * without_the_mean_weight(weights)


def held_out_by_refitting(K, Z, reg, blocks, weights=None, ridge_of=None):
    """Remove each block of rows, as rows and as centres, refit, and score the block."""
    return _refit(K, Z, reg, blocks, weights, ridge_of, lambda rest: [(slice(None), rest)])


def held_out_at_centers(Phi, Z, reg, blocks, weights=None, ridge_of=None):
    """Remove each block of rows, keep all centres, refit, and score the block."""
    everything = [(slice(None), np.arange(Phi.shape[1]))]
    return _refit(Phi, Z, reg, blocks, weights, ridge_of, lambda rest: everything)


def held_out_classwise(K, y, reg, blocks, weights=None, ridge_of=None):
    """Remove each block; a class has the centres of its own rows that stay."""
    Z = one_hot(y)

    def centers_of(rest):
        return [([k], rest[Z[rest, k] == 1]) for k in range(Z.shape[1])]

    return _refit(K, Z, reg, blocks, weights, ridge_of, centers_of)


def _refit(Phi, Z, reg, blocks, weights, ridge_of, centers_of):
    """Score each block by a fit to the rest; classes have the centres that `centers_of` gives."""
    n = len(Z)
    weights = np.ones(n) if weights is None else weights / weights.mean()
    scores = np.full(Z.shape, np.nan)
    for block in blocks:
        rest = np.setdiff1d(np.arange(n), block)
        ridge = reg * weights[rest].sum() if ridge_of is None else ridge_of(reg, weights)
        for classes, used in centers_of(rest):
            A = naive_ridge(Phi[np.ix_(rest, used)], Z[rest][:, classes], ridge, weights[rest])
            scores[np.ix_(block, np.arange(Z.shape[1])[classes])] = Phi[np.ix_(block, used)] @ A
    return scores


def ridge_without_own_centre(Phi, own, Z, ridge):
    """Every row by a fit without it, and without its centre where no copy of it remains."""
    n, m = Phi.shape
    found = np.empty(Z.shape)
    for i in range(n):
        rows = np.arange(n) != i
        alone = own[i] >= 0 and not (own[rows] == own[i]).any()
        kept = np.arange(m) != (own[i] if alone else -1)
        part = Phi[np.ix_(rows, kept)]
        A = np.linalg.solve(part.T @ part + ridge * np.eye(kept.sum()), part.T @ Z[rows])
        found[i] = Phi[i, kept] @ A
    return found
