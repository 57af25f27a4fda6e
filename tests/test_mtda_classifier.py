"""Nearest neighbours in the common space, and the data it is shown on."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier

from kinlearn import MTDA, AggregateLDA, MTDAClassifier, RatioTraceLDA
from kinlearn.datasets import load_digits_resolutions, make_heterogeneous_tasks


@pytest.fixture(scope="module")
def tasks():
    return make_heterogeneous_tasks(
        n_features=(6, 40, 100), n_samples=(60, 50, 40), n_classes=(3, 4, 2), random_state=0
    )


@pytest.mark.parametrize(
    "reducer", [None, MTDA(n_components=3), AggregateLDA(), PCA(3), RatioTraceLDA()]
)
def test_it_is_a_reduction_and_neighbours_per_task(tasks, reducer):
    Xs, ys = tasks
    model = MTDAClassifier(reducer=reducer, n_neighbors=3).fit(Xs, ys)
    for k, (X, y) in enumerate(zip(Xs, ys, strict=True)):
        Z = model.reducer_.transform(X, task=k)
        expected = KNeighborsClassifier(3).fit(Z, y)
        np.testing.assert_array_equal(model.predict(X, task=k), expected.predict(Z))
        probabilities = model.predict_proba(X, task=k)
        np.testing.assert_array_equal(probabilities, expected.predict_proba(Z))
        assert probabilities.shape == (len(X), len(np.unique(y)))
        assert model.score(X, y, task=k) == expected.score(Z, y)


def test_default_reduction_has_a_dimension_less_than_classes(tasks):
    model = MTDAClassifier().fit(*tasks)
    assert model.reducer_.n_components_ == 3
    assert model.reducer_.shrinkage == "auto"


def test_dicts_cosine_and_clone(tasks):
    Xs, ys = tasks
    names = ("a", "b", "c")
    model = clone(MTDAClassifier(reducer=MTDA(n_components=2), metric="cosine"))
    model.fit(dict(zip(names, Xs, strict=True)), dict(zip(names, ys, strict=True)))
    assert model.score(Xs[1], ys[1], task="b") > 0.9
    assert set(model.embeddings_) == set(names)


def test_new_rows_are_told_apart_above_chance():
    Xs, ys = make_heterogeneous_tasks(n_features=(30, 80), n_samples=120, random_state=1)
    train = [slice(0, 60), slice(60, 120)]
    model = MTDAClassifier().fit([X[train[0]] for X in Xs], [y[train[0]] for y in ys])
    for k in range(2):
        assert model.score(Xs[k][train[1]], ys[k][train[1]], task=k) > 0.85


def test_refusals_are_sentences(tasks):
    Xs, ys = tasks
    with pytest.raises(ValueError, match="n_neighbors=41 is more than the 40 rows of task 2"):
        MTDAClassifier(n_neighbors=41).fit(Xs, ys)
    with pytest.raises(TypeError, match="reducer must be None, a transformer of tasks"):
        MTDAClassifier(reducer="pca").fit(Xs, ys)
    model = MTDAClassifier().fit(Xs, ys)
    with pytest.raises(ValueError, match="Task 5 was not seen in fit"):
        model.predict(Xs[0], task=5)
    with pytest.raises(ValueError, match="say which one the rows belong to"):
        model.predict(Xs[0])
    with pytest.raises(ValueError, match="X has 40 features, but task 0 was fitted with 6"):
        model.predict(Xs[1], task=0)


def test_generated_tasks_are_reproducible_and_as_asked():
    first = make_heterogeneous_tasks(n_features=(3, 50), n_samples=(20, 30), random_state=3)
    again = make_heterogeneous_tasks(n_features=(3, 50), n_samples=(20, 30), random_state=3)
    for a, b in zip(first[0] + first[1], again[0] + again[1], strict=True):
        np.testing.assert_array_equal(a, b)
    assert [X.shape for X in first[0]] == [(20, 3), (30, 50)]
    assert [np.bincount(y).tolist() for y in first[1]] == [[5] * 4, [8, 8, 7, 7]]
    with pytest.raises(ValueError, match="n_samples has 3 entries but n_features has 2"):
        make_heterogeneous_tasks(n_features=(3, 5), n_samples=(5, 5, 5))
    with pytest.raises(ValueError, match="n_classes must be at least 2 in every task, not 1"):
        make_heterogeneous_tasks(n_features=(3, 5), n_classes=1)
    with pytest.raises(ValueError, match="n_latent must be at least 1"):
        make_heterogeneous_tasks(n_latent=0)


def test_digits_at_three_resolutions_share_no_image():
    Xs, ys = load_digits_resolutions(random_state=0)
    assert [X.shape[1] for X in Xs] == [256, 64, 16]
    assert sum(len(y) for y in ys) == 1797
    assert all(X.min() >= 0 and X.max() <= 1 for X in Xs)
    assert all(set(y.tolist()) == set(range(10)) for y in ys)
    same_size, _ = load_digits_resolutions(sizes=(8, 8), random_state=0)
    assert not set(map(bytes, same_size[0])) & set(map(bytes, same_size[1]))
    # Averaging keeps the mean grey value of an image, but for the weight of its border.
    small, _ = load_digits_resolutions(sizes=(8,), random_state=0)
    tiny, _ = load_digits_resolutions(sizes=(1,), random_state=0)
    assert np.corrcoef(small[0].mean(axis=1), tiny[0][:, 0])[0, 1] > 0.7
    with pytest.raises(ValueError, match="at least one pixel"):
        load_digits_resolutions(sizes=(0,))
