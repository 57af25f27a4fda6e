"""Folds over which every label's answers are spread, however rare they are.

Iterative stratification (Sechidis, Tsoumakas, Vlahavas 2011): the rarest answer first, its rows go
where that answer is wanted most.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Counts = NDArray[np.int64]


def deal_labels(
    k: int,
    codes: NDArray[np.intp],
    rank: NDArray[np.intp],
    seed: int,
    groups: np.ndarray | None = None,
) -> NDArray[np.intp]:
    """Deal rows of many labels out to k folds, each answer of each label spread evenly.

    The answer (label and class) that fewest rows not yet dealt have is next: of its rows, each goes
    to the fold that lacks most of it, of equal ones to the fold that lacks most rows. Rows with
    the same answers follow each other, in an order drawn by `seed`. Neither the order of labels
    nor what their classes are called matters. The cost is that of reading the table of labels a
    few times; rows are not gone through one by one.

    Parameters
    ----------
    k : int
        Number of folds.
    codes : ndarray of shape (n, T)
        Class number of every row in every label, -1 where unobserved.
    rank : ndarray of shape (n,)
        An order of the rows by their values, which is then shuffled: the folds do not depend on
        the order in which rows are passed.
    seed : int
        Of the shuffle.
    groups : ndarray of shape (n,), optional
        Rows of one group stay together, the groups with most rows of an answer first.

    Returns
    -------
    ndarray of shape (n,)
        The fold of each row.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.training.label_folds import deal_labels
    >>> Y = np.zeros((40, 2), dtype=int)
    >>> Y[:10, 0] = Y[:4, 1] = 1  # sorted, one label inside the other
    >>> fold = deal_labels(2, Y, np.arange(40), seed=0)
    >>> [np.bincount(fold[Y[:, t] == 1]).tolist() for t in range(2)], np.bincount(fold).tolist()
    ([[5, 5], [2, 2]], [20, 20])
    """
    of, size = np.arange(len(codes)), np.ones(len(codes), dtype=np.int64)
    if groups is not None:
        of = np.unique(groups, return_inverse=True)[1].ravel()
        size = np.bincount(of)
    first = np.full(size.size, len(codes))
    np.minimum.at(first, of, np.argsort(np.argsort(rank)))
    rng = np.random.RandomState(seed)
    drawn = rng.permutation(size.size)[np.argsort(np.argsort(first))]
    answers = _answers(codes, of, size.size)
    # random numbers of answers, by the rows that have them, and of rows, by their answers: whole
    # numbers, whose sums (that may well run over) do not depend on an order
    name = answers.T @ rng.randint(2**31, size=size.size, dtype=np.int64)[drawn]
    likeness = answers @ name
    fold = np.full(size.size, -1)
    left = np.asarray(answers.sum(axis=0)).ravel()
    # k times what a fold lacks of each answer, and of rows: whole numbers, so that ties are ties
    lacks, room = np.tile(left, (k, 1)), np.full(k, int(size.sum()))
    by_answer = answers.tocsc()
    while (left > 0).any():
        fewest = np.flatnonzero(left == left[left > 0].min())
        rarest = int(fewest[name[fewest].argmin()])
        column = slice(by_answer.indptr[rarest], by_answer.indptr[rarest + 1])
        rows, counts = by_answer.indices[column], by_answer.data[column]
        open_ = fold[rows] < 0
        rows, counts = rows[open_], counts[open_]
        order = np.lexsort((drawn[rows], likeness[rows], -counts))
        rows = rows[order]
        fold[rows] = _most_lacking(lacks[:, rarest], room, counts[order])
        given = _by_fold(answers[rows], fold[rows], k)
        left -= given.sum(axis=0)
        lacks -= k * given
        room -= k * np.bincount(fold[rows], weights=size[rows], minlength=k).astype(np.int64)
    rest = np.flatnonzero(fold < 0)  # without any answer
    rest = rest[np.lexsort((drawn[rest], -size[rest]))]
    fold[rest] = _most_lacking(room, room, size[rest])
    return fold[of]


def _answers(codes: NDArray[np.intp], of: NDArray[np.intp], n_groups: int) -> sp.csr_matrix:
    """Number of rows of each group with each answer, (groups, answers)."""
    sizes = codes.max(axis=0, initial=0) + 1
    starts = np.concatenate([[0], np.cumsum(sizes)])
    row, label = np.nonzero(codes >= 0)
    column = starts[label] + codes[row, label]
    return sp.coo_matrix(
        (np.ones(row.size, dtype=np.int64), (of[row], column)), shape=(n_groups, starts[-1])
    ).tocsr()


def _by_fold(answers: sp.csr_matrix, fold: NDArray[np.intp], k: int) -> Counts:
    """Answers of rows added up by their folds, (k, answers)."""
    n = fold.size
    sums = sp.csr_matrix((np.ones(n, dtype=np.int64), (fold, np.arange(n))), shape=(k, n)) @ answers
    return np.asarray(sums.todense())


def _most_lacking(lacks: Counts, room: Counts, counts: Counts) -> NDArray[np.intp]:
    """Give each of some sorted counts to the fold that lacks most by then.

    Equal counts go together: fold j is ready to take them at lacks_j, lacks_j - k·count, and so on,
    and the highest of all these numbers are taken.
    """
    k, lacks = lacks.size, lacks.copy()
    room = room.copy()
    fold = np.empty(counts.size, dtype=np.intp)
    edges = np.flatnonzero(np.diff(counts)) + 1
    for begin, end in zip([0, *edges], [*edges, counts.size], strict=True):
        n, step = end - begin, k * int(counts[begin]) if end > begin else 0
        if n == 0:
            continue
        ready = lacks[:, None] - step * np.arange(n)
        space = room[:, None] - step * np.arange(n)
        takers = np.repeat(np.arange(k), n)
        chosen = takers[np.lexsort((takers, -space.ravel(), -ready.ravel()))[:n]]
        fold[begin:end] = chosen
        taken = step * np.bincount(chosen, minlength=k)
        lacks -= taken
        room -= taken
    return fold
