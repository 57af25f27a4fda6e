"""One scikit-learn pipeline from a table's columns to probabilities."""

from __future__ import annotations

from typing import Any

from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from kinlearn.cells.schema import TableSchema
from kinlearn.cells.table_cells import TableCells

# Rarer categories beyond this many share one column, and a category never seen joins them.
MAX_ONE_HOT = 40
UNKNOWN = "(missing)"


def make_preprocessor(schema: TableSchema) -> ColumnTransformer:
    """Numbers filled with the median and scaled, categories one-hot, the task's number first.

    A missing number also sets a column of its own, for that it is missing may tell something. A
    missing category is a category. A category never seen sets no column, or that of the rare ones;
    a task never seen gets the number -1, which the classifier answers by what tasks share.
    """
    parts: list[tuple[str, Any, list[str]]] = []
    if schema.task is not None:
        task = make_pipeline(
            SimpleImputer(strategy="constant", fill_value=UNKNOWN),
            OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
        )
        parts.append(("task", task, [schema.task]))
    if schema.numeric:
        numbers = make_pipeline(
            SimpleImputer(strategy="median", add_indicator=True), StandardScaler()
        )
        parts.append(("numbers", numbers, schema.numeric))
    if schema.categorical:
        categories = make_pipeline(
            SimpleImputer(strategy="constant", fill_value=UNKNOWN),
            OneHotEncoder(
                handle_unknown="infrequent_if_exist",
                max_categories=MAX_ONE_HOT,
                sparse_output=False,
            ),
        )
        parts.append(("categories", categories, schema.categorical))
    return ColumnTransformer(parts, verbose_feature_names_out=True)


def make_model(schema: TableSchema, classifier: Any) -> Pipeline:
    """Cells, preprocessor and classifier in one estimator, which takes any DataFrame."""
    cells = TableCells(
        schema.numeric, schema.categorical, schema.task, schema.missing, schema.decimal
    )
    columns = make_preprocessor(schema)
    return Pipeline([("cells", cells), ("columns", columns), ("classifier", classifier)])


def task_names(model: Pipeline) -> list[str]:
    """The tasks in the order of the numbers the classifier knows them by."""
    encoder = model.named_steps["columns"].named_transformers_["task"][-1]
    return [str(name) for name in encoder.categories_[0]]


def category_levels(model: Pipeline, schema: TableSchema) -> dict[str, set[str]]:
    """The categories every categorical column (and the task) had in training."""
    known: dict[str, set[str]] = {}
    transformers = model.named_steps["columns"].named_transformers_
    if schema.categorical:
        encoder = transformers["categories"][-1]
        for name, levels in zip(schema.categorical, encoder.categories_, strict=True):
            known[name] = {str(level) for level in levels}
    if schema.task is not None:
        known[schema.task] = set(task_names(model))
    return known
