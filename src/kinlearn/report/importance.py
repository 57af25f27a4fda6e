"""Which columns carry the answers: how much worse they get when a column is shuffled."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kinlearn import LSPC, MultiLabelLSPC, MultiTaskLSPC
from kinlearn.cells.schema import TableSchema
from kinlearn.report.relevance import column_relevance
from kinlearn.tables.hand_over import bare_classifier
from kinlearn.tables.pipeline import make_model

N_REPEATS = 5
MAX_TRAIN, MAX_TEST = 3000, 1500
# Which columns matter shows with fewer centres than answers need.
MAX_CENTERS = 500
TEST_SHARE = 0.3
# Of a table with more columns, those along which the scores change most are shuffled.
MOST_COLUMNS = 40


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
    classifier = bare_classifier(model)
    plain = make_model(schema, _plain(classifier, len(train), seed))
    plain.fit(frame.iloc[train], y[train])
    chosen = relevant_columns(model, schema)
    return importance_of(plain, schema, frame.iloc[test], y[test], seed, chosen)


def relevant_columns(model: Any, schema: TableSchema) -> list[str]:
    """The columns that are worth shuffling: all, or of very many those that matter most."""
    if len(schema.features) <= MOST_COLUMNS:
        return schema.features
    found = list(column_relevance(model, schema))[:MOST_COLUMNS]
    if not found:
        return schema.features[:MOST_COLUMNS]
    return [name for name in schema.features if name in found or name == schema.task]


def importance_of(
    model: Any,
    schema: TableSchema,
    frame: Any,
    y: NDArray,
    seed: int,
    columns: list[str] | None = None,
) -> list[Importance]:
    """Importance on rows that the model was not trained on, the most important column first.

    What is made of a column is made of its own cells alone, so that numbers are shuffled in the
    place of cells.
    """
    rng = np.random.default_rng(seed)
    if len(y) > MAX_TEST:
        rows = _some(np.arange(len(y)), MAX_TEST, rng)
        frame, y = frame.iloc[rows], y[rows]
    X, origins = model[:-1].transform(frame), model.named_steps["columns"].origins()
    base = _losses(model, X, y)
    found = []
    for name in relevant_columns(model, schema) if columns is None else columns:
        rise, own = np.zeros(len(base)), np.flatnonzero(origins == name)
        for _ in range(N_REPEATS):
            shuffled = X.copy()
            shuffled[:, own] = X[np.ix_(rng.permutation(len(X)), own)]
            rise += (_losses(model, shuffled, y) - base) / N_REPEATS
        mean = float(rise.mean())
        half = 1.96 * float(rise.std(ddof=1)) / np.sqrt(len(rise)) if len(rise) > 1 else 0.0
        found.append(Importance(name, mean, mean - half, mean + half))
    return sorted(found, key=lambda entry: -entry.loss)


def _plain(classifier: Any, n_rows: int, seed: int) -> Any:
    settings = {"sigma": classifier.sigma_, "reg": classifier.reg_, "random_state": seed}
    settings["kernel"] = classifier.best_params_.get("kernel", "rbf")
    settings["n_centers"] = None if n_rows <= MAX_CENTERS else MAX_CENTERS
    if hasattr(classifier, "indicator_"):
        return MultiLabelLSPC(sharing=classifier.sharing_, **settings)
    if hasattr(classifier, "shared_coef_"):
        return MultiTaskLSPC(sharing=classifier.sharing_, task_column=0, **settings)
    return LSPC(**settings)


def _losses(model: Any, X: NDArray[np.float64], y: NDArray) -> NDArray[np.float64]:
    """Log-loss of each row as the classifier gets it; over the known labels, their mean."""
    proba = model[-1].predict_proba(X)
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
