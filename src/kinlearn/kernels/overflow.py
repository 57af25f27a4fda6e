"""Values so large that their squares overflow are refused in a sentence, before anything is NaN."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from kinlearn.kernels.measures import Rows

if TYPE_CHECKING:
    from kinlearn.kernels.library import Kernel

# A double ends at 1.8e308: differences are squared and added up over features.
LARGEST_VALUE = 1e150
# Three of a kernel's values are multiplied and added up over rows when a solution is refined.
LARGEST_SIMILARITY = 1e80
# Inner products of values up to here are similarities up to there.
LARGEST_FACTOR = 1e40


def refuse_too_large(X: Rows, kernel: Kernel, names: Any = None) -> None:
    """Raise where X holds a value that the kernel's arithmetic cannot take, and say which.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        Finite values.
    kernel : Kernel
        Says how large they may be.
    names : sequence of str, optional
        Names of the columns.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.kernels import resolve_kernel
    >>> rows = np.array([[1.0, 1e160]])
    >>> refuse_too_large(rows, resolve_kernel("rbf"), ["a", "b"])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ValueError: Column 'b' holds 1e+160 (row 0), but beyond 1e+150 the arithmetic...
    """
    values = X.data if sp.issparse(X) else X
    if values.size == 0 or max(float(values.max()), -float(values.min())) <= kernel.largest:
        return
    at = int(np.abs(values).argmax())
    if sp.issparse(X):
        found = X.tocoo()
        row, column, value = int(found.row[at]), int(found.col[at]), found.data[at]
    else:
        row, column = (int(i) for i in np.unravel_index(at, X.shape))
        value = X[row, column]
    name = repr(str(names[column])) if names is not None else f"{column} (counted from 0)"
    raise ValueError(
        f"Column {name} holds {value:.6g} (row {row}), but beyond {kernel.largest:g} the "
        f"arithmetic of kernel={kernel.name!r} overflows: look for a wrong value there, or divide "
        "the column by a constant."
    )
