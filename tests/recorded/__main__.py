"""Record what every estimator says today: ``python -m recorded`` from the folder of the tests.

Names of cases record these alone, and leave the answers and files of all others as they are: for a
change that is meant to change them. Never run it to make a failing comparison pass.
"""

from __future__ import annotations

import sys
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


def main(names: list[str]) -> None:
    wanted = [name for name in CASES if name in names or not names]
    arrays, files = {}, {}
    if names:
        with np.load(HERE / "arrays.npz") as stored:
            arrays = {key: stored[key] for key in stored if key.split("|")[0] not in wanted}
        with zipfile.ZipFile(HERE / "files.zip") as archive:
            files = {name: archive.read(name) for name in archive.namelist()}
    for name in wanted:
        print(name, flush=True)
        model, _, found = run(name)
        arrays |= {f"{name}|{key}": value for key, value in found.items()}
        if name in FILES:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "model.kin"
                kinlearn.save(model, path)
                files[f"{name}.kin"] = path.read_bytes()
    arrays["blas"] = np.array(blas_kernels())
    with zipfile.ZipFile(HERE / "files.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    np.savez_compressed(HERE / "arrays.npz", **arrays)


if __name__ == "__main__":
    main(sys.argv[1:])
