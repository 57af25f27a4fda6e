"""How far tasks speak for each other: from a similarity and a degree of sharing to a covariance.

The penalty of the multi-task objective is a quadratic form of the task parameters θ_t,

    reg/(2T) Σ_t ||θ_t||² + γ/(4T²) Σ_tt' W_tt' ||θ_t - θ_t'||²  =  1/(2T) Σ_tt' Λ_tt' θ_tᵀθ_t',

with Λ = reg·(I + κL/T), L = diag(W1) - W and γ = reg·κ, κ = sharing/(1 - sharing). Its inverse
C = Λ⁻¹ is the covariance of the tasks, and all the dual solution needs to know about them. Only the
scale of C depends on ``reg``, so the functions here return C for ``reg = 1``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse.csgraph import connected_components

Array = NDArray[np.float64]


def laplacian(similarity: Array) -> Array:
    """L = diag(W1) - W; the diagonal of W cancels.

    Examples
    --------
    >>> import numpy as np
    >>> laplacian(np.array([[5.0, 1.0], [1.0, 5.0]]))
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    off = np.array(similarity, dtype=float)
    np.fill_diagonal(off, 0.0)
    return np.diag(off.sum(axis=1)) - off


def components(similarity: Array) -> NDArray[np.intp]:
    """Number the connected components of W: tasks without any path between them never share."""
    off = np.array(similarity, dtype=float)
    np.fill_diagonal(off, 0.0)
    return connected_components(off != 0.0, directed=False)[1].astype(np.intp)


def task_covariances(similarity: Array, sharings: Array) -> Array:
    """C = (I + κL/T)⁻¹ for every sharing, from one eigendecomposition of L.

    With L = V diag(l) Vᵀ, C = V diag((1-s) / ((1-s) + s·l/T)) Vᵀ; at s = 1 this is the limit: one
    shared model per connected component, C = 11ᵀ/|component| inside each.

    Parameters
    ----------
    similarity : array of shape (T, T)
        W, symmetric and non-negative; its diagonal is ignored.
    sharings : array of shape (n_sharings,)
        Values in [0, 1].

    Returns
    -------
    array of shape (n_sharings, T, T)
        The covariances for ``reg = 1``.

    Examples
    --------
    >>> import numpy as np
    >>> task_covariances(np.ones((2, 2)), np.array([0.0, 0.5, 1.0]))
    array([[[1.  , 0.  ],
            [0.  , 1.  ]],
    <BLANKLINE>
           [[0.75, 0.25],
            [0.25, 0.75]],
    <BLANKLINE>
           [[0.5 , 0.5 ],
            [0.5 , 0.5 ]]])
    """
    n_tasks = similarity.shape[0]
    result = np.empty((len(sharings), n_tasks, n_tasks))
    off_diagonal = similarity[~np.eye(n_tasks, dtype=bool)]
    if off_diagonal.size == 0 or np.all(off_diagonal == off_diagonal[0]):
        # Equal similarities are the common case, and known in closed form: l is 0 once, w·T else.
        weight = float(off_diagonal[0]) if off_diagonal.size else 1.0
        for k, s in enumerate(sharings):
            mixed = s * weight
            own = (1.0 - s) / ((1.0 - s) + mixed) if mixed > 0.0 else 1.0
            result[k] = own * np.eye(n_tasks) + (1.0 - own) / n_tasks
        return result
    label = components(similarity)
    same = label[:, None] == label[None, :]
    values, vectors = eigh(laplacian(similarity))
    values = np.clip(values, 0.0, None)
    for k, s in enumerate(sharings):
        if s == 1.0:
            result[k] = same / same.sum(axis=1)
            continue
        shrink = (1.0 - s) / ((1.0 - s) + s * values / n_tasks)
        # Rounding must not tie unconnected tasks: their blocks are what makes the solution split.
        result[k] = np.where(same, (vectors * shrink) @ vectors.T, 0.0)
    return result


def unseen_weight(similarity: Array, sharing: float) -> float:
    """The factor ψ in θ_new = ψ · mean_t θ_t, the parameters of a task without any data.

    The new task is tied to every other by the mean off-diagonal weight w̄ of W, T kept. With the
    other tasks' parameters given, the penalty (reg/2T)||θ||² + (γ w̄/2T²) Σ_t ||θ - θ_t||² is least
    at     ψ = κw̄/(1 + κw̄) = s·w̄/((1-s) + s·w̄). For W = 1 this is ``sharing`` itself.

    Examples
    --------
    >>> import numpy as np
    >>> unseen_weight(np.ones((3, 3)), 0.25)
    0.25
    """
    weight = mean_similarity(similarity)
    total = (1.0 - sharing) + sharing * weight
    return sharing * weight / total if total > 0.0 else 0.0


def mean_similarity(similarity: Array) -> float:
    """Mean off-diagonal weight of W; 1 for a single task, as in the uniform similarity."""
    n_tasks = similarity.shape[0]
    if n_tasks == 1:
        return 1.0
    return float((similarity.sum() - np.trace(similarity)) / (n_tasks * (n_tasks - 1)))
