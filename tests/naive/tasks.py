"""Several tasks: the objective of multi-task LSPC over all parameters at once.

Σ_i w_i ||φ_iᵀθ_{t(i)} - z_i||² / (2N) + reg/(2T) Σ_t ||θ_t||²
+ γ/(4T²) Σ_{t,u} W_{tu} ||θ_t - θ_u||²
with γ = reg·sharing/(1 - sharing) and N the sum of weights.
"""

import numpy as np


def task_penalty(W, reg, sharing):
    """The matrix of the penalty between tasks: reg/T·I + γ/T²·L."""
    T = len(W)
    gamma = reg * sharing / (1.0 - sharing)
    L = np.diag(W.sum(axis=1)) - W
    return reg / T * np.eye(T) + gamma / T**2 * L


def in_own_block(features, task, n_tasks):
    """The features of a row stand in the columns of its task, zeros in the others."""
    stacked = np.zeros((len(task), n_tasks, features.shape[1]))
    stacked[np.arange(len(task)), task] = features
    return stacked.reshape(len(task), -1)


def naive_task_parameters(features, task, targets, weights, W, reg, sharing, total=None, absent=()):
    """Minimise the objective over all (T·m) parameters, written from its gradient.

    Pairs (task, centre) in `absent` have their coefficient held at zero.
    """
    n_tasks, m = len(W), features.shape[1]
    total = weights.sum() if total is None else total
    stacked = in_own_block(features, task, n_tasks)
    penalty = np.kron(task_penalty(W, reg, sharing), np.eye(m))
    left = stacked.T @ (weights[:, None] * stacked) / total + penalty
    right = stacked.T @ (weights[:, None] * targets) / total
    free = np.setdiff1d(np.arange(n_tasks * m), [t * m + j for t, j in absent])
    solution = np.zeros_like(right)
    solution[free] = np.linalg.solve(left[np.ix_(free, free)], right[free])
    return solution.reshape(n_tasks, m, -1)


def naive_task_scores(features, task, parameters):
    """Each row by the parameters of its task."""
    return np.einsum("nm,nmc->nc", features, parameters[task])


def shared_and_own(features, task, targets, n_tasks, lambda_, gamma):
    """Equation 4 of the paper in (β_0, β_1, ..., β_T), as printed: θ_t = β_0 + β_t."""
    n, m = features.shape
    design = np.hstack([features, in_own_block(features, task, n_tasks)])
    penalty = np.r_[np.full(m, lambda_), np.full(n_tasks * m, gamma / n_tasks)]
    beta = np.linalg.solve(design.T @ design / n + np.diag(penalty), design.T @ targets / n)
    return beta.reshape(n_tasks + 1, m, -1)
