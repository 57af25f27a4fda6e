"""NormalEquations in a file of plain arrays: no pickle, and never half a file."""

from __future__ import annotations

import json
import os
import zipfile
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kinlearn.archives.archive import check_stored
from kinlearn.archives.arrays import NUMBERS, read_npy, sparse_matrix
from kinlearn.archives.atomic_write import replacing
from kinlearn.archives.memory_budget import Budget
from kinlearn.kernels.measures import Rows
from kinlearn.sums.held_out_sample import HeldOutSample
from kinlearn.sums.normal_equations import NormalEquations
from kinlearn.sums.task_sums import TaskSums, ThinRows

FORMAT = "kinlearn normal equations 2"
# With a metric, of which readers of before know nothing.
IN_METRIC = "kinlearn normal equations 3"
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
        "format": FORMAT if sums.metric is None else IN_METRIC,
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
    if sums.metric is not None:
        arrays["metric"] = sums.metric
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


def from_arrays(
    arrays: Any, kernel: Any = None, budget: Budget | None = None
) -> tuple[NormalEquations, dict[str, Any]]:
    """The sums and the further entries of the header, every array compared with the others.

    Parameters
    ----------
    arrays : mapping of names to arrays
        What :func:`to_arrays` made.
    kernel : callable, optional
        The kernel, when it was a function.
    budget : Budget, optional
        Memory that may be taken besides the arrays themselves; by default what they explain.
    """
    n_bytes = sum(np.asarray(array).nbytes for array in arrays.values())
    budget = Budget(n_bytes) if budget is None else budget
    budget.take(n_bytes)  # sums have memory of their own
    header = budget.parse(np.asarray(arrays["header"], dtype=np.uint8).tobytes())
    if header.get("format") not in (FORMAT, IN_METRIC):
        raise ValueError(
            f"These arrays are of the format {header.get('format')!r}, but {FORMAT!r} is expected."
        )
    if header["kernel"] is None and not callable(kernel):
        raise ValueError(
            "These sums were made with a kernel that is a function, which is not stored: pass it "
            "again with kernel=."
        )
    centers = _get_rows(arrays, "centers")
    sums = NormalEquations(
        centers,
        kernel=header["kernel"] or kernel,
        metric=np.asarray(arrays["metric"]) if header["format"] == IN_METRIC else None,
        **{n: header[n] for n in ("sigma", "degree", "coef0", "n_held_out", "memory_mb")},
    )
    check_header(header)
    sums.kind, sums._with_tasks = header["kind"], header["with_tasks"]
    sums._names, sums._declared = header["names"], header["declared"]
    sums._as_objects = header["as_objects"]
    sums._places = {task: place for place, task in enumerate(header["tasks"])}
    if sums._places:
        sums._sums = _task_sums(arrays, sums)
    if "sample_keys" in arrays:
        sums._sample = _sample(arrays, sums)
    return sums, header["extra"]


def _task_sums(arrays: Any, sums: NormalEquations) -> list[TaskSums]:
    m, k, n_tasks = sums.n_centers, len(sums._names), len(sums._places)
    cross = sums.kind == "labels"
    sizes = checked(arrays, "thin_sizes", (n_tasks,), "i")
    n_thin, n_full = int(sizes[sizes > 0].sum()), int((sizes < 0).sum())
    h = checked(arrays, "h", (n_tasks, m, k))
    targets = checked(arrays, "targets", (n_tasks, k, k) if cross else (n_tasks, k))
    counts = checked(arrays, "counts", (n_tasks, k), "i")
    totals = checked(arrays, "totals", (n_tasks, 3))
    features = checked(arrays, "thin_features", (n_thin, m))
    weights = checked(arrays, "thin_weights", (n_thin,))
    keys = checked(arrays, "thin_keys", (n_thin,), "u")
    packed = iter(checked(arrays, "packed", (n_full, m * (m + 1) // 2) if n_full else (0,)))
    found = []
    done = 0
    for t, size in enumerate(sizes.tolist()):
        part = TaskSums(m, 0, thin=True, cross=cross)
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


def _sample(arrays: Any, sums: NormalEquations) -> HeldOutSample:
    size = len(arrays["sample_keys"])
    X = _get_rows(arrays, "sample_X")
    if X.shape != (size, sums.n_features):
        raise ValueError(_misfit("sample_X", X.shape, (size, sums.n_features)))
    task = checked(arrays, "sample_task", (size,), "i")
    if size and not 0 <= task.min() <= task.max() < len(sums._places):
        raise ValueError(
            f"These sums hold rows of tasks {task.min()} to {task.max()}, and there are "
            f"{len(sums._places)}: the file is damaged or was edited."
        )
    return HeldOutSample(
        capacity=sums.n_held_out,
        limit=checked(arrays, "sample_limit", (1,), "u")[0],
        keys=checked(arrays, "sample_keys", (size,), "u"),
        X=X,
        task=task,
        weights=checked(arrays, "sample_weights", (size,)),
        targets=checked(arrays, "sample_targets", (size, len(sums._names))),
        counts=checked(arrays, "sample_counts", (size,), "i"),
    )


def check_header(header: dict[str, Any]) -> None:
    """Refuse what :func:`to_arrays` never writes."""
    for name in ("names", "declared", "tasks"):
        listed = _plain(list(header[name]), name)
        if len(set(listed)) < len(listed) or not isinstance(header[name], list):
            raise ValueError(_unknown(name, header[name]))
    numbers = ("memory_mb", "degree", "coef0")
    right = {
        **{n: isinstance(header[n], (int, float)) and np.isfinite(header[n]) for n in numbers},
        "kind": header["kind"] in (None, "classes", "labels"),
        "with_tasks": header["with_tasks"] in (None, True, False),
        "as_objects": header["as_objects"] in (True, False),
        "extra": isinstance(header["extra"], dict),
    }
    for name, is_right in right.items():
        if not is_right:
            raise ValueError(_unknown(name, header[name]))


def checked(arrays: Any, name: str, shape: tuple[int, ...], kind: str = "f") -> NDArray:
    """The array of a name, of 8-byte numbers of a kind, finite, and of a shape."""
    array = np.asarray(arrays[name])
    if array.dtype != np.dtype(f"{kind}8"):
        raise ValueError(_misfit(name, array.dtype, np.dtype(f"{kind}8")))
    if array.shape != shape:
        raise ValueError(_misfit(name, array.shape, shape))
    if kind == "f" and not np.isfinite(array).all():
        raise ValueError(_misfit(name, "NaN or infinity", "numbers"))
    return array


def _misfit(name: str, seen: Any, wanted: Any) -> str:
    return (
        f"The array {name!r} of these sums is of {seen}, where {wanted} belongs: the file is "
        "damaged or was edited."
    )


def _unknown(name: str, seen: Any) -> str:
    return f"These sums say {name}={seen!r}, which is never written: the file is damaged."


def write(
    sums: NormalEquations,
    path: str | os.PathLike[str],
    extra: dict[str, Any] | None = None,
    further: Arrays | None = None,
) -> None:
    """Write a file that takes the place of `path` in one step.

    `further` arrays of numbers, of names of their own, are kept beside those of the sums.
    """
    arrays = {**(further or {}), **to_arrays(sums, extra)}
    with replacing(path) as partial, partial.open("wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]


def read(
    path: str | os.PathLike[str], kernel: Any = None
) -> tuple[NormalEquations, dict[str, Any]]:
    """Read what :func:`write` wrote: sums, and the further entries of the header."""
    sums, extra, _ = read_all(path, kernel)
    return sums, extra


def read_all(
    path: str | os.PathLike[str], kernel: Any = None
) -> tuple[NormalEquations, dict[str, Any], Arrays]:
    """Read what :func:`write` wrote, and all arrays as they are."""
    path = os.fspath(path)
    try:
        with open(path, "rb") as file, zipfile.ZipFile(file) as archive:
            size = os.fstat(file.fileno()).st_size
            check_stored(archive, size)
            arrays = {
                info.filename.removesuffix(".npy"): read_npy(
                    archive.read(info), info.filename, NUMBERS
                )
                for info in archive.infolist()
            }
    except FileNotFoundError:
        raise
    except Exception as error:  # a damaged header may raise about anything
        raise ValueError(f"{path} cannot be read as saved sums: {error}") from error
    if "header" not in arrays:
        raise ValueError(f"{path} does not hold sums saved by NormalEquations.save.")
    try:
        return *from_arrays(arrays, kernel, Budget(size)), arrays
    except ValueError:
        raise
    except Exception as error:  # whatever inconsistent content leads to
        raise ValueError(f"{path} cannot be read as saved sums: {error!r}") from None


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
        rows = np.asarray(arrays[name])
        return checked(arrays, name, (len(rows), rows[:1].size))
    parts = (np.asarray(arrays[f"{name}_{part}"]) for part in ("data", "indices", "indptr"))
    shape = checked(arrays, f"{name}_shape", (2,), "i").tolist()
    return sparse_matrix("csr_matrix", shape, *parts)
