"""One model of every kind, with the calls whose answers must survive a file."""

import hashlib
import json
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

import kinlearn
from kinlearn import (
    LSPC,
    LSPCCV,
    MTDA,
    AggregateLDA,
    HeterogeneousLSPC,
    IndependentTasks,
    KernelLogisticRegression,
    KernelLogisticRegressionCV,
    MTDAClassifier,
    MultiLabelLSPC,
    MultiLabelLSPCCV,
    MultiTaskKernelLogisticRegression,
    MultiTaskKernelLogisticRegressionCV,
    MultiTaskLSPC,
    MultiTaskLSPCCV,
    PooledTasks,
    RatioTraceLDA,
    TraceRatioLDA,
)
from kinlearn.archives.archive import COMMENT, MANIFEST, TREE
from kinlearn.datasets import make_heterogeneous_tasks
from kinlearn.persistence.encode import Encoder

N = 36
_rng = np.random.default_rng(3)
X = np.abs(_rng.normal(size=(N, 3)) + 1.0)
Y = np.column_stack([X[:, 0] > 1.2, X[:, 1] + X[:, 0] > 2.0, X[:, 2] > 1.0]).astype(int)
CLASSES = np.array(["high", "low", "mid"])[(X[:, 0] > 0.8).astype(int) + (X[:, 1] > 1.4)]
TASK = np.array(["north", "south", "west"])[np.arange(N) % 3]
NUMBERS = np.arange(N) % 3 * 10
FRAME = pd.DataFrame(X, columns=["age", "dose", "level"]).assign(
    unit=np.array(["a", "b", None], dtype=object)[_rng.integers(0, 3, N)],
    grade=np.array(["lo", "hi"], dtype=object)[_rng.integers(0, 2, N)],
)
FRAME.loc[[2, 5], "age"] = np.nan
XS, YS = make_heterogeneous_tasks(n_features=(4, 9), n_samples=24, random_state=0)
SMALL: dict[str, Any] = {"sigmas": [0.3, 1.0, 50.0], "regs": [1e-7, 1e-4, 1e-2, 10.0]}
SMALL_TASKS: dict[str, Any] = {**SMALL, "sharings": [0.0, 0.6]}


def table_pipeline(estimator: Any) -> Any:
    """Mixed columns with missing values, as a table has them."""
    return make_pipeline(
        make_column_transformer(
            (
                make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()),
                ["age", "dose", "level"],
            ),
            (
                make_pipeline(
                    SimpleImputer(strategy="constant", fill_value="?"),
                    OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=2),
                ),
                ["unit"],
            ),
            (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), ["grade"]),
        ),
        estimator,
    )


def single(rows: Any = X) -> Callable[[Any], list[Any]]:
    """Answers of a model of one task."""
    names = ("predict_proba", "predict", "decision_function")
    return lambda m: [getattr(m, name)(rows) for name in names if hasattr(m, name)]


def tasked(ids: Any) -> Callable[[Any], list[Any]]:
    """Answers under tasks."""
    return lambda m: [m.predict_proba(X, task=ids), m.predict(X, task=ids)]


def both_tasks(m: Any) -> list[Any]:
    """Answers for each task of features of its own."""
    name = "predict_proba" if hasattr(m, "predict_proba") else "transform"
    return [getattr(m, name)(rows, task=i) for i, rows in enumerate(XS)]


def state(model):
    """Everything a model is, comparable."""
    encoder = Encoder()
    root = encoder.encode(model, "model")
    arrays = [(a.dtype.str, a.shape, a.tobytes()) for a in encoder.arrays]
    return json.dumps([root, encoder.objects]), arrays


def edited(path, target, change, name=TREE):
    """Write a copy with one member changed and all checksums made to fit again."""
    with zipfile.ZipFile(path) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    members[name] = change(members[name])
    manifest = json.loads(members[MANIFEST])
    manifest["members"] = {
        other: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for other, content in members.items()
        if other != MANIFEST
    }
    members[MANIFEST] = json.dumps(manifest).encode()
    with zipfile.ZipFile(target, "w") as archive:
        for other, content in members.items():
            archive.writestr(other, content)
        archive.comment = COMMENT + hashlib.sha256(members[MANIFEST]).hexdigest().encode()
    return target


Asked = tuple[Any, Callable[[Any], list[Any]]]


class Fitted(Mapping[str, Any]):
    """Models by name, each fitted when it is first asked for, and then kept."""

    def __init__(self, makers: dict[str, Callable[[], Any]]) -> None:
        self._makers = makers
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="The best", category=UserWarning)
                self._made[name] = self._makers[name]()
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


def _of_other_losses() -> dict[str, Callable[[], Asked]]:
    return {
        "KernelLogisticRegression": lambda: (
            KernelLogisticRegression().fit(X, CLASSES),
            single(),
        ),
        "KernelLogisticRegressionCV": lambda: (
            KernelLogisticRegressionCV(**SMALL).fit(X, CLASSES),
            single(),
        ),
        "MultiTaskKernelLogisticRegression": lambda: (
            MultiTaskKernelLogisticRegression().fit(X, CLASSES, task=TASK),
            tasked(TASK),
        ),
        "MultiTaskKernelLogisticRegressionCV": lambda: (
            MultiTaskKernelLogisticRegressionCV(**SMALL_TASKS).fit(X, CLASSES, task=TASK),
            tasked(TASK),
        ),
    }


def _streamed() -> Asked:
    model = LSPC(n_centers=9, random_state=0).partial_fit(X[:20], CLASSES[:20])

    def goes_on(m: Any) -> list[Any]:
        before = m.predict_proba(X)
        after = clone_by_file(m).partial_fit(X[20:], CLASSES[20:]).predict_proba(X)
        return [before, after]

    return model, goes_on


def clone_by_file(model: Any) -> Any:
    """Save and load, so that the model itself is left as it is."""
    with tempfile.TemporaryDirectory() as folder:
        kinlearn.save(model, f"{folder}/m")
        return kinlearn.load(f"{folder}/m")


def _of_squares() -> dict[str, Callable[[], Asked]]:
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(2) / 2)
    unseen = np.where(TASK == "west", "east", TASK)
    one = single()
    return {
        "LSPC": lambda: (LSPC().fit(X, CLASSES), one),
        "LSPC integers": lambda: (LSPC(posterior="raw").fit(X, Y[:, 0]), one),
        "LSPC rounded, prior": lambda: (
            LSPC(posterior="rounded", fallback="prior").fit(X, CLASSES),
            one,
        ),
        "LSPC parameters": lambda: (LSPC(posterior="rounded_parameters").fit(X, CLASSES), one),
        "LSPC classwise": lambda: (LSPC(basis="classwise").fit(X, CLASSES), one),
        "LSPC laplacian": lambda: (LSPC(kernel="laplacian").fit(X, CLASSES), one),
        "LSPC chi2": lambda: (LSPC(kernel="chi2").fit(X, CLASSES), one),
        "LSPC polynomial": lambda: (LSPC(kernel="polynomial", degree=2).fit(X, CLASSES), one),
        "LSPC linear": lambda: (LSPC(kernel="linear").fit(X, CLASSES), one),
        "LSPC cosine": lambda: (LSPC(kernel="cosine").fit(X, CLASSES), one),
        "LSPC subset": lambda: (LSPC(n_centers=7, random_state=0).fit(X, CLASSES), one),
        "LSPC given": lambda: (LSPC(centers=X[:4].tolist()).fit(X, CLASSES), one),
        "LSPC sparse": lambda: (
            LSPC(kernel="cosine").fit(sp.csr_matrix(X), CLASSES),
            single(sp.csr_matrix(X)),
        ),
        "LSPC precomputed": lambda: (LSPC(kernel="precomputed").fit(K, CLASSES), single(K)),
        "LSPC state": lambda: (LSPC(random_state=np.random.RandomState(4)).fit(X, CLASSES), one),
        "LSPCCV": lambda: (LSPCCV(store_cv_scores=True).fit(X, CLASSES), one),
        "LSPCCV folds": lambda: (LSPCCV(cv=StratifiedKFold(3), **SMALL).fit(X, CLASSES), one),
        "multi-task": lambda: (MultiTaskLSPC().fit(X, CLASSES, task=TASK), tasked(unseen)),
        "multi-task numbers": lambda: (
            MultiTaskLSPC(
                similarity=pd.DataFrame(np.ones((3, 3)), index=[0, 10, 20], columns=[0, 10, 20])
            ).fit(X, CLASSES, task=NUMBERS),
            tasked(NUMBERS + 10),
        ),
        "multi-task CV": lambda: (
            MultiTaskLSPCCV(**SMALL_TASKS).fit(X, CLASSES, task=TASK),
            tasked(unseen),
        ),
        "multi-label": lambda: (MultiLabelLSPC(threshold="loo_f1").fit(X, Y), one),
        "multi-label classes": lambda: (MultiLabelLSPC().fit(X, Y + 2 * Y[:, [1, 2, 0]]), one),
        "multi-label CV": lambda: (MultiLabelLSPCCV(**SMALL_TASKS).fit(X, Y), one),
        "independent": lambda: (
            IndependentTasks(LogisticRegression()).fit(X, CLASSES, task=TASK),
            tasked(unseen),
        ),
        "pooled": lambda: (PooledTasks(LSPC()).fit(X, CLASSES, task=TASK), tasked(unseen)),
        "MTDA": lambda: (MTDA().fit(XS, YS), both_tasks),
        "aggregate": lambda: (AggregateLDA(n_components=2).fit(XS, YS), both_tasks),
        "MTDA classifier": lambda: (MTDAClassifier().fit(XS, YS), both_tasks),
        "heterogeneous": lambda: (HeterogeneousLSPC(random_state=0).fit(XS, YS), both_tasks),
        "heterogeneous shared": lambda: (
            HeterogeneousLSPC(
                reducer=RatioTraceLDA(n_components=1), estimator=MultiTaskLSPC(), cv=None
            ).fit(XS, YS),
            both_tasks,
        ),
        "ratio trace": lambda: (RatioTraceLDA().fit(X, CLASSES), lambda m: [m.transform(X)]),
        "trace ratio": lambda: (TraceRatioLDA().fit(X, CLASSES), lambda m: [m.transform(X)]),
        "scaled": lambda: (make_pipeline(StandardScaler(), LSPC()).fit(X, CLASSES), one),
        "table": lambda: (table_pipeline(LSPCCV(**SMALL)).fit(FRAME, CLASSES), single(FRAME)),
    }


# Every kind of model, each with a function that asks it.
MODELS: Mapping[str, Asked] = Fitted({**_of_squares(), **_of_other_losses(), "streamed": _streamed})
