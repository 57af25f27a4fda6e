"""Columns of numbers: missing ones marked, skewed counts by their logarithm, one scale."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

Array = NDArray[np.float64]
# Numbers that are never negative and skewer than this enter by their logarithm.
SKEWED = 2.0
# The unit of such a number: this quantile of the positive ones.
UNIT_AT = 0.1
# A column without negative numbers that is zero in more than this share of the rows is word-like:
# a rare word or count. To blow each of them up to the same spread would drown the usual ones.
MOSTLY_ZERO = 0.8
# Fewer such columns are quantities of their own, each in a unit of its own; so is one whose values
# are larger or smaller than those of the others by more than this factor.
SEVERAL, ONE_UNIT = 20, 10.0


def skewed_counts(X: Array) -> NDArray[np.bool_]:
    """Return which columns are never negative and have a long upper end.

    Examples
    --------
    >>> import numpy as np
    >>> skewed_counts(np.column_stack([np.arange(30.0) ** 9, np.arange(30.0)]))
    array([ True, False])
    """
    X = np.ldexp(X, -_exponents(X))
    away = X - X.mean(axis=0)
    spread = np.sqrt(np.square(away).mean(axis=0))
    # two values are a yes and a no, however rare
    several = np.array([np.unique(column).size > 2 for column in X.T], dtype=bool)
    third = np.power(away, 3).mean(axis=0)
    return (X.min(axis=0) >= 0.0) & several & (third > SKEWED * np.power(spread, 3))


def word_like(X: Array) -> NDArray[np.bool_]:
    """Return which columns are counts of words or of their kind: many, mostly zero, in one unit.

    Examples
    --------
    >>> import numpy as np
    >>> words = (np.arange(100)[:, None] % np.arange(6, 36) == 0).astype(float)
    >>> word_like(words).all(), word_like(words[:, :5]).any()
    (np.True_, np.False_)
    """
    zeros = np.mean(X == 0.0, axis=0)
    words = (X.min(axis=0) >= 0.0) & (zeros > MOSTLY_ZERO) & (zeros < 1.0)
    if words.sum() < SEVERAL:
        return np.zeros(X.shape[1], dtype=bool)
    uses = np.maximum(np.count_nonzero(X, axis=0), 1)
    size = np.sqrt(np.square(X).sum(axis=0) / uses)
    usual = np.median(size[words])
    return words & (size <= ONE_UNIT * usual) & (usual <= ONE_UNIT * size)


class NumberColumns(TransformerMixin, BaseEstimator):
    """Numbers less their mean, divided by their standard deviation; marks of missing ones beside.

    A missing number is the median. Of skewed counts, ``log(1 + x/unit)`` takes the place of x; the
    unit is the first decile of the positive ones. Of many columns that are mostly zero, such as
    counts of words, all are divided by one number, the root of their mean variance: a word that is
    rare stays small beside a usual one.

    Attributes
    ----------
    fills_ : ndarray of shape (n_features_in_,)
        What a missing number is.
    units_ : ndarray of shape (n_features_in_,)
        The unit of those that enter by their logarithm, 0 of the others.
    mean_, scale_ : ndarray of shape (n_features_in_,)
        What is taken off each column, and what it is then divided by.
    marked_ : ndarray of int
        Columns with missing cells in training: each has a column of 0 and 1 after all numbers.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0], [3.0], [np.nan], [5.0]])
    >>> NumberColumns().fit_transform(X).round(2).tolist()
    [[-1.41, 0.0], [0.0, 0.0], [0.0, 1.0], [1.41, 0.0]]
    """

    def fit(self, X: Any, y: Any = None) -> NumberColumns:
        """Learn medians, units and scales.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers, NaN where missing.
        y : ignored
        """
        X = np.asarray(X, dtype=np.float64)
        self.n_features_in_ = X.shape[1]
        missing = np.isnan(X)
        self.marked_ = np.flatnonzero(missing.any(axis=0))
        self.fills_ = np.array([_median(column[~np.isnan(column)]) for column in X.T])
        X = np.where(missing, self.fills_, X)
        skewed = skewed_counts(X)
        self.units_ = np.zeros(X.shape[1])
        some = [column[column > 0.0] for column in X[:, skewed].T]
        self.units_[skewed] = [np.quantile(positive, UNIT_AT) for positive in some]
        X = self._logs(X)
        constant = X.min(axis=0) == X.max(axis=0)  # whose mean may be another number by rounding
        exponents = _exponents(X)  # squares of very large or small numbers are none
        scaled = np.ldexp(X, -exponents)
        self.mean_ = np.where(constant, X[0], np.ldexp(scaled.mean(axis=0), exponents))
        spread = np.where(constant, 0.0, np.ldexp(scaled.std(axis=0), exponents))
        words = word_like(X)
        if words.any():
            spread[words] = np.sqrt(np.square(spread[words]).mean())
        self.scale_ = np.where(spread > 0.0, spread, 1.0)
        return self

    def transform(self, X: Any) -> Array:
        """Return the numbers on their scales, then the marks.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers, NaN where missing.
        """
        check_is_fitted(self)
        X = np.asarray(X, dtype=np.float64)
        missing = np.isnan(X)
        numbers = (self._logs(np.where(missing, self.fills_, X)) - self.mean_) / self.scale_
        return np.hstack([numbers, missing[:, self.marked_]])

    def inverse_transform(self, X: Any) -> Array:
        """Return the numbers that were made so, NaN where they are marked.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features_out)
            As :meth:`transform` returns them.
        """
        X = np.asarray(X, dtype=np.float64)
        d = self.n_features_in_
        found = X[:, :d] * self.scale_ + self.mean_
        at = self.units_ > 0.0
        found[:, at] = np.sign(found[:, at]) * np.expm1(np.abs(found[:, at])) * self.units_[at]
        rows, marks = np.nonzero(X[:, d:] > 0.5)
        found[rows, self.marked_[marks]] = np.nan
        return found

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names that went in, then ``<column>_missing``."""
        check_is_fitted(self)
        if input_features is None:
            input_features = [f"x{i}" for i in range(self.n_features_in_)]
        marks = [f"{input_features[i]}_missing" for i in self.marked_]
        return np.array([*input_features, *marks], dtype=object)

    def _logs(self, X: Array) -> Array:
        """With logarithms in the place of skewed counts."""
        at = self.units_ > 0.0
        if at.any():
            X = X.copy()
            X[:, at] = np.sign(X[:, at]) * np.log1p(np.abs(X[:, at]) / self.units_[at])
        return X


def _exponents(X: Array) -> NDArray[np.intc]:
    """The power of two that brings each column to a size of about one, without rounding."""
    return np.asarray(np.frexp(np.abs(X).max(axis=0))[1])


def _median(known: Array) -> float:
    return float(np.median(known)) if known.size else 0.0
