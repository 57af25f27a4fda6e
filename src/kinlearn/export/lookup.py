"""The place of a value among known ones, exactly: no number is rounded to find it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kinlearn.export.graph import DOUBLE, INT64, ML_DOMAIN, Graph

# A place beyond every table: gathering by it is an error of the runtime, as asked for.
NOWHERE = 2**31
# Whole numbers beyond this are not told apart by doubles, so that none of them is a key.
_EXACT = 2**53
_NO_KEY, _NAN = -(2**54), -(2**55)


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

    NaN, if known, has the place after all keys; `default` is for others.
    """
    if all(float(key).is_integer() and abs(key) < _EXACT for key in keys):
        return _add_whole_lookup(graph, numbers, keys, default, nan_is_known)
    # The runtime looks up text and whole numbers only: compare with every key.
    equal = graph.add("Equal", numbers, graph.constant(np.array([keys], dtype=np.float64)))
    moves = (np.arange(len(keys)) - float(default))[:, None]
    place = graph.add("MatMul", graph.double(equal), graph.constant(moves))
    place = graph.add("Add", place, graph.constant(float(default)))
    if nan_is_known:
        flag = graph.add("Cast", graph.add("IsNaN", numbers), to=DOUBLE)
        move = graph.add("Mul", flag, graph.constant(float(len(keys) - default)))
        place = graph.add("Add", move, place)
    return graph.add("Reshape", graph.add("Cast", place, to=INT64), graph.constant([-1]))


def add_whole(graph: Graph, numbers: str) -> str:
    """Append doubles as whole numbers, those that are none as one that is no key."""
    whole = graph.add("Equal", graph.add("Floor", numbers), numbers)
    small = graph.add("Less", graph.add("Abs", numbers), graph.constant(float(_EXACT)))
    fits = graph.add("And", whole, small)
    kept = graph.add("Where", fits, numbers, graph.constant(float(_NO_KEY)))
    return graph.add("Cast", kept, to=INT64)


def _add_whole_lookup(
    graph: Graph, numbers: str, keys: Sequence[float], default: int, nan_is_known: bool
) -> str:
    places = {int(key): place for place, key in enumerate(keys)}
    whole = add_whole(graph, numbers)
    if nan_is_known:
        places[_NAN] = len(keys)
        nan = graph.add("IsNaN", numbers)
        whole = graph.add("Where", nan, graph.constant(_NAN), whole)
    return graph.add(
        "LabelEncoder",
        graph.add("Reshape", whole, graph.constant([-1])),
        domain=ML_DOMAIN,
        keys_int64s=list(places) or [_NO_KEY],
        values_int64s=list(places.values()) or [default],
        default_int64=default,
    )
