"""What the model looks at: how much its scores change along each column of the table.

Of a learnt metric, which tells this for the numbers that columns became. It costs nothing more, and
says something else than shuffling does: of columns that say the same, each is looked at, though
none of them is missed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinlearn.cells.schema import TableSchema
from kinlearn.tables.hand_over import bare_classifier


def column_relevance(model: Any, schema: TableSchema) -> dict[str, float]:
    """Relevance of the columns of a table, of mean one; the most relevant first.

    A column that became several numbers, such as a category, has the sum of theirs. Empty where no
    metric was learnt.

    Parameters
    ----------
    model : Pipeline
        From a table to a classifier.
    schema : TableSchema
        The columns in use.
    """
    relevance = getattr(bare_classifier(model), "feature_relevance_", None)
    if relevance is None:
        return {}
    origins = model.named_steps["columns"].origins()
    if schema.task is not None:
        origins = origins[1:]
    if len(relevance) != len(origins):
        return {}
    names = [name for name in schema.features if name != schema.task]
    total = np.array([float(np.sum(relevance[np.asarray(origins) == name])) for name in names])
    total *= total.size / total.sum()
    order = np.argsort(-total, kind="stable")
    return {names[i]: float(total[i]) for i in order}
