"""From a tree of JSON values and arrays back to the model: data in, nothing run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from kinlearn.persistence.allowed import converters, find_type
from kinlearn.persistence.encode import ARRAY_KINDS, PLAIN_TYPES
from kinlearn.persistence.errors import KinFileError

_PLAIN = {name: kind for kind, name in PLAIN_TYPES.items()}
_FLOATS = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}
_SPARSE = {
    "csr_matrix": sp.csr_matrix,
    "csc_matrix": sp.csc_matrix,
    "csr_array": sp.csr_array,
    "csc_array": sp.csc_array,
}


class Decoder:
    """Turns nodes into values; what :class:`kinlearn.persistence.encode.Encoder` undoes.

    Parameters
    ----------
    read_array : callable
        Gives array number i.
    """

    def __init__(self, read_array: Callable[[int], np.ndarray]) -> None:
        self._fetch = read_array
        self._arrays: dict[int, np.ndarray] = {}
        self._views: dict[tuple[int, ...], np.ndarray] = {}
        self._objects: list[Any] = []
        self._readers: dict[str, Callable[[Any], Any]] = {
            "array": self._array,
            "dict": lambda pairs: {self.decode(key): self.decode(node) for key, node in pairs},
            "dtype": _dtype,
            "float": _FLOATS.__getitem__,
            "frame": self._frame,
            "list": lambda nodes: [self.decode(node) for node in nodes],
            "masked": lambda nodes: np.ma.MaskedArray(*(self.decode(node) for node in nodes)),
            "object": self._objects.__getitem__,
            "objects": self._object_array,
            "random_state": self._random_state,
            "scalar": self._scalar,
            "slice": lambda ends: slice(*ends),
            "sparse": self._sparse,
            "tuple": lambda nodes: tuple(self.decode(node) for node in nodes),
            "type": _PLAIN.__getitem__,
        }

    def model(self, tree: Any) -> Any:
        """Return the model of a whole tree."""
        for entry in tree["objects"]:
            self._objects.append(self._object(entry))
        return self._objects[tree["root"]]

    def decode(self, node: Any) -> Any:
        """Return the value of a node."""
        if node is None or isinstance(node, (bool, int, float, str)):
            return node
        ((kind, content),) = node.items()
        if kind not in self._readers:
            raise KinFileError(f"it holds a value of the unknown kind {kind!r}")
        return self._readers[kind](content)

    def _object(self, entry: dict[str, Any]) -> Any:
        kind = find_type(str(entry["type"]))
        if kind is None:
            raise KinFileError(f"it holds an object of type {entry['type']!r}, which is not known")
        converted = converters(entry["type"])
        if converted is not None:
            return converted[1](self.decode(entry["arrays"]))
        made: Any = object.__new__(kind)
        for name, node in entry["state"].items():
            if not name.isidentifier() or name.startswith("__"):
                raise KinFileError(f"it holds an attribute {name!r}, which is not allowed")
            vars(made)[name] = self.decode(node)
        if "requests" in entry:
            vars(made)["_metadata_request"] = _metadata_request(made, entry["requests"])
        return made

    def _array(self, content: Any) -> np.ndarray:
        number, axes = content
        if number not in self._arrays:
            self._arrays[number] = self._fetch(number)
        key = (number, *axes)
        if key not in self._views:
            self._views[key] = self._arrays[number].transpose(np.argsort(axes).tolist())
        return self._views[key]

    def _object_array(self, content: Any) -> np.ndarray:
        shape, nodes = content
        values = np.empty(len(nodes), dtype=object)
        for i, node in enumerate(nodes):
            values[i] = self.decode(node)
        return values.reshape(shape)

    def _scalar(self, content: Any) -> np.generic:
        dtype = _dtype(content[0])
        if dtype.kind not in "biufU" or (dtype.itemsize > 8 and dtype.kind != "U"):
            raise KinFileError(f"it holds a number of type {content[0]!r}, which is not allowed")
        return dtype.type(self.decode(content[1]))

    def _sparse(self, content: Any) -> Any:
        kind, shape, *nodes = content
        made = _SPARSE[kind](tuple(self.decode(node) for node in nodes), shape=tuple(shape))
        made.check_format(full_check=True)  # compiled code trusts the indices
        return made

    def _random_state(self, content: Any) -> np.random.RandomState:
        made = np.random.RandomState(0)
        made.set_state(tuple(self.decode(node) for node in content))
        return made

    def _frame(self, content: Any) -> Any:
        try:
            import pandas as pd
        except ImportError:
            raise KinFileError("it holds a table of pandas, which is not installed") from None
        values, index, columns = (self.decode(node) for node in content)
        return pd.DataFrame(values, index=list(index), columns=list(columns))


def _dtype(text: Any) -> np.dtype:
    dtype = np.dtype(str(text))
    if dtype.kind not in ARRAY_KINDS + "O" or dtype.fields is not None:
        raise KinFileError(f"it holds the type {text!r} of arrays, which is not allowed")
    return dtype


def _metadata_request(owner: Any, requests: dict[str, dict[str, Any]]) -> Any:
    metadata = owner._get_metadata_request()
    for method, asked in requests.items():
        if not method.isidentifier() or method.startswith("_"):
            raise KinFileError(f"it holds a request for {method!r}, which is not allowed")
        getattr(metadata, method)._requests = {str(name): alias for name, alias in asked.items()}
    return metadata
