"""A list of ONNX operations under construction, without need of the onnx package itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

ML_DOMAIN = "ai.onnx.ml"


@dataclass
class Operation:
    """One node: its type, what goes in, what comes out."""

    kind: str
    inputs: list[str]
    outputs: list[str]
    domain: str = ""
    attributes: dict[str, Any] = field(default_factory=dict)


class Graph:
    """Operations and constants under names of their own.

    All operations exist in the same form from opset 13 on, so that one list serves every version.
    Arithmetic is in double precision: the squared distance by matrix product loses all digits of
    close rows in single precision.

    Parameters
    ----------
    prefix : str
        Start of all names, so that several graphs can be one.
    single : bool, default=False
        Whether the numbers that come in were rounded to single precision.

    Examples
    --------
    >>> import numpy as np
    >>> graph = Graph("g")
    >>> graph.add("Add", "x", graph.constant(np.ones(3)))
    'g_add_1'
    >>> [(node.kind, node.inputs) for node in graph.operations]
    [('Add', ['x', 'g_constant_0'])]
    """

    def __init__(self, prefix: str, single: bool = False) -> None:
        self.prefix = prefix
        self.single = single
        self.foreign: list[str] = []  # kinds of steps that others have converted
        self.operations: list[Any] = []  # of Operation, and of nodes embedded as they are
        self.embedded: list[Any] = []  # constants of these
        self.constants: dict[str, NDArray] = {}
        self._count = 0

    def name(self, what: str) -> str:
        """Return a name never given before."""
        self._count += 1
        return f"{self.prefix}_{what}_{self._count - 1}"

    def constant(self, values: Any) -> str:
        """Keep an array of doubles, whole numbers or text, and return its name."""
        values = np.asarray(values)
        if values.dtype.kind == "f":
            values = values.astype(np.float64)
        elif values.dtype.kind in "biu":
            values = values.astype(np.int64)
        name = self.name("constant")
        self.constants[name] = values
        return name

    def add(
        self, kind: str, *inputs: str, domain: str = "", n_results: int = 1, **attributes: Any
    ) -> str:
        """Append an operation, and return the name of its first result."""
        results = [self.name(kind.lower()) for _ in range(n_results)]
        self.operations.append(Operation(kind, list(inputs), results, domain, attributes))
        return results[0]

    def rename(self, name: str, wanted: str) -> None:
        """Give a result the name it has outside."""
        self.operations.append(Operation("Identity", [name], [wanted]))

    def sum(self, values: str, axis: int, keep: bool = True) -> str:
        """Sum over one axis."""
        return self.add("ReduceSum", values, self.constant([axis]), keepdims=int(keep))

    def column(self, values: str, number: int) -> str:
        """Return one column as an array of shape (n, 1)."""
        return self.add("Gather", values, self.constant([number]), axis=1)

    def double(self, values: str) -> str:
        """Return numbers of any type in double precision."""
        return self.add("Cast", values, to=DOUBLE)


# Numbers of ONNX's element types (TensorProto.DataType).
FLOAT, INT64, STRING, BOOL, DOUBLE = 1, 7, 8, 9, 11
