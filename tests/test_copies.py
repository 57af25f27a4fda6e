"""One copy of a row is held out at a time: closed forms against refits to rows as passed."""

import numpy as np
import pytest
from sklearn.model_selection import KFold

from kinlearn import LSPC, KernelLogisticRegression, KernelLogisticRegressionCV, MultiTaskLSPC
from kinlearn.kernels import KernelMap, resolve_kernel
from kinlearn.problems.basis import PartedSpectrum
from kinlearn.problems.one_task import one_task_basis
from kinlearn.solvers.few_weights import FewWeightsSpectrum
from kinlearn.solvers.fixed_centers import FixedCenterSpectrum
from kinlearn.solvers.spectral import SymmetricSpectrum
from kinlearn.training.centers import Centers
from kinlearn.training.label_table import read_classes
from kinlearn.training.training_set import make_training_set
from naive.copies import leave_folds_out, leave_one_copy_out
from naive.held_out import group_by_group, one_by_one
from naive.kernels import naive_kernel
from naive.tasks import naive_task_parameters, naive_task_scores
from one_kernel import LSPCCV, MultiTaskLSPCCV

SIGMA, REG = 1.3, 1e-2
pytestmark = pytest.mark.filterwarnings("ignore:The best")


def table(kind, seed=0, n_classes=3):
    """Rows of which few, many or all have copies, of other classes or of their own."""
    rng = np.random.default_rng(seed)
    if kind == "few":
        X = rng.normal(size=(50, 2))
        X[[48, 49]] = X[[3, 20]]
    elif kind == "many":
        X = rng.integers(0, 4, size=(50, 2)).astype(float)
    else:
        X = np.repeat(rng.normal(size=(25, 2)), 2, axis=0)
    y = rng.integers(0, n_classes, size=50)
    if kind == "few":
        y[[48, 49]] = y[3], (y[20] + 1) % n_classes
    order = rng.permutation(50)
    return X[order], y[order]


def one_point(**settings):
    """One point is not chosen by anything: what is reported are the held-out scores themselves."""
    return LSPCCV(sigmas=[SIGMA], regs=[REG], combine="best", precision="double", **settings)


def four_folds(X):
    return list(KFold(4, shuffle=True, random_state=1).split(X))


@pytest.mark.parametrize(
    ("kind", "solver"),
    [("few", FewWeightsSpectrum), ("many", PartedSpectrum), ("twice", SymmetricSpectrum)],
)
def test_each_kind_of_table_takes_a_solver_of_its_own(kind, solver):
    X, y = table(kind)
    data = make_training_set(X, read_classes(y, "LSPC"), None, None, "LSPC")
    every, given = Centers(data.X, np.arange(data.n_rows), True), Centers(X[:5], None, False)
    for centers, kind in ((every, solver), (given, FixedCenterSpectrum)):
        features = KernelMap(resolve_kernel("rbf"), centers.rows)
        basis = one_task_basis(data, features, centers, "full", n_decompositions=1)
        assert isinstance(basis.spectrum(1.0), kind)


@pytest.mark.parametrize("kind", ["few", "many", "twice"])
@pytest.mark.parametrize("basis", ["full", "centers", "few centers"])
class TestOneTask:
    @staticmethod
    def centers(basis, X):
        rng = np.random.default_rng(3)
        return {"full": None, "centers": X[:15] + 0.1, "few centers": rng.normal(size=(4, 2))}[
            basis
        ]

    def test_leave_one_copy_out(self, kind, basis):
        X, y = table(kind)
        centers = self.centers(basis, X)
        expected = leave_one_copy_out(X, y, SIGMA, REG, centers=centers)
        for model in (LSPC(sigma=SIGMA, reg=REG, centers=centers), one_point(centers=centers)):
            np.testing.assert_allclose(model.fit(X, y).held_out_scores_, expected, atol=1e-8)

    def test_folds_of_copies(self, kind, basis):
        X, y = table(kind)
        cv, centers = four_folds(X), self.centers(basis, X)
        model = one_point(cv=cv, centers=centers).fit(X, y)
        expected = leave_folds_out(X, y, cv, SIGMA, REG, centers=centers)
        np.testing.assert_allclose(model.held_out_scores_, expected, atol=1e-8)

    def test_groups_of_copies(self, kind, basis):
        X, y = table(kind)
        groups, centers = np.arange(50) % 9, self.centers(basis, X)
        cv = [(np.flatnonzero(groups != g), np.flatnonzero(groups == g)) for g in range(9)]
        model = LSPC(sigma=SIGMA, reg=REG, centers=centers).fit(X, y, groups=groups)
        expected = leave_folds_out(X, y, cv, SIGMA, REG, centers=centers)
        np.testing.assert_allclose(model.held_out_scores_, expected, atol=1e-8)

    def test_class_weights(self, kind, basis):
        X, y = table(kind)
        centers, balance = self.centers(basis, X), np.array([1.0, 3.0, 0.5])
        weights, named = balance[y], dict(enumerate(balance))
        model = LSPC(sigma=SIGMA, reg=REG, centers=centers, class_weight=named).fit(X, y)
        expected = leave_one_copy_out(X, y, SIGMA, REG, weights, centers=centers)
        np.testing.assert_allclose(model.held_out_scores_, expected, atol=1e-8)
        cv = four_folds(X)
        model = one_point(cv=cv, centers=centers, class_weight=named).fit(X, y)
        expected = leave_folds_out(X, y, cv, SIGMA, REG, weights, centers=centers)
        np.testing.assert_allclose(model.held_out_scores_, expected, atol=1e-8)

    def test_weights_of_no_common_unit(self, kind, basis):
        """Every passed row is then one copy; of those merged, the mean weight leaves."""
        X, y = table(kind)
        centers, weights = self.centers(basis, X), np.random.default_rng(2).uniform(0.3, 2, 50)
        model = LSPC(sigma=SIGMA, reg=REG, centers=centers).fit(X, y, sample_weight=weights)
        expected = leave_one_copy_out(X, y, SIGMA, REG, weights, centers=centers)
        np.testing.assert_allclose(model.held_out_scores_, expected, atol=1e-8)

    @pytest.mark.parametrize("integers", [False, True])
    def test_weighted_rows_leave_their_folds_with_their_own_weight(self, kind, basis, integers):
        X, y = table(kind)
        y = np.zeros_like(y) + (X[:, 0] > 0)  # copies of one class, which are merged
        rng, cv, centers = np.random.default_rng(2), four_folds(X), self.centers(basis, X)
        weights = rng.integers(1, 5, 50).astype(float) if integers else rng.uniform(0.3, 2, 50)
        model = one_point(cv=cv, centers=centers).fit(X, y, sample_weight=weights)
        expected = leave_folds_out(X, y, cv, SIGMA, REG, weights, centers=centers)
        np.testing.assert_allclose(model.held_out_scores_, expected, atol=1e-8)


@pytest.mark.parametrize("kind", ["few", "many", "twice"])
def test_single_precision_selects_by_the_same_scores(kind):
    X, y = table(kind)
    model = one_point().set_params(precision="single").fit(X, y)
    np.testing.assert_allclose(
        model.held_out_scores_, leave_one_copy_out(X, y, SIGMA, REG), atol=1e-4
    )
    cv = four_folds(X)
    model = one_point(cv=cv).set_params(precision="single").fit(X, y)
    np.testing.assert_allclose(
        model.held_out_scores_, leave_folds_out(X, y, cv, SIGMA, REG), atol=1e-4
    )


@pytest.mark.parametrize("kind", ["few", "many", "twice"])
def test_classwise_basis(kind):
    """A centre stays with the classes it has as long as a copy of its row stays."""
    X, y = table(kind)
    model = LSPC(sigma=SIGMA, reg=REG, basis="classwise").fit(X, y)
    expected = leave_one_copy_out(X, y, SIGMA, REG, classwise=(X, y))
    np.testing.assert_allclose(model.held_out_scores_, expected, atol=1e-8)
    cv = four_folds(X)
    model = one_point(cv=cv, basis="classwise").fit(X, y)
    expected = leave_folds_out(X, y, cv, SIGMA, REG, classwise=(X, y))
    np.testing.assert_allclose(model.held_out_scores_, expected, atol=1e-8)


@pytest.mark.parametrize("every", [False, True])
@pytest.mark.parametrize("kind", ["few", "many", "twice"])
def test_folds_of_conjugate_gradients(kind, every):
    X, y = table(kind)
    groups = np.arange(50) % 5  # each is one fold
    given = {} if every else {"centers": X[:12] + 0.1}
    model = LSPC(sigma=SIGMA, reg=REG, solver="pcg", tol=1e-10, **given).fit(X, y, groups=groups)
    assert model.solver_ == "pcg"
    cv = group_by_group(groups)
    expected = leave_folds_out(X, y, cv, SIGMA, REG, centers=given.get("centers"))
    np.testing.assert_allclose(model.held_out_scores_, expected, atol=1e-6)


@pytest.mark.parametrize("cv", ["loo", "folds"])
@pytest.mark.parametrize("kind", ["few", "many", "twice"])
def test_logistic_regression(kind, cv):
    X, y = table(kind, n_classes=2)
    pairs = four_folds(X)
    if cv == "loo":
        pairs = one_by_one(50)
    model = KernelLogisticRegressionCV(sigmas=[SIGMA], regs=[REG], cv=pairs if cv != "loo" else cv)
    found = model.fit(X, y).held_out_scores_
    for train, test in pairs[::7] if cv == "loo" else pairs[:2]:
        refit = KernelLogisticRegression(sigma=SIGMA, reg=REG).fit(X[train], y[train])
        expected = refit.decision_function(X[test])
        np.testing.assert_allclose(found[test, 1] - found[test, 0], expected, atol=2e-4)


# -- several tasks ----------------------------------------------------------------------------


def task_table(kind):
    X, y = table(kind)
    task = np.random.default_rng(4).integers(0, 3, size=50)
    if kind == "twice":  # copies of one task
        _, member = np.unique(X, axis=0, return_inverse=True)
        task = task[member.ravel()]
    return X, y, task


@pytest.mark.parametrize("centers", ["rows", "given"])
@pytest.mark.parametrize("kind", ["few", "many", "twice"])
class TestTasks:
    sharing = 0.6

    def expected(self, X, y, task, cv, centers):
        """Refit to the rows that stay.

        Where rows are centres, one that is gone leaves its task, unless another task has it, too.
        """
        places = np.unique(X, axis=0) if centers is None else centers
        phi, Z = naive_kernel("rbf", X, places, SIGMA), np.eye(3)[y]
        scores = np.empty((50, 3))
        for train, test in cv:
            absent = []
            for i in test if centers is None else []:
                same = (X[i] == X).all(axis=1)
                own = np.flatnonzero((places == X[i]).all(axis=1))[0]
                if not same[train].any() and (task[same] == task[i]).all():
                    absent.append((task[i], own))
            some, same_weights = (phi[train], task[train], Z[train]), np.ones(len(train))
            theta = naive_task_parameters(
                *some, same_weights, np.ones((3, 3)), REG, self.sharing, absent=absent
            )
            scores[test] = naive_task_scores(phi[test], task[test], theta)
        return scores

    def test_leave_one_copy_out(self, kind, centers):
        X, y, task = task_table(kind)
        given = {"centers": X[:12] + 0.1} if centers == "given" else {}
        expected = self.expected(X, y, task, one_by_one(50), given.get("centers"))
        single = MultiTaskLSPC(sigma=SIGMA, reg=REG, sharing=self.sharing, **given)
        search = MultiTaskLSPCCV(
            sigmas=[SIGMA], regs=[REG], sharings=[self.sharing], combine="best", **given
        )
        for model in (single, search):
            model.fit(X, y, task=task, groups=np.arange(50))  # every row is a case of its own
            np.testing.assert_allclose(model.held_out_scores_, expected, atol=1e-8)

    def test_folds_of_copies(self, kind, centers):
        X, y, task = task_table(kind)
        given = {"centers": X[:12] + 0.1} if centers == "given" else {}
        cv = four_folds(X)
        model = MultiTaskLSPCCV(
            sigmas=[SIGMA], regs=[REG], sharings=[self.sharing], combine="best", cv=cv, **given
        ).fit(X, y, task=task)
        expected = self.expected(X, y, task, cv, given.get("centers"))
        np.testing.assert_allclose(model.held_out_scores_, expected, atol=1e-8)
