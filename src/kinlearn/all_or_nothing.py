"""Changing a fitted model as a whole: on a copy aside, which is then taken over in one step.

Whatever stops a call, a refusal or Ctrl-C, the model is the one before it or the one after it.
"""

from __future__ import annotations

from typing import Any, TypeVar

Model = TypeVar("Model")


def aside(model: Model) -> Model:
    """A copy with attributes of its own, whose values are shared.

    Examples
    --------
    >>> from kinlearn import LSPC
    >>> model = LSPC(reg=0.1)
    >>> take_over(model, aside(model).set_params(reg=0.2)).reg
    0.2
    """
    other = object.__new__(type(model))
    vars(other).update(vars(model))
    return other


def unfitted(model: Model) -> Model:
    """A copy with parameters alone."""
    other = aside(model)
    drop_fit(other)
    return other


def drop_fit(model: Any) -> None:
    """Take from a model all that a fit has left: the next one is as the first."""
    for name in [name for name in vars(model) if name.endswith("_")]:
        delattr(model, name)


def take_over(model: Model, changed: Any) -> Model:
    """Make a model what was made of its copy; one assignment, which nothing can interrupt."""
    model.__dict__ = vars(changed)
    return model
