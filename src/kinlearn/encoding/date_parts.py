"""A date as numbers: days since a reference, year, season and day of the week.

A date is first the number of days since 1970-01-01, with the time of day as its fraction. Every
part is arithmetic on that number, so that an ONNX graph computes the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

DAYS_IN_YEAR = 365.2425
# 1970-01-01 was a Thursday, the fourth day of a week that begins on Monday.
FIRST_WEEKDAY = 3.0


def days_of(dates: Any) -> NDArray[np.float64]:
    """Return dates of any kind as days since 1970-01-01, NaN where there is none.

    Parameters
    ----------
    dates : array-like of datetimes or numbers
        Numbers are days already.

    Examples
    --------
    >>> import numpy as np
    >>> days_of(np.array(["1970-01-02T12:00", "NaT"], dtype="datetime64[s]"))
    array([1.5, nan])
    """
    values = np.asarray(dates)
    if values.dtype.kind != "M":
        return values.astype(np.float64)
    micros = values.astype("datetime64[us]")
    days = micros.astype(np.int64) / 86_400e6
    days[np.isnat(micros)] = np.nan
    return days


def year_of(days: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the year of the Gregorian calendar that a day lies in.

    Counted from 1 March of the year 0, so that leap days come last, in eras of 400 years.

    Examples
    --------
    >>> import numpy as np
    >>> year_of(days_of(np.array(["1999-12-31", "2000-01-01", "1900-02-28"], dtype="datetime64")))
    array([1999., 2000., 1900.])
    """
    day = np.floor(days) + 719_468.0
    era = np.floor(day / 146_097.0)
    of_era = day - era * 146_097.0
    leaps = np.floor(of_era / 1460.0) - np.floor(of_era / 36_524.0) + np.floor(of_era / 146_096.0)
    year = np.floor((of_era - leaps) / 365.0)
    of_year = of_era - (365.0 * year + np.floor(year / 4.0) - np.floor(year / 100.0))
    return year + era * 400.0 + np.floor((of_year + 59.0) / 365.0)  # 1 January is day 306


class DateParts(TransformerMixin, BaseEstimator):
    """Columns of dates as the parts that vary in training.

    Of a missing date every part is its mean in training, and a part of its own says so.

    Attributes
    ----------
    first_days_ : ndarray of shape (n_features_in_,)
        The reference of each column: its first day in training.
    parts_ : list of list of str
        The parts that are made of each column.
    fills_ : ndarray
        What a missing date has, part by part.

    Examples
    --------
    >>> import numpy as np
    >>> dates = np.array([["2024-01-31"], ["2024-02-01"]], dtype="datetime64")
    >>> DateParts().fit(dates).get_feature_names_out(["seen"])[0]
    'seen_days'
    """

    def fit(self, X: Any, y: Any = None) -> DateParts:
        """Note the first day of each column, and which parts vary.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Dates, or days since 1970-01-01.
        y : ignored
        """
        X = days_of(X)
        self.n_features_in_ = X.shape[1]
        known = [column[np.isfinite(column)] for column in X.T]
        self.first_days_ = np.array([np.floor(days.min()) if days.size else 0.0 for days in known])
        self.parts_, fills = [], []
        for days, first in zip(X.T, self.first_days_, strict=True):
            parts = parts_of(days, first)
            names = [name for name, values in parts.items() if name == "days" or _varies(values)]
            self.parts_.append(names)
            fills += [_mean(parts[name]) for name in names]
        self.fills_ = np.array(fills)
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the parts of every column, side by side.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Dates, or days since 1970-01-01.
        """
        check_is_fitted(self)
        X, made = days_of(X), []
        for days, first, names in zip(X.T, self.first_days_, self.parts_, strict=True):
            parts = parts_of(days, first)
            made += [parts[name] for name in names]
        found = np.column_stack(made)
        return np.where(np.isnan(found), self.fills_, found)

    def inverse_transform(self, X: Any) -> NDArray[np.datetime64]:
        """Return the dates that were made so, NaT where missing.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features_out)
            As :meth:`transform` returns them.
        """
        X, at, made = np.asarray(X, dtype=np.float64), 0, []
        for first, names in zip(self.first_days_, self.parts_, strict=True):
            micros = np.rint((X[:, at] + first) * 86_400e6).astype(np.int64)
            dates = micros.astype("datetime64[us]")
            if names[-1] == "missing":
                dates[X[:, at + len(names) - 1] > 0.5] = np.datetime64("NaT")
            made.append(dates)
            at += len(names)
        return np.column_stack(made)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return ``<column>_<part>``."""
        check_is_fitted(self)
        given = input_features
        names = [f"x{i}" for i in range(self.n_features_in_)] if given is None else given
        both = zip(names, self.parts_, strict=True)
        return np.array([f"{name}_{part}" for name, own in both for part in own], dtype=object)


def parts_of(days: NDArray[np.float64], first: float) -> dict[str, NDArray[np.float64]]:
    """Return every part of days, by name."""
    day = np.floor(days)
    season = 2.0 * np.pi / DAYS_IN_YEAR * day
    weekday = 2.0 * np.pi / 7.0 * (day + FIRST_WEEKDAY)
    hour = 2.0 * np.pi * (days - day)
    parts = {"days": days - first, "year": year_of(days)}
    for name, angle in (("season", season), ("weekday", weekday), ("hour", hour)):
        parts[f"{name}_sin"], parts[f"{name}_cos"] = np.sin(angle), np.cos(angle)
    parts["missing"] = np.isnan(days).astype(np.float64)
    return parts


def _varies(values: NDArray[np.float64]) -> bool:
    known = values[np.isfinite(values)]
    return known.size > 0 and float(np.ptp(known)) > 1e-9


def _mean(values: NDArray[np.float64]) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else 0.0
