"""A kernel model as the attributes that a file keeps of it, and back.

In a file, the parts of a :class:`~kinlearn.model.KernelModel` stand among the attributes of its
estimator, by the names under which the estimator shows them.
"""

from __future__ import annotations

from inspect import signature
from typing import Any

import numpy as np

from kinlearn.archives.errors import KinFileError
from kinlearn.estimators._checks import kernel_list
from kinlearn.estimators._classifier import KernelClassifier
from kinlearn.estimators._label_classifier import MultiLabelClassifier
from kinlearn.estimators._task_classifier import TaskClassifier
from kinlearn.kernels import Kernel, resolve_kernel
from kinlearn.model import KernelModel, Labels
from kinlearn.posterior import Calibration, Link

NAMES = {
    "centers_",
    "n_centers_",
    "kept_sigmas_",
    "kept_kernels_",
    "kept_metrics_",
    "metrics_",
    "coef_",
    "shared_coef_",
    "intercept_",
    "class_scale_",
    "class_scales_",
    "task_scale_",
    "task_intercept_",
    "beta_",
    "betas_",
    "gamma_",
    "gammas_",
    "score_floor_",
    "prior_shift_",
    "support_",
    "classes_",
    "prior_",
    "tasks_",
    "single_",
    "indicator_",
    "label_names_",
    "learnt_",
    "thresholds_",
}


def state_of(value: Any) -> dict[str, Any]:
    """The attributes of an object, those of a kernel model in the place of the model."""
    state = dict(vars(value))
    model = state.pop("model_", None)
    if model is None or not isinstance(value, KernelClassifier):
        return dict(vars(value))
    # a file holds the model as it was fitted, whatever became of the parameters since
    fitted = {
        "kernel": _given(state["kernel"], model),
        **model.kernel.numbers,
        "posterior": model.rule,
        "fallback": model.fallback,
    }
    state.update({name: fitted[name] for name in fitted.keys() & state.keys()})
    return {**state, **_attributes(value, model)}


def _given(kernel: Any, model: KernelModel) -> Any:
    """The parameter `kernel` that a model was fitted with."""
    used = list(dict.fromkeys([model.kernel.spec, *(each.spec for each in model.kernels)]))
    given = kernel_list(kernel)
    if isinstance(kernel, (list, tuple)) and given[:1] == used[:1] and set(used) <= set(given):
        return kernel
    return used if len(used) > 1 else used[0]


def is_part(kind: type, name: str) -> bool:
    """Whether an attribute of an estimator is part of its model."""
    return name in NAMES and issubclass(kind, KernelClassifier)


def take_model(made: Any) -> None:
    """Put the parts of a kernel model that an object just read holds into a model."""
    state = vars(made)
    if not isinstance(made, KernelClassifier):
        return
    for name, parameter in signature(type(made)).parameters.items():
        state.setdefault(name, parameter.default)  # files of before lack what came later
    if "coef_" not in state:
        return
    try:
        made.model_ = _model(made, state)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise KinFileError(f"its model is not whole ({error!r})") from None
    for name in NAMES & state.keys():
        del state[name]


def _attributes(estimator: Any, model: KernelModel) -> dict[str, Any]:
    calibration, labels = model.calibration, model.labels
    found: dict[str, Any] = {
        "centers_": model.centers,
        "n_centers_": model.n_centers,
        "kept_sigmas_": model.sigmas,
        "coef_": model.coef,
        **_kernels_kept(model),
        "beta_": float(calibration.common.beta),
        "classes_": labels.class_names,
        "prior_": labels.prior,
    }
    if calibration.common.floor < 1.0:
        found["gamma_"] = calibration.common.gamma
        found["score_floor_"] = calibration.common.floor
    if calibration.leans:
        found["prior_shift_"] = calibration.shift
    if calibration.scales is not None or calibration.offset.any():
        found["intercept_"] = calibration.offset
        found["class_scale_"] = calibration.class_scale
    if calibration.task_scales is not None:
        found["task_scale_"] = calibration.task_scales
        found["task_intercept_"] = calibration.task_offsets
    if model.support is not None:
        found["support_"] = model.support
    if isinstance(estimator, TaskClassifier):
        found["tasks_"], found["shared_coef_"] = model.tasks, model.shared
    if isinstance(estimator, MultiLabelClassifier):
        found["single_"], found["indicator_"] = labels.single, labels.indicator
        found["label_names_"], found["learnt_"] = labels.names, labels.learnt
        found["betas_"] = estimator.betas_
        if "gamma_" in found:
            found["gammas_"] = model.for_all_labels([link.gamma for link in model.links])
        if labels.thresholds is not None:
            found["thresholds_"] = labels.thresholds
    return found


def _kernels_kept(model: KernelModel) -> dict[str, Any]:
    """The kernel of every width, and its metric, where these are not the same throughout."""
    if all(each.spec == model.kernel.spec and each.metric is None for each in model.kernels):
        return {}
    metrics: list[np.ndarray] = []
    of_width = np.full(len(model.sigmas), -1)
    for kernel, own in model.by_kernel():
        if kernel.metric is not None:
            known = [k for k, metric in enumerate(metrics) if metric is kernel.metric]
            of_width[own] = known[0] if known else len(metrics)
            metrics += [] if known else [kernel.metric]
    found: dict[str, Any] = {"kept_kernels_": [each.spec for each in model.kernels]}
    if metrics:
        found["kept_metrics_"], found["metrics_"] = of_width, metrics
    return found


def _kernels(estimator: Any, state: dict[str, Any]) -> tuple[Kernel, tuple[Kernel, ...] | None]:
    """The kernel that rows are near by, and the kernel of every width."""
    first = kernel_list(estimator.kernel)[0]
    known: dict[tuple[Any, int], Kernel] = {}

    def kernel_of(spec: Any, metric: int = -1) -> Kernel:
        if (spec, metric) not in known:
            plain = resolve_kernel(spec, estimator.degree, estimator.coef0)
            known[spec, metric] = plain
            if metric >= 0:
                known[spec, metric] = plain.in_metric(state["metrics_"][metric])
        return known[spec, metric]

    kernel = kernel_of(first)
    if "kept_kernels_" not in state:
        return kernel, None
    specs = list(state["kept_kernels_"])
    metrics = state.get("kept_metrics_", np.full(len(specs), -1))
    pairs = zip(specs, metrics, strict=True)
    several = tuple(kernel_of(spec, int(metric)) for spec, metric in pairs)
    if len(several) != len(state["kept_sigmas_"]):
        raise ValueError(f"{len(several)} kernels for {len(state['kept_sigmas_'])} widths")
    return kernel, several


def _model(estimator: Any, state: dict[str, Any]) -> KernelModel:
    labels = _labels(estimator, state)
    coef, layout = state["coef_"], labels.layout
    common = Link(state["beta_"], state.get("gamma_", 0.0), state.get("score_floor_", 1.0))
    betas, gammas = np.array([common.beta]), np.array([common.gamma])
    if isinstance(estimator, MultiLabelClassifier):
        betas = state["betas_"][labels.learnt]
        gammas = np.full(betas.size, common.gamma)
        if "gammas_" in state:
            gammas = state["gammas_"][labels.learnt]
    shifts: list[Any] = [0.0] * layout.n_labels
    if "prior_shift_" in state:
        shifts = layout.split(np.asarray(state["prior_shift_"]))
    links = tuple(
        Link(float(beta), float(gamma), common.floor, shift)
        for beta, gamma, shift in zip(betas, gammas, shifts, strict=True)
    )
    scales = state.get("class_scales_", state.get("class_scale_"))
    if isinstance(scales, np.ndarray):
        scales = [scales]
    offset = state.get("intercept_")
    offset = np.zeros(coef.shape[-1]) if offset is None else np.asarray(offset)
    kernel, several = _kernels(estimator, state)
    return KernelModel(
        kernel=kernel,
        centers=state["centers_"],
        sigmas=state["kept_sigmas_"],
        coef=coef,
        calibration=Calibration(
            layout,
            common,
            links,
            scales,
            offset,
            state.get("task_scale_"),
            state.get("task_intercept_"),
        ),
        labels=labels,
        rule=estimator.posterior,
        fallback=estimator.fallback,
        shared=state.get("shared_coef_"),
        tasks=state.get("tasks_"),
        support=state.get("support_"),
        several=several,
    )


def _labels(estimator: Any, state: dict[str, Any]) -> Labels:
    classes, prior = state["classes_"], state["prior_"]
    if not isinstance(estimator, MultiLabelClassifier) or state["single_"]:
        return Labels([classes], np.arange(1), [prior], np.array([True]))
    learnt, names = state["learnt_"], state["label_names_"]
    if state["indicator_"]:
        return Labels(
            [np.array([0, 1])] * len(learnt),
            names,
            [np.array([1.0 - p, p]) for p in prior],
            learnt,
            indicator=True,
            single=False,
            thresholds=state["thresholds_"],
        )
    return Labels(list(classes), names, list(prior), learnt, single=False)
