"""Which columns carry the answers: how much worse they get when a column is shuffled."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kinlearn import LSPC, MultiLabelLSPC, MultiTaskLSPC
from kinlearn.cells.schema import TableSchema
from kinlearn.tables.hand_over import bare_classifier
from kinlearn.tables.pipeline import make_model

N_REPEATS = 5
MAX_TRAIN, MAX_TEST = 3000, 1500
TEST_SHARE = 0.3


class Importance(NamedTuple):
    """Rise of the log-loss on rows not trained on, with a 95 % interval over rows."""

    column: str
    loss: float
    low: float
    high: float


def importance_of_training(
    model: Any,
    schema: TableSchema,
    frame: Any,
    y: NDArray,
    groups: NDArray | None,
    seed: int,
) -> list[Importance]:
    """Importance on held-back rows of the training table.

    Leave-one-out scores cannot be had for shuffled columns, so a model with the best single
    setting of the search is fitted anew to 70 % of the rows (whole groups), and columns are
    shuffled in the others. No row judges a model that saw it.
    """
    rng = np.random.default_rng(seed)
    unit = np.arange(len(y)) if groups is None else np.unique(groups, return_inverse=True)[1]
    order = rng.permutation(int(unit.max()) + 1)
    tested = np.isin(unit, order[: max(1, round(TEST_SHARE * len(order)))])
    train = _some(np.flatnonzero(~tested), MAX_TRAIN, rng)
    test = _some(np.flatnonzero(tested), MAX_TEST, rng)
    plain = make_model(schema, _plain(bare_classifier(model), seed))
    plain.fit(frame.iloc[train], y[train])
    return importance_of(plain, schema, frame.iloc[test], y[test], seed)


def importance_of(
    model: Any, schema: TableSchema, frame: Any, y: NDArray, seed: int
) -> list[Importance]:
    """Importance on rows that the model was not trained on, the most important column first."""
    rng = np.random.default_rng(seed)
    if len(y) > MAX_TEST:
        rows = _some(np.arange(len(y)), MAX_TEST, rng)
        frame, y = frame.iloc[rows], y[rows]
    base = _losses(model, frame, y)
    found = []
    for name in schema.features:
        rise = np.zeros(len(base))
        for _ in range(N_REPEATS):
            shuffled = frame.copy()
            shuffled[name] = frame[name].to_numpy()[rng.permutation(len(frame))]
            rise += (_losses(model, shuffled, y) - base) / N_REPEATS
        mean = float(rise.mean())
        half = 1.96 * float(rise.std(ddof=1)) / np.sqrt(len(rise)) if len(rise) > 1 else 0.0
        found.append(Importance(name, mean, mean - half, mean + half))
    return sorted(found, key=lambda entry: -entry.loss)


def _plain(classifier: Any, seed: int) -> Any:
    settings = {"sigma": classifier.sigma_, "reg": classifier.reg_, "random_state": seed}
    settings["kernel"] = classifier.best_params_.get("kernel", "rbf")
    if hasattr(classifier, "indicator_"):
        return MultiLabelLSPC(sharing=classifier.sharing_, **settings)
    if hasattr(classifier, "shared_coef_"):
        return MultiTaskLSPC(sharing=classifier.sharing_, task_column=0, **settings)
    return LSPC(**settings)


def _losses(model: Any, frame: Any, y: NDArray) -> NDArray[np.float64]:
    """Log-loss of each row; over the known labels, their mean."""
    proba = model.predict_proba(frame)
    tiny = 1e-12
    if y.ndim == 2:
        known = np.isfinite(y)
        p = np.where(y == 1.0, proba, 1.0 - proba)
        losses = np.where(known, -np.log(np.maximum(p, tiny)), 0.0)
        return losses.sum(axis=1) / np.maximum(known.sum(axis=1), 1)
    classes = model[-1].classes_.astype(str)
    at = np.minimum(np.searchsorted(classes, y.astype(str)), len(classes) - 1)
    seen = classes[at] == y.astype(str)
    # A class that the other rows do not have is missed whatever the columns say.
    p = np.where(seen, proba[np.arange(len(y)), at], 1.0)
    return -np.log(np.maximum(p, tiny))


def _some(rows: NDArray[np.intp], most: int, rng: np.random.Generator) -> NDArray[np.intp]:
    return rows if len(rows) <= most else np.sort(rng.choice(rows, most, replace=False))
