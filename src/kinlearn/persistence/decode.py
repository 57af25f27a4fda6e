"""From a tree of JSON values and arrays back to the model: data in, nothing run."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from kinlearn.archives.arrays import ARRAY_KINDS, sparse_matrix
from kinlearn.archives.errors import KinFileError
from kinlearn.archives.memory_budget import Budget
from kinlearn.persistence.allowed_types import converters, find_type
from kinlearn.persistence.encode import PLAIN_TYPES
from kinlearn.persistence.kernel_models import is_part, take_model
from kinlearn.persistence.shapes import check_shapes

_PLAIN = {name: kind for kind, name in PLAIN_TYPES.items()}
_FLOATS = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}
# What making one takes, however short the text that asks for it.
OBJECT_BYTES, REQUESTS_BYTES, RANDOM_STATE_BYTES = 1000, 20_000, 10_000
LONGEST_TEXT_TYPE = 4096  # bytes of an item, in the name of a type; arrays bring their own items
MERSENNE_TWISTER_WORDS = 624
SPARSE_ATTRIBUTES = {"centers", "centers_", "coef_", "_idf_diag"}


class Decoder:
    """Turns nodes into values; what :class:`kinlearn.persistence.encode.Encoder` undoes.

    Parameters
    ----------
    read_array : callable
        Gives array number i.
    budget : Budget
        Memory that may be taken. Nodes may share arrays and be repeated at will, so that whatever
        makes a copy counts it first.
    """

    def __init__(self, read_array: Callable[[int], np.ndarray], budget: Budget) -> None:
        self._fetch = read_array
        self._budget = budget
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
            "masked": self._masked,
            "object": self._objects.__getitem__,
            "objects": self._object_array,
            "random_state": self._random_state,
            "scalar": self._scalar,
            "slice": lambda ends: slice(*ends),
            "tuple": lambda nodes: tuple(self.decode(node) for node in nodes),
            "type": _PLAIN.__getitem__,
        }

    def model(self, tree: Any) -> Any:
        """Return the model of a whole tree."""
        for entry in tree["objects"]:
            self._objects.append(self._object(entry))
        return self._objects[tree["root"]]

    @property
    def objects(self) -> list[Any]:
        """All objects made so far."""
        return self._objects

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
        self._budget.take(OBJECT_BYTES)
        converted = converters(entry["type"])
        if converted is not None:
            return converted[1](self.decode(entry["arrays"]), self._budget)
        made: Any = object.__new__(kind)
        for name, node in entry["state"].items():
            # nothing that a class does may be replaced by what a file says
            its_own = getattr(kind, name, None)
            replaces = callable(its_own) or isinstance(its_own, property)
            replaces = replaces and not is_part(kind, name)
            if not name.isidentifier() or name.startswith("__") or replaces:
                raise KinFileError(f"it holds an attribute {name!r}, which is not allowed")
            vars(made)[name] = self._attribute(name, node)
        add_new_parameters(made)
        if "requests" in entry:
            self._budget.take(REQUESTS_BYTES)
            vars(made)["_metadata_request"] = _metadata_request(made, entry["requests"])
        check_shapes(made, self._budget)
        take_model(made)
        return made

    def _attribute(self, name: str, node: Any) -> Any:
        """Return the value of an attribute, the only place of a sparse matrix.

        Elsewhere one may be compared or converted, whereby it unfolds.
        """
        if isinstance(node, dict) and "sparse" in node:
            if name not in SPARSE_ATTRIBUTES:
                raise KinFileError(f"it holds a sparse matrix as {name!r}, which is not allowed")
            return self._sparse(node["sparse"])
        return self.decode(node)

    def _array(self, content: Any) -> np.ndarray:
        number, axes = content
        if number not in self._arrays:
            self._arrays[number] = self._fetch(number)
        key = (number, *axes)
        if key not in self._views:
            if sorted(axes) != list(range(self._arrays[number].ndim)):
                raise KinFileError(f"it refers to the axes {axes!r} of an array")
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
        value = self.decode(content[1])
        plain = isinstance(value, (bool, int, float, str))
        text = dtype.kind == "U" and isinstance(value, str)
        if not plain or not (text or (dtype.kind in "biuf" and dtype.itemsize <= 8)):
            raise KinFileError(f"it holds a number of type {content[0]!r}, which is not allowed")
        return dtype.type(value)

    def _sparse(self, content: Any) -> Any:
        kind, shape, *nodes = content
        data, indices, indptr = (self._plain_array(node) for node in nodes)
        self._budget.take(data.nbytes + 2 * indices.nbytes + 2 * indptr.nbytes)
        return sparse_matrix(kind, shape, data, indices, indptr)

    def _masked(self, content: Any) -> Any:
        values, mask = (self._plain_array(node) for node in content)
        if mask.dtype != bool or mask.shape != values.shape:
            raise KinFileError("it holds a masked array whose mask is of another shape or type")
        return np.ma.MaskedArray(values, mask)

    def _random_state(self, content: Any) -> np.random.RandomState:
        name, key, position, has_gauss, gauss = (self.decode(node) for node in content)
        inside = isinstance(position, int) and 0 <= position <= MERSENNE_TWISTER_WORDS
        if not inside or np.shape(key) != (MERSENNE_TWISTER_WORDS,):
            # the generator reads its words where the position says, without looking
            raise KinFileError(f"it holds a random state at the position {position!r}")
        self._budget.take(RANDOM_STATE_BYTES)
        made = np.random.RandomState(0)
        made.set_state((name, key, position, has_gauss, gauss))
        return made

    def _frame(self, content: Any) -> Any:
        try:
            import pandas as pd
        except ImportError:
            raise KinFileError("it holds a table of pandas, which is not installed") from None
        values, index, columns = (self._plain_array(node) for node in content)
        named = index.dtype == object and columns.dtype == object
        if not named or values.shape != (index.size, columns.size):
            raise KinFileError("it holds a table whose names are not those of its rows and columns")
        self._budget.take(2 * values.nbytes + 100 * (index.size + columns.size))
        return pd.DataFrame(values, index=list(index), columns=list(columns))

    def _plain_array(self, node: Any) -> np.ndarray:
        value = self.decode(node)
        if type(value) is not np.ndarray:
            raise KinFileError(f"it holds a {type(value).__name__} in place of an array")
        return value


def add_new_parameters(made: Any) -> None:
    """Give an estimator of ours the parameters that came after its file, at their defaults."""
    if isinstance(made, BaseEstimator) and type(made).__module__.startswith("kinlearn."):
        for name, parameter in inspect.signature(type(made)).parameters.items():
            if parameter.default is not parameter.empty:
                vars(made).setdefault(name, parameter.default)


def _dtype(text: Any) -> np.dtype:
    dtype = np.dtype(str(text))
    known = dtype.kind in ARRAY_KINDS + "O" and dtype.fields is None
    if not known or dtype.itemsize > LONGEST_TEXT_TYPE:
        raise KinFileError(f"it holds the type {text!r} of arrays, which is not allowed")
    return dtype


def _metadata_request(owner: Any, requests: dict[str, dict[str, Any]]) -> Any:
    metadata = owner._get_metadata_request()
    for method, asked in requests.items():
        if not method.isidentifier() or method.startswith("_"):
            raise KinFileError(f"it holds a request for {method!r}, which is not allowed")
        getattr(metadata, method)._requests = {str(name): alias for name, alias in asked.items()}
    return metadata
