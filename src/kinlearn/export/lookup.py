"""The place of a value among known ones, exactly: no number is rounded to find it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kinlearn.export.graph import DOUBLE, INT64, ML_DOMAIN, Graph

# A place beyond every table: gathering by it is an error of the runtime, as asked for.
NOWHERE = 2**31


def add_text_lookup(graph: Graph, texts: str, keys: Sequence[str], default: int) -> str:
    """Append the place of each text among `keys`, shape (n,); `default` for others."""
    flat = graph.add("Reshape", texts, graph.constant([-1]))
    return graph.add(
        "LabelEncoder",
        flat,
        domain=ML_DOMAIN,
        keys_strings=list(keys) or ["\x00"],
        values_int64s=list(range(len(keys))) or [default],
        default_int64=default,
    )


def add_number_lookup(
    graph: Graph, numbers: str, keys: Sequence[float], default: int, nan_is_known: bool = False
) -> str:
    """Append the place of each number of shape (n, 1) among `keys`, shape (n,).

    NaN, if known, has the place after all keys; `default` is for others. Each key is compared with,
    because looking up is for text and whole numbers only, and cuts off what is behind the point.
    """
    after_all = len(keys) - default if nan_is_known else 0
    flag = graph.add("Cast", graph.add("IsNaN", numbers), to=DOUBLE)
    move = graph.add("Mul", flag, graph.constant(float(after_all)))
    place = graph.add("Add", move, graph.constant(float(default)))
    if len(keys):
        equal = graph.add("Equal", numbers, graph.constant(np.array([keys], dtype=np.float64)))
        moves = (np.arange(len(keys)) - float(default))[:, None]
        move = graph.add("MatMul", graph.double(equal), graph.constant(moves))
        place = graph.add("Add", move, place)
    return graph.add("Reshape", graph.add("Cast", place, to=INT64), graph.constant([-1]))
