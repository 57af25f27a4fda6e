"""Streaming for a single task: LSPC from sums over rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if

from kinlearn.distributed import is_dask
from kinlearn.distributed.fitting import fit_partitions
from kinlearn.estimators._sample_rows import SampleRows
from kinlearn.estimators._streaming import StreamsRows, streams
from kinlearn.solvers.ridge_from_sums import RidgeInverse, leave_one_out
from kinlearn.sums import NormalEquations
from kinlearn.threads import on_own_threads

Array = NDArray[np.float64]


class SingleStream(StreamsRows):
    """``(H + Σw·reg·I) A = h`` (mt-lspc Eqs. 2-3), calibrated on rows the sums kept."""

    @available_if(streams)
    @on_own_threads
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        """Add rows to the fit, exactly: the result is that of all rows so far at once.

        The first call chooses the width and, unless ``centers`` are given, the centres from its
        rows, so it should bring a fair sample of them. Every call ends with a solve, O(m³);
        ``fit_stream`` solves once at the end.

        With ``posterior="calibrated"``, beta is fitted on leave-one-out scores of this same model,
        in closed form, for at most 2000 distinct rows that are kept: those of the smallest hashes,
        which are the same in any order of the data. While fewer distinct rows were seen this is the
        calibration of ``fit`` with the same centres.

        A call that is refused or interrupted leaves the model as it was. Rows without weight are
        as good as absent: a batch of such changes nothing, and a model that has seen no other
        stays unfitted.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Class labels. New classes may appear in any call.
        classes : array-like, optional
            Classes to know before a row of them is seen.
        sample_weight : array-like of shape (n_samples,), optional
            Weights.

        Returns
        -------
        self
        """
        if is_dask(X, y, sample_weight):
            return fit_partitions(
                self, X, y, sample_weight=sample_weight, classes=classes, anew=False
            )
        self._stream(X, y, None, classes, sample_weight)
        return self

    @available_if(streams)
    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Take rows out of the fit again: the result is that of the rows that are left.

        Weights are numbers of copies: what was added twice is forgotten at once with a weight of 2.
        A removal of what cannot have been added is refused, and changes nothing (see
        :meth:`NormalEquations.downdate`). Centres stay where they are, even those chosen from rows
        that are forgotten. Without its last row, the model is unfitted, centres included, and
        ``partial_fit`` begins anew.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`partial_fit`.

        Returns
        -------
        self
        """
        self._forget(X, y, None, sample_weight)
        return self

    @available_if(streams)
    def calibrate(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit beta on leave-one-out scores of these rows, which must be part of the sums.

        A second pass over some or all rows: needed where the sums keep none.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows that are part of the sums.
        y : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,), optional
            Weights, as they were when the rows were added.

        Returns
        -------
        self
            The fitted model.
        """
        self._calibrate_again(X, y, None, sample_weight)
        return self

    def _solve_sums(self, sums: NormalEquations) -> None:
        self._take_classes(sums)
        inverse = RidgeInverse(sums.gram(), float(self.reg) * sums.weight, overwrite=True)
        self._keep(np.array([sums.sigma]), inverse.apply(sums.moments())[None])
        self._calibrate_on(sums, self._kept_rows(sums))

    def _held_out_of(self, sums: NormalEquations, rows: SampleRows) -> Array:
        ridge = float(self.reg) * sums.weight * rows.shrink
        return leave_one_out(
            sums.gram(), sums.moments(), ridge, rows.features, rows.targets, rows.units
        )
