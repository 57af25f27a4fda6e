"""Forming the matrix of centres, or conjugate gradients: which is cheaper, and why."""

from __future__ import annotations

from typing import NamedTuple

SOLVERS = ("auto", "direct", "pcg")
# Below this many centres the direct solver is quick enough, and its leave-one-out is exact.
PCG_CENTERS = 5000
# Steps to expect; they grow as reg falls (see the page on many centres).
USUAL_STEPS = 20
# Floating-point operations in whose time one exponential is done.
EXPONENTIAL = 60.0


class SolverChoice(NamedTuple):
    """The solver and the reason, for ``solver_`` and ``solver_reason_``."""

    solver: str
    reason: str


def choose_solver(
    solver: str,
    *,
    n_rows: int,
    n_centers: int,
    n_features: float,
    n_columns: int,
    held_out_rows: int,
    kept_share: float,
    all_rows: bool,
) -> SolverChoice:
    """Return what ``solver=`` comes to for a problem of this size.

    Operations: forming and decomposing the matrix takes ``n m²`` and about ``13 m³``, its
    leave-one-out ``2 m²`` a row; a pass of conjugate gradients ``n m (2d + exponential)`` unless
    features are kept, and ``4 n m`` a column; the preconditioner ``4/3 m³``.

    Parameters
    ----------
    solver : {"auto", "direct", "pcg"}
    n_rows, n_centers, n_features : numbers
        n, m and d (the mean number of stored entries a row for sparse rows).
    n_columns : int
        Right-hand sides of conjugate gradients, those of held-out folds included.
    held_out_rows : int
        Rows whose leave-one-out scores the direct solver computes; 0 for none.
    kept_share : float
        Share of the features that the memory allowed can keep between passes.
    all_rows : bool
        Whether every row is a centre.

    Examples
    --------
    >>> size = dict(n_features=20, n_columns=30, held_out_rows=20000, kept_share=0, all_rows=False)
    >>> choose_solver("auto", n_rows=10**6, n_centers=1000, **size).solver
    'direct'
    >>> choose_solver("auto", n_rows=10**6, n_centers=8000, **size).solver
    'pcg'
    """
    if solver != "auto":
        return SolverChoice(solver, f'solver="{solver}" was asked for.')
    if all_rows:
        return SolverChoice(
            "direct", "All rows are centers: the direct solver gives exact leave-one-out scores."
        )
    if n_centers < PCG_CENTERS:
        return SolverChoice(
            "direct",
            f"{n_centers} centers, fewer than {PCG_CENTERS}: forming their matrix is quick, and "
            "leave-one-out is exact.",
        )
    n, m, d = float(n_rows), float(n_centers), float(n_features)
    features = n * m * (2 * d + EXPONENTIAL)
    direct = n * m**2 + 13 * m**3 + 2 * held_out_rows * m**2 + 2 * features
    steps = (1 + USUAL_STEPS * (1 - kept_share)) * features + USUAL_STEPS * 4 * n * m * n_columns
    iterated = 4 / 3 * m**3 + steps
    chosen = "pcg" if iterated < direct else "direct"
    return SolverChoice(
        chosen,
        f"{n_centers} centers on {n_rows} rows of {d:.0f} features: about {iterated:.1e} "
        f"operations by conjugate gradients, {direct:.1e} by forming and decomposing the matrix "
        "of centers.",
    )
