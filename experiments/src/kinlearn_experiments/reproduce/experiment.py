"""What an experiment is: cells that are measured once each, and a page made of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PROTOCOLS = ("paper", "ours")


@dataclass(frozen=True)
class Options:
    """What is asked for.

    Attributes
    ----------
    repeats : int
        Number of seeds, from 0 on.
    quick : bool
        Whether less than two minutes must do: fewer repeats, sizes and grid points.
    protocols : tuple of {"paper", "ours"}
        The paper's grids, folds and scores, kinlearn's defaults, or both.
    data_home : path, optional
        The data folder; None: the one that ``KINLEARN_DATA`` names.
    pairs : tuple of (int, int), optional
        For ``umist``: pairs of people that are the tasks.
    """

    repeats: int
    quick: bool = False
    protocols: tuple[str, ...] = PROTOCOLS
    data_home: str | os.PathLike[str] | None = None
    pairs: tuple[tuple[int, int], ...] | None = None


@dataclass(frozen=True)
class Cell:
    """One measurement: the key it is kept under, and how it is made.

    The value must be what JSON can hold.
    """

    key: str
    measure: Callable[[], Any]


@dataclass(frozen=True)
class Finding:
    """A claim of the paper (or of ours), whether the figures bear it out, and the figures."""

    claim: str
    holds: bool
    figures: str


@dataclass(frozen=True)
class Page:
    """What the figures amount to.

    Attributes
    ----------
    setting : str
        How the experiment was run, and where that departs from the paper, in Markdown.
    sections : sequence of (str, str)
        Headings and Markdown below them: tables, pictures.
    findings : sequence of Finding
        What reproduced and what did not.
    reasons : str
        Why, in Markdown.
    summary : dict
        Figures for the JSON file.
    """

    setting: str
    sections: Sequence[tuple[str, str]]
    findings: Sequence[Finding]
    reasons: str
    summary: dict[str, Any] = field(default_factory=dict)


Found = Mapping[str, Any]


@dataclass(frozen=True)
class Experiment:
    """An experiment of one of the papers.

    Attributes
    ----------
    name : str
        What it is called on the command line.
    title : str
        Heading of its page.
    source : str
        Paper, section, figures and tables.
    repeats, quick_repeats : int
        Number of seeds of the paper and of a quick run.
    cells : callable of Options
        All measurements, a seed after the other, so that an early stop leaves a balanced table.
    page : callable of (found, Options, folder)
        Page from the cells; pictures go into the folder.
    """

    name: str
    title: str
    source: str
    repeats: int
    quick_repeats: int
    cells: Callable[[Options], list[Cell]]
    page: Callable[[Found, Options, Path], Page]

    def options(self, seeds: int | None = None, quick: bool = False, **more: Any) -> Options:
        """Return options with the experiment's own number of repeats, unless one is given."""
        if seeds is not None and seeds < 1:
            raise ValueError(f"The number of seeds must be at least 1, but it is {seeds}.")
        usual = self.quick_repeats if quick else self.repeats
        return Options(repeats=usual if seeds is None else seeds, quick=quick, **more)
