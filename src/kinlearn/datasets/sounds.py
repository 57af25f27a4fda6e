"""Sounds, read from the user's own copies: ESC-50 (as features, clips or tags) and vowels."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np

from kinlearn.datasets._bunches import bunch
from kinlearn.datasets._files import DataFile, DataFileError, DataFileMissing, Home

CLIPS = "esc50/esc10_ogg"
N_CLIPS = 400

ESC50 = DataFile(
    path="esc50/esc50_features.npz",
    contains=(
        "78 features of the 2000 clips of ESC-50 as X (2000 × 78), with y, fold, category, esc10, "
        "filename and feature_names"
    ),
    source="the clips are offered by K. J. Piczak, CC BY-NC",
    sha256="e55fd2b126c0136f71ab925e3d0b3998ffdc558b81a9d89a0be11bed22153afe",
    arrays={
        "X": (2000, 78),
        "y": (2000,),
        "fold": (2000,),
        "category": (2000,),
        "esc10": (2000,),
        "filename": (2000,),
        "feature_names": (78,),
    },
)
TAGS = DataFile(
    path="esc50/esc50_fsd_multilabel.npz",
    contains=(
        "clips of ESC-50 with tags voted by people: rows (453 positions among the 2000 clips), X "
        "(453 × 78), Y (453 × 21 of 0 and 1), label_names and fold"
    ),
    source="the votes are those of FSD50K, matched by Freesound's numbers",
    sha256="4345b6e343764dfcb37a4fb42f1a369028aae9b02ac6d8853c10b45949dd26c8",
    arrays={
        "rows": (453,),
        "X": (453, 78),
        "Y": (453, 21),
        "label_names": (21,),
        "fold": (453,),
    },
)
TABLE = DataFile(
    path="esc50/esc50.csv",
    contains="the table of the 2000 clips with columns filename, fold, target and category",
    source="it comes with ESC-50",
    sha256="ca660da60191a97de289983a05821c9382d852a38a2ba8428980816b68cf6246",
)
VOWEL = DataFile(
    path="single_task/vowel.npz",
    contains=(
        "Deterding's vowels as X (990 × 13: part, speaker, sex and 10 log-area ratios) and y (990 "
        "numbers from 0 to 10)"
    ),
    source="offered by the UCI repository as 'connectionist bench, vowel recognition'",
    sha256="bfe3d565870a870326deff1cc75aeb4ae9261ca3d09a1fd933e31b816e681b2d",
    arrays={"X": (990, 13), "y": (990,)},
)


def load_esc50(
    part: str = "features",
    *,
    data_home: Home = None,
    as_frame: bool = False,
    return_X_y: bool = False,
    verify: bool = True,
) -> Any:
    """Load environmental sounds from Freesound (ESC-50 of Piczak, 2015).

    Parameters
    ----------
    part : {"features", "clips", "tags"}, default="features"
        ``"features"``: 78 features of the 2000 clips of 50 classes. ``"clips"``: paths of the 400
        clips of the ten classes of ESC-10. ``"tags"``: 453 clips with 21 tags, many a clip.
    data_home : path, optional
        The data folder; left out, the one that ``KINLEARN_DATA`` names.
    as_frame : bool, default=False
        Whether ``data`` and ``target`` are pandas objects; not for ``"clips"``.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` only.
    verify : bool, default=True
        Whether to warn of a file whose checksum is not the expected one.

    Examples
    --------
    >>> from kinlearn.datasets import DataFileMissing, load_esc50
    >>> try:
    ...     load_esc50(data_home="my-data")
    ... except DataFileMissing as error:  # the rest of the message says what the file must hold
    ...     print(str(error).split()[:4])
    ['There', 'is', 'no', 'file']

    Returns
    -------
    Bunch
        ``data`` (features, or an array of paths), ``target``, ``fold``, names and ``DESCR``.
    """
    if part == "clips":
        return _clips(data_home, return_X_y)
    if part not in ("features", "tags"):
        raise ValueError(f"part must be 'features', 'clips' or 'tags', but it is {part!r}.")
    file = ESC50 if part == "features" else TAGS
    stored = file.read(data_home, verify)
    data, target = stored.pop("X"), stored.pop("y" if part == "features" else "Y")
    stored.setdefault("feature_names", np.array([f"feature_{i}" for i in range(78)]))
    return bunch(
        data=data.astype(np.float64),
        target=target.astype(np.int64),
        DESCR=file.contains,
        as_frame=as_frame,
        return_X_y=return_X_y,
        **stored,
    )


def _clips(data_home: Home, return_X_y: bool) -> Any:
    table = TABLE.locate(data_home)
    folder = table.parent / Path(CLIPS).name
    paths = sorted(folder.glob("*.ogg")) if folder.is_dir() else []
    if not paths:
        raise DataFileMissing(
            f"There are no clips in {folder}. It must contain the {N_CLIPS} clips of ESC-10 as "
            "fold-id-take-class.ogg; you supply them yourself, for they do not come with kinlearn "
            "(offered by K. J. Piczak, CC BY)."
        )
    if len(paths) != N_CLIPS:
        raise DataFileError(
            f"{folder} has {len(paths)} clips where {N_CLIPS} were expected: put in the rest."
        )
    with table.open(newline="") as stream:
        lines = list(csv.DictReader(stream))
    if not lines or not {"filename", "fold", "target", "category"} <= set(lines[0]):
        raise DataFileError(f"{table} is not the expected table. Put in {TABLE.contains}.")
    known = {Path(line["filename"]).stem: line for line in lines}
    unknown = [path.name for path in paths if path.stem not in known]
    if unknown:
        raise DataFileError(f"{table} does not list {unknown[0]}: put the table of ESC-50 there.")
    found = [known[path.stem] for path in paths]
    return bunch(
        data=np.array([str(path) for path in paths]),
        target=np.array([int(line["target"]) for line in found]),
        fold=np.array([int(line["fold"]) for line in found]),
        category=np.array([line["category"] for line in found]),
        DESCR="Paths of the 400 clips of ESC-10, five seconds each.",
        return_X_y=return_X_y,
    )


def load_vowel(
    *,
    data_home: Home = None,
    as_frame: bool = False,
    return_X_y: bool = False,
    verify: bool = True,
) -> Any:
    """Load Deterding's vowels: eleven vowels, six times each, by fifteen speakers (the tasks).

    Parameters
    ----------
    data_home : path, optional
        The data folder; left out, the one that ``KINLEARN_DATA`` names.
    as_frame : bool, default=False
        Whether ``data``, ``target`` and ``task`` are pandas objects.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` only.
    verify : bool, default=True
        Whether to warn of a file whose checksum is not the expected one.

    Examples
    --------
    >>> from kinlearn.datasets import DataFileMissing, load_vowel
    >>> try:
    ...     load_vowel(data_home="my-data")
    ... except DataFileMissing as error:  # the rest of the message says what the file must hold
    ...     print(str(error).split()[:4])
    ['There', 'is', 'no', 'file']

    Returns
    -------
    Bunch
        ``data`` (990, 10), ``target`` (0 to 10), ``task`` (the speaker, from 0), ``sex``, ``part``
        (0: the original training set), ``feature_names``, ``DESCR``; with ``as_frame`` also
        ``frame``.
    """
    stored = VOWEL.read(data_home, verify)
    X = stored["X"]
    return bunch(
        data=X[:, 3:].astype(np.float64),
        target=stored["y"].astype(np.int64),
        task=X[:, 1].astype(np.int64),
        part=X[:, 0].astype(np.int64),
        sex=X[:, 2].astype(np.int64),
        feature_names=[f"log_area_{i + 1}" for i in range(10)],
        DESCR=VOWEL.contains,
        as_frame=as_frame,
        return_X_y=return_X_y,
    )
