"""One scikit-learn pipeline from a table's columns to probabilities."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import Pipeline

from kinlearn.cells.schema import TableSchema
from kinlearn.cells.table_cells import TableCells
from kinlearn.encoding.table_features import TableFeatures


def make_model(schema: TableSchema, classifier: Any) -> Pipeline:
    """Cells, features and classifier in one estimator, which takes any DataFrame.

    Of a batch whose cells :meth:`TableSchema.frame` has read, the first step may be left out.
    """
    read: dict[str, Any] = {
        "numeric": schema.numeric,
        "categorical": schema.categorical,
        "task": schema.task,
        "missing": schema.missing,
        "decimal": schema.decimal,
        "dates": schema.dates,
        "forms": schema.forms,
    }
    steps = [("cells", TableCells(**read)), ("columns", TableFeatures(**read))]
    return Pipeline([*steps, ("classifier", classifier)])


def encoders_of(model: Pipeline) -> dict[str, Any]:
    """The fitted parts that make numbers of columns, by kind."""
    columns = model.named_steps["columns"]
    # models of before keep the parts themselves as the second step
    return dict(getattr(columns, "columns_", columns).named_transformers_)


def task_names(model: Pipeline) -> list[str]:
    """The tasks in the order of the numbers the classifier knows them by."""
    return [str(name) for name in encoders_of(model)["task"][-1].categories_[0]]
