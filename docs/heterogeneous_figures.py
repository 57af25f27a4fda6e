"""Draw the pictures of the page on tasks of different features (``make docs``)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kinlearn import MTDA, MTDAClassifier
from kinlearn.cli.demo_parts.heterogeneous import split_digits
from kinlearn.datasets import make_heterogeneous_tasks
from kinlearn.plots import (
    EmbeddingDisplay,
    ObjectivePathDisplay,
    TaskErrorDisplay,
    close,
    subplots,
)

IMAGES = Path(__file__).parent / "images"


def objective_paths() -> Path:
    """Three solvers from one random start (the paper's Fig. 1), where S_w has full rank."""
    Xs, ys = make_heterogeneous_tasks(
        n_features=(12, 20, 9),
        n_samples=(60, 80, 50),
        n_classes=(5, 4, 6),
        n_latent=9,
        separation=0.7,
        noise=1.0,
        random_state=3,
    )
    figure, axes = subplots(panel_size=(5.6, 3.8))
    for solver in ("joint", "alternating", "table1"):
        mtda = MTDA(
            n_components=3, n_intermediate=6, solver=solver, init="random", random_state=0
        ).fit(Xs, ys)
        label = f"{solver} ({mtda.objective_:.3f})"
        ObjectivePathDisplay.from_estimator(mtda, ax=axes[0, 0], name=label)
    return _save(figure, "mtda_paths.png")


def dimensions() -> Path:
    """Digits at three resolutions: error against d and against d' (the paper's Fig. 2)."""
    splits = split_digits(0, 10)
    figure, axes = subplots(1, 2)
    TaskErrorDisplay.from_estimator(
        MTDAClassifier(reducer=MTDA(shrinkage="auto")),
        *splits,
        values=[1, 2, 3, 4, 6, 8, 10, 12, 15],
        ax=axes[0, 0],
    )
    TaskErrorDisplay.from_estimator(
        MTDAClassifier(
            reducer=MTDA(n_components=9, shrinkage="auto", solver="alternating", random_state=0)
        ),
        *splits,
        param="n_intermediate",
        values=[9, 11, 13, 15],
        ax=axes[0, 1],
    )
    for ax, title in zip(axes[0], ("joint", "alternating, d = 9"), strict=True):
        ax.set_title(title)
        ax.set_ylim(0, 0.8 if title == "joint" else 0.4)
    return _save(figure, "mtda_dimensions.png")


def embedding() -> Path:
    """One world seen by three instruments, in the common plane of MTDA."""
    Xs, ys = make_heterogeneous_tasks(n_samples=120, random_state=1)
    display = EmbeddingDisplay.from_estimator(
        MTDA(n_components=2, shrinkage="auto").fit(Xs, ys), Xs, ys
    )
    return _save(display.figure_, "mtda_embedding.png")


def _save(figure: object, name: str) -> Path:
    IMAGES.mkdir(exist_ok=True)
    figure.savefig(IMAGES / name, dpi=130)  # type: ignore[attr-defined]
    close(figure)  # type: ignore[arg-type]
    return IMAGES / name


if __name__ == "__main__":
    np.seterr(all="raise", under="ignore")
    for draw in (objective_paths, dimensions, embedding):
        print(draw())
