"""Scores of a row without some of its copies, from the solution with all of them.

A distinct row of weight w and target z stands for copies. Where a share s of its weight leaves,
with the targets y of these copies, the row stays with the weight (1-s)w and the target
``z' = (z - s·y)/(1-s)``, and so does its centre.
"""

from __future__ import annotations

import numpy as np

from kinlearn.solvers.ridge_from_sums import LARGEST_LEVERAGE
from kinlearn.training.splits import Leaving


def without_one_copy(
    scores: np.ndarray, leverage: np.ndarray, share: np.ndarray, targets: np.ndarray
) -> np.ndarray:
    """``(q - s·h·y)/(1 - s·h)``: scores of rows without one of their copies.

    Parameters
    ----------
    scores : ndarray of shape (..., k, c)
        Scores q of the rows from the fit to all copies, under the ridge of what remains.
    leverage : ndarray of shape (..., k)
        h, the derivative of a row's score by its own target.
    share : ndarray of shape (k,)
        Share of the row's weight that leaves.
    targets : ndarray of shape (k, c)
        Targets y of what leaves.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.solvers.held_out_copies import without_one_copy
    >>> q, h = np.array([[0.5, 0.5]]), np.array([1.0])  # two copies, one of each class
    >>> without_one_copy(q, h, np.array([0.5]), np.array([[1.0, 0.0]]))
    array([[0., 1.]])
    """
    pull = np.minimum(leverage * share, LARGEST_LEVERAGE)[..., None]
    return (scores - pull * targets) / (1.0 - pull)


def without_block(
    system: np.ndarray,
    solution: np.ndarray,
    Z: np.ndarray,
    root: np.ndarray | float,
    leaving: Leaving | None,
    units: np.ndarray | None,
) -> np.ndarray:
    """Scores of a block of rows, each without all or some of its copies.

    ``[[I, B], [Bᵀ, -ρI]] [u; A] = [D½Z; 0]``, B = D½Phi, is the fit. Where a share s of row i
    leaves, the diagonal of its equation becomes ``1/(1-s)`` and its right-hand side follows z';
    where all leaves, the equation goes, and with it the column of the row's own centre. With J the
    rows of the block and the centres that leave, G the J×J part of the system's inverse, x the
    J part of its solution and T = diag((1-s)/s), zero for centres,

        λ = (T + G)⁻¹ (x + G [D½(z' - z); 0]),      q = z' - D^(-½) λ/s .

    Parameters
    ----------
    system : ndarray of shape (b + f, b + f)
        G.
    solution : ndarray of shape (b + f, c)
        x.
    Z : ndarray of shape (b, c)
        Targets of the block's rows.
    root : ndarray of shape (b, 1) or 1.0
        D½ of these rows.
    leaving : Leaving or None
        What leaves of each row; None for all.
    units : ndarray of shape (U, c) or None
        Targets of the units, where `leaving` is given.
    """
    size = Z.shape[0]
    if leaving is None:
        return Z - np.linalg.solve(system, solution)[:size] / root
    assert units is not None
    left, share, T = remaining(Z, leaving, units)
    system, solution = system.copy(), solution.copy()
    solution += system[:, :size] @ (root * (left - Z))
    system[np.arange(size), np.arange(size)] += T
    return left - np.linalg.solve(system, solution)[:size] / root / share


def remaining(
    Z: np.ndarray, leaving: Leaving, units: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return z' (z itself where nothing remains), s as a column, and (1-s)/s."""
    share, whole = leaving.share, leaving.whole
    rest = np.where(whole, 1.0, 1.0 - share)[:, None]
    left = np.where(whole[:, None], Z, (Z - share[:, None] * leaving.targets(units)) / rest)
    return left, share[:, None], (1.0 - share) / share
