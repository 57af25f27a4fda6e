"""Steps from numbers to numbers: scaling, projecting, products of columns, bins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.preprocessing import (
    Binarizer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    PolynomialFeatures,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
)

from kinlearn.encoding.date_parts import DAYS_IN_YEAR, FIRST_WEEKDAY, DateParts
from kinlearn.encoding.number_columns import NumberColumns
from kinlearn.encoding.threshold_columns import WEIGHT, ThresholdColumns
from kinlearn.export.columns import Block
from kinlearn.export.graph import BOOL, Graph

# Below this, (a**p - 1)/p is taken from its series, because the difference loses its digits.
_SMALL_POWER = 1e-6


def shift_and_divide(graph: Graph, block: Block, shift: Any, scale: Any) -> Block:
    """Append ``(x - shift) / scale``, either of them left out if None."""
    name = block.name
    if shift is not None:
        name = graph.add("Sub", name, graph.constant(np.asarray(shift, dtype=np.float64)))
    if scale is not None:
        name = graph.add("Div", name, graph.constant(np.asarray(scale, dtype=np.float64)))
    return Block(name, block.width)


def _standard(graph: Graph, step: Any, block: Block) -> Block:
    mean = step.mean_ if step.with_mean else None
    return shift_and_divide(graph, block, mean, step.scale_ if step.with_std else None)


def _robust(graph: Graph, step: Any, block: Block) -> Block:
    return shift_and_divide(graph, block, step.center_, step.scale_)


def _max_abs(graph: Graph, step: Any, block: Block) -> Block:
    block = shift_and_divide(graph, block, None, step.scale_)
    return _clipped(graph, block, -1.0, 1.0) if getattr(step, "clip", False) else block


def _min_max(graph: Graph, step: Any, block: Block) -> Block:
    name = graph.add("Mul", block.name, graph.constant(step.scale_))
    block = Block(graph.add("Add", name, graph.constant(step.min_)), block.width)
    return _clipped(graph, block, *step.feature_range) if step.clip else block


def _clipped(graph: Graph, block: Block, low: float, high: float) -> Block:
    lows, highs = graph.constant(float(low)), graph.constant(float(high))
    # by comparing, which leaves NaN as it is
    name = graph.add("Where", graph.add("Less", block.name, lows), lows, block.name)
    name = graph.add("Where", graph.add("Greater", name, highs), highs, name)
    return Block(name, block.width)


def _normalize(graph: Graph, step: Any, block: Block) -> Block:
    size = graph.add("Abs", block.name)
    if step.norm == "max":
        length = graph.add("ReduceMax", size, axes=[1], keepdims=1)
    elif step.norm == "l1":
        length = graph.sum(size, axis=1)
    else:
        length = graph.add("Sqrt", graph.sum(graph.add("Mul", size, size), axis=1))
    zero = graph.add("Equal", length, graph.constant(0.0))
    length = graph.add("Where", zero, graph.constant(1.0), length)
    return Block(graph.add("Div", block.name, length), block.width)


def _project(graph: Graph, step: Any, block: Block) -> Block:
    components = np.ascontiguousarray(step.components_.T, dtype=np.float64)
    centred = shift_and_divide(graph, block, getattr(step, "mean_", None), None)
    name = graph.add("MatMul", centred.name, graph.constant(components))
    projected = Block(name, components.shape[1])
    if not getattr(step, "whiten", False):
        return projected
    spread = np.sqrt(step.explained_variance_)
    tiny = np.finfo(spread.dtype).eps
    return shift_and_divide(graph, projected, None, np.maximum(spread, tiny))


def _products(graph: Graph, step: Any, block: Block) -> Block:
    """Products of columns: gather a factor at a time, ones where there is none."""
    powers = step.powers_
    degree = int(powers.sum(axis=1).max())
    factors = np.full((len(powers), max(degree, 1)), block.width)
    for row, power in zip(factors, powers, strict=True):
        columns = np.repeat(np.arange(block.width), power)
        row[: len(columns)] = columns
    pads, one = graph.constant([0, 0, 0, 1]), graph.constant(1.0)
    padded = graph.add("Pad", block.name, pads, one)
    name = ""
    for columns in factors.T:
        factor = graph.add("Gather", padded, graph.constant(columns), axis=1)
        name = graph.add("Mul", name, factor) if name else factor
    return Block(name, len(powers))


def _binarize(graph: Graph, step: Any, block: Block) -> Block:
    above = graph.add("Greater", block.name, graph.constant(float(step.threshold)))
    return Block(graph.double(above), block.width)


def _bins(graph: Graph, step: Any, block: Block) -> Block:
    """How many inner edges each number reaches."""
    names, width = [], 0
    for j, (edges, n_bins) in enumerate(zip(step.bin_edges_, step.n_bins_, strict=True)):
        column = graph.column(block.name, j)
        inner = graph.constant(np.asarray(edges[1:-1], dtype=np.float64)[None])
        reached = graph.double(graph.add("GreaterOrEqual", column, inner))
        # times 0 and one column more, so that there is something to add up with a single bin
        padded = graph.add("Concat", reached, graph.add("Mul", column, graph.constant(0.0)), axis=1)
        number = graph.sum(padded, axis=1)
        if step.encode == "ordinal":
            names.append(number)
            width += 1
            continue
        bins = graph.constant(np.arange(n_bins, dtype=np.float64)[None])
        names.append(graph.double(graph.add("Equal", number, bins)))
        width += int(n_bins)
    return Block(graph.add("Concat", *names, axis=1), width)


def _power(graph: Graph, step: Any, block: Block) -> Block:
    """Box and Cox's powers of the numbers, or Yeo and Johnson's of their distance from 0."""
    powers = np.asarray(step.lambdas_, dtype=np.float64)
    if step.method == "box-cox":
        name = _box_cox(graph, block.name, powers)
    else:
        one, zero = graph.constant(1.0), graph.constant(0.0)
        negative = graph.add("Less", block.name, zero)
        size = graph.add("Add", graph.add("Abs", block.name), one)
        up = _box_cox(graph, size, powers)
        down = graph.add("Neg", _box_cox(graph, size, 2.0 - powers))
        name = graph.add("Where", negative, down, up)
    made = Block(name, block.width)
    return _standard(graph, step._scaler, made) if step.standardize else made


def _box_cox(graph: Graph, positive: str, powers: NDArray[np.float64]) -> str:
    """``(a**p - 1)/p``, and for small p ``log(a) (1 + p log(a)/2)``."""
    small = np.abs(powers) < _SMALL_POWER
    log = graph.add("Log", positive)
    more = graph.add("Mul", log, graph.constant(powers / 2.0))
    series = graph.add("Mul", log, graph.add("Add", more, graph.constant(1.0)))
    safe = np.where(small, 1.0, powers)
    raised = graph.add("Pow", positive, graph.constant(safe))
    difference = graph.add("Sub", raised, graph.constant(1.0))
    closed = graph.add("Div", difference, graph.constant(safe))
    choice = graph.add("Cast", graph.constant(small.astype(np.int64)), to=BOOL)
    return graph.add("Where", choice, series, closed)


def _number_columns(graph: Graph, step: NumberColumns, block: Block) -> Block:
    """Fill, take logarithms of some, scale; marks of missing numbers beside."""
    missing = graph.add("IsNaN", block.name)
    name = graph.add("Where", missing, graph.constant(step.fills_[None]), block.name)
    if step.units_.any():
        logs = step.units_ > 0.0
        size = graph.add(
            "Abs", graph.add("Div", name, graph.constant(np.where(logs, step.units_, 1.0)))
        )
        log = graph.add("Log", graph.add("Add", size, graph.constant(1.0)))
        choice = graph.add("Cast", graph.constant(logs.astype(np.int64)), to=BOOL)
        name = graph.add("Where", choice, graph.add("Mul", graph.add("Sign", name), log), name)
    numbers = shift_and_divide(graph, Block(name, block.width), step.mean_, step.scale_)
    if not step.marked_.size:
        return numbers
    marks = graph.add("Gather", graph.double(missing), graph.constant(step.marked_), axis=1)
    made = graph.add("Concat", numbers.name, marks, axis=1)
    return Block(made, block.width + int(step.marked_.size))


def _threshold_columns(graph: Graph, step: ThresholdColumns, block: Block) -> Block:
    missing = graph.add("IsNaN", block.name)
    name = graph.add("Where", missing, graph.constant(step.fills_[None]), block.name)
    cells = graph.add("Gather", name, graph.constant(step.cut_columns_), axis=1)
    reached = graph.double(graph.add("GreaterOrEqual", cells, graph.constant(step.cuts_[None])))
    return Block(graph.add("Mul", reached, graph.constant(WEIGHT)), int(step.cuts_.size))


def _date_parts(graph: Graph, step: DateParts, block: Block) -> Block:
    """The arithmetic of :mod:`kinlearn.encoding.date_parts` on days since 1970-01-01."""
    made = []
    for j, (first, names) in enumerate(zip(step.first_days_, step.parts_, strict=True)):
        days = graph.column(block.name, j)
        day = graph.add("Floor", days)
        for name in names:
            part, _, wave = name.partition("_")
            if name == "days":
                made.append(graph.add("Sub", days, graph.constant(float(first))))
            elif name == "missing":
                made.append(graph.double(graph.add("IsNaN", days)))
            elif name == "year":
                made.append(_year(graph, day))
            else:
                made.append(graph.add(wave.capitalize(), _angle(graph, part, days, day)))
    found = graph.add("Concat", *made, axis=1)
    fills = graph.constant(step.fills_[None])
    filled = graph.add("Where", graph.add("IsNaN", found), fills, found)
    return Block(filled, len(made))


def _angle(graph: Graph, part: str, days: str, day: str) -> str:
    if part == "hour":
        return graph.add("Mul", graph.add("Sub", days, day), graph.constant(2.0 * np.pi))
    if part == "weekday":
        day = graph.add("Add", day, graph.constant(FIRST_WEEKDAY))
    step = 2.0 * np.pi / (7.0 if part == "weekday" else DAYS_IN_YEAR)
    return graph.add("Mul", day, graph.constant(step))


def _year(graph: Graph, day: str) -> str:
    """As :func:`kinlearn.encoding.date_parts.year_of`."""

    def floored(name: str, divisor: float) -> str:
        return graph.add("Floor", graph.add("Div", name, graph.constant(divisor)))

    def times(name: str, factor: float) -> str:
        return graph.add("Mul", name, graph.constant(factor))

    day = graph.add("Add", day, graph.constant(719_468.0))
    era = floored(day, 146_097.0)
    of_era = graph.add("Sub", day, times(era, 146_097.0))
    rest = graph.add("Sub", of_era, floored(of_era, 1460.0))
    rest = graph.add("Add", rest, floored(of_era, 36_524.0))
    rest = graph.add("Sub", rest, floored(of_era, 146_096.0))
    year = floored(rest, 365.0)
    start = graph.add("Add", times(year, 365.0), floored(year, 4.0))
    start = graph.add("Sub", start, floored(year, 100.0))
    of_year = graph.add("Add", graph.add("Sub", of_era, start), graph.constant(59.0))
    year = graph.add("Add", year, times(era, 400.0))
    return graph.add("Add", year, floored(of_year, 365.0))


NUMERIC: dict[type, Callable[[Graph, Any, Block], Block]] = {
    Binarizer: _binarize,
    KBinsDiscretizer: _bins,
    MaxAbsScaler: _max_abs,
    MinMaxScaler: _min_max,
    Normalizer: _normalize,
    NumberColumns: _number_columns,
    DateParts: _date_parts,
    ThresholdColumns: _threshold_columns,
    PCA: _project,
    PolynomialFeatures: _products,
    PowerTransformer: _power,
    RobustScaler: _robust,
    StandardScaler: _standard,
    TruncatedSVD: _project,
}
