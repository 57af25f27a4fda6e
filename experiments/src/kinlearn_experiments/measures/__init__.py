"""Costs and choices, measured: each is run as ``python -m kinlearn_experiments.measures.NAME``.

Every module writes one JSON file of the folder ``results``, with facts about the machine, and
prints a table. Times are ratios of works run side by side. A run that was stopped goes on where it
was.
"""
