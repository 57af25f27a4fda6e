"""The fit of LSPC: min over A of Σ_i w_i ||φ(x_i)ᵀA - z_i||² + reg·Σ_i w_i·||A||²."""

import numpy as np


def one_hot(y):
    """Targets z: 1 for the class of a row and 0 for the others."""
    return (np.asarray(y)[:, None] == np.unique(y)).astype(float)


def naive_ridge(Phi, Z, ridge, weights):
    """Minimise Σ_i w_i ||φ_iᵀA - z_i||² + ridge·||A||², without squaring anything."""
    root = np.sqrt(weights)[:, None]
    design = np.vstack([root * Phi, np.sqrt(ridge) * np.eye(Phi.shape[1])])
    right = np.vstack([root * Z, np.zeros((Phi.shape[1], Z.shape[1]))])
    return np.linalg.lstsq(design, right, rcond=None)[0]


def naive_coefficients(Phi, Z, reg, weights=None):
    """The coefficients of a fit: the ridge is reg times the sum of weights."""
    weights = np.ones(len(Z)) if weights is None else weights
    return naive_ridge(Phi, Z, weights.sum() * reg, weights)


def naive_classwise_scores(Phi, Phi_new, center_class, Z, reg, weights=None):
    """Scores when a class has the centres of its own rows only, one fit a class."""
    columns = []
    for k in range(Z.shape[1]):
        own = center_class == k
        columns.append(Phi_new[:, own] @ naive_coefficients(Phi[:, own], Z[:, [k]], reg, weights))
    return np.hstack(columns)
