"""A bounded sample of the partitions' rows, to choose the width and the centres from."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from kinlearn.distributed.partitions import Partitions
from kinlearn.distributed.reduction import compute

# Partitions looked at: enough for parts that differ, few beside a pass over all of them.
SAMPLE_PARTITIONS = 16


def sample_rows(
    parts: Partitions, n_rows: int, random_state: np.random.RandomState
) -> tuple[Any, Any, Any]:
    """Return about `n_rows` rows, from a bounded number of partitions, with labels and weights.

    All rows, in their order, when their number is known and not larger. Which rows are drawn
    depends on the seed and on how the data are partitioned. Labels and weights are None where the
    parts have none.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from kinlearn.distributed.partitions import split_partitions
    >>> parts = split_partitions(da.arange(100, chunks=10)[:, None], None)
    >>> rows, labels, weights = sample_rows(parts, 20, np.random.RandomState(0))
    >>> rows.shape, labels
    ((20, 1), None)
    """
    from dask import delayed

    n_parts = len(parts)
    everything = parts.sizes is not None and sum(parts.sizes) <= n_rows
    chosen = np.arange(n_parts)
    if not everything and n_parts > SAMPLE_PARTITIONS:
        chosen = np.sort(random_state.choice(n_parts, SAMPLE_PARTITIONS, replace=False))
    quota = None if everything else -(-n_rows // chosen.size)
    seeds = random_state.randint(np.iinfo(np.int32).max, size=chosen.size)
    draw = delayed(_some_rows)
    drawn = compute(
        *(
            draw([parts.X[i], parts.y[i], parts.weights[i]], quota, seed)
            for i, seed in zip(chosen, seeds, strict=True)
        )
    )
    drawn = [part for part in drawn if part[0].shape[0]]
    if not drawn:
        raise ValueError(
            f"The {chosen.size} partitions looked at hold no rows to choose centers from: pass "
            "centers= and sigma=, or repartition the data."
        )
    X, y, weights = (
        None if part[0] is None else _stack(list(part)) for part in zip(*drawn, strict=True)
    )
    return X, y, weights


def _some_rows(parts: list[Any], quota: int | None, seed: int) -> list[Any]:
    n = parts[0].shape[0]
    if quota is None or n <= quota:
        return parts
    rows = np.sort(np.random.RandomState(seed).choice(n, quota, replace=False))
    return [
        part if part is None else part.iloc[rows] if hasattr(part, "iloc") else part[rows]
        for part in parts
    ]


def _stack(blocks: list[Any]) -> Any:
    if hasattr(blocks[0], "iloc"):
        import pandas as pd

        return pd.concat(blocks)
    return sp.vstack(blocks, format="csr") if sp.issparse(blocks[0]) else np.concatenate(blocks)
