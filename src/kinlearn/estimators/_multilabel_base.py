"""What MultiLabelLSPC and MultiLabelLSPCCV share: preparing a fit, and everything after it."""

from __future__ import annotations

from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from kinlearn.distributed.prediction import by_partition
from kinlearn.estimators._base import MAX_HELD_OUT_ROWS, KernelClassifier
from kinlearn.estimators._checks import (
    check_for_kernel,
    check_model_choices,
    check_precomputed,
    warn_if_indefinite,
    warn_if_large,
    warn_if_spread_differs,
)
from kinlearn.estimators._label_design import LabelDesign
from kinlearn.estimators._label_table import LabelTable, is_single_column, read_labels
from kinlearn.estimators._label_training_set import LabelTrainingSet, make_label_training_set
from kinlearn.estimators._training_set import encode_classes
from kinlearn.kernels import Kernel, KernelMap
from kinlearn.labels import refuse_mixed_labels
from kinlearn.posterior import Link, posterior
from kinlearn.selection.folds import Validation
from kinlearn.selection.label_mixture import (
    LabelCalibration,
    calibrate_labels,
    label_links_of,
    uncalibrated,
)
from kinlearn.selection.label_scoring import HeldOutLabels, ScoreLayout, best_f1_threshold
from kinlearn.selection.reporting import reported_scores

Array: TypeAlias = NDArray[np.float64]


class MultiLabelClassifier(KernelClassifier):
    """A classifier with a score column per label, or per class of a label."""

    basis = "full"
    similarity: Any
    n_similar: int | None
    threshold: float | str

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        return tags

    # -- before the solve ---------------------------------------------------------------------

    def _prepare_labels(self, X: Any, Y: Any, sample_weight: Any) -> LabelTrainingSet:
        """Validate everything, read the labels and merge rows."""
        self._drop_stream()
        check_model_choices(self)
        self._check_threshold()
        kernel = self._kernel()
        name = type(self).__name__
        options: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}
        self.single_ = Y is None or is_single_column(Y)
        if self.single_:
            refuse_mixed_labels(Y)
            X, Y = validate_data(self, X, Y, **options)
            classes, codes = encode_classes(Y, name)
            table = LabelTable(codes[:, None], [classes], np.arange(1), False)
        else:
            X = validate_data(self, X, **options)
            table = read_labels(Y)
        check_for_kernel(X, kernel, self)
        if kernel.name == "precomputed":
            check_precomputed(X, X.shape[0])
        data = make_label_training_set(X, table, sample_weight, self.class_weight, name)
        warn_if_spread_differs(data.X, kernel, getattr(self, "feature_names_in_", None))
        self.indicator_ = table.indicator
        if self.single_:
            self.classes_: Any = table.classes[0]
        else:
            self.classes_ = np.arange(table.n_labels) if table.indicator else table.classes
        self.label_names_ = table.names
        self.learnt_ = np.isin(np.arange(table.n_labels), data.active)
        self.prior_: Any = (
            np.array([prior[1] for prior in data.priors])
            if table.indicator
            else (data.priors[0] if self.single_ else data.priors)
        )
        return data

    def _check_threshold(self) -> None:
        value = self.threshold
        if isinstance(value, str) and value == "loo_f1":
            return
        number = isinstance(value, Real) and not isinstance(value, bool)
        if not number or not 0 < float(value) < 1:
            raise ValueError(
                f'threshold must be a number between 0 and 1 or "loo_f1", but {value!r} was given.'
            )

    def _label_design(
        self, data: LabelTrainingSet, kernel: Kernel, sigma: float, n_decompositions: int
    ) -> LabelDesign:
        """Choose the centres, compare the labels and set the problems up."""
        positions = self._place_centers(data.X, data.rows, kernel, sigma)
        own = positions is not None and positions.size == data.n_rows
        if own:
            weighted = data.complete and data.row_weights is not None
            warn_if_large(data.n_rows, n_decompositions, weighted)
        problems, similarities = data.problems(self.similarity, self.n_similar)
        self.similarity_: Any = similarities
        if data.table.indicator:
            self.similarity_ = np.zeros((data.table.n_labels,) * 2)
            self.similarity_[np.ix_(data.active, data.active)] = similarities[0]
        design = LabelDesign(
            KernelMap(kernel, self.centers_, self.memory_mb),
            data,
            problems,
            own_centers=own,
            keep=n_decompositions > 1,
        )
        if own and (self.kernel == "precomputed" or callable(self.kernel)):
            warn_if_indefinite(design.features.square_measure(data.X))
        return design

    def _validation(
        self,
        cv: Any,
        data: LabelTrainingSet,
        groups: Any,
        *,
        closed_form: bool,
        max_rows: int | None = None,
    ) -> Validation:
        """What is held out; a few folds where leave-one-out has no closed form."""
        limit = MAX_HELD_OUT_ROWS if max_rows is None else min(max_rows, MAX_HELD_OUT_ROWS)
        return data.validation(
            cv, groups, closed_form=closed_form, max_rows=limit, seed=self._seed()
        )

    def _layout(self, data: LabelTrainingSet) -> ScoreLayout:
        return ScoreLayout(
            data.table.indicator, tuple(len(data.table.classes[t]) for t in data.active)
        )

    def _held_out_labels(
        self, data: LabelTrainingSet, design: LabelDesign, validation: Validation
    ) -> HeldOutLabels:
        """Describe the copies of rows that held-out scores speak of."""
        layout, unit = self._layout(data), validation.unit
        factors = data.unit_factors[unit]
        weights = validation.weights()[:, None] * (factors > 0)
        pair_weights = weights * factors
        pair_weights *= weights.sum() / pair_weights.sum()
        n_columns = sum(len(problem.columns) for problem in design.problems)
        fit_targets = np.empty((unit.size, n_columns))
        fit_weights = np.empty((unit.size, n_columns))
        for problem in design.problems:
            assert problem.units is not None
            fit_targets[:, problem.columns] = problem.units[unit]
            each = pair_weights[:, :1] if design.complete else pair_weights[:, problem.labels]
            fit_weights[:, problem.columns] = problem.multiplicity * each

        def expand(scores: Array) -> tuple[Array, Array]:
            answers = layout.difference(scores) if layout.indicator else scores
            if self.single_ and layout.sizes == (2,):
                answers = scores[:, 1:] - scores[:, :1]
            spread = validation.spread(answers)
            one = spread.shape[1] == 1 and self.single_
            return self._observed(data), spread[:, 0] if one else spread

        edges = np.flatnonzero(np.diff(data.label_of)) + 1
        return HeldOutLabels(
            layout=layout,
            targets=np.split(data.unit_targets[unit], edges, axis=1),
            weights=weights,
            n_smooth=validation.n_copies,
            repeated=data.repeated,
            fit_targets=fit_targets,
            fit_weights=fit_weights,
            pair_weights=pair_weights,
            starts=None if validation.pooled else validation.splits.starts,
            validation=validation,
            expand=expand,
        )

    def _observed(self, data: LabelTrainingSet) -> Any:
        """The learnt labels of the original rows, NaN where unobserved."""
        codes = data.table.codes[:, data.active]
        if self.single_:
            return data.table.classes[0][codes[:, 0]]
        columns = [data.table.classes[t][codes[:, a]] for a, t in enumerate(data.active)]
        return np.where(codes < 0, np.nan, np.column_stack(columns).astype(np.float64))

    def _label_balance(self, data: LabelTrainingSet) -> list[Array] | None:
        """Factors of the classes of each learnt label, where any label leans by them."""
        return data.balance if any(np.ptp(own) > 0 for own in data.balance) else None

    def _calibrate_labels(self, data: LabelTrainingSet, rows: HeldOutLabels, scores: Array) -> None:
        """Calibrate held-out scores and set thresholds; keep the scores as they are reported."""

        def learn(others: HeldOutLabels) -> LabelCalibration:
            if self.posterior != "calibrated":
                return uncalibrated(others.layout, scores.shape[1])
            return calibrate_labels(scores, others, self._label_balance(data))

        found = learn(rows)
        self._keep_label_links(found.common, found.links)
        self._set_thresholds(rows, scores)
        self._keep_reported(
            reported_scores(rows, learn, score=lambda _: scores, numbers=LabelCalibration.numbers)
        )

    def _keep_label_links(self, common: Link, links: list[Link]) -> None:
        """Keep how scores become probabilities, for all labels together and label by label."""
        self.beta_ = float(common.beta)
        self._drop_links()
        self.betas_ = np.full(self.learnt_.size, np.nan)
        self.betas_[self.learnt_] = [link.beta for link in links]
        if common.gamma:
            self.gamma_, self.score_floor_ = common.gamma, common.floor
            self.gammas_ = np.full(self.learnt_.size, np.nan)
            self.gammas_[self.learnt_] = [link.gamma for link in links]
        if any(np.any(link.shift) for link in links):
            self.prior_shift_ = np.concatenate([np.atleast_1d(link.shift) for link in links])

    def _set_thresholds(self, rows: HeldOutLabels, scores: Array) -> None:
        """Set the thresholds of indicators by held-out scores of all rows, where asked for."""
        if not (self.indicator_ and isinstance(self.threshold, str)):
            return
        proba = self._label_probabilities(rows.layout, scores)
        for a, t in enumerate(np.flatnonzero(self.learnt_)):
            seen = rows.weights[:, a] > 0
            weights, z = rows.weights[seen, a], rows.targets[a][seen]
            self.thresholds_[t] = best_f1_threshold(
                proba[a][seen, 1], weights * z[:, 1], weights * z[:, 0]
            )

    def _start_fit(self, data: LabelTrainingSet) -> None:
        self.beta_ = float("nan")
        self.betas_ = np.full(data.table.n_labels, np.nan)
        self._drop_links()
        if self.indicator_:
            level = 0.5 if isinstance(self.threshold, str) else float(self.threshold)
            self.thresholds_ = np.full(data.table.n_labels, level)

    def _drop_links(self) -> None:
        """Forget what only some links have."""
        for name in ("gamma_", "gammas_", "score_floor_", "prior_shift_"):
            self.__dict__.pop(name, None)

    @property
    def _needs_held_out(self) -> bool:
        return self.posterior == "calibrated" or isinstance(self.threshold, str)

    def _keep_labels(self, sigmas: Array, coefs: Array, data: LabelTrainingSet) -> None:
        self._keep_columns(sigmas, coefs, len(data.active))

    def _keep_columns(self, sigmas: Array, coefs: Array, n_labels: int) -> None:
        """Keep the model; for ``"rounded_parameters"`` the parameters of each class rounded."""
        if self.posterior == "rounded_parameters" and self.indicator_:
            d = coefs[:, :, :n_labels]
            e = np.broadcast_to(coefs[:, :, n_labels:], d.shape)
            on, off = np.maximum(e + d, 0.0) / 2, np.maximum(e - d, 0.0) / 2
            self.kept_sigmas_, self.coef_ = sigmas, np.concatenate([on - off, on + off], axis=2)
            return
        self._keep(sigmas, coefs)

    # -- after the solve ----------------------------------------------------------------------

    def _fitted_layout(self) -> ScoreLayout:
        if self.indicator_:
            return ScoreLayout(True, (2,) * int(self.learnt_.sum()))
        classes = [self.classes_] if self.single_ else self.classes_
        return ScoreLayout(
            False, tuple(len(c) for c, ok in zip(classes, self.learnt_, strict=True) if ok)
        )

    def _fallbacks(self) -> list[Array | None]:
        """What rounding rules answer where all scores round to zero, by learnt label."""
        if self.fallback != "prior":
            return [None] * int(self.learnt_.sum())
        if self.indicator_:
            return [np.array([1.0 - p, p]) for p in self.prior_[self.learnt_]]
        priors = [self.prior_] if self.single_ else self.prior_
        return [p for p, ok in zip(priors, self.learnt_, strict=True) if ok]

    def _label_probabilities(self, layout: ScoreLayout, scores: Array) -> list[Array]:
        """Probabilities of every learnt label's classes."""
        return [
            posterior(q, self.posterior, link, fallback)
            for q, link, fallback in zip(
                layout.by_label(scores), self._label_links(layout), self._fallbacks(), strict=True
            )
        ]

    def _label_links(self, layout: ScoreLayout) -> list[Link]:
        """How the scores of each learnt label become probabilities."""
        common = self._link
        gammas = getattr(self, "gammas_", np.full(self.learnt_.size, common.gamma))
        shift = np.broadcast_to(common.shift, sum(layout.sizes))
        return [
            Link(float(beta), float(gamma), common.floor, own)
            for beta, gamma, own in zip(
                self.betas_[self.learnt_],
                gammas[self.learnt_],
                np.split(shift, np.cumsum(layout.sizes)[:-1]),
                strict=True,
            )
        ]

    def _per_label(self, learnt: list[Array], n_rows: int) -> list[Array]:
        """Answers for all labels: those learnt, and the prior of the others."""
        answers = iter(learnt)
        priors = [self.prior_] if self.single_ else self.prior_
        return [
            next(answers) if ok else np.repeat(np.asarray(prior)[None], n_rows, axis=0)
            for ok, prior in zip(self.learnt_, priors, strict=True)
        ]

    @by_partition
    def decision_function(self, X: Any) -> Any:
        """Return unrounded scores.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_labels), or list of ndarrays
            Indicators: ``q_1 - q_0`` of every label. Otherwise one array per label, as
            :class:`LSPC` returns it; for one-dimensional y that array itself.
        """
        scores = self._scores(X)
        layout = self._fitted_layout()
        if self.indicator_:
            answer = np.repeat(2.0 * self.prior_[None] - 1.0, len(scores), axis=0)
            answer[:, self.learnt_] = layout.difference(scores)
            return answer
        columns = self._per_label(layout.by_label(scores), len(scores))
        columns = [q[:, 1] - q[:, 0] if q.shape[1] == 2 else q for q in columns]
        return columns[0] if self.single_ else columns

    @by_partition
    def predict_proba(self, X: Any) -> Any:
        """Return probabilities under the chosen posterior rule.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_labels), or list of ndarrays
            Indicators: P(label = 1). Otherwise one array (n_samples, classes) per label; for
            one-dimensional y that array itself.
        """
        return self._probabilities(self._scores(X))

    def held_out_proba(self) -> Any:
        """Return the probabilities of the training rows from scores that have not seen them.

        Returns
        -------
        ndarray or list of ndarrays
            As :meth:`predict_proba`; NaN for rows never held out.
        """
        if not self.single_ and not self.indicator_:
            raise ValueError("held_out_proba answers for indicators and for one label only.")
        return super().held_out_proba()

    def _held_out_posterior(self) -> Any:
        scores, layout = self.held_out_scores_, self._fitted_layout()
        links = label_links_of(self.held_out_links_, layout)
        by_label = layout.by_label(scores)
        return self._answers(
            [link(q) for link, q in zip(links, by_label, strict=True)], len(scores)
        )

    def _posterior(self, scores: Array) -> Any:
        return self._probabilities(scores)

    def _probabilities(self, scores: Array) -> Any:
        return self._answers(self._label_probabilities(self._fitted_layout(), scores), len(scores))

    def _answers(self, learnt: list[Array], n_rows: int) -> Any:
        """Probabilities of all labels from those of the learnt ones."""
        if self.indicator_:
            answer = np.repeat(self.prior_[None], n_rows, axis=0)
            answer[:, self.learnt_] = np.column_stack([p[:, 1] for p in learnt])
            return answer
        answers = self._per_label(learnt, n_rows)
        return answers[0] if self.single_ else answers

    @by_partition
    def predict_log_proba(self, X: Any) -> Any:
        """Return the logarithm of :meth:`predict_proba`.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray or list of ndarrays
            As :meth:`predict_proba`.
        """
        proba = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return [np.log(p) for p in proba] if isinstance(proba, list) else np.log(proba)

    @by_partition
    def predict(self, X: Any) -> np.ndarray:
        """Return 0/1 indicators, or the class of the largest score in every label.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_labels), or (n_samples,) for one-dimensional y
            Indicators are on where the probability exceeds ``thresholds_``.
        """
        check_is_fitted(self)
        if self.indicator_:
            # At ½ the sign of the scores decides, under every rule and without rounding.
            plain = self.thresholds_ == 0.5
            scores = self._scores(X)
            on = self._probabilities(scores) > self.thresholds_
            chosen = plain & self.learnt_
            difference = self._fitted_layout().difference(scores)
            on[:, chosen] = difference[:, chosen[self.learnt_]] > 0
            return on.astype(np.int64)
        scores = self._scores(X)
        columns = self._per_label(self._fitted_layout().by_label(scores), len(scores))
        classes = [self.classes_] if self.single_ else self.classes_
        chosen_classes = [c[q.argmax(axis=1)] for c, q in zip(classes, columns, strict=True)]
        return chosen_classes[0] if self.single_ else np.column_stack(chosen_classes)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of rows all of whose (observed) labels are predicted right.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples, n_labels) or (n_samples,)
            True labels, NaN where unobserved.
        sample_weight : array-like of shape (n_samples,), optional
            Weights.

        Returns
        -------
        float
            The share.
        """
        predicted = self.predict(X)
        if self.single_:
            right = np.asarray(y) == predicted
        else:
            table = read_labels(y)
            truth = np.zeros(table.codes.shape)
            for t, classes in enumerate(table.classes):
                truth[:, t] = classes[table.codes[:, t]]
            right = ((truth == predicted) | (table.codes < 0)).all(axis=1)
        return float(np.average(right, weights=sample_weight))
