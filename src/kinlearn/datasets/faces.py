"""Face databases of the papers, read from the user's own copies: UMIST, ORL, PIE and AR."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn.datasets._bunches import image_bunch
from kinlearn.datasets._files import DataFile, Home
from kinlearn.datasets._images import resized

Shape = tuple[int, int] | None

UMIST = DataFile(
    path="umist/umist.npz",
    contains=(
        "the UMIST (Sheffield) faces as arrays X (575 × 28 × 23) and y (575 people's numbers "
        "from 1 to 20), and the images at hand in full size as X_full (n × 112 × 92) and y_full"
    ),
    source="the cropped images are offered by the University of Sheffield for research",
    sha256="a127ab5a264b26bfaf4135883029a6571a6424884c4fd7725b34619e4f73c171",
    arrays={"X": (575, 28, 23), "y": (575,), "X_full": (None, 112, 92), "y_full": (None,)},
)
ORL = DataFile(
    path="orl/orl_112x92.npz",
    contains="the ORL faces as arrays X (400 × 112 × 92) and y (400 people's numbers)",
    source="offered as the AT&T database of faces, for research",
    sha256="f94f08f50580dc310fa4276dc3503f7470aa1da18a61819cd82dd303f6d75d83",
    arrays={"X": (400, 112, 92), "y": (400,)},
)
PIE = DataFile(
    path="pie/PIE_pose27.mat",
    contains=(
        "the frontal pose of CMU PIE as fea (2856 × 1024, column-major 32 × 32 images) and gnd "
        "(2856 × 1)"
    ),
    source="offered as pre-processed faces by Deng Cai, for research",
    sha256="035fdd73d5f4234d958b3c88f20bd8aae3871080246139896a23e61487134680",
    arrays={"fea": (2856, 1024), "gnd": (2856, 1)},
)
AR = DataFile(
    path="ar/AR_100_32x32.mat",
    contains=(
        "one hundred people of the AR faces as fea (2600 × 1024, column-major 32 × 32 images) and "
        "gnd (2600 × 1)"
    ),
    source="offered by its authors on request, for research",
    sha256="c62e104c86da4899a5e730fe4f51cc6dfa3c4cc1770c0e5aef108f6116b43654",
    arrays={"fea": (2600, 1024), "gnd": (2600, 1)},
)


def load_umist(
    *,
    data_home: Home = None,
    full_size: bool = False,
    drop_duplicates: bool = True,
    return_X_y: bool = False,
    verify: bool = True,
) -> Any:
    """Load the UMIST faces: twenty people from profile to frontal view (mt-lspc, section 4.1).

    Parameters
    ----------
    data_home : path, optional
        The data folder; left out, the one that ``KINLEARN_DATA`` names.
    full_size : bool, default=False
        Whether to give the images of 112 × 92 that the file has, instead of all 575 at a quarter
        of the height and width.
    drop_duplicates : bool, default=True
        Whether to keep only the first of images that are equal pixel by pixel.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` only.
    verify : bool, default=True
        Whether to warn of a file whose checksum is not the expected one.

    Examples
    --------
    >>> from kinlearn.datasets import DataFileMissing, load_umist
    >>> try:
    ...     load_umist(data_home="my-data")
    ... except DataFileMissing as error:  # the rest of the message says what the file must hold
    ...     print(str(error).split()[:4])
    ['There', 'is', 'no', 'file']

    Returns
    -------
    Bunch
        ``images`` (n, height, width), ``data`` (n, pixels) of grey values from 0 to 255, ``target``
        (people's numbers from 1), ``rows`` (positions in the file), ``DESCR``.
    """
    stored = UMIST.read(data_home, verify)
    images, y = (stored["X_full"], stored["y_full"]) if full_size else (stored["X"], stored["y"])
    rows = np.arange(len(y))
    if drop_duplicates:
        first = np.unique(images.reshape(len(images), -1), axis=0, return_index=True)[1]
        rows = np.sort(first)
    return _faces(images[rows], y[rows], return_X_y, UMIST, rows=rows)


def load_orl(
    *,
    data_home: Home = None,
    shape: Shape = None,
    return_X_y: bool = False,
    verify: bool = True,
) -> Any:
    """Load the ORL faces: forty people, ten images each (mtda, Experimental Setup).

    Parameters
    ----------
    data_home : path, optional
        The data folder; left out, the one that ``KINLEARN_DATA`` names.
    shape : (int, int), optional
        Height and width to resize to; (28, 23) in the paper. Left out, 112 × 92.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` only.
    verify : bool, default=True
        Whether to warn of a file whose checksum is not the expected one.

    Examples
    --------
    >>> from kinlearn.datasets import DataFileMissing, load_orl
    >>> try:
    ...     load_orl(data_home="my-data")
    ... except DataFileMissing as error:  # the rest of the message says what the file must hold
    ...     print(str(error).split()[:4])
    ['There', 'is', 'no', 'file']

    Returns
    -------
    Bunch
        ``images``, ``data``, ``target``, ``DESCR``.
    """
    stored = ORL.read(data_home, verify)
    return _faces(resized(stored["X"], shape), stored["y"], return_X_y, ORL)


def load_pie(
    *,
    data_home: Home = None,
    shape: Shape = None,
    return_X_y: bool = False,
    verify: bool = True,
) -> Any:
    """Load the frontal pose of the PIE faces: 68 people, 42 images each (the paper has about 49).

    Parameters
    ----------
    data_home : path, optional
        The data folder; left out, the one that ``KINLEARN_DATA`` names.
    shape : (int, int), optional
        Height and width to resize to. Left out, 32 × 32, as in the paper.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` only.
    verify : bool, default=True
        Whether to warn of a file whose checksum is not the expected one.

    Examples
    --------
    >>> from kinlearn.datasets import DataFileMissing, load_pie
    >>> try:
    ...     load_pie(data_home="my-data")
    ... except DataFileMissing as error:  # the rest of the message says what the file must hold
    ...     print(str(error).split()[:4])
    ['There', 'is', 'no', 'file']

    Returns
    -------
    Bunch
        ``images``, ``data``, ``target``, ``DESCR``.
    """
    return _column_major(PIE, data_home, shape, return_X_y, verify)


def load_ar(
    *,
    data_home: Home = None,
    shape: Shape = None,
    return_X_y: bool = False,
    verify: bool = True,
) -> Any:
    """Load the AR faces: 100 people, 26 images each, with changing expression, light and cover.

    Parameters
    ----------
    data_home : path, optional
        The data folder; left out, the one that ``KINLEARN_DATA`` names.
    shape : (int, int), optional
        Height and width to resize to; (33, 24) in the paper. Left out, 32 × 32.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` only.
    verify : bool, default=True
        Whether to warn of a file whose checksum is not the expected one.

    Examples
    --------
    >>> from kinlearn.datasets import DataFileMissing, load_ar
    >>> try:
    ...     load_ar(data_home="my-data")
    ... except DataFileMissing as error:  # the rest of the message says what the file must hold
    ...     print(str(error).split()[:4])
    ['There', 'is', 'no', 'file']

    Returns
    -------
    Bunch
        ``images``, ``data``, ``target``, ``DESCR``.
    """
    return _column_major(AR, data_home, shape, return_X_y, verify)


def _column_major(
    file: DataFile, data_home: Home, shape: Shape, return_X_y: bool, verify: bool
) -> Any:
    stored = file.read(data_home, verify)
    images = stored["fea"].reshape(-1, 32, 32).transpose(0, 2, 1)
    return _faces(resized(images, shape), stored["gnd"], return_X_y, file)


def _faces(images: NDArray, y: NDArray, return_X_y: bool, file: DataFile, **more: Any) -> Any:
    images = np.asarray(images, dtype=np.float64)
    return image_bunch(images, y, return_X_y=return_X_y, DESCR=file.contains, **more)
