"""Rows of words are told from others, and also seen by their proportions."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from kinlearn import MultiTaskLSPCCV, load, save
from kinlearn.kernels.words import are_words

FEW = {"sigmas": [2.0, 6.0], "regs": [1e-3, 1e-1], "sharings": [0.0, 0.9]}
pytestmark = pytest.mark.filterwarnings("ignore:The best")


def documents(seed=0):
    """Texts of very different lengths, their class told by proportions."""
    rng = np.random.default_rng(seed)
    y, task = rng.integers(2, size=120), np.arange(120) % 3
    rates = np.full((120, 40), 1.0)
    rates[y == 1, :6], rates[y == 0, 6:12] = 5.0, 5.0
    lengths = np.exp(rng.normal(2.0, 0.8, size=120)) + 4
    X = rng.poisson(lengths[:, None] * rates / rates.sum(axis=1, keepdims=True))
    return X.astype(float), y, task


def test_words_are_told_from_other_rows():
    X, _, _ = documents()
    assert are_words(X)
    assert are_words(sp.csr_matrix(X))
    assert not are_words(X[:, :20])
    assert not are_words(X + 1.0)
    assert not are_words(X - X.mean(axis=0))
    assert not are_words(sp.csr_matrix(-X))
    assert not are_words(np.zeros((0, 40)))


def test_only_the_default_is_joined_by_the_cosine(tmp_path):
    X, y, task = documents()
    model = MultiTaskLSPCCV(**FEW).fit(X, y, task=task)
    assert set(model.cv_results_["param_kernel"]) == {"rbf", "laplacian", "cosine"}
    given = MultiTaskLSPCCV(**FEW, kernel=["laplacian", "rbf"]).fit(X, y, task=task)
    assert set(given.cv_results_["param_kernel"]) == {"rbf", "laplacian"}
    scaled = MultiTaskLSPCCV(**FEW).fit(X - X.mean(axis=0), y, task=task)
    assert set(scaled.cv_results_["param_kernel"]) == {"rbf", "laplacian"}
    sparse = MultiTaskLSPCCV(**FEW).fit(sp.csr_matrix(X), y, task=task)
    proba = model.predict_proba(X, task=task)
    np.testing.assert_allclose(sparse.predict_proba(X, task=task), proba, atol=1e-8)
    assert "cosine" in model.kept_kernels_
    save(model, tmp_path / "model.kin")
    again = load(tmp_path / "model.kin")
    np.testing.assert_array_equal(again.predict_proba(X, task=task), proba)
    assert again.kept_kernels_ == model.kept_kernels_
