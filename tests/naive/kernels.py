"""Kernels between all rows and all centres, from the differences of every pair."""

import numpy as np


def squared_distances(X, C):
    """Sum over columns of (x - c)²."""
    return ((X[:, None, :] - C[None, :, :]) ** 2).sum(-1)


def naive_cuts(column, n_cuts=20):
    """Cells at which a column of many values is cut, each k-th smallest of them."""
    low, high = np.arange(1, n_cuts + 1) / (n_cuts + 1), np.arange(1, 11) / 11
    shares = [*low, *(0.9 + 0.1 * high)]
    found = {np.quantile(column, share, method="inverted_cdf") for share in shares}
    commonest = max(set(column.tolist()), key=column.tolist().count)
    others = column[column != commonest]
    if len(others) < len(column) / 2:
        found |= {np.quantile(others, k / 40, method="inverted_cdf") for k in range(40)}
    return sorted(found - {column.min()})


def naive_kernel(name, X, C, sigma, degree=3, coef0=1.0):
    """Each kernel by its definition, of width sigma."""
    difference = X[:, None, :] - C[None, :, :]
    if name == "rbf":
        return np.exp(-(difference**2).sum(-1) / (2 * sigma**2))
    if name == "laplacian":
        return np.exp(-np.abs(difference).sum(-1) / sigma)
    if name == "exponential":
        return np.exp(-np.sqrt((difference**2).sum(-1)) / sigma)
    if name == "matern32":
        scaled = np.sqrt(3.0) * np.sqrt((difference**2).sum(-1)) / sigma
        return (1.0 + scaled) * np.exp(-scaled)
    if name == "chi2":
        total = X[:, None, :] + C[None, :, :]
        parts = np.divide(difference**2, total, out=np.zeros_like(total), where=total != 0)
        return np.exp(-parts.sum(-1) / sigma)
    if name == "polynomial":
        return (X @ C.T / sigma**2 + coef0) ** degree
    if name == "linear":
        return X @ C.T
    if name == "steps":
        found = np.ones((len(X), len(C)))
        for j in range(C.shape[1]):
            values = np.unique(C[:, j])
            cuts = values[1:] if len(values) <= 21 else naive_cuts(C[:, j])
            for cut in cuts:
                both = (X[:, None, j] >= cut) & (C[None, :, j] >= cut)
                found += min(1.0, 2.5 / len(cuts)) * both
        return found
    if name == "cosine":
        norms = np.linalg.norm(X, axis=1)[:, None] * np.linalg.norm(C, axis=1)
        return X @ C.T / norms
    raise AssertionError(name)
