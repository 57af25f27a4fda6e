"""Sums over rows from which every least-squares model with fixed centres is solved."""

from kinlearn.statistics.normal_equations import NormalEquations

__all__ = ["NormalEquations"]
