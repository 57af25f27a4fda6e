"""Kernel logistic regression, by scikit-learn's logistic regression and scipy's minimiser."""

import numpy as np
from scipy.optimize import approx_fprime, minimize
from scipy.special import expit, log_softmax, logsumexp
from sklearn.linear_model import LogisticRegression

from naive.tasks import task_penalty


def softmaxed(scores):
    """exp(score) over the sum of them."""
    return np.exp(log_softmax(scores, axis=1))


def logistic_regression(Phi, y, reg, weights=None):
    """scikit-learn's logistic regression on kernel features, which has the same objective."""
    total = len(y) if weights is None else weights.sum()
    solver = "newton-cholesky" if len(np.unique(y)) == 2 else "lbfgs"
    model = LogisticRegression(
        C=1 / (total * reg), fit_intercept=False, tol=1e-12, max_iter=100_000, solver=solver
    )
    return model.fit(Phi, y, sample_weight=weights)


def naive_logistic_scores(gram, loss, reg):
    """Minimise over a square root of the kernel matrix, from the textbook formulas."""
    values, vectors = np.linalg.eigh(gram)
    F = vectors * np.sqrt(np.clip(values, 0.0, None))
    shape = (len(gram), loss.targets.shape[1])

    def objective(flat):
        f = F @ flat.reshape(shape)
        if shape[1] == 1:
            rows, p = np.logaddexp(0.0, f)[:, 0] - (loss.targets * f)[:, 0], 1 / (1 + np.exp(-f))
        else:
            rows = logsumexp(f, axis=1) - (loss.targets * f).sum(axis=1)
            p = np.exp(f - logsumexp(f, axis=1, keepdims=True))
        gradient = F.T @ (loss.share * (p - loss.targets)) + reg * flat.reshape(shape)
        return loss.share[:, 0] @ rows + 0.5 * reg * flat @ flat, gradient.ravel()

    start = np.zeros(shape).ravel()
    assert np.allclose(
        approx_fprime(start + 0.1, lambda x: objective(x)[0], 1e-7)[:5],
        objective(start + 0.1)[1][:5],
        atol=1e-5,
    )
    options = {"maxiter": 20_000, "maxfun": 40_000, "ftol": 1e-17, "gtol": 1e-10}
    found = minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
    return F @ found.x.reshape(shape)


def shared_and_individual(phi, y, task, n_tasks, reg, sharing, weights=None):
    """scikit-learn's logistic regression over (β_0, δ_1, ..., δ_T), in the variables of the paper.

    With θ_t = β_0 + δ_t the penalty for W = 1 is reg/(2·sharing) ||β_0||² +
    reg/(2T(1-sharing)) Σ ||δ_t||²: features scaled by the roots make it a plain ridge. Returns
    probabilities and the shared scores φβ_0.
    """
    blocks = [np.sqrt(sharing) * phi]
    for t in range(n_tasks):
        blocks.append(np.sqrt(n_tasks * (1 - sharing)) * phi * (task == t)[:, None])
    design = np.hstack(blocks)
    total = len(y) if weights is None else weights.sum()
    model = LogisticRegression(
        C=1 / (total * reg), fit_intercept=False, tol=1e-12, max_iter=100_000
    ).fit(design, y, sample_weight=weights)
    beta = model.coef_[:, : phi.shape[1]] * np.sqrt(sharing)
    return model.predict_proba(design), phi @ beta.T


def correlated_tasks(phi, y, task, covariance, reg, weights):
    """scikit-learn's logistic regression where θ_t has the prior covariance C: probabilities.

    With C = RRᵀ the θ_t are combinations of independent parts, and a row has the features R_t ⊗ φ.
    """
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.clip(values, 0.0, None))
    design = np.einsum("nk,nm->nkm", root[task], phi).reshape(len(y), -1)
    model = logistic_regression(design, y, reg / len(covariance), weights)
    return model.predict_proba(design)


def task_gradient(theta, phi, slopes, task, W, reg, sharing):
    """The gradient of the objective over tasks: penalty·θ + Σ_i φ_i·slope_i, each in its task."""
    gradient = np.tensordot(task_penalty(W, reg, sharing), theta, axes=1)
    for t in range(len(W)):
        gradient[t] += phi[task == t].T @ slopes[task == t]
    return gradient


def naive_task_logistic_scores(phi, y, task, W, reg, sharing):
    """Minimise the objective of two classes (0 and 1) and any similarities of tasks."""
    N, T = len(y), len(W)
    penalty, signs = task_penalty(W, reg, sharing), 2 * y - 1

    def objective(flat):
        theta = flat.reshape(T, -1)
        f = np.einsum("nm,nm->n", phi, theta[task])
        value = np.logaddexp(0, -signs * f).mean() + 0.5 * np.vdot(theta, penalty @ theta)
        slopes = -signs * expit(-signs * f) / N
        return value, task_gradient(theta, phi, slopes, task, W, reg, sharing).ravel()

    options = {"maxiter": 10_000, "ftol": 1e-16, "gtol": 1e-11}
    best = minimize(
        objective, np.zeros(T * phi.shape[1]), jac=True, method="L-BFGS-B", options=options
    )
    return np.einsum("nm,nm->n", phi, best.x.reshape(T, -1)[task])


def log_loss_of(coef, phi, targets, weights):
    """Σ_i w_i (log Σ_k exp(f_ik) - Σ_k z_ik f_ik), row by row."""
    total = 0.0
    for features, z, w in zip(phi, targets, weights, strict=True):
        f = coef.T @ features
        total += w * (np.log(np.exp(f).sum()) - z @ f)
    return total
