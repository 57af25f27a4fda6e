"""Many labels: the objective of multi-label LSPC over observed pairs of rows and labels."""

import numpy as np

from naive.kernels import naive_kernel


def label_objective(theta, features, Z, W, reg, gamma, pair_weights):
    """The objective as it is written, signs of W included, one label and one pair at a time."""
    T = Z.shape[1]
    N = pair_weights.sum()
    value = 0.0
    for t in range(T):
        q = features @ theta[:, t]
        v = pair_weights[:, t]
        value += (v * q**2).sum() / (2 * N) - (v * Z[:, t] * q).sum() / N
        value += reg / (2 * T) * theta[:, t] @ theta[:, t]
        for u in range(T):
            gap = theta[:, t] - np.sign(W[t, u]) * theta[:, u]
            if u != t:
                value += gamma / (4 * T**2) * abs(W[t, u]) * gap @ gap
    return value


def naive_label_parameters(features, Z, W, reg, sharing, pair_weights=None):
    """Minimise the objective through the quadratic form read off its values; (m, T)."""
    m, T = features.shape[1], Z.shape[1]
    V = np.ones_like(Z) if pair_weights is None else pair_weights
    gamma = reg * sharing / (1 - sharing)
    N = V.sum()
    H = np.zeros((m * T, m * T))
    h = np.zeros(m * T)
    for t in range(T):
        block = slice(t * m, (t + 1) * m)
        H[block, block] += features.T @ (V[:, [t]] * features) / N + reg / T * np.eye(m)
        h[block] = features.T @ (V[:, t] * Z[:, t]) / N
        for u in range(T):
            if u == t:
                continue
            other = slice(u * m, (u + 1) * m)
            H[block, block] += gamma / T**2 * abs(W[t, u]) * np.eye(m)
            H[block, other] -= gamma / T**2 * W[t, u] * np.eye(m)
    return np.linalg.solve(H, h).reshape(T, m).T


def naive_label_scores(
    X, Y, query, sigma, reg, sharing, W, weights=None, factors=(1.0, 1.0), centers=None
):
    """Scores (queries, T, 2) of 0 and 1: every observed pair is a row of its own in least squares.

    Centres are the distinct rows unless given; `weights` are of rows, `factors` of the answers 0
    and 1.
    """
    centers = np.unique(X, axis=0) if centers is None else centers
    weights = np.ones(len(X)) if weights is None else weights
    Phi, Phi_new = (naive_kernel("rbf", rows, centers, sigma) for rows in (X, query))
    pairs = np.where(np.isnan(Y), 0.0, np.where(Y == 1, factors[1], factors[0])) * weights[:, None]
    on = np.nan_to_num(Y)
    return np.stack(
        [Phi_new @ naive_label_parameters(Phi, Z, W, reg, sharing, pairs) for Z in (1 - on, on)],
        axis=-1,
    )
