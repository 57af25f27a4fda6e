"""Print the oldest versions that pyproject.toml allows, as requirements for pip.

Named on the command line are the optional extras to include, and the single tools of the extra
``test`` that are wanted, as ``test:pytest``.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parent.parent / "pyproject.toml"
BOUND = re.compile(r"(?P<name>[\w.-]+)(?P<extras>\[[\w,.-]+\])?>=(?P<version>[\w.]+)$")


def oldest(project: dict[str, Any], wanted: list[str]) -> list[str]:
    """Return the requirements, each at its lower bound."""
    found = [pinned(requirement) for requirement in project["dependencies"]]
    for extra in wanted:
        name, _, only = extra.partition(":")
        entries = [pinned(each) for each in project["optional-dependencies"][name] if ">=" in each]
        chosen = [each for each in entries if not only or re.split(r"\[|==", each)[0] == only]
        if not chosen:
            raise SystemExit(f"pyproject.toml has no lower bound for {extra}.")
        found += chosen
    return sorted(set(found))


def pinned(requirement: str) -> str:
    """Return a requirement ``name>=version`` as ``name==version``."""
    match = BOUND.match(requirement.replace(" ", ""))
    if match is None:
        raise SystemExit(f"{requirement!r} is not of the form name>=version: give a lower bound.")
    return f"{match['name']}{match['extras'] or ''}=={match['version']}"


if __name__ == "__main__":
    content = tomllib.loads(PROJECT.read_text(encoding="utf-8"))
    print(" ".join(oldest(content["project"], sys.argv[1:])))
