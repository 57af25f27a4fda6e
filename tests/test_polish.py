"""The polish: from the closed form to the least log-loss, in passes over the rows."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

import kinlearn
from kinlearn import LSPC, MultiLabelLSPC
from kinlearn.kernels import KernelMap, resolve_kernel
from kinlearn.plots import PolishPathDisplay
from kinlearn.problems.coding import Coding
from kinlearn.problems.polish import Polish
from kinlearn.problems.polish_coordinates import HeldRows, OneTaskCoordinates, RowSums
from kinlearn.solvers import solver_choice
from kinlearn.solvers.lbfgs_steps import LbfgsSteps
from kinlearn.solvers.log_loss_pass import log_loss_pass
from naive.logistic import log_loss_of


def rows(n=600, n_classes=3, seed=0, noise=1.0):
    rng = np.random.default_rng(seed)
    middle = rng.normal(size=(n_classes, 4)) * 1.5
    y = rng.integers(n_classes, size=n)
    return middle[y] + noise * rng.normal(size=(n, 4)), y


def features(X, n_centers=30, sigma=2.0):
    return KernelMap(resolve_kernel("rbf"), X[:n_centers]).features(X, sigma)


def run(polish, Phi, targets, weights=None):
    while not polish.done:
        blocks = [(Phi, targets, weights)]
        polish.tell(*log_loss_pass(blocks, polish.coef, polish.coding.sigmoids))
    return polish


def posed(Phi, Z, weights, reg, n_held=60, norm=None, **options):
    coding = Coding.of_classes(Z.shape[1])
    D = np.ones(len(Z)) if weights is None else weights
    H, h = Phi.T @ (D[:, None] * Phi), Phi.T @ (D[:, None] * Z)
    held = HeldRows(Phi[:n_held], coding.targets(Z)[:n_held], D[:n_held])
    sums = RowSums(H, coding.moments(h), float(D.sum()))
    polish = Polish(OneTaskCoordinates(sums, reg, norm), held, coding, **options)
    return polish, coding.targets(Z)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_to_convergence_it_is_logistic_regression(n_classes, weighted):
    X, y = rows(n_classes=n_classes)
    Phi, Z, reg = features(X), np.eye(n_classes)[y], 1e-3
    weights = np.random.default_rng(1).uniform(0.2, 3.0, len(y)) if weighted else None
    total = len(y) if weights is None else weights.sum()
    polish, targets = posed(Phi, Z, weights, reg, penalty=reg, tol=1e-9, max_passes=500)
    run(polish, Phi, targets, weights)
    scores = Phi @ polish.coding.columns(polish.best_coef)
    ours = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    # two classes: ours has one θ of log-odds, as scikit-learn's
    rival = LogisticRegression(C=1 / (total * reg), fit_intercept=False, tol=1e-10, max_iter=10_000)
    theirs = rival.fit(Phi, y, sample_weight=weights).predict_proba(Phi)
    assert np.abs(ours - theirs).max() < 1e-5
    assert polish.gradient_norm <= 1e-9


def test_a_pass_is_the_objective_and_its_slope():
    X, y = rows(n=40)
    Phi, Z = features(X, 6), np.eye(3)[y]
    A = np.random.default_rng(2).normal(size=(6, 3))
    weights = np.random.default_rng(3).uniform(0.5, 2.0, len(y))

    def naive(coef):
        return log_loss_of(coef, Phi, Z, weights)

    value, gradient = log_loss_pass([(Phi, Z, weights)], A, sigmoids=False)
    assert value == pytest.approx(naive(A), rel=1e-12)
    step = 1e-6
    for at in np.ndindex(2, 3):
        moved = A.copy()
        moved[at] += step
        back = A.copy()
        back[at] -= step
        assert gradient[at] == pytest.approx((naive(moved) - naive(back)) / (2 * step), rel=1e-5)


def test_blocks_of_rows_add_up():
    X, y = rows(n=50)
    Phi, Z = features(X, 6), np.eye(3)[y]
    A = np.random.default_rng(2).normal(size=(6, 3))
    whole = log_loss_pass([(Phi, Z, None)], A, sigmoids=True)
    parts = log_loss_pass([(Phi[:7], Z[:7], None), (Phi[7:], Z[7:], None)], A, sigmoids=True)
    assert whole[0] == pytest.approx(parts[0], rel=1e-13)
    np.testing.assert_allclose(whole[1], parts[1], rtol=1e-10, atol=1e-12)


def test_steps_stored_half_way_go_on_alike():
    target = np.array([1.0, -2.0, 3.0])

    def told(steps, times):
        for _ in range(times):
            away = steps.point - target
            steps.tell(float(np.sum(away**4 + away**2)), 4 * away**3 + 2 * away)
        return steps

    whole = told(LbfgsSteps(np.zeros(3), 1.0), 12)
    half = told(LbfgsSteps(np.zeros(3), 1.0), 5)
    stored = {name: array.copy() for name, array in half.to_arrays().items()}
    again = told(LbfgsSteps.from_arrays(stored), 7)
    np.testing.assert_array_equal(whole.point, again.point)


def test_a_polish_stored_half_way_goes_on_alike():
    X, y = rows()
    Phi, Z = features(X), np.eye(3)[y]
    polish, targets = posed(Phi, Z, None, 1e-4)
    for _ in range(4):
        polish.tell(*log_loss_pass([(Phi, targets, None)], polish.coef, False))
    stored = {name: array.copy() for name, array in polish.to_arrays().items()}
    run(polish, Phi, targets)
    again, _ = posed(Phi, Z, None, 1e-4)
    again.go_on_from(stored)
    run(again, Phi, targets)
    np.testing.assert_array_equal(polish.best_coef, again.best_coef)
    assert polish.path == again.path


def by_norm(noise=0.5):
    """A polish in the norm of the functions, whose first ridge is far too small."""
    X, y = rows(n=400, noise=noise)
    km = KernelMap(resolve_kernel("rbf"), X[:120])
    Phi, Z = km.features(X, 0.5), np.eye(3)[y]
    made = posed(Phi, Z, None, 1e-12, n_held=50, norm=km.norm(0.5), max_passes=40)
    return *made, Phi


def test_where_nothing_is_gained_it_begins_once_more_smoother():
    polish, targets, Phi = by_norm(noise=1.5)
    first = polish.coordinates.ridge
    seen = []
    while not polish.done:
        seen.append(polish.to_arrays())
        polish.tell(*log_loss_pass([(Phi, targets, None)], polish.coef, False))
    assert polish.first > 0
    assert polish.coordinates.ridge == pytest.approx(10.0 * first)
    assert polish.helped
    assert min(polish.path) < polish.path[0]
    # from a checkpoint of any of these passes it comes to the same
    for stored in (seen[1], seen[polish.first + 3], seen[-1]):
        again, _, _ = by_norm(noise=1.5)
        again.go_on_from({name: array.copy() for name, array in stored.items()})
        run(again, Phi, targets)
        np.testing.assert_array_equal(again.best_coef, polish.best_coef)


def test_the_norm_of_the_functions_is_what_is_bounded():
    X, y = rows(n=300)
    km = KernelMap(resolve_kernel("rbf"), X[:20])
    Phi, Z, K = km.features(X, 2.0), np.eye(3)[y], km.norm(2.0)
    polish, targets = posed(Phi, Z, None, 1e-6, norm=K, penalty=1e-3, tol=1e-9, max_passes=500)
    run(polish, Phi, targets)
    # the same on features whose plain norm it is
    root = np.linalg.cholesky(K)
    white = np.linalg.solve(root, Phi.T).T
    rival = LogisticRegression(C=1 / (300 * 1e-3), fit_intercept=False, tol=1e-10, max_iter=10_000)
    theirs = rival.fit(white, y).predict_proba(white)
    scores = Phi @ polish.coding.columns(polish.best_coef)
    ours = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    assert np.abs(ours - theirs).max() < 1e-5


def test_held_out_rows_have_no_say_in_their_own_path():
    X, y = rows()
    Phi, Z = features(X), np.eye(3)[y]
    polish, targets = posed(Phi, Z, None, 1e-4, n_held=25)  # few enough not to be taken in again
    run(polish, Phi, targets)
    # the same without the rows altogether, scored apart
    H, h = Phi[25:].T @ Phi[25:], Phi[25:].T @ Z[25:]
    nobody = HeldRows(Phi[:25], Z[:25], np.full(25, 1e-12))
    coordinates = OneTaskCoordinates(RowSums(H, h, 575.0), 1e-4)
    apart = Polish(coordinates, nobody, polish.coding)
    for _ in range(polish.n_passes):
        apart.tell(*log_loss_pass([(Phi[25:], Z[25:], None)], apart.coef, False))
    np.testing.assert_allclose(apart.path, polish.path[: len(apart.path)], rtol=1e-5)


# -- estimators -----------------------------------------------------------------------------------


def test_it_lowers_the_log_loss_of_new_rows():
    X, y = rows(3000, n_classes=8, seed=3, noise=0.6)
    plain = LSPC(n_centers=60, polish=None, random_state=0).fit(X[:2000], y[:2000])
    polished = LSPC(n_centers=60, polish=12, random_state=0).fit(X[:2000], y[:2000])

    def loss(model):
        return -np.log(model.predict_proba(X[2000:])[np.arange(1000), y[2000:]]).mean()

    assert loss(polished) < loss(plain)
    assert polished.n_iter_ > 1
    assert polished.polish_path_.min() < polished.polish_path_[0]
    assert polished.held_out_log_loss_ == pytest.approx(loss(polished), rel=0.25)
    assert polished.beta_ == 1.0
    seen = ~np.isnan(polished.held_out_scores_).any(axis=1)
    assert 200 <= seen.sum() <= 2000 // 8
    assert np.isnan(polished.held_out_proba()[~seen]).all()


def test_left_alone_where_it_is_not_for():
    X, y = rows(200)
    few = LSPC().fit(X, y)
    assert "All rows are centres" in few.polish_reason_
    assert not hasattr(few, "polish_path_")
    subset = LSPC(n_centers=20, random_state=0).fit(X, y)
    assert "few beside" in subset.polish_reason_
    assert subset.n_iter_ == 1
    same = LSPC(n_centers=20, random_state=0, polish=None).fit(X, y)
    np.testing.assert_array_equal(same.coef_, subset.coef_)


def test_random_labels_are_not_taken_for_known():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1600, 5)), np.repeat([0, 1], 800)
    rng.shuffle(y)
    model = LSPC(n_centers=40, polish=10, random_state=0).fit(X, y)
    told = getattr(model, "held_out_log_loss_", model.polish_path_.min())
    assert told > np.log(2) - 0.01


def test_a_binary_column_and_rows_twice():
    rng = np.random.default_rng(0)
    X = rng.integers(2, size=(400, 1)).astype(float)
    y = (rng.random(400) < 0.2 + 0.6 * X[:, 0]).astype(int)
    model = LSPC(centers=[[0.0], [1.0]], sigma=1.0, polish=20).fit(X, y)
    assert "Too few distinct rows" in model.polish_reason_
    p = model.predict_proba([[0.0], [1.0]])[:, 1]
    np.testing.assert_allclose(p, [y[X[:, 0] == v].mean() for v in (0, 1)], atol=0.05)
    twice = LSPC(centers=[[0.0], [1.0]], sigma=1.0, polish=20)
    q = twice.fit(np.vstack([X, X]), np.append(y, y)).predict_proba([[0.0], [1.0]])[:, 1]
    np.testing.assert_allclose(p, q, atol=0.03)


def test_rows_of_a_group_are_held_out_together():
    X, y = rows(1200)
    groups = np.random.default_rng(0).permutation(np.arange(1200) // 3)
    X[1::2], y[1::2] = X[::2], y[::2]  # equal rows, in groups of their own
    model = LSPC(n_centers=30, polish=10, random_state=0).fit(X, y, groups=groups)
    held = ~np.isnan(model.held_out_scores_).any(axis=1)
    assert 100 < held.sum() <= 150
    assert not np.intersect1d(groups[held], groups[~held]).size
    few = LSPC(n_centers=30, polish=10, random_state=0).fit(X, y, groups=np.arange(1200) % 15)
    assert "groups could be held out" in few.polish_reason_


def test_random_labels_of_groups_are_not_taken_for_known():
    rng = np.random.default_rng(0)
    group, y = np.repeat(np.arange(300), 5), np.repeat(rng.integers(2, size=300), 5)
    X = rng.normal(size=(300, 4))[group] + 0.01 * rng.normal(size=(1500, 4))
    told = {}
    for name, groups in (("rows", None), ("groups", group)):
        model = LSPC(sigma=0.5, n_centers=200, polish=10, random_state=0).fit(X, y, groups=groups)
        told[name] = getattr(model, "held_out_log_loss_", model.polish_path_.min())
    assert told["rows"] < 0.5
    assert told["groups"] > np.log(2) - 0.02


def test_class_weights_move_scores_and_leave_probabilities():
    X, y = rows(1500, n_classes=2, noise=2.5)
    lean = LSPC(n_centers=40, polish=15, random_state=0, class_weight={0: 1.0, 1: 6.0}).fit(X, y)
    plain = LSPC(n_centers=40, polish=15, random_state=0).fit(X, y)
    assert lean.predict(X).mean() > plain.predict(X).mean()
    assert lean.predict_proba(X)[:, 1].mean() == pytest.approx(y.mean(), abs=0.05)


def test_weights_are_numbers_of_copies():
    X, y = rows(800)
    given = {"centers": X[:30], "sigma": 2.0, "polish": 6}
    w = np.full(len(y), 3.0)
    one = LSPC(**given).fit(X, y).predict_proba(X)
    three = LSPC(**given).fit(X, y, sample_weight=w).predict_proba(X)
    np.testing.assert_allclose(one, three, atol=1e-9)


def test_the_order_of_rows_does_not_matter():
    X, y = rows(800)
    given = {"centers": X[:30], "sigma": 2.0, "polish": 6}
    order = np.random.default_rng(0).permutation(len(y))
    one = LSPC(**given).fit(X, y)
    other = LSPC(**given).fit(X[order], y[order])
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-9)
    np.testing.assert_allclose(one.held_out_scores_[order], other.held_out_scores_, atol=1e-7)


def test_groups_are_held_out_whole():
    X, y = rows(800, noise=0.4)
    groups = np.random.default_rng(5).integers(80, size=len(y))
    X, y = np.vstack([X, X[:30]]), np.append(y, y[:30])  # copies, in other groups
    groups = np.append(groups, 100 + np.arange(30) // 3)
    model = LSPC(n_centers=40, polish=10, random_state=0).fit(X, y, groups=groups)
    held = ~np.isnan(model.held_out_scores_).any(axis=1)
    assert model.n_iter_ > 1
    assert 40 <= held.sum() <= len(y) // 8
    assert not set(groups[held]) & set(groups[~held])
    # the same whatever the groups are called, and in whatever order rows come
    order = np.random.default_rng(6).permutation(len(y))
    again = LSPC(centers=model.centers_, polish=10, sigma=model.sigma_)
    again.fit(X[order], y[order], groups=[f"g{groups[i]}" for i in order])
    np.testing.assert_array_equal(held[order], ~np.isnan(again.held_out_scores_).any(axis=1))
    np.testing.assert_allclose(again.predict_proba(X), model.predict_proba(X), atol=1e-8)
    # one row a group is no group
    alone = LSPC(n_centers=40, polish=10, random_state=0)
    ours = alone.fit(X, y, groups=np.arange(len(y))).predict_proba(X)
    assert np.abs(ours - alone.fit(X, y).predict_proba(X)).max() < 0.05
    few = LSPC(n_centers=40, polish=10, random_state=0).fit(X, y, groups=np.arange(len(y)) % 4)
    assert "or groups could be held out" in few.polish_reason_
    assert few.n_iter_ == 1


def test_rows_of_one_kind_do_not_vouch_for_each_other():
    rng = np.random.default_rng(0)
    person, noise = rng.normal(size=(100, 6)), 0.01 * rng.normal(size=(1200, 6))
    of = np.repeat(np.arange(100), 12)
    y = rng.integers(2, size=100)[of]  # of each person by chance
    model = LSPC(n_centers=200, polish=12, sigma=1.0, random_state=0)
    told = model.fit(person[of] + noise, y, groups=of).held_out_proba()
    seen = ~np.isnan(told).any(axis=1)
    assert -np.log(told[seen, y[seen]]).mean() > 0.65


def test_many_labels_have_sigmoids():
    X, y = rows(3000, n_classes=8, seed=3, noise=0.6)
    Y = np.column_stack([y & 1, y & 2, y & 4, np.zeros(len(y))]).astype(bool).astype(int)
    models = []
    for polish in (None, 12):
        model = MultiLabelLSPC(n_centers=40, polish=polish, random_state=0)
        with pytest.warns(UserWarning, match="cannot be learnt"):
            models.append(model.fit(X[:2000], Y[:2000]))

    def loss(model):
        p = model.predict_proba(X[2000:])[:, :3]
        return -np.mean(np.log(np.where(Y[2000:, :3], p, 1 - p)))

    plain, polished = models
    assert loss(polished) < loss(plain)
    assert polished.predict(X).shape == (3000, 4)
    assert polished.held_out_proba().shape == (2000, 4)


def test_files_onnx_and_fewer_centres(tmp_path):
    X, y = rows(900)
    model = LSPC(n_centers=40, polish=8, random_state=0).fit(X, y)
    kinlearn.save(model, tmp_path / "model.kin")
    again = kinlearn.load(tmp_path / "model.kin")
    np.testing.assert_allclose(again.predict_proba(X), model.predict_proba(X), atol=1e-12)
    np.testing.assert_array_equal(again.polish_path_, model.polish_path_)
    onnx = kinlearn.to_onnx(model)
    assert onnx.graph.node


def test_the_matrix_of_many_centres_is_formed_for_a_polish_up_to_a_bound(monkeypatch):
    X, y = rows(n=5200)
    monkeypatch.setattr(solver_choice, "PCG_CENTERS", 30)
    model = LSPC(n_centers=60, sigma=1.0, random_state=0).fit(X, y)
    assert (model.solver_, model.n_iter_ > 1) == ("direct", True)
    monkeypatch.setattr("kinlearn.estimators.lspc.MOST_POLISHED", 50)
    model.fit(X, y)
    assert "60 are more than the 50" in model.polish_reason_
    assert not hasattr(model, "polish_path_")
    with pytest.raises(ValueError, match="solver='direct'"):
        model.set_params(polish=4).fit(X, y)


def test_drawn():
    X, y = rows(900)
    model = LSPC(n_centers=40, polish=8, random_state=0).fit(X, y)
    display = PolishPathDisplay.from_estimator(model)
    assert len(display.line_.get_xdata()) == len(model.polish_path_)
    with pytest.raises(TypeError, match="was not polished"):
        PolishPathDisplay.from_estimator(LSPC().fit(X[:50], y[:50]))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"polish": 0}, "number of passes"),
        ({"polish": 2.5}, "number of passes"),
        ({"polish": "often"}, "number of passes"),
        ({"polish": 3, "posterior": "rounded"}, "cannot be had"),
        ({"polish": 3, "basis": "classwise"}, "cannot be had"),
        ({"polish": 3, "solver": "pcg"}, "cannot be had"),
    ],
)
def test_refused(options, words):
    X, y = rows(60)
    model = LSPC(n_centers=10, random_state=0, **options)
    with pytest.raises(ValueError, match=words):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)
    model.set_params(polish=2, posterior="calibrated", basis="full", solver="auto")
    model.fit(X, y)
