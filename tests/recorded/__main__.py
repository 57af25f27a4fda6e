"""Record what every estimator says today: ``python -m recorded`` from the folder of the tests.

Run it at the commit whose answers are to be kept, never to make a failing comparison pass.
"""

from __future__ import annotations

import tempfile
import zipfile
from pathlib import Path

import numpy as np

import kinlearn
from recorded.cases import CASES, blas_kernels, run

HERE = Path(__file__).parent
# Models of which a file is kept, too.
FILES = (
    "LSPC",
    "LSPC category",
    "LSPC sparse",
    "LSPC few",
    "LSPC balanced",
    "LSPCCV two",
    "LSPCCV category",
    "KLRCV",
    "tasks similar",
    "tasks CV",
    "tasks CV one",
    "tasks added",
    "KLR-MT CV",
    "labels unobserved",
    "labels CV f1",
    "labels CV classes",
    "labels single",
    "stream",
    "stream tasks",
    "stream labels",
    "compressed",
    "prior",
    "handed over, pipeline",
    "heterogeneous",
)


def main() -> None:
    arrays = {"blas": np.array(blas_kernels())}
    with zipfile.ZipFile(HERE / "files.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name in CASES:
            print(name, flush=True)
            model, _, found = run(name)
            arrays |= {f"{name}|{key}": value for key, value in found.items()}
            if name in FILES:
                with tempfile.TemporaryDirectory() as folder:
                    path = Path(folder) / "model.kin"
                    kinlearn.save(model, path)
                    archive.write(path, f"{name}.kin")
    np.savez_compressed(HERE / "arrays.npz", **arrays)


if __name__ == "__main__":
    main()
