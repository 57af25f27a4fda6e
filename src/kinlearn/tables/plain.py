"""Plain values, as JSON knows them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any


def finite(content: Any) -> Any:
    """Plain values, with null in place of NaN, which JSON does not know.

    Examples
    --------
    >>> finite({"a": float("nan"), "b": (1, 2)})
    {'a': None, 'b': [1, 2]}
    """
    if isinstance(content, dict):
        return {str(key): finite(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [finite(value) for value in content]
    if isinstance(content, float) and not math.isfinite(content):
        return None
    if hasattr(content, "item"):
        return finite(content.item())
    return str(content) if isinstance(content, Path) else content
