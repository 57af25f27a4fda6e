"""Which cells stand in one table: those of one suite, one role and, where sizes vary, one size."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from kinlearn_experiments.bench.problem import Suite
from kinlearn_experiments.bench.roles import DEVELOPMENT, ROLES
from kinlearn_experiments.bench.suites import SUITES

Cells = list[dict[str, Any]]


class Group(NamedTuple):
    """What the cells of one table share.

    Attributes
    ----------
    suite : str
    role : str or None
        None in suites whose sets all have one role.
    size : int or None
        Training rows that were asked for; None in suites whose sizes are of other units.
    """

    suite: str
    role: str | None = None
    size: int | None = None

    @property
    def key(self) -> str:
        """Its name in results files."""
        return "/".join(str(part) for part in self if part is not None)

    @property
    def title(self) -> str:
        """Its name for people.

        Examples
        --------
        >>> from kinlearn_experiments.bench.groups import Group
        >>> Group("single", "held-out", 1500).title
        'One task, held-out tables, up to 1,500 rows'
        """
        parts = [SUITES[self.suite].title]
        if self.role is not None:
            parts.append(ROLES[self.role])
        if self.size is not None:
            parts.append(f"up to {self.size:,} rows")
        return ", ".join(parts)

    def sets(self) -> list[str]:
        """Names of all data sets that belong to it, measured or not."""
        suite = SUITES[self.suite]
        return [
            entry.name
            for entry in suite.data
            if self.role in (None, entry.role)
            and (self.size is None or self.size == entry.size or entry.takes(self.size))
        ]


def grouped(cells: Iterable[dict[str, Any]]) -> dict[Group, Cells]:
    """Cells by group: suites in their order, in each the held-out sets first, then small sizes."""
    known = list(cells)
    found: dict[Group, Cells] = {}
    for suite in SUITES.values():
        roles = {entry.name: entry.role for entry in suite.data}
        several = len(set(roles.values())) > 1
        own = [cell for cell in known if cell["suite"] == suite.name]
        for cell in _current(own, suite):
            role = roles.get(cell["data"], DEVELOPMENT) if several else None
            group = Group(suite.name, role, int(cell["size"]) if suite.sized else None)
            found.setdefault(group, []).append(cell)
    return dict(sorted(found.items(), key=lambda item: _place(item[0])))


def _place(group: Group) -> tuple[int, int, int]:
    role = 0 if group.role is None else list(ROLES).index(group.role)
    return list(SUITES).index(group.suite), role, group.size or 0


def _current(cells: Cells, suite: Suite) -> Cells:
    """Where sizes are no part of the group, of each data set only those of its newest size."""
    if suite.sized:
        return cells
    newest: dict[str, dict[str, Any]] = {}
    for cell in cells:
        if cell.get("at", 0) >= newest.get(cell["data"], {}).get("at", 0):
            newest[cell["data"]] = cell
    return [cell for cell in cells if cell["size"] == newest[cell["data"]]["size"]]
