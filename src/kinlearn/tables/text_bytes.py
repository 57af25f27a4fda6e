"""The bytes of a text file: compressed or not, and in which encoding."""

from __future__ import annotations

import codecs
import gzip
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from kinlearn.cells.refusals import TableError

GZIP = b"\x1f\x8b"
_CHUNK = 1 << 20
_LOOK_AT = 4096
_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
# Of the bytes of UTF-16 of western texts about half are zero, all of them in even or odd places.
_ZEROS = 0.3


def is_compressed(path: Path) -> bool:
    """Whether the file is compressed by gzip, whatever its name."""
    with path.open("rb") as stream:
        return stream.read(2) == GZIP


@contextmanager
def open_bytes(path: Path) -> Iterator[IO[bytes]]:
    """The bytes of a file, decompressed."""
    opened = gzip.open(path, "rb") if is_compressed(path) else path.open("rb")  # noqa: SIM115
    with opened as stream:
        try:
            yield cast("IO[bytes]", stream)
        except (EOFError, gzip.BadGzipFile) as error:
            raise TableError(f"{path} is not a whole gzip file ({error}): copy it again.") from None


def open_text(path: Path, encoding: str) -> Iterator[str]:
    """Lines of the file, without a byte order mark."""
    if encoding.replace("_", "-").lower() in ("utf-8", "utf8"):
        encoding = "utf-8-sig"
    with (
        open_bytes(path) as stream,
        io.TextIOWrapper(stream, encoding=encoding, newline="") as text,
    ):
        yield from text


def is_marked(path: Path) -> bool:
    """Whether the bytes begin with a byte order mark."""
    with open_bytes(path) as stream:
        head = stream.read(3)
    return any(head.startswith(mark) for mark in _MARKS)


def find_encoding(path: Path) -> str:
    """The encoding of a text: by its mark, UTF-8 if all of it is, else that of western Windows.

    A file of which some is UTF-8 beyond ASCII and some is not is refused, with the place.
    """
    with open_bytes(path) as stream:
        head = stream.read(_LOOK_AT)
    for mark, name in _MARKS.items():
        if head.startswith(mark):
            check_encoding(path, name)
            return name
    for name, places in (("utf-16-le", head[1::2]), ("utf-16-be", head[::2])):
        if places and places.count(0) > 2 * _ZEROS * len(places) and head.count(0) < len(head):
            check_encoding(path, name)
            return name
    letters = broken = zeros = 0
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    with open_bytes(path) as stream:
        while chunk := stream.read(_CHUNK):
            zeros += chunk.count(0)
            text = decoder.decode(chunk)
            if not text.isascii():
                strange = sum("\udc80" <= letter <= "\udcff" for letter in text)
                letters += sum(letter > "\x7f" for letter in text) - strange
                broken += strange
    broken += len(decoder.decode(b"", final=True))
    if broken == 0 or letters >= broken:
        check_encoding(path, "utf-8")
        return "utf-8"
    if zeros:
        raise _no_text(path)
    try:
        check_encoding(path, "cp1252")
    except TableError:
        return "latin-1"
    return "cp1252"


def check_encoding(path: Path, encoding: str) -> None:
    """Refuse bytes that the encoding has no letter for, with their place in the file."""
    try:
        decoder = codecs.getincrementaldecoder(encoding)()
    except LookupError:
        raise TableError(
            f"There is no encoding {encoding!r}. Common ones are utf-8, latin-1, cp1252 and utf-16."
        ) from None
    passed, line = 0, 1
    with open_bytes(path) as stream:
        while chunk := stream.read(_CHUNK):
            pending = len(decoder.getstate()[0])
            try:
                text = decoder.decode(chunk)
            except UnicodeDecodeError as error:
                # The decoder saw the bytes it had kept back, then this chunk.
                at = passed - pending + error.start
                seen = error.object[max(0, error.start - 20) : error.start + 10]
                line += error.object[: error.start].count(b"\n")
                raise _wrong_encoding(path, encoding, at, line, bytes(seen)) from None
            if "\0" in text:
                raise _no_text(path, f" in {encoding}")
            line += text.count("\n")
            passed += len(chunk)
    if len(decoder.getstate()[0]):
        raise TableError(f"{path} ends in the middle of a letter of {encoding}: is it complete?")


def _no_text(path: Path, encoding: str = "") -> TableError:
    return TableError(
        f"{path} holds zero bytes, so it is not text{encoding}: save it as CSV first."
    )


def _wrong_encoding(path: Path, encoding: str, at: int, line: int, seen: bytes) -> TableError:
    remedy = "If the whole file is in one other encoding, name it, such as --encoding cp1252."
    return TableError(
        f"{path} is not {encoding} throughout: byte {at} (line {line}), in {seen!r}, is no letter "
        f"of it. {remedy} Otherwise the file mixes encodings: save it again as UTF-8."
    )
