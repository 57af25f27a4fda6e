"""Descriptors of points of interest in images."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn.features._per_item import PerItemTransformer, UnusableItem
from kinlearn.optional import require

KINDS = ("sift", "orb")
WIDTHS = {"sift": 128, "orb": 256}


class LocalDescriptors(PerItemTransformer):
    """SIFT or ORB descriptors of an image's points of interest, by OpenCV.

    The LSPC-new paper uses SURF, which is not shipped in the free builds of OpenCV (its patents
    have run out, its code is still in the non-free part): SIFT is the nearest that is. ORB's 256
    bits are given as zeros and ones, so that squared distances are Hamming distances.

    Parameters
    ----------
    kind : {"sift", "orb"}, default="sift"
        Which descriptors.
    max_points : int, default=500
        The strongest points of an image, at most this many.
    max_side : int, default=640
        Larger images are made smaller, so that neither side is longer.
    on_error : {"raise", "skip"}, default="raise"
        What to do about an image that cannot be read or has no points of interest: refuse it by
        name, or warn and give it no descriptors.
    n_jobs, memory, verbose
        As in :class:`MFCCFrames`.

    Attributes
    ----------
    skipped_ : list of (int, str)
        Position and problem of the items skipped by the last ``transform``.

    Notes
    -----
    Items are paths, or arrays of shape (height, width) or (height, width, 3) with values from 0 to
    255.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.features import LocalDescriptors
    >>> tiles = 40 * np.random.default_rng(0).integers(0, 6, size=(8, 8))
    >>> image = tiles.repeat(16, axis=0).repeat(16, axis=1)
    >>> found = LocalDescriptors(kind="orb", max_points=20).fit_transform([image])
    >>> found[0].shape[1]
    256
    """

    def __init__(
        self,
        *,
        kind: str = "sift",
        max_points: int = 500,
        max_side: int = 640,
        on_error: str = "raise",
        n_jobs: int | None = None,
        memory: Any = None,
        verbose: int = 0,
    ) -> None:
        self.kind = kind
        self.max_points = max_points
        self.max_side = max_side
        self.on_error = on_error
        self.n_jobs = n_jobs
        self.memory = memory
        self.verbose = verbose

    def _work(self) -> tuple[Any, dict[str, Any]]:
        if self.kind == "surf":
            raise ValueError(
                "kind='surf' is not offered, because the free builds of OpenCV come without SURF: "
                "use 'sift', the nearest descriptor that they have, or 'orb'."
            )
        if self.kind not in KINDS:
            raise ValueError(f"kind must be one of {KINDS}, but it is {self.kind!r}.")
        if self.max_points < 1 or self.max_side < 8:
            raise ValueError(
                f"max_points must be at least 1 and max_side at least 8, but they are "
                f"{self.max_points} and {self.max_side}."
            )
        settings = {name: getattr(self, name) for name in ("kind", "max_points", "max_side")}
        return descriptors_of_item, settings


def descriptors_of_item(
    item: Any, version: Any, name: str, settings: dict[str, Any]
) -> NDArray[np.float64]:
    """Descriptors of one image."""
    cv2 = require("cv2", "LocalDescriptors", "image")
    image = _read(cv2, item, name)
    shrink = settings["max_side"] / max(image.shape)
    if shrink < 1:
        size = (max(1, round(image.shape[1] * shrink)), max(1, round(image.shape[0] * shrink)))
        image = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
    if settings["kind"] == "sift":
        detector = cv2.SIFT_create(nfeatures=settings["max_points"])
    else:
        detector = cv2.ORB_create(nfeatures=settings["max_points"])
    _, found = detector.detectAndCompute(image, None)
    if found is None or len(found) == 0:
        raise UnusableItem(f"{name} has no points of interest: it may be blank.")
    found = found[: settings["max_points"]]
    if settings["kind"] == "orb":
        found = np.unpackbits(found, axis=1)
    return np.asarray(found, dtype=np.float64)


def _read(cv2: Any, item: Any, name: str) -> NDArray[np.uint8]:
    if isinstance(item, np.ndarray):
        if item.ndim not in (2, 3) or item.size == 0 or (item.ndim == 3 and item.shape[2] != 3):
            raise UnusableItem(f"{name} has shape {item.shape}, which is no image.")
        grey = item if item.ndim == 2 else item @ np.array([0.299, 0.587, 0.114])
        return np.clip(np.round(grey), 0, 255).astype(np.uint8)
    try:
        content = np.frombuffer(Path(item).read_bytes(), np.uint8)
    except OSError as error:
        raise UnusableItem(f"{name} cannot be read ({error.strerror}).") from error
    image = cv2.imdecode(content, cv2.IMREAD_GRAYSCALE) if content.size else None
    if image is None:
        raise UnusableItem(f"{name} cannot be read as an image; it may be cut short or no image.")
    return np.asarray(image)
