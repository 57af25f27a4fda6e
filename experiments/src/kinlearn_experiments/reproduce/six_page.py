"""Tables, pictures and findings of the two experiments of the MT-LSPC paper."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn_experiments.reproduce.experiment import Finding, Found, Options
from kinlearn_experiments.reproduce.published_tasks import Extremes
from kinlearn_experiments.reproduce.significance import comparable, p_greater
from kinlearn_experiments.reproduce.six_methods import METHODS
from kinlearn_experiments.tables import table

Samples = dict[int, dict[str, NDArray[np.float64]]]
LEVEL = 0.01  # of the paper's t-tests


@dataclass(frozen=True)
class SixMethods:
    """Figures of one protocol: per size and method an array over the seeds."""

    quality: Samples
    seconds: Samples

    @classmethod
    def of(
        cls, found: Found, protocol: str, sizes: tuple[int, ...], options: Options
    ) -> SixMethods:
        """Collect ``protocol/size/method/seed`` cells, methods in the paper's order."""

        def samples(field: str) -> Samples:
            result: Samples = {}
            for size in sizes:
                result[size] = {}
                for method in METHODS:
                    keys = [f"{protocol}/{size}/{method}/{s}" for s in range(options.repeats)]
                    if all(key in found for key in keys):
                        result[size][method] = np.array([found[key][field] for key in keys])
            return result

        return cls(samples("quality"), samples("seconds"))

    @property
    def methods(self) -> list[str]:
        return list(next(iter(self.quality.values())))


def mean_table(figures: SixMethods, what: str) -> str:
    """Mean ± standard deviation; ○ marks the best and what is not significantly below it."""
    rows = []
    for size, samples in figures.quality.items():
        good = comparable(samples, LEVEL)
        rows.append(
            [
                size,
                *(
                    f"{v.mean():.3f} ± {spread(v):.3f} {'○' if name in good else '×'}"
                    for name, v in samples.items()
                ),
            ]
        )
    return table([what, *figures.methods], rows)


def spread(values: NDArray[np.float64]) -> float:
    """Standard deviation over seeds; 0 for a single one."""
    return float(values.std(ddof=1)) if values.size > 1 else 0.0


def extremes_table(samples: Samples, published: Extremes, form: str) -> str:
    """Minimum to maximum over the seeds, ours above the published ones."""
    rows = []
    for size, found in samples.items():
        rows.append(
            [f"{size}, here", *(f"{v.min():{form}} – {v.max():{form}}" for v in found.values())]
        )
        if size in published:
            rows.append(
                [
                    f"{size}, paper",
                    *(
                        f"{published[size][m][0]:{form}} – {published[size][m][1]:{form}}"
                        for m in found
                    ),
                ]
            )
    return table(["samples per task", *next(iter(samples.values()))], rows)


def time_ratios(samples: Samples, published: Extremes) -> str:
    """How many times longer KLR takes than LSPC, here (medians) and in the paper (minima)."""
    rows = []
    for size, found in samples.items():
        row: list[object] = [size]
        for kind in ("MT", "STI", "STC"):
            lspc, klr = found.get(f"LSPC-{kind}"), found.get(f"KLR-{kind}")
            if lspc is None or klr is None:
                row += ["", ""]
                continue
            row.append(f"{np.median(klr) / np.median(lspc):.1f}×")
            paper = published.get(size)
            row.append(
                f"{paper[f'KLR-{kind}'][0] / paper[f'LSPC-{kind}'][0]:.1f}×" if paper else ""
            )
        rows.append(row)
    header = ["samples per task"]
    for kind in ("MT", "STI", "STC"):
        header += [f"{kind}, here", f"{kind}, paper"]
    return table(header, rows)


def sharing_findings(figures: SixMethods, what: str) -> list[Finding]:
    """The paper's claims on accuracy and time, against the figures."""
    sizes, quality = list(figures.quality), figures.quality
    findings = []
    for rival in ("LSPC-STI", "LSPC-STC"):
        p = {n: p_greater(quality[n]["LSPC-MT"], quality[n][rival]) for n in sizes}
        means = {n: (quality[n]["LSPC-MT"].mean(), quality[n][rival].mean()) for n in sizes}
        findings.append(
            Finding(
                f"LSPC-MT has a higher mean {what} than {rival} at every size, significant at 1 %",
                all(value < LEVEL for value in p.values()),
                "; ".join(f"{n}: {means[n][0]:.3f} against {means[n][1]:.3f}" for n in sizes)
                + f"; largest p = {max(p.values()):.2g}",
            )
        )
    if "KLR-MT" in figures.methods:
        level = {
            n: {"LSPC-MT", "KLR-MT"}
            <= comparable({m: quality[n][m] for m in ("LSPC-MT", "KLR-MT")}, LEVEL)
            for n in sizes
        }
        findings.append(
            Finding(
                "LSPC-MT and KLR-MT cannot be told apart at 1 %",
                all(level.values()),
                "; ".join(
                    f"{n}: {quality[n]['LSPC-MT'].mean():.3f} and {quality[n]['KLR-MT'].mean():.3f}"
                    f"{'' if level[n] else ' (differ)'}"
                    for n in sizes
                ),
            )
        )
        ratios = {
            n: float(np.median(s["KLR-MT"]) / np.median(s["LSPC-MT"]))
            for n, s in figures.seconds.items()
        }
        findings.append(
            Finding(
                "LSPC-MT is tuned and trained faster than KLR-MT",
                min(ratios.values()) > 1,
                "; ".join(f"{n}: {ratio:.1f}×" for n, ratio in ratios.items()),
            )
        )
    return findings


def ours_findings(paper: SixMethods, ours: SixMethods, what: str) -> list[Finding]:
    """Whether kinlearn's defaults do better than the paper's rules."""
    sizes = list(ours.quality)
    pairs = {
        n: (ours.quality[n]["LSPC-MT"].mean(), paper.quality[n]["LSPC-MT"].mean()) for n in sizes
    }
    findings = [
        Finding(
            f"kinlearn's defaults give LSPC-MT a higher mean {what} than the paper's rules",
            all(a > b for a, b in pairs.values()),
            "; ".join(f"{n}: {a:.3f} against {b:.3f}" for n, (a, b) in pairs.items()),
        )
    ]
    for label, rival in (("by the paper's rules", paper), ("by its own defaults", ours)):
        if "KLR-MT" in rival.methods:
            level = {
                n: (ours.quality[n]["LSPC-MT"].mean(), rival.quality[n]["KLR-MT"].mean())
                for n in sizes
            }
            findings.append(
                Finding(
                    f"and one at or above that of our KLR-MT {label}",
                    all(a >= b for a, b in level.values()),
                    "; ".join(f"{n}: {a:.3f} against {b:.3f}" for n, (a, b) in level.items()),
                )
            )
    return findings


def draw(figures: dict[str, SixMethods], path: Path, what: str, x_label: str) -> Path:
    """Mean quality and time over the number of samples, a row of panels per protocol."""
    from kinlearn.plots import PALETTE, close, subplots

    figure, axes = subplots(len(figures), 2, panel_size=(5.4, 3.9))
    for row, (protocol, found) in zip(axes, figures.items(), strict=True):
        sizes = list(found.quality)
        for rank, method in enumerate(found.methods):
            style: dict[str, Any] = {
                "color": PALETTE[METHODS.index(method) // 2],
                "linestyle": "-" if method.startswith("LSPC") else "--",
                "marker": "o" if method.startswith("LSPC") else "s",
                "label": method,
            }
            values = [found.quality[n][method] for n in sizes]
            errors = [spread(v) / np.sqrt(v.size) for v in values]
            shifted = np.array(sizes) + 0.02 * (sizes[-1] - sizes[0]) * (rank - 2.5) / 3
            row[0].errorbar(shifted, [v.mean() for v in values], errors, capsize=2, **style)
            row[1].plot(sizes, [np.median(found.seconds[n][method]) for n in sizes], **style)
        title = "The paper's rules" if protocol == "paper" else "kinlearn's defaults"
        row[0].set(xlabel=x_label, ylabel=f"Mean {what}", title=f"{title}: {what}")
        row[1].set(xlabel=x_label, ylabel="Processor seconds", yscale="log", title=f"{title}: time")
        row[0].set_xticks(sizes)
        row[1].set_xticks(sizes)
        row[1].legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.savefig(path, dpi=120)
    close(figure)
    return path


def summary(figures: dict[str, SixMethods]) -> dict[str, Any]:
    """Means, standard deviations and extremes for the JSON file."""
    return {
        protocol: {
            str(size): {
                method: {
                    "mean": float(v.mean()),
                    "std": spread(v),
                    "min": float(v.min()),
                    "max": float(v.max()),
                    "median_seconds": float(np.median(found.seconds[size][method])),
                }
                for method, v in samples.items()
            }
            for size, samples in found.quality.items()
        }
        for protocol, found in figures.items()
    }


def mean_sections(
    figures: dict[str, SixMethods], quality: str, per: str, repeats: int
) -> list[tuple[str, str]]:
    """A table of means for each protocol."""
    rules = {"paper": "the paper's rules", "ours": "kinlearn's defaults"}
    return [
        (
            f"Mean {quality} over {repeats} runs, {rules[protocol]}",
            mean_table(six, per)
            + "\n\n○: the best, or not below it by a paired t-test at 1 %; ×: below it.",
        )
        for protocol, six in figures.items()
    ]


def extreme_sections(
    six: SixMethods, quality: str, published: tuple[Any, Any], numbers: tuple[int, int]
) -> list[tuple[str, str]]:
    """The paper's two tables of extremes, of quality and of time, and the ratios of times."""
    known, seconds = published
    return [
        (
            f"Table {numbers[0]}: lowest and highest {quality}",
            extremes_table(six.quality, known, ".3f"),
        ),
        (
            f"Table {numbers[1]}: shortest and longest time in seconds, tuning included",
            extremes_table(six.seconds, seconds, ".3g"),
        ),
        ("Time of KLR over time of LSPC", time_ratios(six.seconds, seconds)),
    ]
