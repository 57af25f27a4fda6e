"""Fitting from sums over rows: adding rows, taking them out, solving anew without them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from kinlearn.distributed.fitting import refuse_stream
from kinlearn.estimators._base import KernelClassifier, _check_for_kernel
from kinlearn.estimators._checks import AUTO_CENTERS, check_model_choices, check_positive
from kinlearn.estimators._sample_rows import SampleRows, given_rows, kept_rows
from kinlearn.estimators._stream_fit import run_stream
from kinlearn.kernels import median_width
from kinlearn.kernels.measures import Rows
from kinlearn.posterior import fit_beta, log_loss_rows
from kinlearn.rows import find_distinct_rows
from kinlearn.statistics import NormalEquations
from kinlearn.streams import Batch, ColumnRoles, StreamProgress
from kinlearn.streams.sources import BATCH_ROWS
from kinlearn.threads import on_own_threads

Array = NDArray[np.float64]


def streams(estimator: Any) -> bool:
    """Whether a model can be had from sums: rows must have features, classes all centres."""
    return estimator.kernel != "precomputed" and estimator.basis == "full"


class StreamsRows(KernelClassifier):
    """A classifier that can be solved from :class:`NormalEquations`, ``statistics_``."""

    reg: float
    sigma: Any
    statistics_: NormalEquations

    # -- public -------------------------------------------------------------------------------

    @on_own_threads
    def fit_statistics(self, statistics: NormalEquations) -> Any:
        """Solve from sums over rows, without the rows.

        With ``posterior="calibrated"``, ``held_out_log_loss_`` is the log-loss of the leave-one-out
        probabilities of the rows the sums kept: what to choose ``reg`` and ``sharing`` by.

        Parameters
        ----------
        statistics : NormalEquations
            The sums; kept as ``statistics_`` and added to by later calls of ``partial_fit``. The
            kernel, its width and the centres are theirs.

        Returns
        -------
        self
        """
        check_model_choices(self)
        check_positive("reg", self.reg)
        self._check_fits(statistics)
        if statistics.n_rows == 0:
            raise ValueError("These sums hold no rows: update them before solving.")
        self.statistics_ = statistics
        self.sigma_ = statistics.sigma
        self.centers_ = statistics.centers
        self.n_centers_ = statistics.n_centers
        self.n_features_in_ = statistics.n_features
        self.__dict__.pop("held_out_scores_", None)
        self._solve_sums(statistics)
        return self

    def refit(self) -> Any:
        """Solve again from ``statistics_``, after parameters such as ``reg`` were changed.

        Returns
        -------
        self
            The fitted model.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from kinlearn import LSPC
        >>> X, y = load_iris(return_X_y=True)
        >>> model = LSPC(n_centers=20, random_state=0).partial_fit(X, y)
        >>> model.set_params(reg=0.1).refit().score(X, y) > 0.8
        True
        """
        check_is_fitted(self, "statistics_")
        return self.fit_statistics(self.statistics_)

    @available_if(streams)
    @on_own_threads
    def fit_stream(
        self,
        source: Any,
        *,
        y: Any = None,
        task: str | None = None,
        sample_weight: str | None = None,
        features: list[str] | None = None,
        classes: Any = None,
        batch_rows: int = BATCH_ROWS,
        centers_from: str = "first",
        checkpoint: Any = None,
        every: int = 50,
        progress: Callable[[StreamProgress], None] | None = None,
        warm_start: bool = False,
    ) -> Any:
        """Fit in one pass over rows that need not fit in memory; solve once, at the end.

        The result is that of ``fit`` with the same centres on all rows at once. If a batch cannot
        be read or is not valid, a :class:`~kinlearn.streams.StreamError` names it and its file, and
        ``statistics_`` holds the rows before it.

        Parameters
        ----------
        source : path, list of paths, tuple of arrays, table, or iterable of batches
            A file (Parquet, Arrow, Feather, CSV; needs ``kinlearn[stream]``) or a folder of such,
            read by name; ``(X, y)``, ``(X, y, task)`` or ``(X, y, task, sample_weight)`` arrays,
            memory-mapped ones, too; a table; or an iterable of batches that are such tuples or
            tables. A function that returns an iterator can be gone through more than once.
        y : str or list of str, optional
            Of tables: the column of labels, or the columns of indicators.
        task, sample_weight : str, optional
            Of tables: columns of task ids and weights.
        features : list of str, optional
            Of tables: the features; all other columns when left out.
        classes : array-like, optional
            Classes to know before a row of them is seen.
        batch_rows : int, default=8192
            Rows at a time from arrays, tables and files.
        centers_from : {"first", "reservoir"}, default="first"
            Choose the width and the centres from the first rows (ten times as many as centres), or
            from a sample of all rows, which takes a pass of its own and depends on no order.
        checkpoint : path, optional
            Where to save sums every `every` batches, at a failure and at the end. If it is there
            already, its batches are skipped and the rest is added: the result is the same.
        every : int, default=50
            Batches between checkpoints.
        progress : callable, optional
            Called after each batch with a :class:`~kinlearn.streams.StreamProgress` (batches, rows,
            rows per second); the same is logged by the logger ``kinlearn.stream``.
        warm_start : bool, default=False
            Add to ``statistics_`` of an earlier call instead of starting anew.

        Returns
        -------
        self
        """
        check_model_choices(self)
        self._check_streams()
        refuse_stream(source)
        run_stream(
            self,
            source,
            ColumnRoles(y, task, sample_weight, features),
            classes=classes,
            batch_rows=batch_rows,
            centers_from=centers_from,
            checkpoint=checkpoint,
            every=every,
            progress=progress,
            warm_start=warm_start,
        )
        return self.fit_statistics(self.statistics_)

    # -- adding and removing ------------------------------------------------------------------

    def _stream(self, X: Any, y: Any, task: Any, classes: Any, sample_weight: Any) -> None:
        """Add rows, the first of which choose the width and the centres, and solve."""
        sums = self._sums_for(X)
        X, y, weights = self._read_batch(X, y, sample_weight)
        sums.update(X, y, task=task, sample_weight=weights)
        if classes is not None:
            sums.declare(classes)
        self.fit_statistics(sums)

    def _add_batch(self, batch: Batch) -> None:
        """Add a batch of a stream, without solving."""
        X, task = self._rows_and_tasks(batch)
        X, y, weights = self._read_batch(X, batch.y, batch.sample_weight)
        self.statistics_.update(X, y, task=task, sample_weight=weights)

    def _features_of(self, batch: Batch, reset: bool) -> Rows:
        """The features of a batch, from which centres may be chosen."""
        X, _ = self._rows_and_tasks(batch)
        options: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}
        return validate_data(self, X, reset=reset, **options)

    def _rows_and_tasks(self, batch: Batch) -> tuple[Any, Any]:
        if batch.task is not None:
            raise ValueError(
                f"The batch has task ids, but {type(self).__name__} has no tasks: use "
                "MultiTaskLSPC, or leave them out."
            )
        return batch.X, None

    def _sums_for(self, X: Any) -> NormalEquations:
        """The sums so far, or new ones whose centres come from these rows."""
        check_model_choices(self)
        self._check_streams()
        if hasattr(self, "statistics_"):
            return self.statistics_
        if hasattr(self, "coef_"):
            warnings.warn(
                f"This {type(self).__name__} was fitted by fit, which keeps no sums to add to: "
                "partial_fit starts anew, and what fit learnt is dropped.",
                UserWarning,
                stacklevel=5,
            )
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32])
        return self._start(X)

    def _start(self, X: Rows) -> NormalEquations:
        """Sums of no rows yet, with the width and the centres chosen from X."""
        kernel = self._kernel()
        _check_for_kernel(X, kernel)
        rows = find_distinct_rows(X)
        distinct = X[rows.first]
        sigma = self.sigma
        if isinstance(sigma, str):
            sigma = median_width(distinct, kernel, rows.canonical)
        if self.n_centers is None:
            raise ValueError(
                "n_centers=None makes every row a centre, which rows that arrive one by one cannot "
                'be: use n_centers="auto", a number, or centers=.'
            )
        automatic = AUTO_CENTERS if isinstance(self.n_centers, str) else None
        self._place_centers(distinct, rows, kernel, float(sigma), automatic)
        return NormalEquations(
            self.centers_,
            kernel=self.kernel,
            sigma=float(sigma),
            degree=self.degree,
            coef0=self.coef0,
            memory_mb=self.memory_mb,
        )

    def _read_batch(self, X: Any, y: Any, sample_weight: Any) -> tuple[Rows, Any, Array | None]:
        """Validate rows that follow the first; weights come back with ``class_weight`` in them."""
        options: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}
        if self._has_table(y):
            X = validate_data(self, X, reset=False, **options)
        else:
            X, y = validate_data(self, X, y, reset=False, **options)
        _check_for_kernel(X, self._kernel())
        if sample_weight is None and self.class_weight is None:
            return X, y, None
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if self.class_weight is not None:
            labels, codes = np.unique(np.asarray(y), return_inverse=True)
            weights = weights * self._factors(labels)[codes.ravel()]
        return X, y, weights

    def _has_table(self, y: Any) -> bool:
        return False

    def _factors(self, classes: NDArray) -> Array:
        """The factor of every class by ``class_weight``."""
        if self.class_weight is None:
            return np.ones(len(classes))
        if not isinstance(self.class_weight, dict):
            raise ValueError(
                f"class_weight={self.class_weight!r} depends on all rows, which are not known "
                "while they arrive: pass a dict of weights, or weight the rows by sample_weight."
            )
        factors = np.array([float(self.class_weight.get(name, 1.0)) for name in classes.tolist()])
        if not (factors > 0).all():
            raise ValueError(
                f"class_weight={self.class_weight!r} gives a class no weight: use positive weights."
            )
        return factors

    def _forget(self, X: Any, y: Any, task: Any, sample_weight: Any) -> None:
        check_is_fitted(self, "statistics_")
        X, y, weights = self._read_batch(X, y, sample_weight)
        self.statistics_.downdate(X, y, task=task, sample_weight=weights)
        if self.statistics_.n_rows == 0:
            raise ValueError(
                "All rows were removed: nothing is left to fit. The sums are empty; add rows, or "
                "start anew with clone(model)."
            )
        self.fit_statistics(self.statistics_)

    # -- checks -------------------------------------------------------------------------------

    def _check_streams(self) -> None:
        if not streams(self):
            raise ValueError(
                "A precomputed kernel or basis='classwise' cannot be fitted from sums: use a "
                "kernel on features and basis='full'."
            )

    def _check_fits(self, sums: NormalEquations) -> None:
        """The model's own kernel must be that of the sums."""
        self._check_streams()
        if not isinstance(sums, NormalEquations):
            raise TypeError(f"NormalEquations are needed, but {type(sums).__name__} was given.")
        mismatch = [
            (name, getattr(self, name), getattr(sums, name))
            for name in ("kernel", *(("degree", "coef0") if self.kernel == "polynomial" else ()))
            if getattr(self, name) != getattr(sums, name)
        ]
        if not isinstance(self.sigma, str) and float(self.sigma) != sums.sigma:
            mismatch.append(("sigma", self.sigma, sums.sigma))
        if mismatch:
            name, mine, theirs = mismatch[0]
            raise ValueError(
                f"The model has {name}={mine!r}, but the sums were made with {theirs!r}: what is "
                "part of the features cannot be changed without the rows."
            )

    # -- solving ------------------------------------------------------------------------------

    def _solve_sums(self, sums: NormalEquations) -> None:
        raise NotImplementedError

    def _held_out_of(self, sums: NormalEquations, rows: SampleRows) -> Array:
        """Leave-one-out scores of some rows of the sums."""
        raise NotImplementedError

    def _take_classes(self, sums: NormalEquations) -> None:
        if sums.kind != "classes":
            raise ValueError(
                f"These sums are of label indicators, but {type(self).__name__} needs classes of "
                "one label: use MultiLabelLSPC."
            )
        self.classes_ = sums.classes
        plain = sums.target_sums() / self._factors(self.classes_)
        self.prior_ = plain / plain.sum()

    def _calibrate_on(self, sums: NormalEquations, rows: SampleRows | None) -> None:
        """Fit beta on leave-one-out scores, and keep their loss; NaN where there are none."""
        self.beta_ = self.held_out_log_loss_ = float("nan")
        if self.posterior != "calibrated":
            return
        if rows is None:
            if sums.n_held_out == 0:
                warn_no_rows()
            return
        scores = self._held_out_of(sums, rows)
        targets, weights = rows.plain_targets, rows.plain_weights
        self.beta_ = fit_beta(scores, targets, weights, rows.n_units)
        losses = log_loss_rows(scores, self.beta_, targets)
        self.held_out_log_loss_ = float(np.average(losses, weights=weights))

    def _kept_rows(self, sums: NormalEquations) -> SampleRows | None:
        if self.posterior != "calibrated":
            return None
        return kept_rows(sums, self._factors(sums.classes))

    def _calibrate_again(self, X: Any, y: Any, task: Any, sample_weight: Any) -> None:
        check_is_fitted(self, "statistics_")
        X, y, weights = self._read_batch(X, y, sample_weight)
        sums = self.statistics_
        rows = given_rows(sums, X, y, task, weights, self._factors(sums.classes))
        self._calibrate_on(sums, rows)


def warn_no_rows() -> None:
    """Say what becomes of calibration when sums keep no rows."""
    warnings.warn(
        "These sums keep no rows to calibrate on (n_held_out=0), so probabilities are rounded "
        "scores: call calibrate with rows that are part of the sums, or choose another posterior.",
        UserWarning,
        stacklevel=5,
    )
