"""Real sets with many labels a row, read from the user's own copies."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from scipy import sparse

from kinlearn.datasets._bunches import bunch
from kinlearn.datasets._files import DataFile, DataFileError, Shape


def _file(name: str, n: int, d: int, T: int, sha256: str, is_sparse: bool = False) -> DataFile:
    arrays: dict[str, Shape] = {"Y": (n, T), "label_names": (T,), "feature_names": (d,)}
    if is_sparse:
        arrays |= {"data": (None,), "indices": (None,), "indptr": (n + 1,), "shape": (2,)}
        form = f"the CSR parts data, indices, indptr and shape of an X of {n} × {d}"
    else:
        arrays |= {"X": (n, d)}
        form = f"X ({n} × {d})"
    return DataFile(
        path=f"multilabel/{name}.npz",
        contains=f"{form}, Y ({n} × {T} of 0 and 1), label_names and feature_names",
        source="the sets are offered by the Mulan and KDIS multi-label repositories",
        sha256=sha256,
        arrays=arrays,
    )


MULTILABEL = {
    "emotions": _file(
        "emotions", 593, 72, 6, "e4902c2600a5c5b156dec627f0918bbf936d53a853a76ab18fc44a208a119102"
    ),
    "cal500": _file(
        "cal500", 502, 68, 174, "c762fe1965ea65db07f362a539cb45a8ae8f2050fea786e0fef3d0bb943e60cd"
    ),
    "scene": _file(
        "scene", 2407, 294, 6, "91318a3c092957cccafed8096ea39a3c26d4815887828d4c81bf8d29c1cdcb16"
    ),
    "yeast": _file(
        "yeast", 2417, 103, 14, "ea4a4640aededd50443be6ca4f2332f8a699aabcb7d65f2f3cda56efa206c069"
    ),
    "corel5k": _file(
        "corel5k",
        5000,
        499,
        374,
        "b980218307fb7ffe8a6841523d283d21662a40669298bf6a773248df4a89513c",
        is_sparse=True,
    ),
    "tmc2007_500": _file(
        "tmc2007_500",
        28596,
        500,
        22,
        "1728b73009886d29e1378c00f5b17372a26169107f667e0b2026cb3a52e32265",
        is_sparse=True,
    ),
}


def load_multilabel(
    name: str,
    *,
    data_home: str | os.PathLike[str] | None = None,
    as_frame: bool = False,
    return_X_y: bool = False,
    verify: bool = True,
) -> Any:
    """Load a set with many labels a row.

    Parameters
    ----------
    name : {"emotions", "cal500", "scene", "yeast", "corel5k", "tmc2007_500"}
        Moods of music (593 × 72, 6 labels), tags of songs (502 × 68, 174), scenes (2407 × 294, 6),
        functions of genes (2417 × 103, 14), words for images from visual words (5000 × 499, 374;
        sparse), problems in flight reports (28,596 × 500, 22; sparse).
    data_home : path, optional
        The data folder; left out, the one that ``KINLEARN_DATA`` names.
    as_frame : bool, default=False
        Whether ``data`` and ``target`` are pandas objects.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` only.
    verify : bool, default=True
        Whether to warn of a file whose checksum is not the expected one.

    Examples
    --------
    >>> from kinlearn.datasets import DataFileMissing, load_multilabel
    >>> try:
    ...     load_multilabel("emotions", data_home="my-data")
    ... except DataFileMissing as error:  # the rest of the message says what the file must hold
    ...     print(str(error).split()[:4])
    ['There', 'is', 'no', 'file']

    Returns
    -------
    Bunch
        ``data`` (an array, or a CSR matrix for the sparse sets), ``target`` (n, labels) of 0 and
        1, ``label_names``, ``feature_names``, ``DESCR``; with ``as_frame`` also ``frame``.
    """
    if name not in MULTILABEL:
        raise ValueError(f"name must be one of {list(MULTILABEL)}, but it is {name!r}.")
    file = MULTILABEL[name]
    stored = file.read(data_home, verify)
    if "X" in stored:
        X: Any = stored["X"].astype(np.float64)
    else:
        X = _csr(file, stored, data_home)
    return bunch(
        data=X,
        target=stored["Y"].astype(np.int64),
        label_names=stored["label_names"],
        feature_names=stored["feature_names"],
        DESCR=file.contains,
        as_frame=as_frame,
        return_X_y=return_X_y,
    )


def _csr(file: DataFile, stored: dict[str, Any], data_home: Any) -> Any:
    parts = (stored["data"].astype(np.float64), stored["indices"], stored["indptr"])
    shape = tuple(int(size) for size in stored["shape"])
    try:
        X = sparse.csr_matrix(parts, shape=shape)
        X.check_format()
    except ValueError as error:
        raise DataFileError(
            f"{file.locate(data_home)}: data, indices and indptr are not a CSR matrix of shape "
            f"{shape} ({error}). Put the right file in its place."
        ) from error
    return X
