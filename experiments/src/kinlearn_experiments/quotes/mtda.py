"""Figures of docs/mtda.md beside the faces: probabilities, unlabelled rows, costs."""

from __future__ import annotations

import numpy as np

from kinlearn_experiments.measures import weighed_tasks
from kinlearn_experiments.quotes.registry import digits, extent, quote, quotes
from kinlearn_experiments.quotes.stored import at, cells, stored
from kinlearn_experiments.tables import table

SETS = ("digits", "generated")
SIZES = (2, 3, 5, 10)
ALONE, ALIGNED = "LSPC alone", "LDA, aligned, pooled (auto)"
MODELS = (ALONE, "MTDA, not", "MTDA, cross-fitted", "LDA, not", "LDA, cross-fitted", ALIGNED)


def figures(name: str, size: int, model: str) -> tuple[float, float]:
    """Mean log-loss and error over trials."""
    found = cells("heterogeneous.json", f"{name}/{size}/")
    return tuple(np.mean([cell[model] for cell in found.values()], axis=0))


@quote("mtda.probabilities")
def probabilities_table() -> str:
    rows = [
        [
            f"{name}, {size} a class",
            *("{:.3f} / {:.3f}".format(*figures(name, size, model)) for model in MODELS),
        ]
        for name in SETS
        for size in SIZES
    ]
    return table(["data", *MODELS], rows)


@quote("mtda.weighed")
def weighed_table() -> str:
    return weighed_tasks.show(cells("weighed_tasks.json"))


@quote("mtda.unlabelled")
def unlabelled() -> str:
    """The gain that was, and the harm."""
    before, after = (at("unlabelled.json", "error", CANCER, k) for k in ("tr auto", "tr unl. 1"))
    return f"{100 * before:.1f} → {100 * after:.1f} %"


CANCER, ORL = "breast cancer, 20 a class", "ORL, 5 a class"


def helped() -> tuple[int, int]:
    """Settings in which some use of unlabelled rows beat shrinkage without them, and all."""
    found = stored("unlabelled.json")["error"]
    better = [
        min(v for k, v in row.items() if "unl." in k) < min(row["tr auto"], row["rt auto"])
        for row in found.values()
    ]
    return sum(better), len(better)


@quote("mtda.orl_harm")
def orl_harm() -> str:
    row = at("unlabelled.json", "error", ORL)
    worse = [100 * v for k, v in row.items() if k.startswith("tr unl.")]
    return f"{100 * row['tr auto']:.1f} → {extent(worse, digits, to='–')} %"


@quote("mtda.costs")
def costs_table() -> str:
    found = stored("mtda.json")["results"]
    svd = [v for k, v in found["against_svd"].items() if "components" in k]
    dense = [f"{row['times_slower']:.0f} ({k})" for k, row in found["against_dense"].items()]
    wide = found["wide_task"]
    widths = [int(width) for width in found["growth"]]
    return table(
        ["what", "measured"],
        [
            [
                "three tasks, d = 10,000, n = 300: joint, in units of the three thin SVDs alone",
                extent(svd, "{:.2f}".format, to="–"),
            ],
            [
                "the same, d = 1000: the dense formulation (d by d matrices), in units of joint",
                ", ".join(dense),
            ],
            [
                f"growth with d from {min(widths):,} to {max(widths):,}, n = 300",
                f"exponent {found['growth_slope']:.2f}",
            ],
            [
                "one task, d = 50,000, n = 500",
                f"{wide['seconds']:.1f} s, {wide['peak_mb']:.0f} MB at the peak beside "
                f"{wide['data_mb']:.0f} MB of data",
            ],
        ],
    )


def losses(model: str, sizes: tuple[int, ...]) -> str:
    return " and ".join(f"{figures('digits', size, model)[0]:.2f}" for size in sizes)


quotes(
    "mtda",
    aligned_few=lambda: losses(ALIGNED, (2, 3)),
    alone_few=lambda: losses(ALONE, (2, 3)),
    generated_reduced=lambda: f"{100 * figures('generated', 2, 'MTDA, not')[1]:.0f}",
    generated_alone=lambda: f"{100 * figures('generated', 2, ALONE)[1]:.0f}",
    helped=lambda: "{} of {}".format(*helped()),
)
