"""What multi-label LSPC costs: spectral fit, closed-form grid, conjugate gradients, growth in T.

Prints a table and writes ``results/multilabel.json`` with the machine's facts; every ratio is of
two times measured side by side, with BLAS pinned to one thread. ``--figure`` draws the growth in T.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg
from threadpoolctl import threadpool_limits

from kinlearn import MultiLabelLSPC, MultiLabelLSPCCV
from kinlearn.datasets import make_rotated_labels
from kinlearn.kernels import KernelMap, median_width, resolve_kernel
from kinlearn.solvers.label_similarity import label_similarity, label_spectrum
from kinlearn.solvers.multilabel_cg import solve_cg
from kinlearn.solvers.multilabel_direct import solve_direct
from kinlearn.solvers.sylvester import feature_spectrum, solve_sylvester
from kinlearn_experiments.machine import machine_facts
from kinlearn_experiments.measures.timing import Work, paired_ratio, peak_memory, side_by_side
from kinlearn_experiments.results import RESULTS, Results, significant
from kinlearn_experiments.tables import table

REGS = np.logspace(-5, 0, 6)
SHARINGS = np.array([0.0, 0.2, 0.5, 0.8, 0.95, 0.99, 1.0])


class Toy:
    """Rotated labels with their kernel matrix and label spectrum."""

    def __init__(self, n_rows: int, n_labels: int) -> None:
        self.X, self.Y = make_rotated_labels(n_rows, n_labels, 20, random_state=0)
        self.sigma = median_width(self.X, resolve_kernel("rbf"))
        self.K = KernelMap(resolve_kernel("rbf"), self.X).square(self.sigma)
        self.Z = 2.0 * self.Y.astype(np.float64) - 1.0
        self.spectrum = label_spectrum(label_similarity(self.Y.astype(float)))

    def spectral(self, reg: float = 1e-3, sharing: float = 0.5) -> np.ndarray:
        decomposed = feature_spectrum(self.K, symmetric=True)
        return solve_sylvester(decomposed, self.Z, *self.spectrum, reg=reg, sharing=sharing)

    def direct(self, reg: float = 1e-3, sharing: float = 0.5) -> np.ndarray:
        return solve_direct(self.K, self.Z, *self.spectrum, reg=reg, sharing=sharing)

    def cg(self, reg: float = 1e-3, sharing: float = 0.5) -> int:
        return solve_cg(self.K, self.Z, *self.spectrum, reg=reg, sharing=sharing, tol=1e-8).n_iter

    def grid(self) -> MultiLabelLSPCCV:
        model = MultiLabelLSPCCV(
            sigmas=[self.sigma], regs=REGS, sharings=SHARINGS, combine="best", n_centers=None
        )
        return model.fit(self.X, self.Y)

    def fit(self, posterior: str) -> MultiLabelLSPC:
        model = MultiLabelLSPC(sigma=self.sigma, posterior=posterior, n_centers=None)
        return model.fit(self.X, self.Y)

    def eigh(self) -> Any:
        return scipy.linalg.eigh(self.K, driver="evd", check_finite=False)


def row(what: str, ratio: tuple[float, float], wanted: str, seconds: float) -> dict[str, Any]:
    """A row of the table: wall ratio, processor ratio, what is wanted, median seconds."""
    return {
        "what": what,
        "ratio": significant(ratio[0], 3),
        "processor_ratio": significant(ratio[1], 3),
        "wanted": wanted,
        "seconds": significant(seconds, 3),
    }


def large(n_rows: int, repeats: int) -> list[dict[str, Any]]:
    """Fit and grid at N = 2000, T = 20, in eigendecompositions of the same kernel matrix."""
    toy = Toy(n_rows, 20)
    works = {
        "dsyevd": toy.eigh,
        "fit": lambda: toy.fit("rounded"),
        "calibrated": lambda: toy.fit("calibrated"),
        "grid": toy.grid,
    }
    times = side_by_side(works, repeats)
    unit = times["dsyevd"]

    def against(name: str, what: str, wanted: str) -> dict[str, Any]:
        seconds = float(np.median(times[name][:, 0]))
        return row(what, paired_ratio(times[name], unit), wanted, seconds)

    size = f"N = {n_rows}, T = 20"
    return [
        against("dsyevd", f"{size}: dsyevd(N)", "unit"),
        against("fit", f"{size}: spectral fit / dsyevd", "<= 1.4"),
        against("calibrated", f"{size}: spectral fit, calibrated / dsyevd", "(<= 1.4)"),
        against("grid", f"{size}: 42-point leave-one-out grid / dsyevd", "<= 3.5"),
    ]


def small(n_rows: int, n_labels: int, repeats: int) -> list[dict[str, Any]]:
    """Spectral against direct, and the grid against 42 runs of conjugate gradients, N = 300."""
    toy = Toy(n_rows, n_labels)
    size = f"N = {n_rows}, T = {n_labels}"

    def all_cg() -> int:
        return sum(toy.cg(reg, sharing) for reg in REGS for sharing in SHARINGS)

    works: dict[str, Work] = {
        "spectral": toy.spectral,
        "direct": toy.direct,
        "grid": toy.grid,
        "cg": all_cg,
    }
    times = side_by_side(works, repeats)
    seconds = {name: float(np.median(pairs[:, 0])) for name, pairs in times.items()}
    return [
        row(
            f"{size}: direct / spectral",
            paired_ratio(times["direct"], times["spectral"]),
            ">= 200",
            seconds["spectral"],
        ),
        row(
            f"{size}: 42 runs of cg at 1e-8 / 42-point grid (fit included)",
            paired_ratio(times["cg"], times["grid"]),
            ">= 10",
            seconds["grid"],
        ),
    ]


def growth(n_rows: int, most_labels: int, repeats: int) -> dict[str, list[float | None]]:
    """Processor seconds of the three solvers at fixed N as T grows; direct while it fits."""
    curves: dict[str, list[float | None]] = {"T": [], "spectral": [], "cg": [], "direct": []}
    for n_labels in (size for size in (5, 10, 20, 40, 80, 160, 320) if size <= most_labels):
        toy = Toy(n_rows, n_labels)
        works: dict[str, Any] = {"spectral": toy.spectral, "cg": toy.cg}
        if n_labels * n_rows <= 6000:
            works["direct"] = toy.direct
        times = side_by_side(works, repeats)
        curves["T"].append(n_labels)
        for name in ("spectral", "cg", "direct"):
            found = significant(times[name][:, 1].min(), 3) if name in times else None
            curves[name].append(found)
    return curves


def wide() -> dict[str, float]:
    """T = 1000 labels, n = 5000 rows, all of them centres: peak memory against nT + n² + T²."""
    import scipy.sparse as sp

    rng = np.random.default_rng(0)
    X = rng.standard_normal((5000, 20))
    Y = sp.csr_matrix((X @ rng.standard_normal((20, 1000)) > 8).astype(np.int64))
    model = MultiLabelLSPC(n_centers=None, n_similar=10)
    peak = peak_memory(lambda: model.fit(X, Y))
    unit = 8 * (5000 * 1000 + 5000**2 + 1000**2) / 2**20
    return {"peak_mb": significant(peak, 4), "peak / 8(nT + n² + T²)": significant(peak / unit, 3)}


def draw(curves: dict[str, list[float | None]], path: Path) -> None:
    """The growth in T as a picture."""
    from kinlearn.plots import close, subplots

    figure, axes = subplots(panel_size=(5.2, 3.8))
    ax = axes[0, 0]
    for name, marker in (("direct", "s"), ("cg", "^"), ("spectral", "o")):
        seconds = np.array(curves[name], dtype=np.float64)
        ax.loglog(curves["T"], seconds, marker=marker, label=name)
    ax.set(xlabel="Labels T", ylabel="Processor seconds", title="One fit at N = 300")
    ax.legend(frameon=False)
    figure.savefig(path)
    close(figure)


def main(arguments: list[str] | None = None) -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that it runs")
    parser.add_argument("--wide", action="store_true", help="measure T = 1000 with n = 5000 too")
    parser.add_argument("--out", type=Path, default=RESULTS / "multilabel.json")
    parser.add_argument("--figure", type=Path, help="draw the growth in T into this file")
    options = parser.parse_args(arguments)
    results = Results(options.out)
    with threadpool_limits(1):
        facts = machine_facts()
        n_rows, n_labels, most = (40, 4, 10) if options.quick else (300, 20, 320)
        rows = small(n_rows, n_labels, options.repeats) + large(options.rows, options.repeats)
        curves = growth(n_rows, most, 2)
        if options.wide:
            results.save(wide=wide())
    header = ["what", "ratio", "processor", "wanted", "seconds"]
    keys = ("what", "ratio", "processor_ratio", "wanted", "seconds")
    print(table(header, ([entry[key] for key in keys] for entry in rows)))
    print()
    columns = list(zip(*(curves[name] for name in ("T", "spectral", "cg", "direct")), strict=True))
    print(table(["T", "spectral", "cg", "direct"], columns))
    results.save(machine=facts, rows=rows, growth=curves)
    if options.figure is not None:
        draw(curves, options.figure)


if __name__ == "__main__":
    main()
