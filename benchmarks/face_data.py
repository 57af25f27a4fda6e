"""The three face databases of the MTDA paper, read from a folder the user has (KINLEARN_DATA).

AR    ar/AR_100_32x32.mat     100 people x 26 images, cropped to 32 x 32 by others; made 33 x 24
ORL   orl/orl_112x92.npz      40 people x 10 images, the original files; made 28 x 23 as the paper
PIE   pie/PIE_pose27.mat      68 people x 42 images of the frontal pose, 32 x 32 (the paper: 49)

Only ORL is the same data as the paper's. The sets are free for research, not for passing on.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from scipy.io import loadmat

FILES = {
    "AR": "ar/AR_100_32x32.mat",
    "ORL": "orl/orl_112x92.npz",
    "PIE": "pie/PIE_pose27.mat",
}


def resampling(n_in: int, n_out: int) -> np.ndarray:
    """Weights of linear interpolation, averaging when an image gets smaller."""
    width = max(n_in / n_out, 1.0)
    centres = (np.arange(n_out) + 0.5) * n_in / n_out - 0.5
    weights = np.maximum(0.0, 1.0 - np.abs(np.arange(n_in) - centres[:, None]) / width)
    return weights / weights.sum(axis=1, keepdims=True)


def load_faces() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Rows of grey values between 0 and 1, and the person on each, per database."""
    folder = os.environ.get("KINLEARN_DATA")
    if not folder:
        raise SystemExit(
            "Set KINLEARN_DATA to a folder with the face databases: " + ", ".join(FILES.values())
        )
    missing = [name for name in FILES.values() if not (Path(folder) / name).exists()]
    if missing:
        raise SystemExit(f"KINLEARN_DATA lacks {', '.join(missing)}.")
    paths = {name: Path(folder) / file for name, file in FILES.items()}
    ar = loadmat(paths["AR"])
    images = ar["fea"].astype(float).reshape(-1, 32, 32).transpose(0, 2, 1)
    images = resampling(32, 33) @ images @ resampling(32, 24).T
    orl = np.load(paths["ORL"])
    small = orl["X"].astype(float).reshape(-1, 28, 4, 23, 4).mean(axis=(2, 4))
    pie = loadmat(paths["PIE"])
    return {
        "AR": (images.reshape(len(images), -1) / 255, ar["gnd"].ravel()),
        "ORL": (small.reshape(len(small), -1) / 255, orl["y"].ravel()),
        "PIE": (pie["fea"].astype(float) / 255, pie["gnd"].ravel()),
    }


def images_per_person(y: np.ndarray, p: int, rng: np.random.Generator) -> np.ndarray:
    """Mask of a training set with p images of every person."""
    mask = np.zeros(len(y), dtype=bool)
    for person in np.unique(y):
        mask[rng.choice(np.flatnonzero(y == person), size=p, replace=False)] = True
    return mask
