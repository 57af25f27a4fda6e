"""Kernels between all rows and all centres, from the differences of every pair."""

import numpy as np


def squared_distances(X, C):
    """Sum over columns of (x - c)²."""
    return ((X[:, None, :] - C[None, :, :]) ** 2).sum(-1)


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
    if name == "cosine":
        norms = np.linalg.norm(X, axis=1)[:, None] * np.linalg.norm(C, axis=1)
        return X @ C.T / norms
    raise AssertionError(name)
