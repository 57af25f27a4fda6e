"""From scores to probabilities: the four rules, and what calibration minimises."""

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import log_softmax


def normalised(Q):
    """Each row divided by its sum."""
    return Q / Q.sum(axis=1, keepdims=True)


def naive_rounded(K, A):
    """Equation 6: negative scores are 0, and what is left is normalised."""
    return normalised(np.maximum(0, K @ A))


def naive_rounded_parameters(K, A):
    """Equation 4: negative coefficients are 0, and the scores are normalised."""
    return normalised(K @ np.maximum(0, A))


def naive_raw(K, A):
    """Equation 5: the scores are normalised as they are."""
    return normalised(K @ A)


def naive_smooth(targets, n_rows):
    """Targets mixed with the uniform distribution, which weighs as one row among n + 1."""
    return targets * (1 - 1 / (n_rows + 1)) + 1 / (n_rows + 1) / targets.shape[1]


def naive_losses(logits, targets, n_rows):
    """The log-loss of softmax(logits) against smoothed targets, row by row."""
    return -(naive_smooth(targets, n_rows) * log_softmax(logits, axis=1)).sum(axis=1)


def naive_beta(scores, targets):
    """The factor of scores of least smoothed log-loss."""
    return minimize_scalar(
        lambda beta: naive_losses(beta * scores, targets, len(scores)).sum(),
        bounds=(0, 100),
        method="bounded",
        options={"xatol": 1e-10},
    ).x


def naive_stack_weights(scores, targets, weights):
    """Least squares over weights that are not negative, near the point of the least error."""
    errors = np.array([weights @ np.square(targets - q).sum(axis=1) for q in scores])
    variance = errors.min() / (weights.sum() * targets.shape[1])
    alone = np.eye(len(scores))[errors.argmin()]

    def objective(v):
        rest = targets - np.tensordot(v, scores, axes=1)
        return weights @ np.square(rest).sum(axis=1) + 10 * variance * np.sum((v - alone) ** 2)

    bounds = [(0, None)] * len(scores)
    found = minimize(objective, alone, bounds=bounds, tol=1e-12, method="L-BFGS-B").x
    return found / found.sum()


def naive_refined_weights(scores, targets, weights, start, beta, offsets=False):
    """The weights of points, none negative, of least log-loss plus their distance from beta·start.

    With `offsets` each class has a number added to its scores, of prior precision 3.
    """
    n_points, n_rows, n_classes = scores.shape

    def objective(x):
        logits = np.tensordot(x[:n_points], scores, axes=1) + x[n_points:]
        prior = np.sum((x[:n_points] - beta * start) ** 2) + 3 * np.sum(x[n_points:] ** 2)
        return weights @ naive_losses(logits, targets, n_rows) + 0.5 * prior

    first, free = np.concatenate([beta * start, np.zeros(n_classes)]), [(None, None)]
    fixed = [(0, 0)]
    bounds = [(0, None)] * n_points + (free if offsets else fixed) * n_classes
    found = minimize(objective, first, bounds=bounds, tol=1e-12, method="L-BFGS-B").x[:n_points]
    return found / found.sum()


def naive_class_calibration(scores, targets, weights, beta):
    """A scale and an offset a class: least log-loss, scales near beta and offsets near 0."""
    n_rows, n_classes = scores.shape

    def objective(x):
        scales, offsets = x[:n_classes], x[n_classes:]
        losses = naive_losses(scales * scores + offsets, targets, n_rows)
        return weights @ losses + 0.15 * np.sum((scales - beta) ** 2) + 1.5 * np.sum(offsets**2)

    found = minimize(objective, np.r_[np.full(n_classes, beta), np.zeros(n_classes)], tol=1e-12).x
    return found[:n_classes], found[n_classes:]


def naive_log_loss(scores, beta, y):
    """The mean of -log softmax(beta·scores) at the classes of rows."""
    return -log_softmax(beta * scores, axis=1)[np.arange(len(y)), y].mean()
