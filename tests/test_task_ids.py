"""Task ids from arguments and columns, and the sentences for what cannot be an id."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from kinlearn.tasks import check_task_ids, find_tasks, number_tasks, refuse_unseen, split_tasks

any_ids = st.one_of(
    st.lists(st.integers(-5, 5), min_size=1),
    st.lists(st.text(max_size=3).filter(lambda s: "\x00" not in s), min_size=1),
    st.lists(st.tuples(st.integers(0, 2), st.sampled_from("ab")), min_size=1),
    st.lists(st.one_of(st.integers(0, 3), st.sampled_from(["0", "1", "x"])), min_size=1),
)


@given(ids=any_ids)
def test_numbering_finds_every_id_again(ids):
    checked = check_task_ids(ids, len(ids))
    tasks, index = number_tasks(checked)
    assert [tasks[i] for i in index] == list(ids)
    assert len(set(tasks.tolist())) == len(tasks) == len(set(ids))
    np.testing.assert_array_equal(find_tasks(checked, tasks), index)


def test_integers_and_strings_that_look_alike_stay_apart():
    tasks, index = number_tasks(check_task_ids([1, "1"], 2))
    assert len(tasks) == 2
    assert index.tolist() == [0, 1]


def test_unseen_ids_are_minus_one_and_refused_by_name():
    tasks, _ = number_tasks(np.array(["a", "b"]))
    ids = np.array(["b", "zoo"])
    index = find_tasks(ids, tasks)
    assert index.tolist() == [1, -1]
    with pytest.raises(ValueError, match="'zoo' were seen in fit"):
        refuse_unseen(index, ids, tasks)


def test_ids_of_another_kind_are_an_error_not_unseen():
    with pytest.raises(TypeError, match="fitted with task ids that are strings"):
        find_tasks(np.array([1, 2]), np.array(["1", "2"]))


@pytest.mark.parametrize("missing", [np.nan, None, pd.NA, pd.NaT])
def test_missing_ids_are_counted_and_located(missing):
    with pytest.raises(ValueError, match=r"1 missing ids .* position 1"):
        check_task_ids(["a", missing, "b"], 3)


def test_missing_float_ids():
    with pytest.raises(ValueError, match="missing ids"):
        check_task_ids(np.array([1.0, np.nan]), 2)


def test_wrong_length_and_wrong_shape_say_so():
    with pytest.raises(ValueError, match="task has 2 ids but X has 3 samples"):
        check_task_ids([0, 1], 3)
    with pytest.raises(ValueError, match="one-dimensional"):
        check_task_ids(np.zeros((2, 2)), 2)
    with pytest.raises(TypeError, match="one id per sample"):
        check_task_ids("spring", 6)
    with pytest.raises(TypeError, match="hashable"):
        number_tasks(check_task_ids([[1], [2]], 2))


TABLE = np.array([[1.0, 7.0, 2.0], [3.0, 8.0, 4.0]])


@pytest.mark.parametrize(
    ("X", "column"),
    [
        (TABLE, 1),
        (TABLE, -2),
        (TABLE.tolist(), 1),
        (sp.csr_matrix(TABLE), 1),
        (pd.DataFrame(TABLE, columns=["u", "t", "v"]), "t"),
        (pd.DataFrame(TABLE, columns=["u", "t", "v"]), 1),
        (pl.DataFrame(TABLE, schema=["u", "t", "v"]), "t"),
    ],
)
def test_the_column_becomes_ids_and_leaves_the_features(X, column):
    rest, ids = split_tasks(X, None, column)
    assert ids.tolist() == [7.0, 8.0]
    rest = rest.toarray() if sp.issparse(rest) else np.asarray(rest)
    np.testing.assert_array_equal(rest, TABLE[:, [0, 2]])


def test_column_errors_name_the_column():
    frame = pd.DataFrame(TABLE, columns=["u", "t", "v"])
    with pytest.raises(ValueError, match="task_column='site' is not a column of X"):
        split_tasks(frame, None, "site")
    with pytest.raises(ValueError, match="out of range: X has 3 columns"):
        split_tasks(TABLE, None, 3)
    with pytest.raises(ValueError, match="without column names"):
        split_tasks(TABLE, None, "t")
    with pytest.raises(ValueError, match="Both task= and task_column"):
        split_tasks(frame, [0, 1], "t")
