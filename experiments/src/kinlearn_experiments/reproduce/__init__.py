"""Every experiment of the four papers, one call each: ``kinlearn reproduce NAME``.

::

    experiment.py   what an experiment is: cells that are measured once each, a page made of them
    journal.py      finished cells survive an interruption
    runner.py       measures what is missing, writes NAME.md, NAME.json and pictures
    six_methods.py  the classifiers of the MT-LSPC paper by its own rules
    landmine.py …   one small file for each experiment
"""

from __future__ import annotations

from importlib import import_module

from kinlearn_experiments.reproduce.experiment import Experiment

__all__ = ["NAMES", "get_experiment"]

NAMES = (
    "lspc-toy",
    "voc",
    "freesound-hmm",
    "umist",
    "landmine",
    "ml-toy",
    "freesound-tags",
    "faces",
)


def get_experiment(name: str) -> Experiment:
    """Return the experiment of that name.

    Examples
    --------
    >>> from kinlearn_experiments.reproduce import get_experiment
    >>> get_experiment("landmine").repeats
    10
    """
    if name not in NAMES:
        raise ValueError(f"There is no experiment {name!r}: choose one of {', '.join(NAMES)}.")
    module = import_module(f"kinlearn_experiments.reproduce.{name.replace('-', '_')}")
    experiment: Experiment = module.EXPERIMENT
    return experiment
