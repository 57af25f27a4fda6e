"""Tensors of the Open Inference Protocol: JSON values or raw bytes, to arrays and back."""

from __future__ import annotations

import struct
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn.answering.refusals import Refusal, cut
from kinlearn.answering.rows import plain_numbers

TYPES: dict[str, Any] = {
    "BOOL": np.bool_,
    "UINT8": np.uint8,
    "UINT16": np.uint16,
    "UINT32": np.uint32,
    "UINT64": np.uint64,
    "INT8": np.int8,
    "INT16": np.int16,
    "INT32": np.int32,
    "INT64": np.int64,
    "FP16": np.float16,
    "FP32": np.float32,
    "FP64": np.float64,
}
BYTES = "BYTES"
_MOST_NESTED = 8


def datatype_of(values: NDArray) -> str:
    """The protocol's name for the type of an array.

    Examples
    --------
    >>> datatype_of(np.zeros(2)), datatype_of(np.array(["a"], dtype=object))
    ('FP64', 'BYTES')
    """
    for name, kind in TYPES.items():
        if values.dtype == kind:
            return name
    return BYTES


def read_tensor(given: Any, raw: bytes | None) -> tuple[str, list[Any] | NDArray, tuple[int, ...]]:
    """Name, values in a row and shape of an input.

    Parameters
    ----------
    given : dict
        The input as JSON has it.
    raw : bytes, optional
        Its bytes, where the binary extension brought such.
    """
    if not isinstance(given, dict) or not isinstance(given.get("name"), str):
        raise Refusal(f"An input must be an object with a name, and this is {cut(given)}.")
    name, kind, shape = given["name"], given.get("datatype"), given.get("shape")
    if not isinstance(kind, str) or (kind not in TYPES and kind != BYTES):
        raise Refusal(
            f"Input {name!r} has the datatype {cut(kind)!r}: use one of "
            f"{', '.join([*TYPES, BYTES])}.",
            column=name,
        )
    if not isinstance(shape, list) or not 1 <= len(shape) <= _MOST_NESTED:
        raise Refusal(f"Input {name!r} has the shape {cut(shape)}: give a list of sizes.")
    if any(type(n) is not int or not 0 <= n < 2**31 for n in shape):
        raise Refusal(f"Input {name!r} has the shape {cut(shape)}: give a list of sizes.")
    count = 1
    for n in shape:
        count *= n
    if raw is None:
        if not isinstance(given.get("data"), list):
            raise Refusal(f"Input {name!r} has no data: give a list of values.", column=name)
        data = given["data"]
        # a matrix is of numbers, most often in a row
        numbers = plain_numbers(data) if len(shape) == 2 and shape[1] > 1 else None
        values: Any = _flat(data, count, name) if numbers is None else numbers
    else:
        values = _texts_in(raw, count, name) if kind == BYTES else _numbers_in(raw, kind, name)
    if len(values) != count:
        raise Refusal(
            f"Input {name!r} has {len(values)} values, and its shape {shape} asks for {count}: "
            "give as many as the shape says.",
            column=name,
        )
    return name, values, tuple(shape)


def _flat(data: list[Any], most: int, name: str) -> list[Any]:
    """Values of nested lists in a row."""
    for _ in range(_MOST_NESTED):
        kinds = set(map(type, data))
        if list not in kinds:
            return data
        if kinds != {list}:
            raise Refusal(f"Input {name!r} mixes lists and values: give values in a row.")
        if len(data) > most:
            return data
        data = list(chain.from_iterable(data))
    raise Refusal(f"Input {name!r} is nested too deeply: give its values in a row.")


def _numbers_in(raw: bytes, kind: str, name: str) -> NDArray:
    found = np.dtype(TYPES[kind]).newbyteorder("<")
    if len(raw) % found.itemsize:
        raise Refusal(
            f"Input {name!r} has {len(raw)} bytes, which is no multiple of the {found.itemsize} of "
            f"a {kind}: is it complete?",
            column=name,
        )
    return np.frombuffer(raw, dtype=found).astype(TYPES[kind])


def _texts_in(raw: bytes, most: int, name: str) -> list[str]:
    """Texts, each behind four bytes that hold its length."""
    found: list[str] = []
    at = 0
    while at < len(raw):
        end = at + 4
        if end <= len(raw):
            end += struct.unpack_from("<I", raw, at)[0]
        if end > len(raw) or end < at + 4 or len(found) >= most:
            raise Refusal(
                f"Input {name!r} ends in the middle of a text: each is to stand behind four bytes "
                "that hold its length.",
                column=name,
            )
        try:
            found.append(raw[at + 4 : end].decode("utf-8"))
        except UnicodeDecodeError:
            raise Refusal(
                f"Text {len(found) + 1} of input {name!r} is no UTF-8.",
                column=name,
                row=len(found) + 1,
            ) from None
        at = end
    return found


def written_tensor(name: str, values: NDArray, binary: bool) -> tuple[dict[str, Any], bytes]:
    """An output as JSON has it, and its bytes where they stand behind."""
    kind = datatype_of(values)
    found: dict[str, Any] = {"name": name, "datatype": kind, "shape": list(values.shape)}
    if not binary:
        found["data"] = values.ravel().tolist()
        return found, b""
    if kind == BYTES:
        texts = [str(each).encode("utf-8") for each in values.ravel()]
        raw = b"".join(struct.pack("<I", len(text)) + text for text in texts)
    else:
        raw = values.astype(values.dtype.newbyteorder("<")).tobytes()
    found["parameters"] = {"binary_data_size": len(raw)}
    return found, raw
