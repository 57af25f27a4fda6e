"""Fitting from sums over rows: adding rows, taking them out, solving anew without them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from kinlearn.all_or_nothing import aside, take_over, unfitted
from kinlearn.centers import AUTO_CENTERS
from kinlearn.distributed.fitting import refuse_stream
from kinlearn.estimators._base import KernelClassifier
from kinlearn.estimators._checks import (
    check_for_kernel,
    check_model_choices,
    check_positive,
)
from kinlearn.estimators._sample_rows import SampleRows, given_rows, kept_rows
from kinlearn.estimators._stream_fit import StreamRun
from kinlearn.familiarity import sampled_support
from kinlearn.kernels import median_width
from kinlearn.kernels.measures import Rows
from kinlearn.labels import refuse_mixed_labels
from kinlearn.rows import find_distinct_rows
from kinlearn.selection.link import calibrating_link
from kinlearn.streams import Batch, ColumnRoles, StreamProgress
from kinlearn.streams.sources import BATCH_ROWS
from kinlearn.sums import NormalEquations
from kinlearn.sums.batch import read_weights
from kinlearn.threads import on_own_threads

Array = NDArray[np.float64]


def streams(estimator: Any) -> bool:
    """Whether a model can be had from sums: rows must have features, classes all centres."""
    return estimator.kernel != "precomputed" and estimator.basis == "full"


TINY = float(np.finfo(np.float64).tiny)


class StreamsRows(KernelClassifier):
    """A classifier that can be solved from :class:`NormalEquations`, ``statistics_``.

    Whatever changes a model works on a copy aside, which replaces it at the end.
    """

    reg: float
    sigma: Any
    statistics_: NormalEquations

    def __sklearn_is_fitted__(self) -> bool:
        # a stream that was interrupted leaves its sums, which are yet to be solved
        return hasattr(self, "coef_")

    # -- public -------------------------------------------------------------------------------

    @on_own_threads
    def fit_statistics(self, statistics: NormalEquations) -> Any:
        """Solve from sums over rows, without the rows.

        With ``posterior="calibrated"``, ``held_out_log_loss_`` is the log-loss of the leave-one-out
        probabilities of the rows the sums kept: what to choose ``reg`` and ``sharing`` by.

        Parameters
        ----------
        statistics : NormalEquations
            The sums, a copy of which is kept as ``statistics_`` and added to by later calls of
            ``partial_fit``. The kernel, its width and the centres are theirs.

        Returns
        -------
        self
        """
        self._check_parameters()
        self._check_fits(statistics)
        if statistics.n_rows == 0:
            raise ValueError("These sums hold no rows: update them before solving.")
        solved = aside(self)
        for name in ("held_out_scores_", "held_out_links_"):
            solved.__dict__.pop(name, None)
        solved.statistics_ = statistics.copy()
        solved.sigma_ = statistics.sigma
        solved.centers_ = statistics.centers
        solved.n_centers_ = statistics.n_centers
        solved.n_features_in_ = statistics.n_features
        solved._keep_support(statistics)
        solved._solve_sums(statistics)
        return take_over(self, solved)

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
        be read or is not valid, a :class:`~kinlearn.streams.StreamError` names it and its file.
        Then, and after Ctrl-C, ``statistics_`` holds the whole batches before it, from which
        :meth:`refit` solves; until then the model is not fitted. Where there are none, it is left
        as it was.

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
            Where to save sums every `every` batches, at a failure, at Ctrl-C and at the end. If it
            is there already, its rows are skipped, in whatever batches they come, and the rest is
            added: the result is the same. Refused is a checkpoint of other centres or another
            width, or of a source whose last rows before that point were others.
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
        self._check_parameters()
        self._check_streams()
        refuse_stream(source)
        run = StreamRun(
            aside(self) if warm_start else unfitted(self),
            source,
            ColumnRoles(y, task, sample_weight, features),
            classes=classes,
            batch_rows=batch_rows,
            centers_from=centers_from,
            checkpoint=checkpoint,
            every=every,
            progress=progress,
        )
        try:
            run.run()
            solved = run.model_so_far().refit()
        except BaseException:
            if run.added:
                take_over(self, run.model_so_far())
            raise
        return take_over(self, solved)

    # -- adding and removing ------------------------------------------------------------------

    def _stream(self, X: Any, y: Any, task: Any, classes: Any, sample_weight: Any) -> None:
        """Add rows, the first of which choose the width and the centres, and solve."""
        self._check_parameters()
        self._check_streams()
        first = not hasattr(self, "statistics_")
        changed = unfitted(self) if first else aside(self)
        X, y, weights = changed._read_batch(X, y, sample_weight, reset=first)
        present = np.ones(X.shape[0], dtype=bool) if weights is None else weights > 0
        if first:
            if not present.any():
                if classes is not None:
                    warn_no_weight()
                return  # there is nothing yet to choose a width and centres from
            self._warn_if_anew()
            sums = changed._start(X if present.all() else X[present])
        else:
            sums = self.statistics_.copy()
        sums.update(X, y, task=task, sample_weight=weights)
        if classes is not None:
            sums.declare(classes)
        take_over(self, changed.fit_statistics(sums))

    def _with_batch(self, sums: NormalEquations, batch: Batch) -> NormalEquations:
        """Sums with a batch of a stream added to them."""
        X, task = self._rows_and_tasks(batch)
        X, y, weights = self._read_batch(X, batch.y, batch.sample_weight)
        return sums.copy().update(X, y, task=task, sample_weight=weights)

    def _features_of(self, batch: Batch, reset: bool) -> Rows:
        """The features of a batch's rows of positive weight, from which centres may be chosen."""
        X, _ = self._rows_and_tasks(batch)
        options: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}
        X = validate_data(self, X, reset=reset, **options)
        if batch.sample_weight is None:
            return X
        return X[read_weights(batch.sample_weight, X.shape[0]) > 0]

    def _rows_and_tasks(self, batch: Batch) -> tuple[Any, Any]:
        if batch.task is not None:
            raise ValueError(
                f"The batch has task ids, but {type(self).__name__} has no tasks: use "
                "MultiTaskLSPC, or leave them out."
            )
        return batch.X, None

    def _sums_for(self, X: Any) -> NormalEquations:
        """The sums so far, or new ones whose centres come from these rows."""
        self._check_parameters()
        self._check_streams()
        if hasattr(self, "statistics_"):
            return self.statistics_.copy()
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32])
        return self._start(X)

    def _warn_if_anew(self) -> None:
        if hasattr(self, "coef_") and not hasattr(self, "statistics_"):
            warnings.warn(
                f"This {type(self).__name__} was fitted by fit, which keeps no sums to add to: "
                "partial_fit starts anew, and what fit learnt is dropped.",
                UserWarning,
                stacklevel=5,
            )

    def _start(self, X: Rows) -> NormalEquations:
        """Sums of no rows yet, with the width and the centres chosen from X."""
        kernel = self._kernel()
        check_for_kernel(X, kernel, self)
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

    def _read_batch(
        self, X: Any, y: Any, sample_weight: Any, reset: bool = False
    ) -> tuple[Rows, Any, Array | None]:
        """Validate rows; weights come back with ``class_weight`` in them."""
        options: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}
        if self._has_table(y):
            X = validate_data(self, X, reset=reset, **options)
        else:
            refuse_mixed_labels(y)
            X, y = validate_data(self, X, y, reset=reset, **options)
        check_for_kernel(X, self._kernel(), self)
        if sample_weight is None and self.class_weight is None:
            return X, y, None
        weights = (
            np.ones(X.shape[0])
            if sample_weight is None
            else read_weights(sample_weight, X.shape[0])
        )
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
        self._check_parameters()
        X, y, weights = self._read_batch(X, y, sample_weight)
        sums = self.statistics_.copy().downdate(X, y, task=task, sample_weight=weights)
        if sums.n_rows == 0:
            take_over(self, unfitted(self))
        else:
            self.fit_statistics(sums)

    # -- checks -------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        """What can be said of the parameters before any row is read."""
        check_model_choices(self)
        check_positive("reg", self.reg)

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

    def _keep_support(self, sums: NormalEquations) -> None:
        """What :meth:`familiarity` compares with: the sample of all rows seen."""
        self.__dict__.pop("support_", None)
        sample = sums.held_out_sample()
        if sample is not None:
            chosen = self.centers is None
            self.support_ = sampled_support(self._kernel(), sample.X, sums.centers, chosen)

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
        balance = None if self.class_weight is None else self._factors(sums.classes)
        known = scores, rows.targets, rows.weights
        link = calibrating_link(*known, rows.n_units, rows.repeated, balance)
        self._keep_link(link)
        losses = -np.einsum("nc,nc->n", rows.targets, np.log(np.maximum(link(scores), TINY)))
        self.held_out_log_loss_ = float(np.average(losses, weights=rows.weights))

    def _kept_rows(self, sums: NormalEquations) -> SampleRows | None:
        if self.posterior != "calibrated":
            return None
        return kept_rows(sums, self._target_factors(sums))

    def _calibrate_again(self, X: Any, y: Any, task: Any, sample_weight: Any) -> None:
        check_is_fitted(self, "statistics_")
        X, y, weights = self._read_batch(X, y, sample_weight)
        sums = self.statistics_
        changed = aside(self)
        factors = self._target_factors(sums)
        changed._calibrate_on(sums, given_rows(sums, X, y, task, weights, factors))
        take_over(self, changed)

    def _target_factors(self, sums: NormalEquations) -> Array:
        """The class weight of every target column."""
        return self._factors(sums.classes)


def warn_no_weight() -> None:
    """Say what becomes of classes declared with rows that do not count."""
    warnings.warn(
        "No row of this first batch has any weight, so that nothing was begun: give classes again "
        "with the first rows of positive weight.",
        UserWarning,
        stacklevel=4,
    )


def warn_no_rows() -> None:
    """Say what becomes of calibration when sums keep no rows."""
    warnings.warn(
        "These sums keep no rows to calibrate on (n_held_out=0), so probabilities are rounded "
        "scores: call calibrate with rows that are part of the sums, or choose another posterior.",
        UserWarning,
        stacklevel=5,
    )
