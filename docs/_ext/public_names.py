"""What an API page lists of a class: its own methods, and which come from scikit-learn."""

from __future__ import annotations

import importlib
import inspect

MODULES = (
    "kinlearn",
    "kinlearn.metrics",
    "kinlearn.plots",
    "kinlearn.datasets",
    "kinlearn.features",
    "kinlearn.kernels",
    "kinlearn.planning",
)


def public_names() -> list[str]:
    """Every public name, with the module it is imported from."""
    return [
        f"{module}.{name}" for module in MODULES for name in importlib.import_module(module).__all__
    ]


def class_members() -> dict[str, dict[str, list[str]]]:
    """For every public class: methods and properties of kinlearn's, names of the others."""
    found = {}
    for full in public_names():
        module, _, name = full.rpartition(".")
        thing = getattr(importlib.import_module(module), name)
        if inspect.isclass(thing):
            found[full] = _members(thing)
    return found


def _members(cls: type) -> dict[str, list[str]]:
    listed: dict[str, list[str]] = {"methods": [], "properties": [], "inherited": []}
    # A named tuple's fields are described as attributes of the class.
    fields = set(getattr(cls, "_fields", ())) | set(getattr(cls, "__dataclass_fields__", ()))
    for name in sorted(dir(cls)):
        if name.startswith("_") or name in fields:
            continue
        owner = next(base for base in cls.__mro__ if name in vars(base))
        member = vars(owner)[name]
        ours = owner.__module__.startswith("kinlearn")
        if name.startswith("set_") and name.endswith("_request"):
            listed["inherited"].append(name)
        elif isinstance(member, property):
            listed["properties" if ours else "inherited"].append(name)
        elif callable(getattr(cls, name, None)):
            listed["methods" if ours else "inherited"].append(name)
    if issubclass(cls, Exception) or issubclass(cls, tuple):
        listed["inherited"] = []
    return listed
