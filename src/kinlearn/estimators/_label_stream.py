"""Streaming for many labels: MultiLabelLSPC from sums over rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if

from kinlearn.distributed import is_dask
from kinlearn.distributed.fitting import fit_partitions
from kinlearn.estimators._label_table import is_single_column
from kinlearn.estimators._multilabel_base import MultiLabelClassifier
from kinlearn.estimators._sample_rows import SampleRows, kept_rows
from kinlearn.estimators._streaming import StreamsRows, streams, warn_no_rows
from kinlearn.selection.label_scoring import LabelTargets, ScoreLayout, best_f1_threshold
from kinlearn.solvers.label_similarity import label_spectrum
from kinlearn.solvers.label_sums import LabelSums, similarity_of_sums
from kinlearn.solvers.ridge_from_sums import RidgeInverse, leave_one_out
from kinlearn.sums import NormalEquations
from kinlearn.threads import on_own_threads

Array = NDArray[np.float64]
# A probability whose logarithm is still a number.
LEAST = float(np.finfo(np.float64).tiny)


class LabelStream(StreamsRows, MultiLabelClassifier):
    """The Sylvester equation from sums; a one-dimensional y is LSPC."""

    sharing: float

    @available_if(streams)
    @on_own_threads
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        """Add rows to the fit, exactly: the result is that of all rows so far at once.

        See :meth:`LSPC.partial_fit` for the choice of centres and for calibration. The similarity
        of labels comes from sums, too, so it is that of all rows.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows.
        y : array-like, DataFrame or CSR matrix of shape (n_samples, n_labels), or (n_samples,)
            0/1 indicators, all observed, or classes of one label. Columns of a DataFrame are known
            by name; a label that has not appeared yet is 0.
        classes : array-like, optional
            For a one-dimensional y, classes to know before a row of them is seen.
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
        """Take rows out of the fit again; see :meth:`LSPC.forget`.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows that are part of the sums.
        y : array-like, DataFrame or CSR matrix of shape (n_samples, n_labels), or (n_samples,)
            Their labels, as they were added.
        sample_weight : array-like of shape (n_samples,), optional
            Weights: how many copies of each row are to go.

        Returns
        -------
        self
            The model.
        """
        self._forget(X, y, None, sample_weight)
        return self

    @available_if(streams)
    def calibrate(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit betas and thresholds on leave-one-out scores of rows that are part of the sums.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows that are part of the sums.
        y : array-like, DataFrame or CSR matrix of shape (n_samples, n_labels), or (n_samples,)
            Their labels, as they were added.
        sample_weight : array-like of shape (n_samples,), optional
            Weights, as they were when the rows were added.

        Returns
        -------
        self
            The fitted model.
        """
        self._calibrate_again(X, y, None, sample_weight)
        return self

    def _has_table(self, y: Any) -> bool:
        table = y is not None and not is_single_column(y)
        if table and self.class_weight is not None:
            raise ValueError(
                f"class_weight={self.class_weight!r} gives labels weights of their own, which sums "
                "over rows do not keep apart: leave it out, or fit on the rows at once."
            )
        return table

    # -- solving ------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._checked_sharing()
        self._check_threshold()

    def _solve_sums(self, sums: NormalEquations) -> None:
        self.single_ = sums.kind == "classes"
        self.indicator_ = not self.single_
        self.n_iter_, self.residual_ = 1, 0.0
        self.beta_ = self.held_out_log_loss_ = float("nan")
        if self.single_:
            self._solve_classes(sums)
        else:
            self._solve_labels(sums)
        rows = kept_rows(sums, self._target_factors(sums)) if self._needs_held_out else None
        if rows is not None:
            self._calibrate_on(sums, rows)
        elif self._needs_held_out and sums.n_held_out == 0:
            warn_no_rows()

    def _solve_classes(self, sums: NormalEquations) -> None:
        self._take_classes(sums)
        self.label_names_, self.learnt_ = np.arange(1), np.array([True])
        self.similarity_ = [np.zeros((1, 1))]
        self.betas_ = np.full(1, np.nan)
        inverse = RidgeInverse(sums.gram(), float(self.reg) * sums.weight, overwrite=True)
        self._keep(np.array([sums.sigma]), inverse.apply(sums.moments())[None])

    def _solve_labels(self, sums: NormalEquations) -> None:
        names = sums.classes
        n_labels = len(names)
        products = sums.target_sums()
        self.classes_ = np.arange(n_labels)
        self.label_names_ = names
        self.prior_ = products[0, 1:] / products[0, 0]
        on = np.diagonal(products)[1:]
        self.learnt_ = (on > 0) & (on < (1 - 1e-12) * products[0, 0])
        if not self.learnt_.any():
            raise ValueError(
                f"{type(self).__name__} needs a label that is on in some rows and off in others, "
                f"but each of the {n_labels} columns of Y holds one value only so far."
            )
        # a constant label is answered by its share, moved 1/(n+1) towards ½ as calibration does
        epsilon = 1.0 / (sums.n_rows + 1)
        moved = (1.0 - epsilon) * self.prior_ + epsilon / 2.0
        self.prior_ = np.where(self.learnt_, self.prior_, moved)
        self.betas_ = np.full(n_labels, np.nan)
        level = 0.5 if isinstance(self.threshold, str) else float(self.threshold)
        self.thresholds_ = np.full(n_labels, level)
        active = np.append(0, 1 + np.flatnonzero(self.learnt_))
        similarity = self._for_active(self.similarity, n_labels)
        W = similarity_of_sums(products[np.ix_(active, active)], similarity, self.n_similar)
        self.similarity_ = np.zeros((n_labels, n_labels))
        self.similarity_[np.ix_(self.learnt_, self.learnt_)] = W
        found = LabelSums.of(sums.gram(), sums.moments()[:, active], sums.weight)
        coef = found.coefficients(*label_spectrum(W), float(self.reg), self._checked_sharing())
        self._keep_columns(np.array([sums.sigma]), coef[None], int(self.learnt_.sum()))

    def _for_active(self, similarity: Any, n_labels: int) -> Any:
        if isinstance(similarity, str) or callable(similarity):
            return similarity
        matrix = np.asarray(similarity)
        if matrix.shape != (n_labels, n_labels):
            return matrix  # refused, with its shape, where similarities are checked
        return matrix[np.ix_(self.learnt_, self.learnt_)]

    def _checked_sharing(self) -> float:
        raise NotImplementedError

    # -- calibration --------------------------------------------------------------------------

    def _target_factors(self, sums: NormalEquations) -> Array:
        if self.single_:
            return self._factors(sums.classes)
        return np.ones(1 + len(sums.classes))

    def _calibrate_on(self, sums: NormalEquations, rows: SampleRows | None) -> None:
        if self.single_ or rows is None:
            super()._calibrate_on(sums, rows)
            self.betas_ = np.array([self.beta_])
            return
        self.thresholds_ = self.thresholds_.copy()
        scores = self._held_out_of(sums, rows)
        held = self._sample_labels(rows)
        if self.posterior == "calibrated":
            common, links = held.links(scores)
            self._keep_label_links(common, links)
            losses = [
                -np.einsum("nc,nc->n", z, np.log(np.maximum(link(q), LEAST)))
                for q, link, z in zip(
                    held.layout.by_label(scores), links, held.targets, strict=True
                )
            ]
            self.held_out_log_loss_ = float(
                np.average(np.mean(losses, axis=0), weights=rows.weights)
            )
        if isinstance(self.threshold, str):
            proba = self._label_probabilities(held.layout, scores)
            for a, t in enumerate(np.flatnonzero(self.learnt_)):
                on = rows.weights * held.targets[a][:, 1]
                self.thresholds_[t] = best_f1_threshold(proba[a][:, 1], on, rows.weights - on)

    def _sample_labels(self, rows: SampleRows) -> LabelTargets:
        on = rows.targets[:, 1:][:, self.learnt_]
        return LabelTargets(
            layout=ScoreLayout(True, (2,) * on.shape[1]),
            targets=[np.column_stack([1.0 - z, z]) for z in on.T],
            weights=np.repeat(rows.weights[:, None], on.shape[1], axis=1),
            n_smooth=rows.n_units,
            repeated=rows.repeated,
        )

    def _held_out_of(self, sums: NormalEquations, rows: SampleRows) -> Array:
        reg = float(self.reg)
        if self.single_:
            ridge = reg * sums.weight * rows.shrink
            return leave_one_out(
                sums.gram(), sums.moments(), ridge, rows.features, rows.targets, rows.units
            )
        active = np.append(0, 1 + np.flatnonzero(self.learnt_))
        found = LabelSums.of(sums.gram(), sums.moments()[:, active], sums.weight)
        on = rows.targets[:, active[1:]]
        targets = np.column_stack([2.0 * on - 1.0, np.ones(len(on))])
        W = self.similarity_[np.ix_(self.learnt_, self.learnt_)]
        return found.leave_one_out(
            rows.features,
            targets,
            rows.units,
            *label_spectrum(W),
            reg,
            self._checked_sharing(),
            rows.shrink,
        )
