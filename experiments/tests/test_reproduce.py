"""Reproductions: the paper's rules against naive fits, resumable runs, pages, the command line."""

from __future__ import annotations

import json
import re
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.metrics.pairwise import euclidean_distances
from typer.testing import CliRunner

from kinlearn import LSPC, KernelLogisticRegression, MultiLabelLSPC, MultiTaskLSPC
from kinlearn.cli import app
from kinlearn.datasets import make_gaussian_mixture_toy, make_related_tasks, make_rotated_labels
from kinlearn_experiments.commands.reproduce import parse_pairs
from kinlearn_experiments.reproduce import NAMES, get_experiment
from kinlearn_experiments.reproduce import label_search as labels
from kinlearn_experiments.reproduce import six_methods as six
from kinlearn_experiments.reproduce import three_methods as three
from kinlearn_experiments.reproduce.experiment import Cell, Experiment, Finding, Options, Page
from kinlearn_experiments.reproduce.grids import median_distance, squared_distances
from kinlearn_experiments.reproduce.journal import Journal
from kinlearn_experiments.reproduce.logistic_labels import logistic_labels
from kinlearn_experiments.reproduce.runner import run
from kinlearn_experiments.reproduce.significance import comparable, p_greater
from kinlearn_experiments.reproduce.umist import PAIRS, draw_split

ROOT = Path(__file__).parents[2]


@pytest.fixture
def tasks():
    X, y, task = make_related_tasks(n_tasks=3, n_samples=14, random_state=0)
    train = np.arange(len(y)) % 2 == 0
    rows, rest = np.flatnonzero(train), np.flatnonzero(~train)
    problem = six.TaskProblem(
        squared_distances(X, rows, rows),
        squared_distances(X, rest, rows),
        2.0 * y[rows] - 1.0,
        task[rows],
        task[rest],
    )
    return X, y, task, rows, rest, problem


# The paper's kernel has no 2 in it: sigma = width/√2.
WIDTH = 1.7


def test_six_methods_fit_what_the_library_fits(tasks):
    X, y, task, rows, rest, problem = tasks
    sigma = WIDTH / np.sqrt(2)
    plain = {"sigma": sigma, "posterior": "raw", "n_centers": None}
    points = [(0.3, 0.1), (0.1, 3.0)]
    found = six._path("LSPC", problem, WIDTH, points, multi_task=True)
    for scores, (lambda_, gamma) in zip(found, points, strict=True):
        model = MultiTaskLSPC.from_paper(lambda_, gamma, **plain)
        model.fit(X[rows], y[rows], task=task[rows])
        expected = model.decision_function(X[rest], task=task[rest])
        np.testing.assert_allclose(scores, expected, atol=1e-8)
    single = LSPC(reg=0.3, **plain).fit(X[rows], y[rows])
    scores = six._path("LSPC", problem, WIDTH, [(0.3, np.inf)], multi_task=False)[0]
    np.testing.assert_allclose(scores, single.decision_function(X[rest]), atol=1e-8)
    logistic = KernelLogisticRegression(sigma=sigma, reg=0.3, n_centers=None)
    logistic.fit(X[rows], y[rows])
    scores = six._path("KLR", problem, WIDTH, [(0.3, np.inf)], multi_task=False)[0]
    np.testing.assert_allclose(scores, logistic.decision_function(X[rest]), atol=1e-4)


def test_multi_task_logistic_is_stationary(tasks):
    *_, problem = tasks
    lambda_, gamma = 0.1, 0.3
    own = replace(problem, test=problem.train, task_test=problem.task)
    f = six._path("KLR", own, WIDTH, [(lambda_, gamma)], multi_task=True)[0]
    # at the optimum f = C∘(KK)·v/(γ/T) with v = -∂loss/∂f
    K = np.exp(-problem.train / WIDTH**2)
    T, y = problem.n_tasks, problem.y
    same = problem.task[:, None] == problem.task
    psi = (gamma / (T * lambda_) + same) * (K @ K)
    v = y / (1 + np.exp(y * f)) / y.size
    np.testing.assert_allclose(f, psi @ v * T / gamma, atol=1e-4)


def test_choice_is_the_best_of_explicit_refits(tasks):
    *_, problem = tasks
    outcome = six.run_method("LSPC-STC", problem, six.pooled_auc, seed=3)
    fold = six.folds(problem.y, problem.task, 3)
    median = median_distance(problem.train)
    values = {}
    for width in six.WIDTHS:
        for lambda_ in six.LAMBDAS:
            held = np.empty(problem.y.size)
            for k in range(six.N_FOLDS):
                inner = problem.only(np.flatnonzero(fold != k))
                held[fold == k] = six._path(
                    "LSPC", inner, width * median, [(lambda_, np.inf)], multi_task=False
                )[0]
            values[width, lambda_] = roc_auc_score(problem.y, held)
    chosen = outcome.chosen[0]
    assert values[chosen["width"], chosen["lambda"]] == pytest.approx(max(values.values()))


@pytest.mark.parametrize("jointly", [True, False])
@pytest.mark.parametrize("method", six.METHODS)
def test_every_method_learns_tasks_that_are_alike(method, jointly):
    rng = np.random.default_rng(0)
    X, task = rng.normal(size=(80, 2)), np.arange(80) % 2
    signs = np.where(X[:, 0] > 0, 1.0, -1.0)
    rows, rest = np.arange(32), np.arange(32, 80)
    problem = six.TaskProblem(
        squared_distances(X, rows, rows),
        squared_distances(X, rest, rows),
        signs[rows],
        task[rows],
        task[rest],
    )
    outcome = six.run_method(method, problem, six.accuracy, seed=0, jointly=jointly)
    assert outcome.scores.shape == (len(rest),)
    assert six.accuracy(signs[rest], outcome.scores) > 0.75
    assert outcome.seconds > 0
    separate = method.endswith("STI") and not jointly
    assert len(outcome.chosen) == (problem.n_tasks if separate else 1)


def test_pieces_of_the_six_methods():
    rng = np.random.default_rng(0)
    y, scores = np.where(rng.random(40) < 0.3, 1.0, -1.0), rng.normal(size=40).round(1)
    assert six.pooled_auc(y, scores) == pytest.approx(roc_auc_score(y, scores))
    assert six.pooled_auc(np.ones(3), np.arange(3.0)) == 0.5
    task = np.repeat([0, 1], 20)
    fold = six.folds(y, task, 0)
    assert np.ptp(np.bincount(fold)) <= 1
    for t in (0, 1):
        counts = np.bincount(fold[(task == t) & (y > 0)], minlength=5)
        assert np.ptp(counts) <= 1
    with pytest.raises(ValueError, match="name must be one of"):
        six.run_method("SVM-MT", None, six.accuracy, seed=0)


def test_label_search_solves_the_library_s_problem():
    X, Y = make_rotated_labels(60, 4, 3, random_state=0)
    train, test = np.arange(40), np.arange(40, 60)
    K = labels.kernel(squared_distances(X, train, train), 2.0)
    K_test = labels.kernel(squared_distances(X, test, train), 2.0)
    lambda_, gamma = 0.03, 0.1
    found = labels.differences(K, K_test, Y[train], (gamma,), (lambda_,))[0, 0]
    model = MultiLabelLSPC(
        sigma=2.0, reg=lambda_, sharing=gamma / (lambda_ + gamma), posterior="rounded"
    ).fit(X[train], Y[train])
    total = labels.sums(K, K_test, lambda_)[:, None]
    expected = model.predict_proba(X[test])
    np.testing.assert_allclose(labels.rounded(found, total), expected, atol=1e-8)


@pytest.mark.parametrize("method", labels.METHODS)
@pytest.mark.parametrize("criterion", [labels.right_share, labels.f_measure])
def test_label_search_learns(method, criterion):
    X, Y = make_rotated_labels(160, 5, 2, random_state=0)
    train, test = np.arange(60), np.arange(60, 160)
    inner, outer = squared_distances(X, train, train), squared_distances(X, test, train)
    found = labels.run_label_method(method, inner, outer, Y[train], criterion, 0, 5)
    assert np.mean((found.difference > 0) == Y[test]) > 0.85
    assert np.array_equal(found.posterior > 0.5, found.difference > 0)
    assert len(found.chosen) == (1 if method == "ML-LSPC" else 5)


def test_label_criteria():
    rng = np.random.default_rng(0)
    Y, guess = rng.random((30, 4)) < 0.3, rng.random((2, 30, 4)) < 0.4
    expected = [f1_score(Y.ravel(), g.ravel()) for g in guess]
    np.testing.assert_allclose(labels.f_measure(Y, guess), expected)
    np.testing.assert_allclose(labels.right_share(Y, guess), [(g == Y).mean() for g in guess])
    assert labels.f_measure(np.zeros((3, 2), bool), np.zeros((3, 2), bool)) == 0.0


def test_many_logistic_labels_equal_single_fits():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    Z = (X[:, :2] + rng.normal(size=(50, 2)) > 0).astype(float)
    K = np.exp(-euclidean_distances(X, squared=True) / 8.0)
    s, U = np.linalg.eigh(K)
    for lambda_ in (0.1, 1e-3):
        w = logistic_labels(s, U, Z, lambda_, tol=1e-8, max_iter=20_000)
        for t in range(2):
            model = KernelLogisticRegression(kernel="precomputed", reg=lambda_, n_centers=None)
            f = model.fit(K, Z[:, t]).decision_function(K)
            np.testing.assert_allclose(K @ (U @ w)[:, t], f, atol=1e-4)


def test_three_methods_are_the_library_s_rules():
    X, y = make_gaussian_mixture_toy(40, random_state=0)
    Z = (y[:, None] == 1).astype(float)
    train, test = np.arange(50), np.arange(50, 80)
    K, K_test = three.kernels(
        squared_distances(X, train, train), squared_distances(X, test, train), 1.5
    )
    found = three._least_squares(K, K @ K, K_test, Z[train], 0.1)
    for name, rule in (("LSPC-new", "rounded"), ("LSPC", "rounded_parameters")):
        model = LSPC(sigma=1.5, reg=0.1, posterior=rule).fit(X[train], Z[train, 0])
        np.testing.assert_allclose(found[name][:, 0], model.predict_proba(X[test])[:, 1], atol=1e-8)
    by_path = dict(three._path(K, K_test, Z[train]))[three.LAMBDAS.index(0.1)]
    for name in found:
        np.testing.assert_allclose(by_path[name], found[name], atol=1e-8)


def test_three_methods_on_many_labels():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4))
    Z = (X[:, :3] + 0.5 * rng.normal(size=(150, 3)) > 0).astype(float)
    train, test = np.arange(80), np.arange(80, 150)
    outcome = three.run_three(
        squared_distances(X, train, train),
        squared_distances(X, test, train),
        Z[train],
        Z[test],
        seed=0,
        correct=True,
    )
    for name in three.METHODS:
        assert outcome.auc[name].shape == (3,)
        assert outcome.auc[name].mean() > 0.75
        assert outcome.seconds[name] > 0


def test_corrected_kernels_are_psd():
    rng = np.random.default_rng(0)
    D = rng.random((20, 20))
    D = D + D.T
    np.fill_diagonal(D, 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        K, K_again = three.kernels(D, D, 0.5, correct=True)
    assert np.linalg.eigvalsh(K).min() > -1e-10
    np.testing.assert_allclose(K_again, K, atol=1e-10)


def test_t_tests():
    a = np.array([0.80, 0.82, 0.81, 0.83])
    assert p_greater(a, a - 0.1) == 0.0
    assert p_greater(a, a) == 1.0
    assert p_greater(a[:1], a[:1] - 1) == 1.0
    noise = np.array([0.02, -0.03, 0.01, 0.02])
    assert comparable({"a": a, "b": a + noise - 0.005, "c": a - 0.1}, 0.01) == {"a", "b"}


def test_umist_splits_are_balanced_and_refuse_bad_pairs():
    target = np.repeat(np.arange(1, 21), 20)
    train, test, task, label = draw_split(target, PAIRS, 5, seed=1)
    assert not set(train) & set(test)
    for t in range(4):
        for rows, n in ((train, 5), (test, 15)):
            of = label[rows][task[rows] == t]
            assert (of == 1).sum() == (of == 0).sum() == n
    assert set(target[label == 1]) == {2, 4, 10, 19}
    with pytest.raises(ValueError, match="Person 21 has 0 images"):
        draw_split(target, ((21, 3),), 5, seed=1)
    with pytest.raises(ValueError, match="Person 3 is in two pairs"):
        draw_split(target, ((2, 3), (3, 4)), 5, seed=1)


def small_experiment(measured):
    def measure(seed):
        measured.append(seed)
        return seed / 10

    def cells(options):
        return [Cell(f"a/{s}", lambda s=s: measure(s)) for s in range(options.repeats)]

    def page(found, options, out):
        total = sum(found.values())
        return Page("How.", [("Sum", f"{total}")], [Finding("it adds", True, f"{total}")], "Why.")

    return Experiment("small", "Small", "a paper", 4, 2, cells, page)


def test_runs_go_on_where_they_stopped(tmp_path):
    measured, told = [], []
    experiment = small_experiment(measured)
    run(experiment, experiment.options(seeds=2), tmp_path)
    with (tmp_path / "small.cells.jsonl").open("a") as stream:
        stream.write('{"key": "a/2", "val')  # cut off in the middle of a line
    path, page = run(
        experiment, experiment.options(), tmp_path, lambda *progress: told.append(progress)
    )
    assert measured == [0, 1, 2, 3]
    assert told == [(2, 4, "a/2"), (3, 4, "a/3"), (4, 4, "")]
    text = path.read_text()
    assert "# Small" in text
    assert "**Reproduced:** it adds" in text
    assert "Made by `kinlearn reproduce small`." in text
    stored = json.loads((tmp_path / "small.json").read_text())
    assert stored["findings"][0] == vars(page.findings[0])
    assert stored["repeats"] == 4
    assert stored["machine"]["cores"] >= 1
    assert len(Journal(tmp_path / "small.cells.jsonl").found) == 4


def test_pages_say_how_much_was_run(tmp_path):
    experiment = small_experiment([])
    path, _ = run(experiment, experiment.options(seeds=3, protocols=("ours",)), tmp_path)
    assert "**3 repeats; the paper has 4.**" in path.read_text()
    assert "--seeds 3 --protocol ours" in path.read_text()
    path, _ = run(experiment, experiment.options(quick=True), tmp_path)
    assert "A quick run" in path.read_text()
    assert "Holds in this quick run" in path.read_text()
    with pytest.raises(ValueError, match="at least 1"):
        experiment.options(seeds=0)


@pytest.mark.parametrize("name", NAMES)
def test_every_experiment_plans_balanced_cells(name):
    experiment = get_experiment(name)
    assert experiment.name == name
    few, many = (
        [cell.key for cell in experiment.cells(experiment.options(seeds=n))] for n in (1, 2)
    )
    assert len(set(many)) == len(many)
    assert set(few) < set(many)
    quick = experiment.cells(experiment.options(quick=True))
    assert 0 < len(quick) < len(experiment.cells(experiment.options()))


def test_the_command_runs_a_toy(tmp_path):
    result = CliRunner().invoke(
        app, ["reproduce", "lspc-toy", "--quick", "--seeds", "1", "--out", str(tmp_path)]
    )
    assert result.exit_code == 0, result.output
    text = (tmp_path / "lspc-toy.md").read_text()
    assert "| LSPC-new" in text
    assert "![" in text
    assert (tmp_path / "lspc-toy.png").stat().st_size > 1000
    assert json.loads((tmp_path / "lspc-toy.json").read_text())["quick"] is True


def test_the_command_lists_and_refuses(tmp_path, monkeypatch):
    runner = CliRunner()
    listed = runner.invoke(app, ["reproduce", "--list"])
    assert listed.exit_code == 0
    assert all(name in listed.output for name in NAMES)
    monkeypatch.setenv("KINLEARN_DATA", str(tmp_path))
    for arguments, words in (
        (["reproduce"], "Name an experiment"),
        (["reproduce", "mnist"], "There is no experiment 'mnist'"),
        (["reproduce", "landmine", "--pairs", "1-2"], "--pairs is for umist only"),
        (["reproduce", "umist", "--pairs", "1+2"], "must look like 2-3,4-6"),
        (["reproduce", "landmine", "--quick", "--out", str(tmp_path / "o")], "LandmineData.mat"),
    ):
        result = runner.invoke(app, arguments)
        assert result.exit_code == 1
        assert words in result.stderr
        assert result.stderr.count("\n") == 1
    assert parse_pairs("2-3, 4-6") == ((2, 3), (4, 6))


def test_landmine_on_generated_fields(tmp_path):
    rng = np.random.default_rng(0)
    feature, label = np.empty((1, 29), dtype=object), np.empty((1, 29), dtype=object)
    for t in range(29):
        X = rng.normal(size=(40, 9))
        feature[0, t], label[0, t] = X, (X[:, :1] > 0.8).astype(np.uint8)
    (tmp_path / "landmine").mkdir()
    savemat(tmp_path / "landmine/LandmineData.mat", {"feature": feature, "label": label})
    experiment = get_experiment("landmine")
    options = Options(repeats=1, quick=True, data_home=str(tmp_path))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cells = {cell.key: cell for cell in experiment.cells(options)}
        slow = {key for key in cells if "KLR-MT" in key or "ours/20/LSPC-STI" in key}
        assert len(slow) == 3
        found = {
            key: {"quality": 0.5, "seconds": 1.0} if key in slow else cell.measure()
            for key, cell in cells.items()
        }
    page = experiment.page(found, options, tmp_path)
    assert found["paper/20/LSPC-MT/0"]["quality"] > 0.6
    headings = [heading for heading, _ in page.sections]
    assert any(heading.startswith("Table 3") for heading in headings)
    assert "0.714 – 0.830" in dict(page.sections)["Table 3: lowest and highest AUC"]
    assert (tmp_path / "landmine.png").exists()


def fake_cells(experiment, options, value):
    """Made-up figures under the keys that the experiment plans."""
    rng = np.random.default_rng(0)
    return {cell.key: value(cell.key, rng) for cell in experiment.cells(options)}


def check_page(experiment, options, found, folder):
    page = experiment.page(found, options, folder)
    json.dumps(page.summary)
    text = "\n".join(text for _, text in page.sections)
    for name in re.findall(r"!\[.*?\]\((.*?)\)", text):
        assert (folder / name).stat().st_size > 1000
    assert not re.search(r"\{[a-z_]+\}", page.setting)  # every name was filled in
    assert "nan" not in text
    return page, text


def test_umist_page(tmp_path):
    experiment = get_experiment("umist")
    options = experiment.options(seeds=3, pairs=((1, 2), (3, 4)))
    found = fake_cells(
        experiment, options, lambda key, rng: {"quality": rng.random(), "seconds": rng.random()}
    )
    page, text = check_page(experiment, options, found, tmp_path)
    assert "1–2, 3–4" in page.setting
    assert "0.763 – 1.000" in text  # published
    values = [found[f"paper/3/LSPC-MT/{seed}"]["quality"] for seed in range(3)]
    assert f"{min(values):.3f} – {max(values):.3f}" in text


def test_ml_toy_page(tmp_path):
    experiment = get_experiment("ml-toy")
    options = experiment.options(seeds=3)
    names = ("LSPC", "ML-LSPC", "LSPCCV per label", "MultiLabelLSPCCV")
    solvers = ("naive", "conjugate gradients", "eigendecompositions")

    def value(key, rng):
        chosen = solvers if key.startswith("time") else names
        return {name: 0.1 + rng.random() / 100 for name in chosen}

    page, text = check_page(experiment, options, fake_cells(experiment, options, value), tmp_path)
    assert "| 20 " in text
    assert len(page.findings) == 4


def test_tags_page(tmp_path):
    from kinlearn_experiments.reproduce.freesound_tags import OURS, figures_of

    experiment = get_experiment("freesound-tags")
    options = experiment.options(seeds=2)

    def value(key, rng):
        truth, proba = rng.random((30, 4)) < 0.4, rng.random((30, 4))
        names = labels.METHODS if key.startswith("paper") else OURS
        return {name: figures_of(truth, proba, proba > 0.5) for name in names}

    page, _ = check_page(experiment, options, fake_cells(experiment, options, value), tmp_path)
    assert len(page.findings) == 4
    truth = np.array([[True, False], [False, True]])
    perfect = figures_of(truth, truth.astype(float), truth)
    assert perfect["f"] == perfect["best_f"] == 1.0
    assert set(perfect["curve"]) == {1.0}


def test_faces_page(tmp_path):
    experiment = get_experiment("faces")
    options = experiment.options(seeds=3)

    def value(key, rng):
        if key.startswith("path"):
            return [0.5, 0.9, 0.8] if "table1" in key else [0.5, 0.9, 0.95]
        return rng.random(3).tolist()

    page, text = check_page(experiment, options, fake_cells(experiment, options, value), tmp_path)
    assert "| *paper: MTDA* " in text
    assert "44.6" in text  # published, AR, p = 2
    rises = next(f for f in page.findings if "Theorem 2" in f.claim)
    assert not rises.holds
    assert "with drops" in rises.figures


@pytest.mark.parametrize("name", ["voc", "freesound-hmm"])
def test_pages_of_three_methods(name, tmp_path, monkeypatch):
    from sklearn.utils import Bunch

    from kinlearn_experiments.reproduce import freesound_hmm, voc

    kinds = np.array(["dog", "rain"])
    monkeypatch.setattr(voc, "_data", lambda *_: (None, None, kinds.tolist()))
    monkeypatch.setattr(freesound_hmm, "load_esc50", lambda *_, **__: Bunch(category=kinds))
    experiment = get_experiment(name)
    options = experiment.options(seeds=3)

    def value(key, rng):
        names = three.METHODS if key.startswith("paper") else ("kinlearn's defaults",)
        aucs = {method: (50 + 40 * rng.random(2)).tolist() for method in names}
        return {"auc": aucs, "seconds": dict.fromkeys(names, 0.1)}

    page, text = check_page(experiment, options, fake_cells(experiment, options, value), tmp_path)
    assert "| dog " in text
    assert ("64.4" if name == "freesound-hmm" else "82.6 (1.0)") in text  # published
    claims = [finding.claim for finding in page.findings]
    assert any("higher mean AUC than LSPC," in claim for claim in claims)


@pytest.mark.parametrize("path", sorted((ROOT / "docs/reproduction").glob("*.md")), ids=str)
def test_committed_pages_have_their_pictures(path):
    for name in re.findall(r"!\[.*?\]\((.*?)\)", path.read_text()):
        assert (path.parent / name).exists()
