"""Our own threads: never more than allowed, one thread of BLAS each, and the same results."""

import inspect
import math
import threading

import numpy as np
import pytest

import kinlearn
from kinlearn import LSPC, LSPCCV, MultiTaskLSPC, MultiTaskLSPCCV, cores, threads
from kinlearn.datasets import make_related_tasks
from kinlearn.estimators.kernel_logistic_regression_cv import KernelLogisticRegressionCV
from kinlearn.threads import own_threads, room, side_by_side, threaded_blas


@pytest.fixture
def allow(monkeypatch):
    """Set the number of cores, and of the threads that the user lets BLAS have."""

    def set_numbers(n_cores, n_blas=None):
        monkeypatch.setattr(threads, "available_cores", lambda: n_cores)
        monkeypatch.setattr(threads._limits, "found", lambda: n_blas or n_cores)

    return set_numbers


class Crowd:
    """Counts the threads that are inside at one time."""

    def __init__(self):
        self.lock, self.inside, self.most = threading.Lock(), 0, 0

    def __call__(self, item):
        with self.lock:
            self.inside += 1
            self.most = max(self.most, self.inside)
        threading.Event().wait(0.02)
        with self.lock:
            self.inside -= 1
        return item


def run_in_threads(function, items, **kwargs):
    items = list(items)
    with side_by_side(len(items), **kwargs) as each:
        return list(each(function, items))


def most_at_once(**kwargs):
    crowd = Crowd()
    assert run_in_threads(crowd, range(12), **kwargs) == list(range(12))
    return crowd.most


class TestNumberOfThreads:
    def test_is_that_of_the_cores(self, allow):
        allow(3)
        assert most_at_once() == 3

    def test_is_no_more_than_the_user_gives_blas(self, allow):
        allow(8, n_blas=2)
        assert room() == 2
        assert most_at_once() == 2

    def test_is_no_more_than_n_jobs_nor_than_the_cores(self, allow):
        allow(3)
        with own_threads(1):
            assert most_at_once() == 1
        with own_threads(2):
            assert most_at_once() == 2
        with own_threads(50):
            assert most_at_once() == 3

    def test_n_jobs_may_exceed_what_blas_is_given(self, allow):
        allow(4, n_blas=1)
        with own_threads(3):
            assert most_at_once() == 3

    def test_inner_n_jobs_never_widens_the_outer(self, allow):
        allow(4)
        with own_threads(2), own_threads(4):
            assert room() == 2

    def test_does_not_multiply_inside(self, allow):
        allow(3)
        crowd = Crowd()
        run_in_threads(lambda _: run_in_threads(crowd, range(4)), range(6))
        assert crowd.most <= 3

    def test_is_shared_by_threads_from_outside(self, allow):
        allow(4)
        crowd, start = Crowd(), threading.Barrier(4)

        def request():
            with own_threads():
                start.wait()  # all four are at work: no core is left for threads of ours
                run_in_threads(crowd, range(6))
                start.wait()

        workers = [threading.Thread(target=request) for _ in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert crowd.most <= 4
        assert threads._busy._count == 0

    def test_is_bounded_by_memory(self, allow, monkeypatch):
        allow(4)
        each = 8 * threads.ARRAYS_AT_WORK * 3000**2
        monkeypatch.setattr(threads, "available_memory", lambda: 2.5 * each / threads.MEMORY_SHARE)
        assert most_at_once(side=3000) == 2
        monkeypatch.setattr(threads, "available_memory", lambda: 0.0)
        assert most_at_once(side=3000) == 1
        assert most_at_once(side=10) == 4

    def test_is_bounded_by_what_the_caller_says(self, allow):
        allow(4)
        assert most_at_once(at_most=2) == 2


class TestWork:
    def test_an_error_comes_out_and_everything_is_put_back(self, allow):
        allow(2)
        with pytest.raises(ZeroDivisionError):
            run_in_threads(lambda item: 1 / item, [1, 0, 1])
        assert threads._busy._count == 0
        assert threads._limits._active == []
        assert threads._room.get() == 0

    def test_nothing_to_do_is_done(self, allow):
        allow(2)
        assert run_in_threads(abs, []) == []

    def test_numpys_error_state_is_the_callers(self, allow):
        allow(2)
        with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
            run_in_threads(lambda x: np.float64(1.0) / x, [np.float64(0.0)] * 3)

    def test_blas_has_one_thread_meanwhile(self, allow):
        allow(2)
        libraries = threads._controller().lib_controllers
        if not libraries:
            pytest.skip("no BLAS whose threads can be set")
        before = [library.num_threads for library in libraries]
        try:
            for library in libraries:
                library.set_num_threads(2)
            seen = run_in_threads(lambda _: [library.num_threads for library in libraries], [1, 2])
            assert seen == [[1] * len(libraries)] * 2
            assert [library.num_threads for library in libraries] == [2] * len(libraries)
        finally:
            for library, number in zip(libraries, before, strict=True):
                library.set_num_threads(number)


class TestLargeDecompositions:
    def limits(self):
        return list(threads._limits._active)

    def test_have_threads_of_blas_when_alone(self, allow):
        allow(4)
        with own_threads():
            with threaded_blas(threads.THREADED_SIDE):
                assert self.limits() == [4]
            with threaded_blas(threads.THREADED_SIDE - 1):
                assert self.limits() == [1]
            assert self.limits() == [1]
        assert self.limits() == []

    def test_have_none_beside_others_or_under_n_jobs_1(self, allow):
        allow(4)
        with own_threads(1), threaded_blas(10**4):
            assert self.limits() == [1]
        seen = []
        with own_threads():
            run_in_threads(lambda _: seen.append(self.inside()), range(2))
        assert seen == [[1], [1]]
        with threaded_blas(10**4):
            assert self.limits() == []

    def inside(self):
        with threaded_blas(10**4):
            return self.limits()


def make_group(folder, **files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)


class TestCores:
    def test_quota_of_version_2_is_the_least_on_the_way_up(self, tmp_path):
        groups = tmp_path / "cgroup"
        groups.write_text("0::/pod/container\n")
        root = tmp_path / "fs"
        make_group(root / "pod" / "container", cpu__max="max 100000\n")
        make_group(root / "pod", cpu__max="250000 100000\n")
        make_group(root)
        assert cores.cpu_quota(groups, root) == 2.5
        make_group(root / "pod" / "container", cpu__max="50000 100000\n")
        assert cores.cpu_quota(groups, root) == 0.5

    @pytest.mark.parametrize("mounted", ["cpu", "cpu,cpuacct"])
    def test_quota_of_version_1(self, tmp_path, mounted):
        groups = tmp_path / "cgroup"
        groups.write_text("4:memory:/box\n3:cpu,cpuacct:/box\n2:cpuset:/\n")
        files = {"cpu__cfs_quota_us": "150000\n", "cpu__cfs_period_us": "100000\n"}
        # a container sees its own group at the root of what is mounted
        make_group(tmp_path / mounted, **files)
        assert cores.cpu_quota(groups, tmp_path) == 1.5

    @pytest.mark.parametrize("quota", ["-1\n", "max\n", "", "nonsense\n", "0\n"])
    def test_no_quota(self, tmp_path, quota):
        groups = tmp_path / "cgroup"
        groups.write_text("1:cpu:/\n")
        make_group(tmp_path / "cpu", cpu__cfs_quota_us=quota, cpu__cfs_period_us="100000\n")
        assert math.isinf(cores.cpu_quota(groups, tmp_path))

    def test_no_control_groups_at_all(self, tmp_path):
        assert math.isinf(cores.cpu_quota(tmp_path / "missing", tmp_path))
        found = cores.available_memory(tmp_path / "a", tmp_path / "b", tmp_path)
        assert found == cores.ASSUMED_MEMORY

    @pytest.mark.parametrize(
        ("bound", "quota", "expected"), [(64, 1.2, 2), (2, 16.0, 2), (8, math.inf, 8), (4, 0.1, 1)]
    )
    def test_cores_are_the_lesser_of_binding_and_quota(self, monkeypatch, bound, quota, expected):
        monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(bound)), raising=False)
        monkeypatch.setattr(cores, "cpu_quota", lambda: quota)
        assert cores.available_cores.__wrapped__() == expected

    def test_memory_is_the_lesser_of_free_and_allowed(self, tmp_path):
        memory, groups = tmp_path / "meminfo", tmp_path / "cgroup"
        memory.write_text("MemTotal: 900 kB\nMemAvailable: 500 kB\n")
        groups.write_text("0::/box\n")
        make_group(tmp_path / "box", memory__max="max\n")
        assert cores.available_memory(memory, groups, tmp_path) == 500 * 1024
        make_group(tmp_path / "box", memory__max="4096\n")
        assert cores.available_memory(memory, groups, tmp_path) == 4096


class TestEstimators:
    def problem(self, rng, n=90):
        X = rng.normal(size=(n, 3))
        return X, (X[:, 0] + 0.5 * rng.normal(size=n) > 0).astype(int)

    @pytest.mark.parametrize(
        "settings", [{}, {"n_centers": 20}, {"cv": 3}, {"precision": "single"}]
    )
    def test_a_search_is_the_same_on_any_number_of_threads(self, rng, allow, settings):
        X, y = self.problem(rng)
        allow(4)
        settings = {"kernel": ["rbf", "laplacian"], "random_state": 0, **settings}
        several = LSPCCV(**settings).fit(X, y)
        one = LSPCCV(n_jobs=1, **settings).fit(X, y)
        np.testing.assert_array_equal(several.coef_, one.coef_)
        np.testing.assert_array_equal(several.held_out_scores_, one.held_out_scores_)
        np.testing.assert_array_equal(several.predict_proba(X), one.predict_proba(X))

    @pytest.mark.parametrize("settings", [{}, {"n_centers": 8, "regs": [1e-3, 1e-2]}])
    def test_so_is_one_over_tasks(self, allow, settings):
        X, y, task = make_related_tasks(n_tasks=4, n_samples=40, random_state=0)
        allow(4)
        several = MultiTaskLSPCCV(random_state=0, **settings).fit(X, y, task=task)
        one = MultiTaskLSPCCV(random_state=0, n_jobs=1, **settings).fit(X, y, task=task)
        np.testing.assert_array_equal(several.coef_, one.coef_)
        np.testing.assert_array_equal(several.held_out_scores_, one.held_out_scores_)

    @pytest.mark.filterwarnings("ignore:The best")
    def test_so_is_one_that_keeps_few_decompositions(self, rng, allow, monkeypatch):
        X, y = self.problem(rng)
        task = np.arange(len(y)) % 3
        grid = {"sigmas": [0.5, 1.0, 2.0], "regs": [1e-3, 1e-2], "sharings": [0.2, 0.5, 0.8]}
        monkeypatch.setattr("kinlearn.problems.one_task.KEPT_SPECTRA_MB", 0.2)
        monkeypatch.setattr("kinlearn.problems.tasks_dual.KEPT_SPECTRA_MB", 0.5)
        allow(4)
        models = [LSPCCV(kernel="rbf", n_jobs=k).fit(X, y) for k in (1, None)]
        np.testing.assert_array_equal(models[0].coef_, models[1].coef_)
        models = [MultiTaskLSPCCV(n_jobs=k, **grid).fit(X, y, task=task) for k in (1, None)]
        np.testing.assert_array_equal(models[0].coef_, models[1].coef_)

    @pytest.mark.filterwarnings("ignore:The best")
    def test_so_is_logistic_regression(self, rng, allow):
        X, y = self.problem(rng, 60)
        allow(3)
        grid = {"sigmas": [1.0], "regs": [1e-3, 1e-2], "cv": 3}
        models = [KernelLogisticRegressionCV(n_jobs=k, **grid).fit(X, y) for k in (1, None)]
        np.testing.assert_array_equal(models[0].coef_, models[1].coef_)

    @pytest.mark.parametrize("model", [LSPC(), LSPC(n_centers=30, random_state=0), MultiTaskLSPC()])
    def test_so_are_fits_and_predictions_of_many_rows(self, rng, allow, model):
        X, y = self.problem(rng, 700)
        given = {"task": np.arange(700) % 3} if isinstance(model, MultiTaskLSPC) else {}
        new = rng.normal(size=(3000, 3))
        answers = []
        for n_cores in (1, 4):
            allow(n_cores)
            model.fit(X, y, **given)
            later = {"task": np.arange(3000) % 3} if given else {}
            answers.append(model.predict_proba(new, **later))
        np.testing.assert_array_equal(*answers)

    def test_every_fit_is_entered_through_the_guard(self):
        # these fit nothing but other estimators, whose fits are guarded
        delegating = {"HandOver", "PredictionSets", "PriorShift", "IndependentTasks", "PooledTasks"}
        delegating |= {"TableFeatures"}  # goes over columns one by one, without any product
        unguarded = {
            name
            for name in kinlearn.__all__
            if inspect.isclass(found := getattr(kinlearn, name))
            and hasattr(found, "fit")
            and found.fit.__globals__["__name__"] != threads.__name__
        }
        assert unguarded <= delegating
