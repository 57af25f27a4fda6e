"""Facts of a training that a table's pipeline carries to its file, and from its file on.

They stand in the file's manifest, where they are read without the model, and in the pipeline on its
first step, which drops them when it is fitted anew.
"""

from __future__ import annotations

from typing import Any

NAME = "training_facts_"


def carry(model: Any, facts: dict[str, Any]) -> None:
    """Let a pipeline whose first step reads a table's cells carry facts; others carry none."""
    first = _first_step(model)
    if hasattr(type(first), NAME) and facts:
        first.training_facts_ = facts


def carried(model: Any) -> dict[str, Any]:
    """The facts that a model carries."""
    return dict(getattr(_first_step(model), NAME, None) or {})


def _first_step(model: Any) -> Any:
    steps = getattr(model, "steps", None)
    return steps[0][1] if steps else None
