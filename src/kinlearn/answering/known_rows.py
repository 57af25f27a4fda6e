"""The known rows that are nearest to a row: what a person who takes it over may look at first.

They are centres of the model, which are training rows unless others were given; their cells are
read back through the scaling and encoding before the classifier, as far as these can be undone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn.answering.answers import features_of
from kinlearn.answering.ready import bare_classifier
from kinlearn.answering.rows import Rows
from kinlearn.answering.served_model import ServedModel
from kinlearn.cells.date_form import date_texts
from kinlearn.kernels.evaluation import row_blocks
from kinlearn.kernels.measures import Measure
from kinlearn.pipelines import before_last, last_step

_BLOCK_BYTES = 16 << 20


@dataclass(frozen=True, eq=False)
class KnownRows:
    """Rows a model keeps, with their cells and what the model itself says of them."""

    served: ServedModel
    bare: Any
    cells: list[dict[str, Any]] | None
    proba: NDArray[np.float64] | None
    measure: Measure

    def nearest(self, rows: Rows, count: int) -> list[list[dict[str, Any]]]:
        """The nearest ones of each row, nearest first."""
        X = _as_seen(self.served, rows)
        model = self.bare.model_
        m = model.n_centers
        count = min(count, m)
        found: list[list[dict[str, Any]]] = []
        for block in row_blocks(X.shape[0], 8 * m, _BLOCK_BYTES):
            far = self.measure.block(X[block])
            near = np.argpartition(far, count - 1, axis=1)[:, :count]
            for i, numbers in enumerate(near):
                order = numbers[np.argsort(far[i, numbers], kind="stable")]
                found.append([self._told(int(j)) for j in order])
        return found

    def _told(self, number: int) -> dict[str, Any]:
        told: dict[str, Any] = {"number": number + 1}
        if self.cells is not None:
            told["cells"] = self.cells[number]
        if self.proba is not None:
            told["class"] = self.served.classes[int(self.proba[number].argmax())]
            told["probability"] = float(self.proba[number].max())
        return told


def known_rows(served: ServedModel) -> KnownRows | None:
    """The rows a model keeps; None where it has none whose distance can be told."""
    bare = bare_classifier(served.model)
    model = getattr(bare, "model_", None)
    if model is None or not model.kernel.has_feature_space or model.kernel.name == "cosine":
        return None
    if model.kernel.name == "precomputed" or not isinstance(model.centers, np.ndarray):
        return None
    try:
        cells = _cells(served, model.centers)
    except Exception:  # a step that cannot be undone
        cells = None
    proba = None
    if model.labels.single and model.shared is None:
        proba = bare.predict_proba(model.centers)
    return KnownRows(served, bare, cells, proba, model.kernel.width_measure(model.centers))


def _as_seen(served: ServedModel, rows: Rows) -> NDArray[np.float64]:
    """Rows as the classifier inside all wrappers sees them."""
    X, last = features_of(served, rows), served.classifier
    while hasattr(last, "estimator_"):
        if hasattr(last, "_features"):
            X = last._features(X)
        X = before_last(last.estimator_, X)
        last = last_step(last.estimator_)
    if hasattr(last, "_without_task_column"):
        X = last._without_task_column(X)
    return np.asarray(X, dtype=np.float64)


def _cells(served: ServedModel, centers: NDArray[np.float64]) -> list[dict[str, Any]] | None:
    if served.from_table:
        columns = _table_cells(served, centers)
    else:
        steps = [step for _, step in getattr(served.model, "steps", [])[:-1]]
        values = centers
        for step in reversed(steps):
            values = step.inverse_transform(values)
        names = served.schema.numeric
        if values.shape[1] != len(names):
            return None
        columns = dict(zip(names, values.T.tolist(), strict=True))
    names = list(columns)
    return [dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _table_cells(served: ServedModel, centers: NDArray[np.float64]) -> dict[str, list[Any]]:
    """Cells of a table's rows from what its preprocessor made of them."""
    step = served.model.named_steps["columns"]
    if served.schema.task is not None:  # which the centres are without
        centers = np.column_stack([np.full(len(centers), -1.0), centers])
    cells = step.inverse_transform(centers)
    found: dict[str, list[Any]] = {}
    for name in [*served.schema.numeric, *served.schema.dates, *served.schema.categorical]:
        if name in served.schema.dates:
            # as numbers they were not kept to the microsecond
            moments = cells[name].to_numpy("datetime64[us]") + np.timedelta64(500, "ms")
            found[name] = date_texts(moments.astype("datetime64[s]"))
            continue
        gone = cells[name].isna().tolist()
        values = cells[name].tolist()
        if name in served.schema.numeric:
            values = [float(f"{value:.10g}") for value in values]
        found[name] = [None if out else cell for out, cell in zip(gone, values, strict=True)]
    return found
