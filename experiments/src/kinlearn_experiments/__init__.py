"""Experiments with kinlearn: the benchmark, the papers' experiments, and every measured figure.

::

    commands/    ``kinlearn bench`` and ``kinlearn reproduce``
    bench/       kinlearn beside its rivals, on the same splits
    reproduce/   the experiments of the papers
    measures/    costs and choices, each run as ``python -m kinlearn_experiments.measures.NAME``
    quotes/      figures that pages quote, written anew by ``python -m kinlearn_experiments.quotes``
    machine.py, results.py, tables.py    what all of them share
"""

__version__ = "0.1.0"
