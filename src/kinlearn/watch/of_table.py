"""The watch of a table: its rows taken as if they arrived one after another."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinlearn.answering.answers import answer_rows
from kinlearn.answering.rows import rows_of_columns
from kinlearn.answering.served_model import ServedModel
from kinlearn.cells.cell_rules import objects
from kinlearn.cells.refusals import TableError
from kinlearn.tables.files import TableFile
from kinlearn.watch.expected import expected_accuracy
from kinlearn.watch.store import Store
from kinlearn.watch.watching import Watch

# Rows whose probabilities are held together, for the accuracy of the whole table.
_MOST_HELD = 200_000


def watched_table(served: ServedModel, file: TableFile, window_rows: int) -> dict[str, Any]:
    """What the watch has to say of a table; see :meth:`kinlearn.watch.watching.Watch.state`.

    Also ``overall``, the accuracy to expect of all rows together.
    """
    schema = served.schema
    schema.check(file.names, str(file.path))
    watch = Watch(Store(), window_rows, most_taken=None)
    held: list[Any] = []
    n_rows = 0
    for batch in file.batches():
        columns = {name: batch.column(name) for name in schema.features}
        rows = rows_of_columns(served, columns)
        found = answer_rows(served, rows)
        watch.take(rows, found)
        watch.flush()
        n_rows += len(found)
        if n_rows <= _MOST_HELD:
            held.append((found.proba, found.predicted))
        if schema.target is not None and schema.target in file.names:
            texts = objects(schema.rules.of_answers.texts(batch.column(schema.target)))
            names = {str(each): k for k, each in enumerate(served.classes.tolist())}
            known = np.array([isinstance(text, str) for text in texts], dtype=bool)
            truth = np.array([names.get(text, -1) for text in texts[known]], dtype=np.intp)
            at = np.flatnonzero(known)
            for start in range(0, len(at), window_rows):
                some = at[start : start + window_rows]
                few, answers = rows.chosen(some), found.chosen(some)
                own = truth[start : start + window_rows]
                watch.feedback(few, answers, own, [None] * len(some))
    if n_rows == 0:
        raise TableError(f"{file.path} is empty: it has column names but no rows below them.")
    watch.flush(all_of_it=True)
    state = watch.state(served)
    proba, predicted = (np.concatenate(each) for each in zip(*held, strict=True))
    if served.is_labels:
        proba = np.column_stack([1.0 - proba.ravel(), proba.ravel()])
    state["overall"] = vars(
        expected_accuracy(proba, watch.usual(served), predicted.ravel().astype(int))
    )
    return state
