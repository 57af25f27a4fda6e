"""Libraries that only some parts need: imported where they are used, or refused in a sentence."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def require(module: str, purpose: str, extra: str = "cli") -> Any:
    """Return an optional module, or say how to get it.

    Parameters
    ----------
    module : str
        Its name, with dots.
    purpose : str
        What needs it, to begin the sentence with.
    extra : str, default="cli"
        The extra of kinlearn that brings it.

    Examples
    --------
    >>> require("json", "An example").dumps([1])
    '[1]'
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{purpose} needs {module.split('.')[0]}, which cannot be imported ({error}): "
            f'run pip install "kinlearn[{extra}]".'
        ) from error
