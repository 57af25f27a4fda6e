"""Figures of docs/promises.md."""

from __future__ import annotations

from kinlearn_experiments.measures.simulated import part_of, summarise_noise
from kinlearn_experiments.quotes.registry import digits, quotes
from kinlearn_experiments.quotes.stored import cells


def hand_over(figure: str, allowed: float | None = None) -> list[float]:
    found = part_of(cells("simulated.json"), "hand-over").values()
    return [cell[figure] for cell in found if allowed in (None, cell["allowed"])]


def noise(figure: str) -> float:
    return float(summarise_noise(part_of(cells("simulated.json"), "noise"))[figure])


def default_ratios(kinds: tuple[str, ...], situation: str) -> list[float]:
    found = cells("defaults.json")
    return [
        cell["ratio"]
        for key, cell in found.items()
        if key.endswith(situation) and key.split("/")[0] in kinds
    ]


SEARCHES = ("lspccv", "tasks", "labels")
OTHERS = ("lspc", "predict", "one_row", "train")

quotes(
    "trust",
    settings=lambda: str(len(hand_over("over"))),
    repeats=lambda: str(int(max(hand_over("repeats")))),
    worst_tenth=lambda: f"{100 * max(hand_over('over', 0.1)):.0f} %",
    worst_fifth=lambda: f"{100 * max(hand_over('over', 0.2)):.0f} %",
    noise_draws=lambda: str(int(noise("draws"))),
    noise_ahead=lambda: f"{100 * noise('ahead'):.2f}",
    noise_error=lambda: f"{100 * noise('standard_error'):.1f}",
    noise_highest=lambda: f"{100 * noise('highest'):.0f} %",
    searches=lambda: digits(max(default_ratios(SEARCHES, "alone")), 2),
    others=lambda: digits(max(default_ratios(OTHERS, "alone")), 2),
    crowded=lambda: digits(max(default_ratios(SEARCHES + OTHERS, "neighbours")), 2),
)
