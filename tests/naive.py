"""The formulas as they are written, for comparison with the fast paths."""

import numpy as np


def naive_kernel(name, X, C, sigma, degree=3, coef0=1.0):
    difference = X[:, None, :] - C[None, :, :]
    if name == "rbf":
        return np.exp(-(difference**2).sum(-1) / (2 * sigma**2))
    if name == "laplacian":
        return np.exp(-np.abs(difference).sum(-1) / sigma)
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


def naive_coefficients(Phi, Z, reg, weights=None):
    """Solve the ridge problem as the least-squares problem it is, without squaring anything."""
    weights = np.ones(len(Z)) if weights is None else weights
    return naive_ridge(Phi, Z, weights.sum() * reg, weights)


def naive_ridge(Phi, Z, ridge, weights):
    root = np.sqrt(weights)[:, None]
    design = np.vstack([root * Phi, np.sqrt(ridge) * np.eye(Phi.shape[1])])
    right = np.vstack([root * Z, np.zeros((Phi.shape[1], Z.shape[1]))])
    return np.linalg.lstsq(design, right, rcond=None)[0]


def one_hot(y):
    return (np.asarray(y)[:, None] == np.unique(y)).astype(float)


def held_out_by_refitting(K, Z, reg, blocks, weights=None, ridge_of=None):
    """Remove each block of rows, as rows and as centres, refit, and score the block."""
    n = len(Z)
    weights = np.ones(n) if weights is None else weights / weights.mean()
    scores = np.full(Z.shape, np.nan)
    for block in blocks:
        rest = np.setdiff1d(np.arange(n), block)
        ridge = reg * weights[rest].sum() if ridge_of is None else ridge_of(reg, weights)
        A = naive_ridge(K[np.ix_(rest, rest)], Z[rest], ridge, weights[rest])
        scores[block] = K[np.ix_(block, rest)] @ A
    return scores


def naive_label_scores(
    X, Y, query, sigma, reg, sharing, W, weights=None, factors=(1.0, 1.0), centers=None
):
    """Scores (queries, T, 2) of 0 and 1: every observed pair is a row of its own in least squares.

    Centres are the distinct rows unless given; `weights` are of rows, `factors` of the answers 0
    and 1.
    """
    centers = np.unique(X, axis=0) if centers is None else centers
    Phi, T, m = naive_kernel("rbf", X, centers, sigma), Y.shape[1], len(centers)
    weights = np.ones(len(X)) if weights is None else weights
    pairs = np.where(np.isnan(Y), 0.0, np.where(Y == 1, factors[1], factors[0])) * weights[:, None]
    tie = reg * sharing / (1 - sharing) * (np.diag(np.abs(W).sum(1)) - W) / T
    H = np.kron(reg * np.eye(T) + tie, np.eye(m)) * pairs.sum() / T
    h = np.zeros((T * m, 2))
    for t in range(T):
        own, v = slice(t * m, (t + 1) * m), pairs[:, t]
        H[own, own] += Phi.T @ (v[:, None] * Phi)
        z = np.nan_to_num(Y[:, t])
        h[own] = Phi.T @ (v[:, None] * np.column_stack([1 - z, z]))
    theta = np.linalg.solve(H, h).reshape(T, m, 2)
    return np.einsum("im,tmc->itc", naive_kernel("rbf", query, centers, sigma), theta)


def naive_merged(X, y, weights, n_classes):
    """Distinct rows of positive weight with their weights and the weighted means of targets."""
    kept = weights > 0
    rows, member = np.unique(X[kept], axis=0, return_inverse=True)
    mass = np.zeros((len(rows), n_classes))
    np.add.at(mass, (member.ravel(), y[kept]), weights[kept])
    total = mass.sum(axis=1)
    return rows, mass / total[:, None], total


def naive_scores_of_rows(
    X, y, weights, X_new, sigma, reg, *, ridge=None, centers=None, classwise=None, n_classes=None
):
    """Fit to rows as passed, identical ones merged, every distinct row a centre; score new rows.

    With `classwise` = (X, y) a class has the centres at which that table has it.
    """
    n_classes = y.max() + 1 if n_classes is None else n_classes
    rows, Z, total = naive_merged(X, y, weights, n_classes)
    ridge = reg * total.sum() if ridge is None else ridge
    centers = rows if centers is None else centers
    own = np.ones((n_classes, len(centers)), bool)
    if classwise is not None:
        for k in range(n_classes):
            having = classwise[0][classwise[1] == k]
            own[k] = [(having == center).all(axis=1).any() for center in centers]
    scores = np.empty((len(X_new), n_classes))
    for k, used in enumerate(own):
        Phi, Phi_new = (naive_kernel("rbf", A, centers[used], sigma) for A in (rows, X_new))
        scores[:, k] = (Phi_new @ naive_ridge(Phi, Z[:, [k]], ridge, total))[:, 0]
    return scores


def without_one_copy(X, y, weights, i):
    """Weights when one copy of row i leaves: of those with its class, the mean weight."""
    same = (X[i] == X).all(axis=1) & (y == y[i])
    left = weights.astype(float)
    left[same] *= 1 - 1 / same.sum()
    return left
