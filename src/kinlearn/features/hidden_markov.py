"""A kernel between sequences: how well each one's hidden Markov model explains the other."""

from __future__ import annotations

import logging
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.linalg import eigh
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kinlearn.features._per_item import check_vectors
from kinlearn.optional import require
from kinlearn.threads import on_own_threads

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class MarkovModels:
    """Hidden Markov models with independent Gaussian features, stacked.

    Attributes
    ----------
    start : ndarray of shape (M, S)
    transition : ndarray of shape (M, S, S)
    means, variances : ndarrays of shape (M, S, d)
    """

    start: Floats
    transition: Floats
    means: Floats
    variances: Floats


class HiddenMarkovKernel(TransformerMixin, BaseEstimator):
    """Precomputed kernel from a hidden Markov model of every sequence.

    After Wichern et al. [1]_, sequences Y_i of length n_i with models M_i are compared by what each
    loses when the other's model explains it, per frame and in both directions::

        δ_ij = ½ [ (log p(Y_i|M_i) - log p(Y_i|M_j))/n_i + (log p(Y_j|M_j) - log p(Y_j|M_i))/n_j ]

    and ``k_ij = exp(-δ_ij/(2 sigma²))``: δ is a sum of two Kullback-Leibler rates, so that it takes
    the place of a squared distance. Values of δ below zero (a local optimum of a model's own fit)
    count as zero. This kernel need not be positive semi-definite: with ``psd=True`` the negative
    eigenvalues of the training matrix are set to zero, and rows of new sequences are projected on
    what remains, ``k → k U₊U₊ᵀ``, which leaves training rows as they are.

    Parameters
    ----------
    n_states : int, default=4
        States of each model.
    n_iter : int, default=10
        Steps of expectation-maximisation.
    sigma : float or "median", default="median"
        Width; ``"median"``: sigma² is the median δ of the training pairs.
    psd : bool, default=True
        Whether to make the matrix positive semi-definite.
    min_variance : float, default=1e-2
        Least variance of a state, in units of the variance of all training frames.
    n_jobs : int, optional
        Sequences worked on at one time.
    verbose : int, default=0
        Whether to show progress (as joblib's ``verbose``).
    random_state : int, default=0
        Seed of the models' starts: the same for each, so that equal sequences have equal models.

    Attributes
    ----------
    models_ : MarkovModels
        Models of the training sequences.
    divergence_ : ndarray of shape (n, n)
        δ of the training sequences.
    sigma_ : float
        Width in use.
    negative_share_ : float
        Sum of the negative eigenvalues of the training matrix before the correction, as a share of
        the sum of all absolute values.

    References
    ----------
    .. [1] Wichern, Xue, Thornburg, Mechtley, Spanias: Segmentation, indexing, and retrieval for
       environmental and natural sounds, 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.features import HiddenMarkovKernel
    >>> rng = np.random.default_rng(0)
    >>> sequences = [rng.normal(size=(50, 2)) + shift for shift in (0.0, 0.1, 3.0)]
    >>> K = HiddenMarkovKernel(n_states=2).fit_transform(sequences)
    >>> K[0, 1] > K[0, 2]
    np.True_
    """

    def __init__(
        self,
        *,
        n_states: int = 4,
        n_iter: int = 10,
        sigma: float | str = "median",
        psd: bool = True,
        min_variance: float = 1e-2,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: int = 0,
    ) -> None:
        self.n_states = n_states
        self.n_iter = n_iter
        self.sigma = sigma
        self.psd = psd
        self.min_variance = min_variance
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @on_own_threads
    def fit(self, X: Any, y: Any = None) -> HiddenMarkovKernel:
        """Fit a model to every sequence and compare them all.

        Parameters
        ----------
        X : sequence of arrays of shape (frames, dimensions)
            At least ``n_states`` frames each.
        y : ignored
            Here because scikit-learn passes it.

        Returns
        -------
        HiddenMarkovKernel
            The fitted transformer itself.
        """
        if isinstance(self.sigma, str):
            if self.sigma != "median":
                raise ValueError(f'sigma must be positive or "median", but it is {self.sigma!r}.')
        elif not self.sigma > 0:
            raise ValueError(f'sigma must be positive or "median", but it is {self.sigma!r}.')
        sequences = self._check(X)
        frames = np.vstack(sequences)
        self.mean_ = frames.mean(axis=0)
        scale = frames.std(axis=0)
        self.scale_ = np.where(scale > 0, scale, 1.0)
        self.n_features_in_ = frames.shape[1]
        scaled = self._scaled(sequences)
        self.models_ = self._models(scaled)
        self._lengths = np.array([len(sequence) for sequence in scaled])
        self._sequences = scaled
        rates = self._rates(scaled, self.models_)
        own = np.diag(rates)
        loss = own[:, None] - rates
        self._own = own
        self.divergence_: Floats = np.maximum(0.5 * (loss + loss.T), 0.0)
        np.fill_diagonal(self.divergence_, 0.0)
        self.sigma_ = self._width(self.divergence_)
        K = np.exp(-self.divergence_ / (2.0 * self.sigma_**2))
        values, vectors = eigh(K)
        self.negative_share_ = float(-values[values < 0].sum() / np.abs(values).sum())
        self._kept = vectors[:, values > 0]
        return self

    @on_own_threads
    def transform(self, X: Any) -> Floats:
        """Kernel of sequences and the training sequences, shape (len(X), n).

        A training sequence that is passed again gets the row it has in the training matrix.

        Parameters
        ----------
        X : sequence of arrays of shape (frames, dimensions)
            One array of frames for each item.

        Returns
        -------
        ndarray of shape (len(X), n)
            For ``kernel="precomputed"``.
        """
        check_is_fitted(self, "models_")
        K = np.exp(-self.divergence(X) / (2.0 * self.sigma_**2))
        return K @ self._kept @ self._kept.T if self.psd else K

    @on_own_threads
    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Floats:
        """Fit, and return the training matrix without comparing everything twice.

        Parameters
        ----------
        X : sequence of arrays of shape (frames, dimensions)
            One array of frames for each item.
        y : ignored
            Here because scikit-learn passes it.
        **fit_params : ignored
            Here because scikit-learn passes them.

        Returns
        -------
        ndarray of shape (n, n)
            The kernel of the training sequences.
        """
        self.fit(X, y)
        K = np.exp(-self.divergence_ / (2.0 * self.sigma_**2))
        if not self.psd:
            return K
        K = K @ self._kept @ self._kept.T
        return 0.5 * (K + K.T)

    def divergence(self, X: Any) -> Floats:
        """δ between sequences and the training sequences, shape (len(X), n).

        Parameters
        ----------
        X : sequence of arrays of shape (frames, dimensions)
            One array of frames for each item.

        Returns
        -------
        ndarray of shape (len(X), n)
            Between each sequence and each training sequence.
        """
        check_is_fitted(self, "models_")
        sequences = self._check(X)
        if sequences[0].shape[1] != self.n_features_in_:
            raise ValueError(
                f"The sequences have frames of length {sequences[0].shape[1]}, but those of fit "
                f"had {self.n_features_in_}."
            )
        scaled = self._scaled(sequences)
        models = self._models(scaled)
        forth = self._rates(scaled, self.models_)
        back = self._rates(self._sequences, models).T
        own = np.array(
            [
                log_likelihoods(sequence, _one(models, i))[0] / len(sequence)
                for i, sequence in enumerate(scaled)
            ]
        )
        return np.maximum(0.5 * ((own[:, None] - forth) + (self._own - back)), 0.0)

    def _check(self, X: Any) -> list[Floats]:
        sequences = check_vectors(X, "HiddenMarkovKernel", allow_empty=False)
        for i, sequence in enumerate(sequences):
            if len(sequence) < max(2, self.n_states):
                raise ValueError(
                    f"Sequence {i} has {len(sequence)} frames, fewer than n_states={self.n_states}"
                    " (and at least 2): leave it out, or use fewer states."
                )
        return sequences

    def _scaled(self, sequences: list[Floats]) -> list[Floats]:
        return [(sequence - self.mean_) / self.scale_ for sequence in sequences]

    def _models(self, sequences: list[Floats]) -> MarkovModels:
        require("hmmlearn", "HiddenMarkovKernel", "audio")
        found = Parallel(n_jobs=self.n_jobs, verbose=self.verbose)(
            delayed(fit_model)(
                sequence, self.n_states, self.n_iter, self.min_variance, self.random_state
            )
            for sequence in sequences
        )
        return MarkovModels(*(np.stack(parts) for parts in zip(*found, strict=True)))

    def _rates(self, sequences: list[Floats], models: MarkovModels) -> Floats:
        """Log-likelihood per frame of every sequence (rows) under every model (columns)."""
        found = Parallel(n_jobs=self.n_jobs, verbose=self.verbose)(
            delayed(log_likelihoods)(sequence, models) for sequence in sequences
        )
        return np.stack([row / len(s) for row, s in zip(found, sequences, strict=True)])

    def _width(self, divergence: Floats) -> float:
        if not isinstance(self.sigma, str):
            return float(self.sigma)
        pairs = divergence[np.triu_indices(len(divergence), 1)]
        median = float(np.median(pairs)) if pairs.size else 0.0
        return float(np.sqrt(median)) if median > 0 else 1.0

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.no_validation = True
        return tags


def fit_model(
    sequence: Floats, n_states: int, n_iter: int, min_variance: float, random_state: int
) -> tuple[Floats, Floats, Floats, Floats]:
    """Start, transition, means and variances of one sequence's model."""
    from hmmlearn.hmm import GaussianHMM

    logger = logging.getLogger("hmmlearn")
    before = logger.level
    logger.setLevel(logging.ERROR)  # ten steps need not converge
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # k-means finds fewer distinct frames than states
            model = GaussianHMM(
                n_states, "diag", min_covar=min_variance, n_iter=n_iter, random_state=random_state
            ).fit(sequence)
    finally:
        logger.setLevel(before)
    variances = np.stack([np.diag(block) for block in model.covars_])
    return (
        _distribution(model.startprob_),
        _distribution(model.transmat_),
        np.nan_to_num(model.means_),
        np.maximum(np.nan_to_num(variances, nan=1.0), min_variance),
    )


def _distribution(rows: Floats) -> Floats:
    """Rows that add up to one; a state that was never left goes anywhere."""
    rows = np.nan_to_num(rows)
    total = rows.sum(axis=-1, keepdims=True)
    return np.where(total > 0, rows / np.where(total > 0, total, 1.0), 1.0 / rows.shape[-1])


def _one(models: MarkovModels, i: int) -> MarkovModels:
    return MarkovModels(
        models.start[i : i + 1],
        models.transition[i : i + 1],
        models.means[i : i + 1],
        models.variances[i : i + 1],
    )


def log_likelihoods(sequence: Floats, models: MarkovModels) -> Floats:
    """log p(sequence | model) for all models at once, by the scaled forward recursion.

    Parameters
    ----------
    sequence : ndarray of shape (n, d)
    models : MarkovModels

    Returns
    -------
    ndarray of shape (M,)
    """
    M, S, d = models.means.shape
    precision = 1.0 / models.variances
    # log N(y; m, v) summed over features, as two products instead of an (n, M, S, d) array
    constant = -0.5 * (
        (models.means**2 * precision).sum(axis=2)
        + np.log(models.variances).sum(axis=2)
        + d * np.log(2.0 * np.pi)
    )
    emission = (
        sequence @ (models.means * precision).reshape(M * S, d).T
        - 0.5 * (sequence**2) @ precision.reshape(M * S, d).T
    ).reshape(-1, M, S) + constant
    top = emission.max(axis=2, keepdims=True)
    chance = np.exp(emission - top)
    total = top.sum(axis=(0, 2))
    alpha = models.start * chance[0]
    for step in range(len(sequence)):
        if step > 0:
            alpha = np.matmul(alpha[:, None, :], models.transition)[:, 0] * chance[step]
        mass = np.maximum(alpha.sum(axis=1), 1e-300)
        total += np.log(mass)
        alpha = alpha / mass[:, None]
    return np.asarray(total)
