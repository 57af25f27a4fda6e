"""A fitted model as a tree of JSON values and a list of arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from kinlearn.archives.arrays import ARRAY_KINDS
from kinlearn.persistence.allowed_types import converters, name_of
from kinlearn.persistence.carried_facts import NAME as FACTS
from kinlearn.persistence.kernel_models import state_of

PLAIN_TYPES: dict[Any, str] = {
    bool: "bool",
    int: "int",
    float: "float",
    str: "str",
    object: "object",
    **{getattr(np, f"float{bits}"): f"numpy.float{bits}" for bits in (16, 32, 64)},
    **{getattr(np, f"int{bits}"): f"numpy.int{bits}" for bits in (8, 16, 32, 64)},
    **{getattr(np, f"uint{bits}"): f"numpy.uint{bits}" for bits in (8, 16, 32, 64)},
    np.bool_: "numpy.bool",
}


class Encoder:
    """Turns values into nodes, gathering the arrays and objects that nodes refer to.

    A node is a JSON scalar or ``{kind: content}``. Objects are written in the order in which they
    are complete, so that each refers to earlier ones only and a reader needs no recursion into
    files that bite their own tail.

    Attributes
    ----------
    arrays : list of ndarrays
        C-contiguous, of the kinds of ``ARRAY_KINDS``.
    objects : list of dicts
        ``{"type": name, "state": {attribute: node}}``.
    sources : list
        The objects themselves.
    """

    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []
        self.objects: list[dict[str, Any]] = []
        self.sources: list[Any] = []
        self._array_at: dict[int, int] = {}
        self._object_at: dict[int, int] = {}
        self._open: set[int] = set()
        self._kept: list[Any] = []  # what is known by its id must outlive the encoding

    def encode(self, value: Any, where: str) -> Any:
        """Return the node of a value; `where` names it in errors."""
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if kind is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if kind in (list, tuple):
            items = [self.encode(item, f"{where}[{i}]") for i, item in enumerate(value)]
            return {kind.__name__: items}
        if kind is dict:
            pairs = [
                [self.encode(key, f"a key of {where}"), self.encode(item, f"{where}[{key!r}]")]
                for key, item in value.items()
            ]
            return {"dict": pairs}
        if isinstance(value, np.ma.MaskedArray):
            mask = np.ma.getmaskarray(value)
            return {"masked": [self.encode(value.data, where), self.encode(mask, where)]}
        if kind is np.ndarray:
            return self._array(value, where)
        if isinstance(value, np.generic):
            return self._scalar(value, where)
        if isinstance(value, np.dtype):
            return (
                {"dtype": value.str}
                if value.kind in ARRAY_KINDS + "O"
                else self.refuse(where, value)
            )
        if kind is slice:
            return {"slice": [self._whole(part, where) for part in (value.start, value.stop)]}
        if isinstance(value, type) and value in PLAIN_TYPES:
            return {"type": PLAIN_TYPES[value]}
        if sp.issparse(value):
            return self._sparse(value, where)
        if kind is np.random.RandomState:
            return self._random_state(value, where)
        if kind.__name__ == "DataFrame" and hasattr(value, "to_numpy"):
            return self._frame(value, where)
        if name_of(kind) is not None:
            return self._object(value, where)
        return self.refuse(where, value)

    def _array(self, value: np.ndarray, where: str) -> Any:
        if value.dtype == object:
            items = [self.encode(item, f"{where}[{i}]") for i, item in enumerate(value.ravel())]
            return {"objects": [list(value.shape), items]}
        if value.dtype.kind not in ARRAY_KINDS or value.dtype.itemsize == 0:
            self.refuse(where, value)
        # The order of the axes in memory is kept: products of the same numbers laid out
        # otherwise may differ in the last bit.
        axes = list(range(value.ndim))
        if not value.flags.c_contiguous:
            axes.sort(key=lambda axis: (value.shape[axis] > 1, -abs(value.strides[axis])))
        if id(value) not in self._array_at:
            self._array_at[id(value)] = len(self.arrays)
            self._kept.append(value)
            self.arrays.append(
                np.ascontiguousarray(value.transpose(axes)).reshape(
                    [value.shape[axis] for axis in axes]
                )
            )
        return {"array": [self._array_at[id(value)], axes]}

    def _scalar(self, value: np.generic, where: str) -> Any:
        long_number = value.dtype.itemsize > 8 and value.dtype.kind != "U"
        if value.dtype.kind not in "biufU" or long_number:
            self.refuse(where, value)
        return {"scalar": [value.dtype.str, self.encode(value.item(), where)]}

    def _sparse(self, value: Any, where: str) -> Any:
        if value.format not in ("csr", "csc"):
            value = value.tocsr()
        kind = value.format + ("_array" if isinstance(value, sp.sparray) else "_matrix")
        parts = [
            self._array(np.asarray(p), where) for p in (value.data, value.indices, value.indptr)
        ]
        return {"sparse": [kind, list(value.shape), *parts]}

    def _random_state(self, value: np.random.RandomState, where: str) -> Any:
        state = value.get_state(legacy=True)
        return {"random_state": [self.encode(part, where) for part in state]}

    def _frame(self, value: Any, where: str) -> Any:
        values = value.to_numpy()
        parts = (values, value.index.to_numpy(dtype=object), value.columns.to_numpy(dtype=object))
        return {"frame": [self._array(part, where) for part in parts]}

    def _object(self, value: Any, where: str) -> Any:
        if id(value) in self._object_at:
            return {"object": self._object_at[id(value)]}
        if id(value) in self._open:
            raise TypeError(f"{where} holds itself, which a model file cannot express.")
        self._open.add(id(value))
        key = name_of(type(value))
        converted = converters(str(key))
        if converted is not None:
            if callable(getattr(value, "kernel", None)):
                self.refuse(f"{where}.kernel", value.kernel)
            arrays = self.encode(converted[0](value), where)
            return self._keep(value, {"type": key, "arrays": arrays})
        state: dict[str, Any] = {}
        requests: Any = None
        for name, item in state_of(value).items():
            if name == "_metadata_request":
                requests = _requests(item)
            elif name != FACTS:  # they stand in the manifest
                state[name] = self.encode(item, f"{where}.{name}")
        entry = {"type": key, "state": state}
        if requests:
            entry["requests"] = requests
        return self._keep(value, entry)

    def _keep(self, value: Any, entry: dict[str, Any]) -> Any:
        self._object_at[id(value)] = len(self.objects)
        self._kept.append(value)
        self.objects.append(entry)
        self.sources.append(value)
        return {"object": self._object_at[id(value)]}

    @staticmethod
    def _whole(value: Any, where: str) -> int | None:
        return None if value is None else int(value)

    @staticmethod
    def refuse(where: str, value: Any = None) -> Any:
        """Raise a sentence on why a value cannot be stored."""
        if where.endswith(".kernel") and callable(value):
            raise TypeError(
                f"{where} is a function, and a model file holds no code: use a kernel with a name, "
                'or kernel="precomputed" with the matrix your function gives.'
            )
        if callable(value) and not isinstance(value, BaseEstimator):
            raise TypeError(
                f"{where} is a function or a class ({value!r}), and a model file holds no code: "
                "give it by name where there is one, or keep this step outside of the model."
            )
        kind = f"{type(value).__module__}.{type(value).__qualname__}"
        raise TypeError(
            f"{where} is a {kind}, which is not among the types that a model file may hold: build "
            "the model from kinlearn's estimators and scikit-learn's encoders, imputers and "
            "scalers, or store it by other means (pickle, skops)."
        )


def _requests(metadata: Any) -> dict[str, dict[str, Any]]:
    """What ``set_fit_request`` and its like have asked for, as plain values."""
    found = {}
    for name, request in vars(metadata).items():
        asked = getattr(request, "requests", None)
        if asked:
            found[name] = dict(asked)
    return found
