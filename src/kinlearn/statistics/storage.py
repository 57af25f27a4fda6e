"""NormalEquations in a file of plain arrays: no pickle, and never half a file."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kinlearn.kernels.measures import Rows
from kinlearn.statistics.held_out_sample import HeldOutSample
from kinlearn.statistics.normal_equations import NormalEquations
from kinlearn.statistics.task_sums import TaskSums, ThinRows

FORMAT = "kinlearn normal equations 2"
Arrays = dict[str, NDArray]


def to_arrays(sums: NormalEquations, extra: dict[str, Any] | None = None) -> Arrays:
    """Everything as arrays of numbers, and one array of bytes that holds a JSON header.

    Parameters
    ----------
    sums : NormalEquations
    extra : dict, optional
        Further entries for the header, of JSON's types.
    """
    header: dict[str, Any] = {
        "format": FORMAT,
        "kernel": sums.kernel if isinstance(sums.kernel, str) else None,
        "sigma": sums.sigma,
        "degree": sums.degree,
        "coef0": sums.coef0,
        "n_held_out": sums.n_held_out,
        "memory_mb": sums.memory_mb,
        "kind": sums.kind,
        "names": _plain(sums._names, "class"),
        "declared": _plain(sums._declared, "class"),
        "as_objects": sums._as_objects,
        "with_tasks": sums._with_tasks,
        "tasks": _plain(list(sums._places), "task id"),
        "extra": extra or {},
    }
    arrays: Arrays = {"header": np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)}
    _put_rows(arrays, "centers", sums.centers)
    held = sums._sums
    if held:
        m = sums.n_centers
        thin = [s.thin.joined(m) if s.thin is not None else None for s in held]
        arrays["h"] = np.array([s.h for s in held])
        arrays["targets"] = np.array([s.targets for s in held])
        arrays["counts"] = np.array([s.counts for s in held])
        arrays["totals"] = np.array([[s.weight, s.n_rows, s.passed] for s in held])
        arrays["thin_sizes"] = np.array([-1 if t is None else len(t[1]) for t in thin])
        some = [t for t in thin if t is not None]
        arrays["thin_features"] = np.vstack([t[0] for t in some] or [np.empty((0, m))])
        arrays["thin_weights"] = np.concatenate([t[1] for t in some] or [np.empty(0)])
        arrays["thin_keys"] = np.concatenate([t[2] for t in some] or [np.empty(0, np.uint64)])
        arrays["packed"] = np.array([s.packed for s in held if s.packed is not None])
    if sums._sample is not None:
        sample = sums._sample
        _put_rows(arrays, "sample_X", sample.X)
        arrays["sample_limit"] = np.array([sample.limit])
        for name in ("keys", "task", "weights", "targets", "counts"):
            arrays[f"sample_{name}"] = getattr(sample, name)
    return arrays


def from_arrays(arrays: Any, kernel: Any = None) -> tuple[NormalEquations, dict[str, Any]]:
    """The sums and the further entries of the header.

    Parameters
    ----------
    arrays : mapping of names to arrays
        What :func:`to_arrays` made.
    kernel : callable, optional
        The kernel, when it was a function.
    """
    header = json.loads(bytes(np.asarray(arrays["header"])).decode())
    if header.get("format") != FORMAT:
        raise ValueError(
            f"These arrays are of the format {header.get('format')!r}, but {FORMAT!r} is expected."
        )
    if header["kernel"] is None and not callable(kernel):
        raise ValueError(
            "These sums were made with a kernel that is a function, which is not stored: pass it "
            "again with kernel=."
        )
    sums = NormalEquations(
        _get_rows(arrays, "centers"),
        kernel=header["kernel"] or kernel,
        **{n: header[n] for n in ("sigma", "degree", "coef0", "n_held_out", "memory_mb")},
    )
    sums.kind, sums._with_tasks = header["kind"], header["with_tasks"]
    sums._names, sums._declared = header["names"], header["declared"]
    sums._as_objects = header["as_objects"]
    sums._places = {task: place for place, task in enumerate(header["tasks"])}
    if sums._places:
        sums._sums = _task_sums(arrays, sums)
    if "sample_keys" in arrays:
        sums._sample = HeldOutSample(
            capacity=sums.n_held_out,
            limit=np.asarray(arrays["sample_limit"])[0],
            X=_get_rows(arrays, "sample_X"),
            **{
                name: np.asarray(arrays[f"sample_{name}"])
                for name in ("keys", "task", "weights", "targets", "counts")
            },
        )
    return sums, header["extra"]


def _task_sums(arrays: Any, sums: NormalEquations) -> list[TaskSums]:
    found = []
    h, targets, counts = (np.asarray(arrays[name]) for name in ("h", "targets", "counts"))
    totals, sizes = np.asarray(arrays["totals"]), np.asarray(arrays["thin_sizes"])
    features = np.asarray(arrays["thin_features"])
    weights, keys = np.asarray(arrays["thin_weights"]), np.asarray(arrays["thin_keys"])
    packed = iter(np.asarray(arrays["packed"]))
    done = 0
    for t, size in enumerate(sizes):
        part = TaskSums(sums.n_centers, h.shape[2], thin=True, cross=targets.ndim == 3)
        part.h, part.targets, part.counts = h[t].copy(), targets[t].copy(), counts[t].copy()
        part.weight, part.n_rows = float(totals[t, 0]), int(totals[t, 1])
        part.passed = float(totals[t, 2])
        if size < 0:
            part.packed, part.thin = next(packed).copy(), None
        else:
            cut = slice(done, done + size)
            part.thin = ThinRows([features[cut]], [weights[cut]], [keys[cut]])
            done += size
        found.append(part)
    return found


def write(
    sums: NormalEquations, path: str | os.PathLike[str], extra: dict[str, Any] | None = None
) -> None:
    """Write to a temporary file beside `path`, then put it in its place in one step."""
    path = Path(path)
    arrays = to_arrays(sums, extra)
    # named before it is there, so that whatever stops this finds it
    temporary = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        with open(temporary, "xb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def read(
    path: str | os.PathLike[str], kernel: Any = None
) -> tuple[NormalEquations, dict[str, Any]]:
    """Read what :func:`write` wrote."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except FileNotFoundError:
        raise
    except Exception as error:
        raise ValueError(f"{os.fspath(path)} cannot be read as saved sums: {error}") from error
    if "header" not in arrays:
        raise ValueError(f"{os.fspath(path)} does not hold sums saved by NormalEquations.save.")
    return from_arrays(arrays, kernel)


def _plain(names: list[Any], what: str) -> list[Any]:
    strange = [name for name in names if not isinstance(name, (str, int, float, bool, type(None)))]
    if strange:
        raise TypeError(
            f"A {what} is {strange[0]!r}, which cannot be stored without pickle: use strings or "
            "numbers."
        )
    return names


def _put_rows(arrays: Arrays, name: str, rows: Rows) -> None:
    if not sp.issparse(rows):
        arrays[name] = rows
        return
    for part in ("data", "indices", "indptr"):
        arrays[f"{name}_{part}"] = getattr(rows, part)
    arrays[f"{name}_shape"] = np.array(rows.shape)


def _get_rows(arrays: Any, name: str) -> Rows:
    if name in arrays:
        return np.asarray(arrays[name])
    parts = tuple(arrays[f"{name}_{part}"] for part in ("data", "indices", "indptr"))
    return sp.csr_matrix(parts, shape=tuple(arrays[f"{name}_shape"]))
