"""Docstrings say all there is: every parameter in order, every fitted attribute, an example.

They are read by numpydoc, which also renders them.
"""

from __future__ import annotations

import importlib
import inspect
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pandas
import pytest
from numpydoc.docscrape import NumpyDocString
from numpydoc.validate import validate
from sklearn.linear_model import LogisticRegression

import kinlearn
from kinlearn.datasets import make_heterogeneous_tasks, make_related_tasks, make_rotated_labels

MODULES = ["kinlearn"] + [
    f"kinlearn.{name}" for name in ("metrics", "plots", "datasets", "features")
]
# What numpydoc calls these: no docstring; a parameter that is not described, does not exist, is out
# of order, has no description; nothing said about what is returned.
WRONG = {"GL08", "PR01", "PR02", "PR03", "PR07", "RT01"}
NO_EXAMPLE = "EX01"
PAPERS = re.compile(r"(Eq|Eqs|Lemma|Table|[Ss]ection|Theorem)\.?\s*\d")


def public_objects() -> dict[str, Any]:
    """Return what users import, by its full name; one name for each object."""
    found: dict[int, tuple[str, Any]] = {}
    for module in MODULES:
        for name in importlib.import_module(module).__all__:
            thing = getattr(importlib.import_module(module), name)
            if callable(thing):
                found.setdefault(id(thing), (f"{module}.{name}", thing))
    return dict(found.values())


def methods_of(thing: Any) -> Iterator[str]:
    """Yield the public methods and properties that this library defines."""
    for name in dir(thing):
        if name.startswith("_"):
            continue
        member = inspect.getattr_static(thing, name)
        function = member.fget if isinstance(member, property) else getattr(thing, name)
        ours = (getattr(function, "__module__", None) or "").startswith("kinlearn")
        if ours and inspect.isroutine(function):
            yield name


PUBLIC = public_objects()
PLACES = [
    place
    for name, thing in PUBLIC.items()
    for place in [
        name,
        *(f"{name}.{method}" for method in (methods_of(thing) if inspect.isclass(thing) else ())),
    ]
]


def names_in(section: list[Any]) -> set[str]:
    return {name.strip() for entry in section for name in entry.name.split(",")}


@pytest.mark.parametrize("place", PLACES)
def test_a_docstring_describes_all_parameters_and_none_else(place):
    wrong = [f"{code}: {said}" for code, said in validate(place)["errors"] if code in WRONG]
    thing = PUBLIC.get(place)
    if inspect.isclass(thing) and issubclass(thing, tuple):
        # the fields of a named tuple are its attributes
        described = names_in(NumpyDocString(inspect.getdoc(thing))["Attributes"])
        assert described == set(thing._fields)
        wrong = [said for said in wrong if not said.startswith("PR01")]
    assert not wrong, f"{place}: " + " ".join(wrong)


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_has_an_example(name):
    codes = {code for code, _ in validate(name)["errors"]}
    assert NO_EXAMPLE not in codes, f"{name} has no example."


@pytest.mark.parametrize(
    "name", [n for n in kinlearn.__all__ if re.search("LSPC|MTDA|LDA|Logistic", n)]
)
def test_estimators_name_the_equations_they_rest_on(name):
    assert PAPERS.search(getattr(kinlearn, name).__doc__), f"{name} names no equation of a paper."


# -- fitted attributes -----------------------------------------------------------------------------

X, Y = make_rotated_labels(40, n_labels=3, n_features=3, random_state=0)
y = Y[:, 0]
TASK_X, TASK_Y, TASK = make_related_tasks(n_tasks=3, n_samples=20, n_features=3, random_state=0)
XS, YS = make_heterogeneous_tasks(n_features=(4, 6), n_classes=3, random_state=0)
GRID = {"sigmas": [1.0, 2.0], "regs": [1e-4, 1e-3, 1e-2]}
TASK_GRID = GRID | {"sharings": [0.0, 0.5, 1.0]}


def tasks(model: Any) -> Any:
    return model.fit(TASK_X, TASK_Y, task=TASK)


def quiet(make: Callable[[], Any]) -> Callable[[], Any]:
    """A grid of a few points has its optimum on an edge, which is not what is tested here."""

    def made() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return make()

    return made


# Every estimator, in every way of fitting that leaves attributes of its own.
FITTED: dict[str, list[Callable[[], Any]]] = {
    "LSPC": [
        lambda: kinlearn.LSPC().fit(X, y),
        lambda: kinlearn.LSPC(n_centers=20, random_state=0, solver="pcg").fit(X, y),
        lambda: kinlearn.LSPC(n_centers=10, random_state=0).partial_fit(X, y),
    ],
    "LSPCCV": [lambda: kinlearn.LSPCCV(**GRID, store_cv_scores=True).fit(X, y)],
    "MultiTaskLSPC": [
        lambda: tasks(kinlearn.MultiTaskLSPC()),
        lambda: kinlearn.MultiTaskLSPC(n_centers=10, random_state=0).partial_fit(
            TASK_X, TASK_Y, task=TASK
        ),
    ],
    "MultiTaskLSPCCV": [
        lambda: tasks(kinlearn.MultiTaskLSPCCV(**TASK_GRID, store_cv_scores=True)),
        lambda: kinlearn.MultiTaskLSPCCV(**TASK_GRID, combine="stack").fit(X, y),
    ],
    "MultiLabelLSPC": [
        lambda: kinlearn.MultiLabelLSPC().fit(X, Y),
        lambda: kinlearn.MultiLabelLSPC(solver="cg").fit(X, Y),
        lambda: kinlearn.MultiLabelLSPC(n_centers=10, random_state=0).partial_fit(X, Y),
    ],
    "MultiLabelLSPCCV": [
        lambda: kinlearn.MultiLabelLSPCCV(**TASK_GRID, store_cv_scores=True).fit(X, Y)
    ],
    "KernelLogisticRegression": [lambda: kinlearn.KernelLogisticRegression().fit(X, y)],
    "KernelLogisticRegressionCV": [
        lambda: kinlearn.KernelLogisticRegressionCV(**GRID, store_cv_scores=True).fit(X, y)
    ],
    "MultiTaskKernelLogisticRegression": [
        lambda: tasks(kinlearn.MultiTaskKernelLogisticRegression())
    ],
    "MultiTaskKernelLogisticRegressionCV": [
        lambda: tasks(
            kinlearn.MultiTaskKernelLogisticRegressionCV(**TASK_GRID, store_cv_scores=True)
        )
    ],
    "IndependentTasks": [lambda: tasks(kinlearn.IndependentTasks(LogisticRegression()))],
    "PooledTasks": [lambda: tasks(kinlearn.PooledTasks(LogisticRegression()))],
    "HandOver": [
        lambda: kinlearn.HandOver(kinlearn.LSPC(), max_error=0.4).fit(X, y),
        lambda: tasks(kinlearn.HandOver(kinlearn.MultiTaskLSPC(), max_error=0.4, per_task=True)),
    ],
    "PredictionSets": [
        lambda: kinlearn.PredictionSets(kinlearn.LSPC()).fit(X, y),
        lambda: tasks(kinlearn.PredictionSets(kinlearn.MultiTaskLSPC(), by="task", cv=3)),
    ],
    "MTDA": [
        lambda: kinlearn.MTDA().fit(XS, YS),
        lambda: kinlearn.MTDA(solver="table1").fit(XS, YS),
    ],
    "AggregateLDA": [lambda: kinlearn.AggregateLDA().fit(XS, YS)],
    "TraceRatioLDA": [lambda: kinlearn.TraceRatioLDA().fit(XS[0], YS[0])],
    "TableFeatures": [
        lambda: kinlearn.TableFeatures().fit(pandas.DataFrame(X).add_prefix("x")),
        lambda: kinlearn.TableFeatures().fit(X),
    ],
    "RatioTraceLDA": [lambda: kinlearn.RatioTraceLDA().fit(XS[0], YS[0])],
    "MTDAClassifier": [lambda: kinlearn.MTDAClassifier().fit(XS, YS)],
    "HeterogeneousLSPC": [lambda: kinlearn.HeterogeneousLSPC(random_state=0).fit(XS, YS)],
}


def is_shown(model: Any, name: str) -> bool:
    """Whether an attribute shows a part of the model."""
    return isinstance(getattr(type(model), name, None), property) and hasattr(model, name)


def test_every_estimator_is_looked_at():
    estimators = {name for name in kinlearn.__all__ if hasattr(getattr(kinlearn, name), "fit")}
    assert estimators == set(FITTED)


@pytest.mark.parametrize("name", FITTED)
def test_every_fitted_attribute_is_described(name):
    described = names_in(NumpyDocString(inspect.getdoc(getattr(kinlearn, name)))["Attributes"])
    kept: set[str] = set()
    for make in FITTED[name]:
        model = quiet(make)()
        kept |= {key for key in vars(model) if re.fullmatch(r"[a-z]\w*_", key)}
        kept |= {
            key for key in dir(model) if re.fullmatch(r"[a-z]\w*_", key) and is_shown(model, key)
        }
    assert kept, f"{name} keeps nothing."
    assert not kept - described, f"{name} does not describe {sorted(kept - described)}."


@pytest.mark.parametrize("name", [n for n in PUBLIC if inspect.isclass(PUBLIC[n])])
def test_nothing_is_described_twice(name):
    parsed = NumpyDocString(inspect.getdoc(PUBLIC[name]))
    for section in ("Parameters", "Attributes"):
        names = [n.strip() for entry in parsed[section] for n in entry.name.split(",")]
        assert len(names) == len(set(names)), f"{name} describes something twice."


def test_described_attributes_have_a_description():
    bare = [
        f"{name}: {entry.name}"
        for name, thing in PUBLIC.items()
        if inspect.isclass(thing)
        for entry in NumpyDocString(inspect.getdoc(thing))["Attributes"]
        if not "".join(entry.desc).strip()
    ]
    assert not bare, "No description of " + ", ".join(bare)
