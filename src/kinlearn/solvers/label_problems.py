"""The least-squares problems that a multi-label fit consists of, one per class of targets.

Indicator labels have two classes each, with targets z and 1 - z. Because ``L1 = 0`` it is enough to
solve for the difference ``2z - 1`` (d, one column a label) and for the sum, the same all-ones
column for every label (e, one column in all): ``q_1 = (e + d)/2``, ``q_0 = (e - d)/2``. Where
labels are unobserved the sums differ by label and there is one such column a label. Labels with
more classes have one problem per class, over the labels that know the class.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kinlearn.solvers.label_similarity import (
    Similarity,
    keep_strongest,
    label_similarity,
    label_spectrum,
)

Array: TypeAlias = NDArray[np.float64]


class LabelProblem(NamedTuple):
    """Targets of one class for several labels, and the Laplacian that ties their parameters.

    Attributes
    ----------
    targets : ndarray of shape (n, k)
    columns : ndarray of shape (k,)
        Where their scores go among all score columns.
    values, vectors : ndarrays of shape (k,) and (k, k)
        Eigendecomposition of the Laplacian.
    pair_weights : ndarray of shape (n, k) or None
        Weights of the (row, label) pairs; None when all labels are observed with row weights.
    multiplicity : float
        How many labels' scores a column stands for.
    labels : ndarray of shape (k,) or None
        The label of each column, where pairs have weights.
    units : ndarray of shape (U, k) or None
        Targets of the copies that rows stand for, as in :class:`kinlearn.training.copies.Units`.
    """

    targets: Array
    columns: NDArray[np.intp]
    values: Array
    vectors: Array
    pair_weights: Array | None
    multiplicity: float = 1.0
    labels: NDArray[np.intp] | None = None
    units: Array | None = None


def indicator_problems(
    Z: Array,
    row_weights: Array | None,
    pair_weights: Array | None,
    similarity: Similarity,
    n_similar: int | None,
    units: Array | None = None,
) -> tuple[list[LabelProblem], list[Array]]:
    """Problems of 0/1 labels (means of them where rows were merged), and the similarity used.

    Parameters
    ----------
    Z : ndarray of shape (n, T)
    row_weights : ndarray of shape (n,) or None
        Weights of the rows when every label is observed.
    pair_weights : ndarray of shape (n, T) or None
        Weights of the pairs when they differ by label.
    similarity : as in `label_similarity`
    n_similar : int or None
    units : ndarray of shape (U, T) or None
        The labels of the copies that rows stand for.
    """
    n, n_labels = Z.shape
    seen = _pairs(Z, row_weights, pair_weights)
    W = label_similarity(Z, similarity, pair_weights=seen, n_similar=n_similar)
    values, vectors = label_spectrum(W)
    labels = np.arange(n_labels)
    copies = None if units is None else 2.0 * units - 1.0
    ones = None if units is None else np.ones((len(units), n_labels))
    difference = LabelProblem(
        2.0 * Z - 1.0, labels, values, vectors, pair_weights, labels=labels, units=copies
    )
    if pair_weights is None:
        column = np.array([n_labels])
        one = None if ones is None else ones[:, :1]
        shared = LabelProblem(
            np.ones((n, 1)), column, np.zeros(1), np.eye(1), None, float(n_labels), units=one
        )
        return [difference, shared], [W]
    # Signed similarity pushes differences apart; the sums of both classes stay at reg alone.
    if isinstance(similarity, str) and similarity == "signed":
        values, vectors = np.zeros(n_labels), np.eye(n_labels)
    total = LabelProblem(
        np.ones((n, n_labels)),
        n_labels + labels,
        values,
        vectors,
        pair_weights,
        labels=labels,
        units=ones,
    )
    return [difference, total], [W]


def class_problems(
    Z: Array,
    label_of: NDArray[np.intp],
    class_of: NDArray[np.intp],
    row_weights: Array | None,
    pair_weights: Array | None,
    similarity: Similarity,
    n_similar: int | None,
    units: Array | None = None,
) -> tuple[list[LabelProblem], list[Array]]:
    """Problems of labels with any number of classes, one per class, and the similarities used.

    Parameters
    ----------
    Z : ndarray of shape (n, C)
        One-hot targets, one column per (label, class).
    label_of, class_of : ndarrays of shape (C,)
        Label and class of every column.
    row_weights, pair_weights : as in `indicator_problems`
    similarity : as in `label_similarity`
        A name compares the indicators of the class; a matrix or what a callable returns holds for
        every class.
    n_similar : int or None
    units : ndarray of shape (U, C) or None
        One-hot targets of the copies that rows stand for.
    """
    n_labels = int(label_of.max()) + 1
    seen = _pairs(Z[:, :n_labels], row_weights, pair_weights)
    if n_labels == 1:
        # One label ties nothing: all its classes are one problem without a Laplacian.
        label_similarity(Z[:, :1], similarity, pair_weights=seen)
        size = Z.shape[1]
        own = None if pair_weights is None else np.repeat(pair_weights, size, axis=1)
        alone = LabelProblem(
            Z, np.arange(size), np.zeros(size), np.eye(size), own, labels=label_of, units=units
        )
        return [alone], [np.zeros((1, 1))]
    common = None
    if not isinstance(similarity, str):
        codes = np.zeros((len(Z), n_labels))
        np.add.at(codes.T, label_of, (Z * class_of).T)
        common = label_similarity(codes, similarity, pair_weights=seen)
    problems, similarities = [], []
    for y in np.unique(class_of):
        columns = np.flatnonzero(class_of == y)
        labels = label_of[columns]
        weights = None if seen is None else seen[:, labels]
        if common is None:
            W = label_similarity(
                Z[:, columns], similarity, pair_weights=weights, n_similar=n_similar
            )
        else:
            W = common[np.ix_(labels, labels)]
            W = W if n_similar is None else keep_strongest(W, n_similar)
        own = None if pair_weights is None else pair_weights[:, labels]
        copies = None if units is None else units[:, columns]
        problems.append(
            LabelProblem(
                Z[:, columns], columns, *label_spectrum(W), own, labels=labels, units=copies
            )
        )
        similarities.append(W)
    return problems, similarities


def _pairs(Z: Array, row_weights: Array | None, pair_weights: Array | None) -> Array | None:
    if pair_weights is not None:
        return pair_weights
    if row_weights is None:
        return None
    return np.repeat(row_weights[:, None], Z.shape[1], axis=1)
