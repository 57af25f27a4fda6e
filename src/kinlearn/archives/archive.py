"""The archive of a model file: uncompressed members, each with its size and checksum.

Nothing is compressed, so that a member takes no more memory than the file is large, whatever its
headers claim. The archive's comment holds the checksum of the manifest, the manifest those of all
other members: they tell damage and edits, and do not prove who wrote a file.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from typing import IO, Any

import numpy as np

from kinlearn.archives.arrays import ARRAY_KINDS, read_npy
from kinlearn.archives.errors import KinFileError
from kinlearn.archives.memory_budget import Budget, parsed_bytes

MANIFEST, TREE = "manifest.json", "model.json"
COMMENT = b"kinlearn model, manifest sha256 "
# What the standard library's reader of archives raises on files that are none or are damaged.
READ_ERRORS = (
    zipfile.BadZipFile,
    EOFError,
    KeyError,
    NotImplementedError,
    OSError,
    OverflowError,
    RuntimeError,
    UnicodeError,
    ValueError,
)


def array_name(number: int) -> str:
    """Return the member that holds an array."""
    return f"arrays/{number}.npy"


def write_archive(
    file: IO[bytes], manifest: dict[str, Any], tree: Any, arrays: list[np.ndarray]
) -> None:
    """Write all members, the manifest last because it holds the checksums of the others."""
    sums: dict[str, dict[str, Any]] = {}
    text = _as_json(tree)
    check_readable(text, sum(array.nbytes for array in arrays))
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for number, array in enumerate(arrays):
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, array, allow_pickle=False)
            _add(archive, array_name(number), buffer.getbuffer(), sums)
        _add(archive, TREE, text, sums)
        content = _as_json({**manifest, "members": sums})
        _add(archive, MANIFEST, content, sums)
        archive.comment = COMMENT + sums[MANIFEST]["sha256"].encode()


def check_readable(text: bytes, array_bytes: int) -> None:
    """Refuse to write what would be refused when it is read."""
    needed, allowed = parsed_bytes(text) + array_bytes, Budget(len(text) + array_bytes).left
    if needed > allowed:
        raise ValueError(
            f"The model holds {len(text) / 1e6:.0f} MB of names and settings, which take more "
            "memory than a file of this size may when it is loaded: join rare categories before "
            "they are encoded (min_frequency of OneHotEncoder)."
        )


def _as_json(value: Any) -> bytes:
    return json.dumps(value, allow_nan=False, ensure_ascii=False).encode()


def _add(
    archive: zipfile.ZipFile, name: str, content: Any, sums: dict[str, dict[str, Any]]
) -> None:
    info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))  # equal models, equal members
    info.external_attr = 0o644 << 16
    archive.writestr(info, content)
    sums[name] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


class Archive:
    """An open model file; raises :class:`KinFileError` for whatever is wrong with it."""

    def __init__(self, file: IO[bytes]) -> None:
        self.size = os.fstat(file.fileno()).st_size
        self.budget = Budget(self.size)
        try:
            self._zip = zipfile.ZipFile(file)
            self._members = self._directory()
            self.manifest = self._manifest()
        except KinFileError:
            raise
        except READ_ERRORS as error:
            raise KinFileError(f"it is not a complete archive ({error})") from None

    def _directory(self) -> dict[str, zipfile.ZipInfo]:
        if not self._zip.comment.startswith(COMMENT) or MANIFEST not in self._zip.namelist():
            raise KinFileError("it was not written by kinlearn")
        check_stored(self._zip, self.size)
        return {info.filename: info for info in self._zip.infolist()}

    def _manifest(self) -> dict[str, Any]:
        content = self._content(MANIFEST)
        if hashlib.sha256(content).hexdigest().encode() != self._zip.comment[len(COMMENT) :]:
            raise KinFileError("its manifest was changed after it was written")
        manifest = self.budget.parse(content)
        sums = manifest["members"]
        sizes = {name: info.file_size for name, info in self._members.items() if name != MANIFEST}
        if {name: member["bytes"] for name, member in sums.items()} != sizes:
            raise KinFileError("its members are not those that its manifest lists")
        return manifest

    def _content(self, name: str) -> bytes:
        with self._zip.open(self._members[name]) as member:
            content = member.read()
        if len(content) != self._members[name].file_size:
            raise KinFileError(f"its member {name} is cut short")
        return content

    def read(self, name: str) -> bytes:
        """Return a member, checked."""
        if name not in self.manifest["members"]:
            raise KinFileError(f"it has no member {name}")
        try:
            content = self._content(name)
        except READ_ERRORS as error:
            raise KinFileError(f"its member {name} is damaged ({error})") from None
        if hashlib.sha256(content).hexdigest() != self.manifest["members"][name]["sha256"]:
            raise KinFileError(f"its member {name} was changed after it was written")
        return content

    def tree(self) -> Any:
        """Return the tree of values."""
        return self.budget.parse(self.read(TREE))

    def array(self, number: int) -> np.ndarray:
        """Return an array, having compared what its header claims with what there is."""
        if not isinstance(number, int):
            raise KinFileError(f"it refers to the array {number!r}")
        content = self.read(array_name(number))
        self.budget.take(len(content))
        return read_npy(content, str(number), ARRAY_KINDS)


def check_stored(archive: zipfile.ZipFile, file_bytes: int) -> None:
    """Refuse members that would unfold into more than the file holds."""
    infos = archive.infolist()
    if len({info.filename for info in infos}) < len(infos):
        raise KinFileError("some of its members occur twice")
    stored = all(
        info.compress_type == zipfile.ZIP_STORED and info.file_size == info.compress_size
        for info in infos
    )
    if not stored or sum(info.file_size for info in infos) > file_bytes:
        raise KinFileError("its members are larger than the file")
