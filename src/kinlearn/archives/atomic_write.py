"""Writing a file such that readers see the old one or the new one, whatever happens between."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give the path of a file to write that takes the place of `path` once complete and on disk.

    It is a temporary file in the same folder, so that the replacement is one step of the file
    system. After an error it is removed and `path` is as it was; after a power cut or a kill it may
    stay behind, under a name that begins with a dot and ends in ``.tmp``.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "note")
    ...     with replacing(path) as partial:
    ...         _ = partial.write_bytes(b"whole")
    ...     path.read_bytes()
    b'whole'
    """
    target = Path(os.path.realpath(path))  # a link stays a link, and what it points to is replaced
    # named before it is there, so that whatever stops this finds it
    partial = target.with_name(f".{target.name}.{uuid4().hex}.tmp")
    try:
        partial.touch(mode=0o600, exist_ok=False)
        yield partial
        with partial.open("rb+") as file:
            os.fsync(file.fileno())
        partial.chmod(_mode(target))
        partial.replace(target)
    except BaseException:
        with suppress(OSError):
            partial.unlink()
        raise
    _sync_folder(target.parent)


def _mode(target: Path) -> int:
    """Permissions of the file replaced, or those a new file gets."""
    if target.exists():
        return stat.S_IMODE(target.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _sync_folder(folder: Path) -> None:
    """Have the new name on disk, too, where folders can be synchronised."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
