"""The landmine fields of the MT-LSPC paper, read from the user's own copy."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from kinlearn.datasets._bunches import bunch
from kinlearn.datasets._files import DataFile, DataFileError

LANDMINE = DataFile(
    path="landmine/LandmineData.mat",
    contains=(
        "the 29 landmine fields as cell arrays feature (1 × 29, each n × 9) and label (1 × 29, "
        "each n × 1 of 0 and 1)"
    ),
    source="offered by L. Carin's group with the paper of Xue et al., 2007",
    sha256="2163ab20a80e33a8b65593c48cf283c540599dcb291105e63fa4af2ce24c2bea",
    arrays={"feature": (1, 29), "label": (1, 29)},
)
N_FEATURES = 9


def load_landmine(
    *,
    data_home: str | os.PathLike[str] | None = None,
    n_tasks: int = 29,
    reversed_tasks: Sequence[int] = (),
    as_frame: bool = False,
    return_X_y: bool = False,
    verify: bool = True,
) -> Any:
    """Load the landmine fields: 29 related binary tasks of 9 features, 6 % positive.

    The first 15 fields are foliated, the others bare earth. The MT-LSPC paper (section 4.2) takes
    the first 17 and reverses the labels of the last two of these:
    ``load_landmine(n_tasks=17, reversed_tasks=(15, 16))``.

    Parameters
    ----------
    data_home : path, optional
        The data folder; left out, the one that ``KINLEARN_DATA`` names.
    n_tasks : int, default=29
        How many of the fields to take, from the first on.
    reversed_tasks : sequence of int, default=()
        Numbers of fields, counted from 0, whose labels are exchanged.
    as_frame : bool, default=False
        Whether ``data``, ``target`` and ``task`` are pandas objects.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` only.
    verify : bool, default=True
        Whether to warn of a file whose checksum is not the expected one.

    Examples
    --------
    >>> from kinlearn.datasets import DataFileMissing, load_landmine
    >>> try:
    ...     load_landmine(data_home="my-data", n_tasks=17)
    ... except DataFileMissing as error:  # the rest of the message says what the file must hold
    ...     print(str(error).split()[:4])
    ['There', 'is', 'no', 'file']

    Returns
    -------
    Bunch
        ``data`` (n, 9), ``target`` (0 or 1), ``task`` (number of the field, from 0),
        ``feature_names``, ``DESCR``; with ``as_frame`` also ``frame``.
    """
    if not 1 <= n_tasks <= 29:
        raise ValueError(f"n_tasks must lie between 1 and 29, but it is {n_tasks}.")
    if not set(reversed_tasks) <= set(range(n_tasks)):
        raise ValueError(
            f"reversed_tasks must be numbers from 0 to {n_tasks - 1}, but they are "
            f"{list(reversed_tasks)}."
        )
    stored = LANDMINE.read(data_home, verify)
    features, labels = [], []
    for t in range(n_tasks):
        X, y = np.asarray(stored["feature"][0, t]), np.asarray(stored["label"][0, t]).ravel()
        if X.ndim != 2 or X.shape[1] != N_FEATURES or len(X) != len(y):
            raise DataFileError(
                f"{LANDMINE.locate(data_home)}: field {t + 1} has features of shape {X.shape} and "
                f"{len(y)} labels, where n × {N_FEATURES} and n were expected. Put the right file "
                "in its place."
            )
        features.append(X.astype(np.float64))
        labels.append(y.astype(np.int64))
    for t in reversed_tasks:
        labels[t] = 1 - labels[t]
    return bunch(
        data=np.vstack(features),
        target=np.concatenate(labels),
        task=np.repeat(np.arange(n_tasks), [len(y) for y in labels]),
        feature_names=[f"radar_{i + 1}" for i in range(N_FEATURES)],
        DESCR=LANDMINE.contains,
        as_frame=as_frame,
        return_X_y=return_X_y,
    )
