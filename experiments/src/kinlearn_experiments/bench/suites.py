"""The suites by name."""

from __future__ import annotations

from kinlearn_experiments.bench.data import heterogeneous as heterogeneous_data
from kinlearn_experiments.bench.data import multilabel as multilabel_data
from kinlearn_experiments.bench.data import multitask as multitask_data
from kinlearn_experiments.bench.data import single as single_data
from kinlearn_experiments.bench.methods import heterogeneous, multilabel, multitask, single
from kinlearn_experiments.bench.problem import Suite

SUITES: dict[str, Suite] = {
    "single": Suite(
        "single",
        "One task",
        single.OURS,
        single_data.DATA,
        single.METHODS,
        single.fit,
        single.predict,
        sized=True,
    ),
    "multitask": Suite(
        "multitask",
        "Many related tasks",
        multitask.OURS,
        multitask_data.DATA,
        multitask.METHODS,
        multitask.fit,
        multitask.predict,
    ),
    "multilabel": Suite(
        "multilabel",
        "Many labels a row",
        multilabel.OURS,
        multilabel_data.DATA,
        multilabel.METHODS,
        multilabel.fit,
        multilabel.predict,
    ),
    "heterogeneous": Suite(
        "heterogeneous",
        "Tasks whose features differ",
        heterogeneous.OURS,
        heterogeneous_data.DATA,
        heterogeneous.METHODS,
        heterogeneous.fit,
        heterogeneous.predict,
    ),
}
