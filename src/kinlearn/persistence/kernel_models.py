"""A kernel model as the attributes that a file keeps of it, and back.

In a file, the parts of a :class:`~kinlearn.model.KernelModel` stand among the attributes of its
estimator, by the names under which the estimator shows them.
"""

from __future__ import annotations

from inspect import signature
from typing import Any

import numpy as np

from kinlearn.archives.errors import KinFileError
from kinlearn.estimators._classifier import KernelClassifier
from kinlearn.estimators._label_classifier import MultiLabelClassifier
from kinlearn.estimators._task_classifier import TaskClassifier
from kinlearn.kernels import resolve_kernel
from kinlearn.model import KernelModel, Labels
from kinlearn.posterior import Calibration, Link

NAMES = {
    "centers_",
    "n_centers_",
    "kept_sigmas_",
    "coef_",
    "shared_coef_",
    "intercept_",
    "class_scale_",
    "class_scales_",
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
        "kernel": model.kernel.spec,
        **model.kernel.numbers,
        "posterior": model.rule,
        "fallback": model.fallback,
    }
    state.update({name: fitted[name] for name in fitted.keys() & state.keys()})
    return {**state, **_attributes(value, model)}


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
    return KernelModel(
        kernel=resolve_kernel(estimator.kernel, estimator.degree, estimator.coef0),
        centers=state["centers_"],
        sigmas=state["kept_sigmas_"],
        coef=coef,
        calibration=Calibration(layout, common, links, scales, offset),
        labels=labels,
        rule=estimator.posterior,
        fallback=estimator.fallback,
        shared=state.get("shared_coef_"),
        tasks=state.get("tasks_"),
        support=state.get("support_"),
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
