"""Files the user supplies: where they are looked for, and what is said when one cannot be used.

Loaders read the folder ``data_home`` or, left out, the one that the environment variable
``KINLEARN_DATA`` names. Nothing is downloaded: several of the sets may not be passed on.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

VARIABLE = "KINLEARN_DATA"
Shape = tuple[int | None, ...]
Home = str | os.PathLike[str] | None


class DataFileMissing(FileNotFoundError):
    """A file that the user must supply is not there.

    Examples
    --------
    >>> from kinlearn.datasets import DataFileMissing
    >>> issubclass(DataFileMissing, FileNotFoundError)
    True
    """


class DataFileError(ValueError):
    """A file is there but cannot be read, or holds something else.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from kinlearn.datasets import DataFileError, load_multilabel
    >>> with TemporaryDirectory() as folder:
    ...     Path(folder, "multilabel").mkdir()
    ...     _ = Path(folder, "multilabel", "emotions.npz").write_text("not an archive")
    ...     try:
    ...         load_multilabel("emotions", data_home=folder)
    ...     except DataFileError as error:
    ...         print("cannot be read" in str(error))
    True
    """


class DataFileChanged(UserWarning):
    """A file has the right shape but not the bytes that figures were measured on.

    Examples
    --------
    >>> import warnings
    >>> from kinlearn.datasets import DataFileChanged
    >>> with warnings.catch_warnings():  # or pass verify=False to a loader
    ...     warnings.simplefilter("ignore", DataFileChanged)
    """


@dataclass(frozen=True)
class DataFile:
    """One file of a data set.

    Attributes
    ----------
    path : str
        Where it lies inside the data folder.
    contains : str
        What it must hold, for the person who has to find it.
    source : str
        Where such a file is offered.
    sha256 : str
        Checksum of the file that the project's figures were measured on.
    arrays : dict of str to tuple
        Names and shapes that are needed; None stands for any length.
    """

    path: str
    contains: str
    source: str
    sha256: str
    arrays: Mapping[str, Shape] = field(default_factory=dict)

    def locate(self, data_home: Home) -> Path:
        """Return the file's path, or say what is missing and that the user supplies it."""
        folder = data_folder(data_home)
        if folder is None:
            raise DataFileMissing(
                f"No data folder is set, so {self.path} cannot be found: set {VARIABLE} or "
                f"data_home= to a folder of yours that holds it. {self._what()}"
            )
        path = folder / self.path
        if not path.is_file():
            raise DataFileMissing(f"There is no file {path}. {self._what()}")
        return path

    def read(self, data_home: Home, verify: bool = True) -> dict[str, NDArray[Any]]:
        """Return the arrays, having checked their shapes and, if asked, the checksum."""
        path = self.locate(data_home)
        reader = _READERS[path.suffix]
        try:
            found = reader(path)
        except Exception as error:  # truncated files make these readers raise almost anything
            raise DataFileError(
                f"{path} cannot be read ({type(error).__name__}: {error}); it may be cut short or "
                f"of another format. Put a complete copy in its place. {self._what()}"
            ) from error
        for name, shape in self.arrays.items():
            if name not in found:
                raise DataFileError(
                    f"{path} holds {sorted(found) or 'nothing'} but not {name!r}. Put the right "
                    f"file in its place. {self._what()}"
                )
            _check_shape(path, name, found[name].shape, shape, self._what())
        if verify:
            self._verify(path)
        return {name: found[name] for name in self.arrays}

    def _verify(self, path: Path) -> None:
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        if digest != self.sha256:
            warnings.warn(
                f"{path} has the expected shape but another checksum ({digest[:12]}… instead of "
                f"{self.sha256[:12]}…): results may differ from published ones. Pass verify=False "
                "to use it without this warning.",
                DataFileChanged,
                stacklevel=4,
            )

    def _what(self) -> str:
        return (
            f"It must contain {self.contains}; you supply it yourself, for it does not come with "
            f"kinlearn ({self.source})."
        )


def data_folder(data_home: Home = None) -> Path | None:
    """Return the folder given or named by ``KINLEARN_DATA``; None if neither is set."""
    chosen = data_home if data_home is not None else os.environ.get(VARIABLE)
    return Path(chosen) if chosen else None


def _check_shape(path: Path, name: str, shape: tuple[int, ...], wanted: Shape, what: str) -> None:
    fits = len(shape) == len(wanted) and all(
        w is None or s == w for s, w in zip(shape, wanted, strict=True)
    )
    if not fits:
        shown = " × ".join("any" if w is None else str(w) for w in wanted) or "a single value"
        seen = " × ".join(map(str, shape)) or "a single value"
        raise DataFileError(
            f"{path}: {name!r} is {seen} where {shown} was expected. Put the right file in its "
            f"place. {what}"
        )


def _read_mat(path: Path) -> dict[str, NDArray[Any]]:
    from scipy.io import loadmat

    with path.open("rb") as stream:
        return {name: a for name, a in loadmat(stream).items() if not name.startswith("__")}


def _read_npz(path: Path) -> dict[str, NDArray[Any]]:
    # given a path, np.load leaves the file open when it is cut short
    with path.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}


def _read_idx(path: Path) -> dict[str, NDArray[Any]]:
    """IDX, as MNIST: two zero bytes, the type (8: bytes), the rank, the sizes, the values."""
    content = gzip.decompress(path.read_bytes())
    if content[:3] != b"\0\0\x08":
        raise ValueError("the first bytes are not those of an IDX file of bytes")
    rank = content[3]
    shape = np.frombuffer(content, ">u4", count=rank, offset=4).astype(int)
    values = np.frombuffer(content, np.uint8, offset=4 + 4 * rank)
    if values.size != shape.prod():
        raise ValueError(f"{values.size} values where {shape.prod()} are announced")
    return {"values": values.reshape(shape)}


_READERS: dict[str, Callable[[Path], dict[str, NDArray[Any]]]] = {
    ".mat": _read_mat,
    ".npz": _read_npz,
    ".gz": _read_idx,
}
