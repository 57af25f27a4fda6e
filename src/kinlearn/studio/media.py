"""Columns of paths: images and sounds beside a table, found by row and column, never by path."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

IMAGE, SOUND = "image", "sound"
# SVG is left out: it is a document that may hold scripts.
TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".avif": "image/avif",
    ".bmp": "image/bmp",
    ".wav": "audio/wav",
    ".mp3": "audio/mpeg",
    ".ogg": "audio/ogg",
    ".oga": "audio/ogg",
    ".opus": "audio/ogg",
    ".flac": "audio/flac",
    ".m4a": "audio/mp4",
}
_LOOKED_AT = 50


@dataclass(frozen=True)
class MediaColumn:
    """A column of paths.

    Attributes
    ----------
    name : str
        The column.
    kind : {"image", "sound"}
        What the files are.
    folder : Path
        The table's folder; files outside it are not served.
    """

    name: str
    kind: str
    folder: Path

    def file(self, text: str) -> Path | None:
        """The file a cell names, if it is one of this kind below the folder."""
        kind = TYPES.get(Path(text.strip()).suffix.lower(), "")
        if not kind.startswith("image" if self.kind == IMAGE else "audio"):
            return None
        try:
            path = (self.folder / text.strip()).resolve(strict=True)
        except (OSError, ValueError):  # not there, or no name of a file
            return None
        return path if path.is_relative_to(self.folder) and path.is_file() else None


def media_type(path: Path) -> str:
    """The type a browser is told.

    Examples
    --------
    >>> media_type(Path("a.PNG"))
    'image/png'
    """
    return TYPES[path.suffix.lower()]


def media_column(column: Any, name: str, folder: Path) -> MediaColumn | None:
    """The column as one of paths, if most of its first cells name files of one kind."""
    texts = [str(value) for value in column.slice(0, 4 * _LOOKED_AT).to_pylist() if value]
    texts = texts[:_LOOKED_AT]
    if not texts:
        return None
    kinds = [TYPES.get(Path(text.strip()).suffix.lower(), "").partition("/")[0] for text in texts]
    for prefix, kind in (("image", IMAGE), ("audio", SOUND)):
        if kinds.count(prefix) > len(texts) / 2:
            found = MediaColumn(name, kind, folder)
            there = sum(found.file(text) is not None for text in texts)
            return found if there > len(texts) / 2 else None
    return None
