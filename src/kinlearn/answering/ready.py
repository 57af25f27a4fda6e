"""A model made ready for many small requests: what follows from it alone is computed once."""

from __future__ import annotations

from typing import Any

from kinlearn.estimators._familiarity import usual_support
from kinlearn.model import KernelModel
from kinlearn.pipelines import last_step


def bare_classifier(model: Any) -> Any:
    """The classifier inside a pipeline and all wrappers."""
    bare = last_step(model)
    while hasattr(bare, "estimator_"):
        bare = last_step(bare.estimator_)
    return bare


def make_ready(model: Any, memory_mb: float | None = None) -> None:
    """Let the classifier inside keep what its centres come to; its answers stay the same.

    Parameters
    ----------
    model : estimator or pipeline
        Fitted; nobody else's.
    memory_mb : float, optional
        Bound on what one block of kernel values takes.
    """
    bare = bare_classifier(model)
    if memory_mb is not None and hasattr(bare, "memory_mb"):
        bare.set_params(memory_mb=memory_mb)
    kept = getattr(bare, "model_", None)
    if isinstance(kept, KernelModel) and kept.maps is None:
        bare.model_ = kept.ready(usual_support(kept), bare.memory_mb)
