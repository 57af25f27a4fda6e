"""Images of objects, read from the user's own copies: Office-Caltech10 and Fashion-MNIST."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinlearn.datasets._bunches import bunch, image_bunch
from kinlearn.datasets._files import DataFile, Home

_SIZES = {
    "amazon": ("amazon", 958, "df32548b994e18d364c99e1f317e1fae100597259f0423a41b90f4f68187bb1f"),
    "caltech": (
        "Caltech10",
        1123,
        "4f9334c8ced489d5054de97a5fd51a61f017f3bcd1f38c9a85c6d78cb9d7bda5",
    ),
    "dslr": ("dslr", 157, "44d673c68e1d07b837893aa74dba3b986e4a6cc3fd66f0dd357683bdef059216"),
    "webcam": ("webcam", 295, "a6a9c78b4b7181dfbb58bcfd351d4ebd737f171c31247b8884948aa156d3f700"),
}
OFFICE_CALTECH = {
    domain: DataFile(
        path=f"office_caltech10/{name}_SURF_L10.mat",
        contains=f"counts of 800 SURF visual words as fts ({n} × 800) and labels ({n} × 1)",
        source="offered with the paper of Gong, Shi, Sha and Grauman, 2012",
        sha256=sha256,
        arrays={"fts": (n, 800), "labels": (n, 1)},
    )
    for domain, (name, n, sha256) in _SIZES.items()
}
OFFICE_CLASSES = (
    "backpack",
    "touring bike",
    "calculator",
    "headphones",
    "computer keyboard",
    "laptop",
    "computer monitor",
    "computer mouse",
    "coffee mug",
    "video projector",
)


def _idx(name: str, sha256: str, *shape: int) -> DataFile:
    return DataFile(
        path=f"fashion_mnist/{name}.gz",
        contains=f"an IDX file of {' × '.join(map(str, shape))} bytes",
        source="offered by Zalando Research, MIT licence",
        sha256=sha256,
        arrays={"values": shape},
    )


FASHION = {
    "train": (
        _idx(
            "train-images-idx3-ubyte",
            "b0564c3eedabfbf835052cff8503ea422014ce006caf5b757f851416ee8300c7",
            60000,
            28,
            28,
        ),
        _idx(
            "train-labels-idx1-ubyte",
            "0ae29f65d86684f32d1b9c85147786c547b9c6aebcaf235f0400a0cce308b056",
            60000,
        ),
    ),
    "test": (
        _idx(
            "t10k-images-idx3-ubyte",
            "cc1d090a38ace84dfa1aa66e3ada7c336ef481a96936906477e6dd344da56eaa",
            10000,
            28,
            28,
        ),
        _idx(
            "t10k-labels-idx1-ubyte",
            "8d3605d196f4be44669e46906da9733c8131fef761fdbfec72c424d5222f1a05",
            10000,
        ),
    ),
}
FASHION_CLASSES = (
    "T-shirt",
    "trouser",
    "pullover",
    "dress",
    "coat",
    "sandal",
    "shirt",
    "sneaker",
    "bag",
    "ankle boot",
)


def load_office_caltech(
    *,
    data_home: Home = None,
    as_frame: bool = False,
    return_X_y: bool = False,
    verify: bool = True,
) -> Any:
    """Load Office-Caltech10: ten kinds of objects in four collections, as SURF visual words.

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
    >>> from kinlearn.datasets import DataFileMissing, load_office_caltech
    >>> try:
    ...     load_office_caltech(data_home="my-data")
    ... except DataFileMissing as error:  # the rest of the message says what the file must hold
    ...     print(str(error).split()[:4])
    ['There', 'is', 'no', 'file']

    Returns
    -------
    Bunch
        ``data`` (2533, 800) of counts, ``target`` (0 to 9), ``task`` (the collection: "amazon",
        "caltech", "dslr" or "webcam"), ``target_names``, ``feature_names``, ``DESCR``; with
        ``as_frame`` also ``frame``.
    """
    stored = {name: file.read(data_home, verify) for name, file in OFFICE_CALTECH.items()}
    return bunch(
        data=np.vstack([part["fts"] for part in stored.values()]).astype(np.float64),
        target=np.concatenate([part["labels"].ravel() for part in stored.values()]).astype(int) - 1,
        task=np.repeat(list(stored), [len(part["labels"]) for part in stored.values()]),
        target_names=list(OFFICE_CLASSES),
        feature_names=[f"word_{i}" for i in range(800)],
        DESCR="Counts of 800 SURF visual words in images of ten kinds of objects.",
        as_frame=as_frame,
        return_X_y=return_X_y,
    )


def load_fashion_mnist(
    *,
    subset: str = "train",
    data_home: Home = None,
    return_X_y: bool = False,
    verify: bool = True,
) -> Any:
    """Load Fashion-MNIST: grey images of ten kinds of clothing.

    Parameters
    ----------
    subset : {"train", "test"}, default="train"
        The 60,000 images for training or the 10,000 for testing.
    data_home : path, optional
        The data folder; left out, the one that ``KINLEARN_DATA`` names.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` only.
    verify : bool, default=True
        Whether to warn of files whose checksums are not the expected ones.

    Examples
    --------
    >>> from kinlearn.datasets import DataFileMissing, load_fashion_mnist
    >>> try:
    ...     load_fashion_mnist(data_home="my-data")
    ... except DataFileMissing as error:  # the rest of the message says what the file must hold
    ...     print(str(error).split()[:4])
    ['There', 'is', 'no', 'file']

    Returns
    -------
    Bunch
        ``images`` (n, 28, 28) and ``data`` (n, 784) of grey values from 0 to 255 as bytes,
        ``target`` (0 to 9), ``target_names``, ``DESCR``.
    """
    if subset not in FASHION:
        raise ValueError(f"subset must be one of {list(FASHION)}, but it is {subset!r}.")
    images, labels = (file.read(data_home, verify)["values"] for file in FASHION[subset])
    return image_bunch(
        images,
        labels,
        return_X_y=return_X_y,
        target_names=list(FASHION_CLASSES),
        DESCR="Grey images of 28 × 28 of ten kinds of clothing.",
    )
