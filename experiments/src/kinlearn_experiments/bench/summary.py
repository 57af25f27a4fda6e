"""From cells to figures: means over splits, ranks over data sets, ratios to ours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn_experiments.bench import statistics
from kinlearn_experiments.bench.groups import Group
from kinlearn_experiments.bench.journal import key_of
from kinlearn_experiments.bench.qualities import GREATER, QUALITIES

Floats = NDArray[np.float64]
Cells = list[dict[str, Any]]
COSTS = ("fit_cpu_seconds", "predict_cpu_seconds", "peak_mb")
# Ratios of figures that may be 0 (a perfect score, a fit below the clock's step) need a floor.
LEAST = {"log_loss": 1e-3, "brier": 1e-3, "ece": 1e-3, "peak_mb": 1.0}
LEAST_SECONDS = 1e-4


@dataclass
class SuiteSummary:
    """The figures of one group of cells.

    Attributes
    ----------
    group : Group
    ours : str
    data, methods : list of str
        In the order of the cells; ours first.
    seeds : list of int
    values : dict of ndarray of shape (n_data, n_methods, n_seeds)
        Every figure; NaN where a cell failed or is missing.
    complete : ndarray of bool of shape (n_data, n_seeds)
        Splits that every method has been measured on, the failed ones too; only these count.
    failures : list of dict
        Cells that failed or ran out of time.
    n_missing : int
        Cells that were not measured.
    rows : tuple of int
        The least and the largest number of training rows.
    """

    group: Group
    ours: str
    data: list[str]
    methods: list[str]
    seeds: list[int]
    values: dict[str, Floats]
    complete: NDArray[np.bool_]
    failures: Cells = field(default_factory=list)
    n_missing: int = 0
    rows: tuple[int, int] = (0, 0)

    @property
    def name(self) -> str:
        """The suite."""
        return self.group.suite

    @property
    def title(self) -> str:
        """What is compared, for people."""
        return self.group.title

    def means(self, figure: str) -> Floats:
        """Mean over splits, shape (n_data, n_methods); NaN where a split failed."""
        return self._over_splits(self.values[figure])

    def spreads(self, figure: str) -> Floats:
        """Standard deviation over splits; NaN with a single one."""
        table, counts = self.values[figure], self.complete.sum(axis=1)[:, None]
        squares = self._over_splits((table - self._over_splits(table)[..., None]) ** 2)
        return np.where(counts > 1, np.sqrt(squares * counts / np.maximum(counts - 1, 1)), np.nan)

    def losses(self, figure: str) -> Floats:
        """The figure for every split, turned such that less is better."""
        table = self.values[figure]
        return -table if figure in GREATER else table

    def _over_splits(self, table: Floats) -> Floats:
        # A failed cell is NaN and makes the mean NaN; splits not complete do not count.
        return table.mean(axis=2, where=self.complete[:, None, :])

    def ranks(self, figure: str) -> Floats:
        """Rank on each data set by the mean over splits."""
        return statistics.ranks(self._over_splits(self.losses(figure)))

    def mean_ranks(self, figure: str) -> Floats:
        """Mean rank of each method."""
        return self.ranks(figure).mean(axis=0)

    def friedman(self, figure: str) -> statistics.Friedman:
        """Whether the methods differ at all."""
        return statistics.friedman(self.ranks(figure))

    def critical_difference(self) -> float:
        """Nemenyi's for the methods and data sets here."""
        return statistics.critical_difference(len(self.methods), len(self.data))

    def outcomes(self, figure: str) -> dict[str, list[str]]:
        """By rival and data set: win, tie or loss of ours by the paired t-test over splits."""
        losses, own = self.losses(figure), self.methods.index(self.ours)
        return {
            method: [
                statistics.paired_outcome(losses[d, own, known], losses[d, m, known])
                for d, known in enumerate(self.complete)
            ]
            for m, method in enumerate(self.methods)
            if m != own
        }

    def wilcoxon(self, figure: str) -> dict[str, float]:
        """p-values of ours against every rival over data sets, corrected by Holm."""
        means, own = self._over_splits(self.losses(figure)), self.methods.index(self.ours)
        rivals = [m for m in range(len(self.methods)) if m != own]
        if not rivals:
            return {}
        found = statistics.wilcoxon_holm(means[:, own], means[:, rivals])
        return {self.methods[m]: float(p) for m, p in zip(rivals, found, strict=True)}

    def ratios(self, figure: str) -> Floats:
        """Geometric mean over data sets of each method's figure over ours; NaN where none is known.

        Sets on which a method failed are left out of its ratio; they count in ranks.
        """
        least = LEAST_SECONDS if "seconds" in figure else LEAST.get(figure, 0.0)
        means = np.maximum(self.means(figure), least)
        logs = np.log(means) - np.log(means[:, [self.methods.index(self.ours)]])
        return np.array(
            [
                np.exp(column[~np.isnan(column)].mean()) if (~np.isnan(column)).any() else np.nan
                for column in logs.T
            ]
        )

    def counts(self, figure: str, rival: str) -> tuple[int, int, int]:
        """Wins, ties and losses of ours against a rival."""
        found = Counter(self.outcomes(figure)[rival])
        return found["win"], found["tie"], found["loss"]


def summarise(
    cells: Iterable[dict[str, Any]], group: Group, ours: str, order: list[str]
) -> SuiteSummary | None:
    """Figures of one group from its cells, or None where there are none to compare.

    Parameters
    ----------
    cells : iterable of dict
        Of that group.
    group : Group
    ours : str
    order : list of str
        The order methods are shown in; those not named come last.
    """
    chosen = {key_of(cell)[1:4]: cell for cell in cells}
    present = {method for _, method, _ in chosen}
    methods = [name for name in order if name in present]
    methods += sorted(present - set(methods))
    seeds = sorted({seed for _, _, seed in chosen})
    data = [
        name
        for name in dict.fromkeys(name for name, _, _ in chosen)
        if any(all((name, m, s) in chosen for m in methods) for s in seeds)
    ]
    if ours not in methods or not data:
        return None
    shape = (len(data), len(methods), len(seeds))
    values = {figure: np.full(shape, np.nan) for figure in (*QUALITIES, *COSTS)}
    found = np.zeros(shape, dtype=bool)
    for place in np.ndindex(shape):
        cell = chosen.get((data[place[0]], methods[place[1]], seeds[place[2]]))
        if cell is None:
            continue
        found[place] = True
        for figure, table in values.items():
            if cell["status"] == "done" and cell[figure] is not None:
                table[place] = cell[figure]
    complete: NDArray[np.bool_] = np.all(found, axis=1)
    failures = [cell for cell in chosen.values() if cell["status"] != "done"]
    rows = [
        cell["n_train"] for cell in chosen.values() if cell["data"] in data and "n_train" in cell
    ]
    return SuiteSummary(
        group,
        ours,
        data,
        methods,
        seeds,
        values,
        complete,
        failures,
        int((~found).sum()),
        (min(rows, default=0), max(rows, default=0)),
    )
