"""Errors that cost differently, classes that must not be missed, and hand-over by class."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom
from sklearn.metrics import precision_recall_curve
from typer.testing import CliRunner

from kinlearn import LSPC, HandOver, load, save, to_onnx
from kinlearn.cells.refusals import TableError
from kinlearn.cli import app
from kinlearn.report.rare_pictures import cost_curve, precision_recall
from kinlearn.selection.decisions import cost_matrix, gains, miss_bound, miss_limits
from kinlearn.tables.costs import read_costs, read_limits
from kinlearn.tables.evaluation import Evaluation

pytestmark = pytest.mark.usefixtures("one_kernel_tables")
NAMES = np.array(["no", "yes"])


def rare(n, seed, share=0.05):
    """Two groups that overlap, one of them rare."""
    rng = np.random.default_rng(seed)
    y = rng.uniform(size=n) < share
    return rng.normal(size=(n, 2)) + 1.5 * y[:, None], NAMES[y.astype(int)]


def test_gains_are_probabilities_where_all_errors_cost_the_same(rng):
    proba = rng.dirichlet(np.ones(3), size=50)
    np.testing.assert_allclose(gains(proba, 1.0 - np.eye(3)), proba)
    assert gains(proba, None) is proba


def test_the_answer_is_the_one_of_smallest_expected_cost(rng):
    classes = np.array(["a", "b", "c"])
    costs = cost_matrix({("a", "c"): 9.0, ("b", "c"): 4.0, ("c", "a"): 0.5}, classes)
    proba = rng.dirichlet(np.ones(3), size=50)
    for p, answer in zip(proba, gains(proba, costs).argmax(axis=1), strict=True):
        expected = [sum(costs[a, t] * p[t] for t in range(3)) for a in range(3)]
        assert answer == int(np.argmin(expected))


def test_miss_bounds_are_those_of_counting(rng):
    for _ in range(30):
        n, limit, risk = int(rng.integers(5, 200)), rng.uniform(0.02, 0.3), 0.1
        p = rng.uniform(size=n).round(2)
        missed = rng.uniform(size=n) > p
        found = miss_bound(p, missed, limit, risk)
        allowed = [m for m in range(n) if binom.cdf(m, n, limit) <= risk]
        grid = [-1.0, *np.unique(p[missed]), 1.0]
        good = [mu for mu in grid if allowed and (missed & (p <= mu)).sum() <= allowed[-1]]
        best = max(good, default=-1.0)
        assert (missed & (p <= found)).sum() == (missed & (p <= best)).sum()
        assert found >= best - 1e-12


def test_a_limit_on_misses_holds_as_often_as_it_says():
    limit, kept, repeats = 0.2, 0, 40
    X_new, y_new = rare(3000, 10_000, share=0.2)
    for seed in range(repeats):
        X, y = rare(200, seed, share=0.2)
        model = HandOver(LSPC(), max_error=0.5, max_missed={"yes": limit}).fit(X, y)
        found = model.assess(X_new)
        missed = found.answered & (found.predicted == "no") & (y_new == "yes")
        kept += missed.sum() <= limit * (y_new == "yes").sum()
    assert kept >= repeats * 0.95 - 3 * np.sqrt(repeats * 0.95 * 0.05)


def test_costs_find_more_of_a_rare_class_and_leave_probabilities():
    X, y = rare(600, 0)
    X_new, y_new = rare(2000, 1)
    plain = HandOver(LSPC(), max_error=0.1).fit(X, y)
    careful = HandOver(LSPC(), max_error=0.1, costs={("no", "yes"): 20}).fit(X, y)
    found = [(model.predict(X_new) == "yes")[y_new == "yes"].mean() for model in (plain, careful)]
    assert found[0] < 0.5
    assert found[1] > found[0] + 0.2
    np.testing.assert_array_equal(plain.predict_proba(X_new), careful.predict_proba(X_new))
    assessed = careful.assess(X_new)
    np.testing.assert_array_equal(assessed.predicted, careful.predict(X_new))
    p = careful.predict_proba(X_new)[:, 1]
    np.testing.assert_array_equal(assessed.predicted == "yes", p > 1 / 21)


def test_equal_costs_change_nothing():
    X, y = rare(200, 0, share=0.4)
    plain = HandOver(LSPC(), max_error=0.2).fit(X, y)
    same = HandOver(LSPC(), max_error=0.2, costs={("no", "yes"): 1, ("yes", "no"): 1}).fit(X, y)
    assert same.threshold_ == pytest.approx(plain.threshold_)
    assert same.coverage_ == plain.coverage_


def test_nothing_is_answered_otherwise_where_nothing_can_be_proven():
    X, y = rare(120, 0, share=0.1)
    model = HandOver(LSPC(), max_error=0.3, max_missed={"yes": 0.01})
    with pytest.warns(UserWarning, match="every case is handed over"):
        model.fit(X, y)
    found = model.assess(X)
    assert not (found.answered & (found.predicted == "no")).any()
    assert model.miss_bounds_.tolist() == [1.0, -1.0]


def test_files_and_graphs_know_costs(tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    X, y = rare(300, 0, share=0.2)
    model = HandOver(LSPC(), max_error=0.4, costs={("no", "yes"): 5}, max_missed={"yes": 0.2}).fit(
        X, y
    )
    save(model, tmp_path / "m.kin")
    again = load(tmp_path / "m.kin")
    new = rare(200, 3)[0]
    found = model.assess(new)
    np.testing.assert_array_equal(again.assess(new).answered, found.answered)
    assert 0 < found.answered.mean() < 1
    session = onnxruntime.InferenceSession(to_onnx(model, X).SerializeToString())
    label, proba, answered = session.run(None, {session.get_inputs()[0].name: new})
    np.testing.assert_array_equal(label, found.predicted)
    np.testing.assert_array_equal(answered.ravel(), found.answered)
    np.testing.assert_allclose(proba, found.proba, atol=1e-8)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"costs": {("no", "maybe"): 2}}, "costs names 'maybe', which is no class"),
        ({"costs": {("no", "yes"): -1}}, "must be a number from 0 on"),
        ({"costs": {("no", "no"): 1}}, "of a right answer"),
        ({"costs": {"no": 1}}, "give pairs"),
        ({"costs": {("no", "yes"): 0, ("yes", "no"): 0}}, "are all 0"),
        ({"max_missed": {"yse": 0.1}}, "max_missed names 'yse'"),
        ({"max_missed": {"yes": 5}}, "between 0 and 1"),
    ],
)
def test_costs_that_mean_nothing_are_refused(arguments, words):
    X, y = rare(60, 0, share=0.4)
    with pytest.raises(ValueError, match=words):
        HandOver(LSPC(), **arguments).fit(X, y)


def test_limits_are_read_by_class():
    assert miss_limits({"yes": 0.1}, NAMES) == {1: 0.1}
    assert cost_matrix(None, NAMES) is None


def test_what_a_person_writes():
    assert read_costs(["no:yes=20"], ["no", "yes"]) == {("no", "yes"): 20.0}
    assert read_costs(["a:b:c=2, c:a:b=3"], ["a:b", "c"]) == {("a:b", "c"): 2.0, ("c", "a:b"): 3.0}
    assert read_limits(["yes=5%", "no=0.5"], ["no", "yes"]) == {"yes": 0.05, "no": 0.5}


@pytest.mark.parametrize(
    ("read", "text", "words"),
    [
        (read_costs, "no:yes", "cannot be read: write ANSWERED:TRUE=NUMBER"),
        (read_costs, "no:yse=3", "names no pair of classes"),
        (read_costs, "no:no=3", "of a right answer"),
        (read_costs, "no:yes=-1", "cannot be read"),
        (read_limits, "yes=5", "cannot be read: write CLASS=SHARE"),
        (read_limits, "yse=0.1", "names 'yse', which is no class"),
    ],
)
def test_what_cannot_be_read(read, text, words):
    with pytest.raises(TableError, match=words):
        read([text], ["no", "yes"])


def test_precision_and_recall_are_scikit_learns(rng):
    y, score = rng.integers(0, 2, 80) == 1, rng.integers(0, 20, 80) / 20
    recall, precision = precision_recall(y, score)
    theirs, reached, _ = precision_recall_curve(y, score)
    np.testing.assert_allclose(recall, reached[:-1][::-1])
    np.testing.assert_allclose(precision, theirs[:-1][::-1])


def test_the_cost_curve_is_the_naive_one(rng):
    p = rng.uniform(size=90).round(2)
    truth = (rng.uniform(size=90) < p).astype(int)
    held = Evaluation(NAMES.tolist(), truth, np.column_stack([1 - p, p]), np.arange(90), "x")
    costs = np.array([[0.0, 7.0], [1.0, 0.0]])
    threshold, cost = cost_curve(held, 1, costs)
    for t, c in zip(threshold[::20], cost[::20], strict=True):
        answer = (p >= t).astype(int)
        assert c == pytest.approx(
            np.mean([costs[a, y] for a, y in zip(answer, truth, strict=True)])
        )


@pytest.fixture(scope="module")
def rare_table(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rare")
    for name, n, seed in (("t", 400, 0), ("new", 1000, 1)):
        X, y = rare(n, seed, share=0.08)
        pd.DataFrame(X, columns=["a", "b"]).assign(ill=y).to_csv(
            folder / f"{name}.csv", index=False
        )
    return folder


def trained(folder, *more):
    arguments = [
        "train", folder / "t.csv", "--target", "ill", "--out", folder / "m.kin", "--report",
        folder / "r.html", "--force", "--max-error", "0.2", *more,
    ]  # fmt: skip
    result = CliRunner().invoke(app, list(map(str, arguments)))
    assert result.exit_code == 0, result.output
    done = CliRunner().invoke(
        app, [str(a) for a in ["predict", folder / "m.kin", folder / "new.csv", "--out",
                               folder / "s.csv", "--force"]],
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    return " ".join(result.stdout.split()), pd.read_csv(folder / "s.csv")


def test_a_rare_outcome_is_named_and_costs_find_it(rare_table):
    said, scored = trained(rare_table)
    assert "It is weakest on the class 'yes'" in said
    assert "--cost no:yes=10" in said
    assert "AUC 0." in said
    ill = scored["ill"] == "yes"
    plain = (scored["predicted"] == "yes")[ill].mean()
    said, scored = trained(rare_table, "--cost", "no:yes=20", "--miss", "yes=10%")
    assert "Because answering 'no' where 'yes' is true costs more" in said
    assert "At most 10 % of 'yes' may be answered otherwise" in said
    assert (scored["predicted"] == "yes")[ill].mean() > plain + 0.15
    assert ((scored["predicted"] == "yes") == (scored["p_yes"] > 1 / 21 - 1e-6)).mean() > 0.999
    missed = ill & (scored["predicted"] == "no") & (scored["decision"] == "answer")
    assert missed.sum() <= 0.15 * ill.sum()
    page = (rare_table / "r.html").read_text()
    for words in ("sensitivity", "specificity", "positive predictive value", "cost (as given)"):
        assert words in page
