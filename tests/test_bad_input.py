"""Bad input gets a sentence that says what was wrong, or a stated answer."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from kinlearn import (
    LSPC,
    LSPCCV,
    HandOver,
    HeterogeneousLSPC,
    IndependentTasks,
    KernelLogisticRegression,
    MultiLabelLSPC,
    MultiTaskLSPC,
    NormalEquations,
    PooledTasks,
    PredictionSets,
    RatioTraceLDA,
)

BOTH = pytest.mark.parametrize("Estimator", [LSPC, LSPCCV])


@pytest.fixture
def data(rng):
    y = np.arange(40) % 2
    return rng.normal(size=(40, 3)) + y[:, None], y


@BOTH
@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_nan_and_infinity(Estimator, value, word, data):
    X, y = data
    X[3, 1] = value
    with pytest.raises(ValueError, match=f"Input X contains {word}"):
        Estimator().fit(X, y)
    X[3, 1] = 0.0
    model = Estimator().fit(X, y)
    X[3, 1] = value
    with pytest.raises(ValueError, match=f"Input X contains {word}"):
        model.predict_proba(X)


def mixed_labels(n):
    return [1, "a"] * (n // 2)


@BOTH
def test_labels(Estimator, data):
    X, y = data
    with pytest.raises(
        ValueError, match=rf"{Estimator.__name__} needs at least two classes.*one class"
    ):
        Estimator().fit(X, np.full(40, "a"))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        Estimator().fit(X, y[:30])
    with pytest.raises(ValueError, match="Unknown label type"):
        Estimator().fit(X, y + 0.5 * np.arange(40))
    with pytest.raises(ValueError, match="NaN"):
        Estimator().fit(X, np.where(y == 0, np.nan, 1.0))
    for mixed in (mixed_labels(40), np.array(mixed_labels(40), dtype=object)):
        with pytest.raises(ValueError, match=r"y mixes labels.*int, str.*such as 1 and 'a'"):
            Estimator().fit(X, mixed)


@BOTH
def test_shapes(Estimator, data):
    X, y = data
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        Estimator().fit(X[:0], y[:0])
    with pytest.raises(ValueError, match="Expected 2D array"):
        Estimator().fit(X[:, 0], y)
    with pytest.raises(ValueError, match="X has 2 features"):
        Estimator().fit(X, y).predict(X[:, :2])
    with pytest.raises(ValueError, match="one class"):
        Estimator().fit(X[:1], y[:1])


@pytest.mark.parametrize("name", ["sigma", "reg", "memory_mb"])
@pytest.mark.parametrize("value", [0, -1.0, np.nan, np.inf, "wide", True, None])
def test_numbers_must_be_positive(name, value, data):
    if name == "sigma" and value is None:
        value = [1.0]
    with pytest.raises(ValueError, match=f"{name} must be a positive number"):
        LSPC(**{name: value}).fit(*data)


@pytest.mark.parametrize("name", ["sigmas", "regs"])
@pytest.mark.parametrize("values", [[], [0.0, 1.0], [-1.0], [np.nan], [np.inf]])
def test_grids_must_be_positive(name, values, data):
    with pytest.raises(ValueError, match=f"{name} must hold positive numbers"):
        LSPCCV(**{name: values}).fit(*data)


@pytest.mark.parametrize(
    "settings",
    [
        {"kernel": "gauss"},
        {"posterior": "platt"},
        {"fallback": "zero"},
        {"basis": "some"},
        {"center_selection": "best"},
    ],
)
@BOTH
def test_unknown_choices_list_the_known(Estimator, settings, data):
    (name,) = settings
    with pytest.raises(ValueError, match=rf"{name}='\w+' is not known. Choose"):
        Estimator(**settings).fit(*data)


def test_unknown_search_choices(data):
    with pytest.raises(ValueError, match=r"combine='vote' is not known"):
        LSPCCV(combine="vote").fit(*data)
    with pytest.raises(ValueError, match=r"precision='half' is not known"):
        LSPCCV(precision="half").fit(*data)
    with pytest.raises(ValueError, match=r"cv='jackknife' is not known"):
        LSPCCV(cv="jackknife").fit(*data)
    for k in (1, 41):
        with pytest.raises(ValueError, match=rf"cv={k} folds need at least 2 and at most 40"):
            LSPCCV(cv=k).fit(*data)


@pytest.mark.parametrize("value", [0, -3, 2.5, "many", True])
def test_number_of_centers(value, data):
    with pytest.raises(ValueError, match="n_centers must be"):
        LSPC(n_centers=value).fit(*data)


def test_more_centers_than_rows_uses_all_and_says_so(data):
    X, y = data
    with pytest.warns(UserWarning, match="n_centers=50 exceeds the 40 distinct"):
        model = LSPC(n_centers=50).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), LSPC().fit(X, y).predict_proba(X))


def test_centers_given(data):
    X, y = data
    with pytest.raises(ValueError, match="Both centers and n_centers=5"):
        LSPC(centers=X[:5], n_centers=5).fit(X, y)
    with pytest.raises(ValueError, match="centers has 2 features, but X has 3"):
        LSPC(centers=X[:5, :2]).fit(X, y)
    with pytest.raises(ValueError, match="NaN"):
        LSPC(centers=np.full((2, 3), np.nan)).fit(X, y)
    with pytest.raises(ValueError, match=r"classwise.*needs centers of known class"):
        LSPC(centers=X[:5], basis="classwise").fit(X, y)
    with pytest.raises(ValueError, match="precomputed kernel has no rows"):
        LSPC(kernel="precomputed", centers=X[:5]).fit(X @ X.T, y)


def test_weights(data):
    X, y = data
    with pytest.raises(ValueError, match="Negative values"):
        LSPC().fit(X, y, sample_weight=-np.ones(40))
    with pytest.raises(ValueError, match=r"at least one non-zero|no row has positive weight"):
        LSPC().fit(X, y, sample_weight=np.zeros(40))
    with pytest.raises(ValueError, match=r"positive weight hold one class only: .*1"):
        LSPC().fit(X, y, sample_weight=y)
    with pytest.raises(ValueError, match=r"sample_weight.shape"):
        LSPC().fit(X, y, sample_weight=np.ones(7))
    with pytest.raises(ValueError, match="gives some training rows no weight"):
        LSPC(class_weight={0: 0.0, 1: 1.0}).fit(X, y)


def test_groups(data):
    X, y = data
    with pytest.raises(ValueError, match="groups has 3 entries, but X has 40 rows"):
        LSPC().fit(X, y, groups=[1, 2, 3])
    with pytest.raises(ValueError, match="one group only"):
        LSPC().fit(X, y, groups=np.zeros(40))
    with pytest.raises(ValueError, match="groups contains NaN"):
        LSPC().fit(X, y, groups=np.where(y == 0, np.nan, 1.0))


def test_precomputed_kernels(data):
    X, y = data
    with pytest.raises(ValueError, match=r"must be square at fit, but X has shape \(40, 3\)"):
        LSPC(kernel="precomputed").fit(X, y)
    K = X @ X.T
    K[0, 1] += 1.0
    with pytest.raises(ValueError, match=r"not symmetric \(entries differ by up to 1\)"):
        LSPC(kernel="precomputed").fit(K, y)


def test_chi2_wants_counts(data):
    X, y = data
    with pytest.raises(ValueError, match=r"Negative values.*kernel='chi2'"):
        LSPC(kernel="chi2").fit(X, y)
    model = LSPC(kernel="chi2").fit(np.abs(X), y)
    with pytest.raises(ValueError, match=r"Negative values.*kernel='chi2'"):
        model.predict(sp.csr_matrix(X))


def test_identical_rows_predict_the_class_frequencies():
    X, y = np.ones((8, 2)), np.array([0, 0, 0, 1, 1, 2, 0, 0])
    with pytest.warns(UserWarning, match="All training rows are identical"):
        model = LSPC().fit(X, y)
    expected = np.bincount(y) / 8
    np.testing.assert_allclose(model.predict_proba([[1.0, 1.0], [1.5, 0.5]]), [expected] * 2)
    assert model.sigma_ == 1.0
    with pytest.raises(ValueError, match="All training rows are identical"):
        LSPCCV().fit(X, y)


def test_identical_rows_beside_one_other():
    X = np.vstack([np.zeros((9, 1)), [[1.0]]])
    y = np.r_[np.zeros(9), 1.0]
    for model in (LSPC(), LSPCCV(regs=[1e-3, 1e-2, 1e-1])):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            proba = model.fit(X, y).predict_proba(X)
        assert np.isfinite(proba).all()


@BOTH
def test_one_sample_of_a_class_under_leave_one_out(Estimator, data):
    X, y = data
    y = y.copy()
    y[0] = 2
    model = Estimator()
    if Estimator is LSPCCV:
        model.set_params(store_cv_scores=True)
    model.fit(X, y)
    # held out, the only row of its class leaves that class without a target: its score is zero
    held_out = model.held_out_scores_ if Estimator is LSPC else model.cv_scores_
    np.testing.assert_allclose(held_out[..., 0, 2], 0.0, atol=1e-9)
    assert np.isfinite(model.held_out_proba()).all()
    assert np.isfinite(model.predict_proba(X)).all()


def test_two_rows(rng):
    X = rng.normal(size=(2, 3))
    model = LSPC().fit(X, ["a", "b"])
    assert np.isfinite(model.predict_proba(X)).all()


def test_constant_features_change_nothing(data):
    X, y = data
    wide = np.column_stack([X, np.full(40, 7.0)])
    np.testing.assert_allclose(
        LSPC().fit(wide, y).predict_proba(wide), LSPC().fit(X, y).predict_proba(X), atol=1e-9
    )


def test_spread_warning_names_the_columns(data):
    pd = pytest.importorskip("pandas")
    X, y = data
    frame = pd.DataFrame(X * [1.0, 5000.0, 1.0], columns=["age", "income", "score"])
    for Estimator in (LSPC, LSPCCV):
        with pytest.warns(UserWarning, match=r"sees little but: income\. Scale first"):
            Estimator().fit(frame, y)
    with pytest.warns(UserWarning, match=r"sees little but: 1\."):
        LSPC(kernel="laplacian").fit(frame.to_numpy(), y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LSPC(kernel="cosine").fit(frame, y)
        rare = X.copy()
        rare[:, 0] = 0.0
        rare[0, 0] = 0.3
        LSPC().fit(rare, y)


def test_a_reg_too_small_for_the_arithmetic_is_a_sentence(rng):
    X = rng.normal(size=(60, 1))
    y = np.arange(60) % 2
    with pytest.raises(np.linalg.LinAlgError, match="Use a larger reg"):
        LSPC(kernel="linear", reg=1e-300, posterior="rounded").fit(1e5 * X, y)


MIXED_FITS = {
    "tasks": lambda X, y: MultiTaskLSPC().fit(X, y, task=np.arange(len(X)) % 2),
    "labels": lambda X, y: MultiLabelLSPC().fit(X, y),
    "logistic": lambda X, y: KernelLogisticRegression().fit(X, y),
    "hand over": lambda X, y: HandOver(LSPC()).fit(X, y),
    "sets": lambda X, y: PredictionSets(LSPC()).fit(X, y),
    "alone": lambda X, y: IndependentTasks(LSPC()).fit(X, y, task=np.arange(len(X)) % 2),
    "pooled": lambda X, y: PooledTasks(LSPC()).fit(X, y, task=np.arange(len(X)) % 2),
    "discriminant": lambda X, y: RatioTraceLDA().fit(X, y),
    "spaces": lambda X, y: HeterogeneousLSPC().fit([X, X], [y, y]),
    "batch": lambda X, y: LSPC(n_centers=5).partial_fit(X, y),
    "sums": lambda X, y: NormalEquations(X[:5]).update(X, y),
    "declared": lambda X, y: NormalEquations(X[:5], classes=y),
}


@pytest.mark.parametrize("form", [list, tuple, lambda y: pd.Series(y, dtype=object)])
@pytest.mark.parametrize("kind", MIXED_FITS)
def test_numbers_and_strings_in_one_y_are_refused_everywhere(kind, form, data):
    X, _ = data
    with pytest.raises(ValueError, match=r"mixes labels that cannot be ordered \(int, str\)"):
        MIXED_FITS[kind](X, form(mixed_labels(len(X))))


def test_a_missing_label_among_strings_is_refused(data):
    X, _ = data
    with pytest.raises(ValueError, match=r"float, str\), such as nan and 'a'.*is missing"):
        LSPC().fit(X, ["a", "b", float("nan"), "a"] * 10)
    with pytest.raises(ValueError, match="NoneType, str"):
        LSPC().fit(X, ["a", "b", None, "a"] * 10)


def test_labels_of_one_kind_are_taken_in_any_form(data):
    X, y = data
    for labels in (list(y), y.tolist(), [bool(v) for v in y], [str(v) for v in y]):
        assert len(LSPC().fit(X, labels).classes_) == 2
    assert LSPC().fit(X, pd.Series(y).map({0: "a", 1: "b"})).classes_.tolist() == ["a", "b"]
