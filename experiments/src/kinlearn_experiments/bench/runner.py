"""All cells of a run: which are wanted, which are finished, and measuring the others in turn."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from threadpoolctl import threadpool_limits

from kinlearn_experiments.bench.children import one_thread_each, run_cell
from kinlearn_experiments.bench.journal import Journal, Key
from kinlearn_experiments.bench.problem import DataSet, Method
from kinlearn_experiments.bench.roles import ROLES
from kinlearn_experiments.bench.suites import SUITES
from kinlearn_experiments.machine import machine_facts

# Raised when splits, measures or methods change such that older cells cannot stand beside new ones.
PROTOCOL = 1


@dataclass(frozen=True)
class Plan:
    """What to run.

    Attributes
    ----------
    suites : sequence of str
    seeds : int
        Splits of every data set.
    quick : bool
        Small sizes, and only data that are always there.
    limit : float
        Processor seconds for one cell.
    data, methods : sequence of str
        Only these; empty for all.
    sizes : sequence of int
        Training rows, for suites in which these may be asked for; empty for each set's own size.
    role : str or None
        Only data sets of this role.
    """

    suites: Sequence[str]
    seeds: int = 5
    quick: bool = False
    limit: float = 120.0
    data: Sequence[str] = ()
    methods: Sequence[str] = ()
    sizes: Sequence[int] = ()
    role: str | None = None

    def wanted_data(self, suite: str) -> list[DataSet]:
        """Data sets asked for that can be read here."""
        return [
            entry
            for entry in SUITES[suite].data
            if self._asked(entry)
            and (not self.quick or entry.quick_size is not None)
            and entry.missing() is None
        ]

    def wanted_methods(self, suite: str) -> list[Method]:
        """Methods asked for that are installed; ours always, because of the ratios."""
        return [
            entry
            for entry in SUITES[suite].methods
            if (not self.methods or entry.name in (*self.methods, SUITES[suite].ours))
            and entry.missing() is None
        ]

    def left_out(self) -> dict[str, str]:
        """What was asked for and cannot run here, and how to get it."""
        found = {}
        for suite in self.suites:
            for method in SUITES[suite].methods:
                if (not self.methods or method.name in self.methods) and method.missing():
                    found[method.name] = str(method.missing())
            for entry in SUITES[suite].data:
                wanted = entry.name in self.data or not self.quick
                if wanted and self._asked(entry) and entry.missing():
                    found[f"{suite}/{entry.name}"] = str(entry.missing())
        return found

    def sizes_of(self, entry: DataSet) -> list[int]:
        """The sizes asked for at which the data set takes part, or its own."""
        if self.sizes:
            return [size for size in dict.fromkeys(self.sizes) if entry.takes(size)]
        return [entry.quick_size if self.quick and entry.quick_size else entry.size]

    def cells(self) -> Iterator[Key]:
        """Keys: methods side by side, so that a busy hour hits all alike."""
        for seed in range(self.seeds):
            for suite in self.suites:
                for entry in self.wanted_data(suite):
                    for size in self.sizes_of(entry):
                        for method in self.wanted_methods(suite):
                            yield Key(suite, entry.name, method.name, seed, size)

    def _asked(self, entry: DataSet) -> bool:
        return (not self.data or entry.name in self.data) and self.role in (None, entry.role)


def check_names(plan: Plan) -> None:
    """Refuse names that no suite asked for has, and sizes where they cannot be asked for."""
    if plan.role is not None and plan.role not in ROLES:
        raise ValueError(f"There is no role {plan.role!r}; there are {', '.join(ROLES)}.")
    if plan.sizes:
        fixed = [name for name in plan.suites if not SUITES[name].sized]
        if fixed:
            sized = ", ".join(name for name in SUITES if SUITES[name].sized)
            raise ValueError(f"--sizes is for the suite {sized} alone: leave out {fixed[0]}.")
        if plan.quick:
            raise ValueError("The quick run has its own sizes: leave out --quick or --sizes.")
    for kind, given, known in (
        ("data set", plan.data, [d.name for s in plan.suites for d in SUITES[s].data]),
        ("method", plan.methods, [m.name for s in plan.suites for m in SUITES[s].methods]),
    ):
        unknown = [name for name in given if name not in known]
        if unknown:
            raise ValueError(
                f"There is no {kind} {unknown[0]!r} in {', '.join(plan.suites)}; there are "
                f"{', '.join(dict.fromkeys(known))}."
            )
    if plan.quick:
        slow = [
            name
            for name in plan.data
            if all(
                d.quick_size is None for s in plan.suites for d in SUITES[s].data if d.name == name
            )
        ]
        if slow:
            raise ValueError(f"{slow[0]} is not part of the quick run: leave --quick out.")


def check_folder(plan: Plan, journal: Journal) -> None:
    """Refuse to mix the cells of a quick and a full run, which differ in their sizes."""
    for cell in journal.cells.values():
        if cell["quick"] != plan.quick:
            held, asked = ("quick", "full") if cell["quick"] else ("full", "quick")
            raise ValueError(
                f"{journal.folder} holds a {held} run, and a {asked} one was asked for: give "
                "another --out, or forget it with --fresh."
            )


def is_finished(cell: dict[str, Any] | None, limit: float, retry: bool) -> bool:
    """Whether a stored cell answers what is asked now.

    A cell that ran out of time is tried again only with more of it, one that failed only if asked.
    """
    if cell is None or cell["protocol"] != PROTOCOL:
        return False
    if cell["status"] == "timeout":
        return bool(cell["limit"] >= limit)
    return cell["status"] == "done" or not retry


def run(
    plan: Plan,
    journal: Journal,
    *,
    retry: bool = False,
    again: bool = False,
    report: Callable[[Key, dict[str, Any] | None], None] | None = None,
) -> list[Key]:
    """Measure what is missing, keep every cell at once; return the keys of all cells wanted.

    Parameters
    ----------
    plan : Plan
    journal : Journal
    retry : bool
        Whether to try failed cells again.
    again : bool
        Whether to measure finished cells again, too: those of methods that have changed.
    report : callable of (key, cell), optional
        Called with None before a cell is measured, and with the cell when it is known.
    """
    tell = report or (lambda key, cell: None)
    keys = []
    with one_thread_each():
        for key in plan.cells():
            keys.append(key)
            stored = journal.cells.get(key)
            if again or not is_finished(stored, plan.limit, retry):
                tell(key, None)
                journal.add(_measured(key, plan.quick, plan.limit, journal))
            tell(key, journal.cells[key])
    return keys


def _measured(key: Key, quick: bool, limit: float, journal: Journal) -> dict[str, Any]:
    started = time.time()
    facts = {**key._asdict(), "quick": quick, "protocol": PROTOCOL}
    first = journal.cells.get(key._replace(seed=0))
    if key.seed and first and _out_of_time(first, limit):
        # Other splits of the same size would take as long.
        return facts | {
            "status": "timeout",
            "reason": f"the first split was not finished after {first['limit']:g} s",
            "limit": limit,
        }
    found = run_cell(key, limit)
    extra = {"limit": limit} if found["status"] == "timeout" else {}
    return facts | found | extra | {"at": int(started)}


def _out_of_time(cell: dict[str, Any], limit: float) -> bool:
    return bool(cell["status"] == "timeout" and cell["limit"] >= limit)


def facts_of(plan: Plan) -> dict[str, Any]:
    """What stands beside the cells of a run."""
    with threadpool_limits(1):
        return {
            "machine": machine_facts(),
            "quick": plan.quick,
            "seeds": plan.seeds,
            "limit_seconds": plan.limit,
            "left_out": plan.left_out(),
        }
