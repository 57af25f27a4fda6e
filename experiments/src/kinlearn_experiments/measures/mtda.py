"""What MTDA costs: against the thin SVDs it starts with, the dense formulation, and growing width.

    python -m kinlearn_experiments.measures.mtda [--quick]

Prints three tables and writes ``results/mtda.json`` and docs/images/mtda_growth.png. BLAS is
pinned to one thread; ratios are of processor time, measured in turn in one run.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import linalg
from threadpoolctl import threadpool_limits

from kinlearn import MTDA
from kinlearn.datasets import make_heterogeneous_tasks
from kinlearn.plots import close, subplots
from kinlearn_experiments.machine import machine_facts
from kinlearn_experiments.measures.timing import Work, paired_ratio, peak_memory, side_by_side
from kinlearn_experiments.results import RESULTS, ROOT, Results, significant
from kinlearn_experiments.tables import table

CLASSES = 30
# Below the number of classes the ratio is one (features outnumber rows) and nothing iterates;
# above it, or with shrinkage, alpha is found by iteration.
SETTINGS: dict[str, dict[str, Any]] = {
    "20 components": {"n_components": 20},
    "40 components": {"n_components": 40},
    "20 components, shrinkage": {"n_components": 20, "shrinkage": "auto"},
}


def tasks(d: int, n: int, n_tasks: int = 3) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Tasks of one width."""
    return make_heterogeneous_tasks(
        n_features=[d] * n_tasks,
        n_samples=n,
        n_classes=CLASSES,
        n_latent=min(50, d),
        noise=1.0,
        random_state=0,
    )


def thin_svds(Xs: list[np.ndarray]) -> None:
    """What no method that works in the span can do without."""
    for X in Xs:
        linalg.svd((X - X.mean(axis=0)) / np.sqrt(len(X)), full_matrices=False)


def dense_joint(Xs: list[np.ndarray], ys: list[np.ndarray], n_components: int) -> float:
    """Dinkelbach's iteration on the d by d scatter matrices, to the accuracy of MTDA's default."""
    scatters = []
    for X, y in zip(Xs, ys, strict=True):
        centred = X - X.mean(axis=0)
        total = centred.T @ centred / len(X)
        means = np.stack([np.sqrt(np.mean(y == k)) * centred[y == k].mean(axis=0) for k in set(y)])
        # Directions without any scatter are 0/0 and would pass for perfect: the largest variance
        # is put there, so that the optimum is the one inside the span, as MTDA's.
        values, vectors = np.linalg.eigh(total)
        outside = vectors[:, values <= 1e-10 * values[-1]]
        scatters.append((means.T @ means, total + values[-1] * outside @ outside.T))
    alpha = 0.0
    for _ in range(100):
        between = totals = 0.0
        for S_b, S_t in scatters:
            _, vectors = np.linalg.eigh(S_b - alpha * S_t)
            U = vectors[:, -n_components:]
            between += np.vdot(U, S_b @ U)
            totals += np.vdot(U, S_t @ U)
        previous, alpha = alpha, float(between / totals)
        if alpha - previous <= 1e-10:
            break
    return alpha


def against_svd(d: int, n: int, repeats: int) -> dict[str, Any]:
    """Joint MTDA in units of the thin SVDs of its three tasks."""
    Xs, ys = tasks(d, n)
    works: dict[str, Work] = {"svd": lambda: thin_svds(Xs)}
    for name, params in SETTINGS.items():
        works[name] = partial(MTDA(**params).fit, Xs, ys)
    seconds = side_by_side(works, repeats)
    cell = {"svd_seconds": significant(np.median(seconds["svd"][:, 1]))}
    for name in SETTINGS:
        cell[name] = significant(paired_ratio(seconds[name], seconds["svd"])[1], 3)
    return cell


def against_dense(d: int, n: int, repeats: int) -> dict[str, Any]:
    """The dense formulation in units of joint MTDA, and that both end at the same ratio."""
    Xs, ys = tasks(d, n)
    cell: dict[str, Any] = {}
    for name, params in list(SETTINGS.items())[:2]:
        count = int(params["n_components"])
        works: dict[str, Work] = {
            "joint": partial(MTDA(n_components=count).fit, Xs, ys),
            "dense": partial(dense_joint, Xs, ys, count),
        }
        seconds = side_by_side(works, repeats)
        model = MTDA(n_components=count).fit(Xs, ys)
        cell[name] = {
            "times_slower": significant(paired_ratio(seconds["dense"], seconds["joint"])[1], 3),
            "joint_seconds": significant(np.median(seconds["joint"][:, 1]), 3),
            "dense_seconds": significant(np.median(seconds["dense"][:, 1]), 3),
            "joint_objective": model.objective_,
            "dense_objective": dense_joint(Xs, ys, count),
        }
    return cell


def growth(d: int, n: int, repeats: int) -> dict[str, float]:
    """Seconds and memory of one task of growing width."""
    Xs, ys = tasks(d, n, n_tasks=1)
    seconds = side_by_side({"joint": lambda: MTDA(n_components=20).fit(Xs, ys)}, repeats)["joint"]
    return {
        "seconds": significant(np.median(seconds[:, 1])),
        "data_mb": significant(Xs[0].nbytes / 2**20, 3),
        "peak_mb": significant(peak_memory(lambda: MTDA(n_components=20).fit(Xs, ys)), 3),
    }


def draw(widths: list[int], seconds: list[float], slope: float, path: Path) -> None:
    """Time against width on log axes, beside a line of slope one."""
    figure, axes = subplots(panel_size=(5.2, 3.8))
    ax = axes[0, 0]
    ax.loglog(widths, seconds, marker="o", label=f"MTDA, slope {slope:.2f}")
    exact = np.array(widths) * seconds[-1] / widths[-1]
    ax.loglog(widths, exact, linestyle=":", color="#8A8A8A", label="linear")
    ax.set(
        xlabel="Features $d_i$", ylabel="Processor seconds", title="Time against width (n = 300)"
    )
    ax.legend(frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    close(figure)


def main(arguments: list[str] | None = None) -> None:
    """Measure, print the tables, write the results and the picture."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, nothing written")
    parser.add_argument("--out", type=Path, default=RESULTS / "mtda.json")
    args = parser.parse_args(arguments)
    n, repeats = (100, 1) if args.quick else (300, 3)
    wide, square = (2000, 300) if args.quick else (10_000, 1000)
    widths = [500, 1000, 2000] if args.quick else [2000, 5000, 10_000, 20_000, 50_000]
    with threadpool_limits(1):
        results: dict[str, Any] = {
            "against_svd": against_svd(wide, n, repeats),
            "against_dense": against_dense(square, n, repeats),
            "growth": {d: growth(d, n, 1 if args.quick else 2) for d in widths},
        }
        if not args.quick:
            results["wide_task"] = growth(50_000, 500, 1)
        seconds = [results["growth"][d]["seconds"] for d in widths]
        slope = float(np.polyfit(np.log(widths), np.log(seconds), 1)[0])
        results["growth_slope"] = significant(slope, 3)
        facts = machine_facts()
    print(f"\nThree tasks, d = {wide}, n = {n}: processor time in units of the three thin SVDs")
    svd = results["against_svd"]
    print(table(["setting", "ratio"], [(name, svd[name]) for name in SETTINGS]))
    print(f"\nThree tasks, d = {square}, n = {n}: the dense formulation against joint")
    print(
        table(
            ["setting", "joint s", "dense s", "times slower"],
            [
                (name, row["joint_seconds"], row["dense_seconds"], row["times_slower"])
                for name, row in results["against_dense"].items()
            ],
        )
    )
    print(f"\nOne task, n = {n}: growth with d, exponent {slope:.2f}")
    print(
        table(
            ["d", "seconds", "data MB", "peak MB"],
            [(d, *results["growth"][d].values()) for d in widths],
        )
    )
    if args.quick:
        return
    row = results["wide_task"]
    print(
        f"\nOne task, d = 50,000, n = 500: {row['seconds']} s, peak {row['peak_mb']} MB beside "
        f"{row['data_mb']} MB of data"
    )
    draw(widths, seconds, slope, ROOT / "docs/images/mtda_growth.png")
    file = Results(args.out, fresh=True)
    file.save(machine=facts, results=results)


if __name__ == "__main__":
    main()
