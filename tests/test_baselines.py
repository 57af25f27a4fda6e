"""Logistic regression and boosted trees beside the model; words that follow tests."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from kinlearn.cells.schema import TableSchema
from kinlearn.report.baselines import (
    BOOSTING,
    LOGISTIC,
    Baseline,
    baseline_models,
    cross_fitted_proba,
    held_out_proba,
    row_losses,
    rows_learnt_from,
)
from kinlearn.report.conclusions import conclusions
from kinlearn.report.findings import (
    Findings,
    HandOverPoint,
    chance_calibration_error,
    classes_of,
)
from kinlearn.report.measures import measure
from kinlearn.report.page import make_page
from kinlearn.tables.evaluation import Evaluation
from kinlearn.tables.training import copies_as_groups

NAMES = ["no", "yes"]
TRAINING = {
    "training": {
        "wishes": {"seed": 0, "max_error": 0.1, "per_task": False}, "rows_used": 900,
        "rows_in_file": 900, "rows_without_answer": 0, "file": "t.csv", "sha256": "0" * 64,
    },
    "table": {"group": None, "target": "y"},
}  # fmt: skip


def found_of(proba, truth, **more):
    held = Evaluation(NAMES, truth, proba, np.arange(len(truth)) + 1, "leave-one-out")
    return Findings(
        title="y", file="t.csv", held_out=held, labels=None, schema=TableSchema(["x"], [], "y"),
        columns=[], facts={**TRAINING, **more}, overall=measure(held, n_resamples=20),
        chance_ece=chance_calibration_error(held, 0, 60), parts=[], sharing={},
        by_class=classes_of(held), hand_over=None, suspects=[], expected_suspicious=0.0,
        n_suspicious=0, importance=[], is_training=True,
    )  # fmt: skip


def drawn(n, bend, seed=0):
    """Outcomes of exact probabilities, and what a bent model says of them."""
    rng = np.random.default_rng(seed)
    logit = rng.normal(size=n)
    p = 1 / (1 + np.exp(-logit))
    said = 1 / (1 + np.exp(-bend * logit))
    return np.column_stack([1 - said, said]), (rng.uniform(size=n) < p).astype(int)


@pytest.mark.parametrize(
    ("n", "bend", "words"),
    [
        (400, 1.0, "taken at their word"),
        (4000, 1.0, "no more than chance makes of exact ones"),
        (20_000, 1.06, "small, but real"),
        (4000, 2.0, "too sure; read them with care"),
        (4000, 0.4, "too modest; read them with care"),
    ],
)
def test_words_on_calibration_follow_the_test_against_chance(n, bend, words):
    said = conclusions(found_of(*drawn(n, bend)))
    sentence = next(s for s in said if s.startswith("Stated probabilities"))
    assert words in sentence
    assert ("where chance would make up to" in sentence) == (bend != 1.0)
    assert "close" not in sentence


@pytest.fixture(scope="module")
def mixed():
    rng = np.random.default_rng(0)
    n = 180
    frame = pd.DataFrame(
        {
            "x": np.where(rng.uniform(size=n) < 0.1, np.nan, rng.normal(size=n)),
            "kind": rng.choice(["a", "b", None], size=n),
        }
    )
    y = np.where(frame["x"].fillna(0) + 0.7 * rng.normal(size=n) > 0, "yes", "no")
    return frame, y


def test_baselines_take_tables_as_they_are(mixed):
    frame, y = mixed
    truth = (y == "yes").astype(int)
    for name, model in baseline_models(frame, 0).items():
        proba = cross_fitted_proba(model, frame, y, np.array(NAMES), None, 0)
        np.testing.assert_allclose(proba.sum(axis=1), 1.0)
        assert log_loss(truth, proba) < 0.62, name
        assert row_losses(proba, truth).mean() == pytest.approx(log_loss(truth, proba))


def test_folds_are_scikit_learns_and_groups_stay_whole(mixed):
    frame, y = mixed
    X = frame[["x"]].fillna(0.0)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    theirs = cross_val_predict(LogisticRegression(), X, y, cv=folds, method="predict_proba")
    ours = cross_fitted_proba(LogisticRegression(), X, y, np.array(NAMES), None, 0)
    np.testing.assert_allclose(ours, theirs, atol=1e-9)

    class Remembers(LogisticRegression):
        def fit(self, X, y):
            seen.append(set(X.index))
            return super().fit(X, y)

    seen, groups = [], np.arange(180) // 3
    cross_fitted_proba(Remembers(), X, y, np.array(NAMES), groups, 0)
    assert len(seen) == 5
    for rows in seen:
        assert not {groups[i] for i in rows} & {groups[i] for i in set(range(180)) - rows}


def test_cost_is_bounded():
    assert rows_learnt_from(14, 2) > 30_000
    assert rows_learnt_from(2000, 2) == 300
    assert rows_learnt_from(16, 26) < 3000


def test_rows_kept_out_are_told_by_all_others_but_their_groups():
    rng = np.random.default_rng(0)
    x = np.repeat(rng.normal(size=150), 2)
    y = np.where(np.repeat(rng.normal(size=150), 2) > 0, "b", "a")  # told by the other row alone
    model, held = baseline_models(pd.DataFrame({"x": x}), 0)[BOOSTING], np.arange(0, 60, 2)
    classes, frame, pairs = np.unique(y), pd.DataFrame({"x": x}), np.repeat(np.arange(150), 2)
    model.set_params(histgradientboostingclassifier__min_samples_leaf=1)
    told = held_out_proba(model, frame, y, classes, None, 0, held)[held]
    apart = held_out_proba(model, frame, y, classes, pairs, 0, held)
    assert np.isnan(np.delete(apart, held, axis=0)).all()
    truth = np.searchsorted(classes, y[held])
    assert row_losses(apart[held], truth).mean() > 2 * row_losses(told, truth).mean()


def test_classes_of_few_rows_each_have_a_baseline():
    y = np.repeat([f"c{i}" for i in range(8)], 3)
    model = baseline_models(pd.DataFrame({"x": np.arange(24.0)}), 0)[LOGISTIC]
    frame = pd.DataFrame({"x": np.repeat(np.arange(8.0), 3)})
    proba = cross_fitted_proba(model, frame, y, np.unique(y), None, 0)
    assert np.isfinite(proba).all()


def test_ten_rows_tell_nothing_of_probabilities():
    proba, truth = drawn(10, 1.0)
    said = " ".join(conclusions(found_of(proba, truth)))
    assert "cannot be told yet" in said
    assert "at their word cannot" in said


def test_a_limit_on_misses_that_few_rows_cannot_show_is_named():
    proba, truth = drawn(200, 1.0)
    found = found_of(proba, truth)
    wishes = {**TRAINING["training"]["wishes"], "miss": ["yes=1%"]}
    facts = {**TRAINING, "training": {**TRAINING["training"], "wishes": wishes}}
    point = HandOverPoint(0.1, np.inf, 0.0, np.nan)
    said = " ".join(conclusions(dataclasses.replace(found, facts=facts, hand_over=point)))
    assert f"cannot be shown by its {truth.sum()} rows, 299 are needed at least" in said
    assert "--cost" not in said


def test_a_better_baseline_is_said_and_shown():
    proba, truth = drawn(500, 1.0)
    figures = {name: list(value) for name, value in found_of(proba, truth).overall.items()}
    rivals = [
        dataclasses.asdict(Baseline(LOGISTIC, figures, -0.2, 0.01)),
        dataclasses.asdict(Baseline(BOOSTING, figures, 0.2, 0.01)),
    ]
    found = found_of(proba, truth, baselines=rivals)
    assert any("boosted trees" in s and "did better" in s for s in conclusions(found))
    page = make_page(found)
    assert "baseline_models(X, 0)[&#x27;boosted trees&#x27;]" in page
    assert "HandOver(rival, max_error=max_error)" in page
    none_better = found_of(proba, truth, baselines=rivals[:1])
    assert any("logistic regression is clearly worse" in s for s in conclusions(none_better))
    assert "HandOver(rival" not in make_page(none_better)


def test_a_table_joined_to_itself_does_not_help_a_baseline():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), rng.choice(["a", "b"], 40)
    both, labels = np.vstack([X, X]), np.concatenate([y, y])
    groups = copies_as_groups(both, labels)
    assert (groups[:40] == groups[40:]).all()
    assert len(np.unique(groups)) == 40
    assert copies_as_groups(X, y) is None
    # Of three categories, rows are alike and still different cases.
    k = rng.integers(0, 3, 90).astype(float)[:, None]
    many, kinds = np.vstack([k, k]), np.tile(rng.choice(["a", "b"], 90), 2)
    groups = copies_as_groups(many, kinds)
    sizes = np.unique(groups, return_counts=True)[1]
    assert set(sizes) == {2}
    for member in np.split(np.argsort(groups, kind="stable"), 90):
        assert len(set(many[member, 0])) == len(set(kinds[member])) == 1
