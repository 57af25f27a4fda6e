"""Discriminants: scatters by their definitions, and the optimum of the trace ratio of all tasks."""

from __future__ import annotations

import numpy as np

from kinlearn.solvers.scatter import ReducedScatter, reduce_scatter


def random_tasks(
    seed: int, widths: tuple[int, ...], sizes: tuple[int, ...], classes: tuple[int, ...]
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Tasks with correlated features, so that no eigenvector is an axis."""
    rng = np.random.default_rng(seed)
    Xs, ys = [], []
    for d, n, c in zip(widths, sizes, classes, strict=True):
        y = np.arange(n) % c
        mixing = 1.5 * rng.normal(size=(d, d)) / np.sqrt(d)
        Xs.append(rng.normal(size=(c, d))[y] + rng.normal(size=(n, d)) @ mixing + 3.0)
        ys.append(y)
    return Xs, ys


def reduce_all(Xs: list[np.ndarray], ys: list[np.ndarray]) -> list[ReducedScatter]:
    """What the solvers take: every task's scatters, in the range of its total scatter."""
    return [reduce_scatter(X, y, y.max() + 1) for X, y in zip(Xs, ys, strict=True)]


def dense_scatter(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """S_b, S_w, S_t by their definitions, d by d."""
    mean = X.mean(axis=0)
    between = np.zeros((X.shape[1], X.shape[1]))
    within = np.zeros_like(between)
    for k in np.unique(y):
        rows = X[y == k]
        gap = rows.mean(axis=0) - mean
        between += len(rows) / len(X) * np.outer(gap, gap)
        centred = rows - rows.mean(axis=0)
        within += centred.T @ centred / len(X)
    return between, within, between + within


def naive_optimum(Xs: list[np.ndarray], ys: list[np.ndarray], n_components: int) -> float:
    """Dinkelbach on dense matrices, by bisection on F(alpha): slow and hard to get wrong.

    The directions are kept in range(S_t) by an orthonormal basis from its eigenvectors.
    """
    reduced = []
    for X, y in zip(Xs, ys, strict=True):
        between, _, total = dense_scatter(X, y)
        values, vectors = np.linalg.eigh(total)
        inside = vectors[:, values > 1e-10 * values[-1]]
        reduced.append((inside.T @ between @ inside, inside.T @ total @ inside))

    def best_gain(alpha: float) -> float:
        return sum(np.linalg.eigvalsh(b - alpha * t)[-n_components:].sum() for b, t in reduced)

    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if best_gain(middle) > 0 else (low, middle)
    return high


def objective(Xs: list[np.ndarray], ys: list[np.ndarray], components: list[np.ndarray]) -> float:
    """Eq. 3 at given projections (rows of components), from the dense scatters."""
    between = total = 0.0
    for X, y, U in zip(Xs, ys, components, strict=True):
        S_b, _, S_t = dense_scatter(X, y)
        between += np.trace(U @ S_b @ U.T)
        total += np.trace(U @ S_t @ U.T)
    return between / total


def trace_ratio(components: np.ndarray, X: np.ndarray, y: np.ndarray) -> float:
    """tr(U S_b Uᵀ) / tr(U S_t Uᵀ) of one task."""
    return objective([X], [y], [components])
