"""Sums over rows from which every least-squares model with fixed centres is solved."""

from kinlearn.sums.normal_equations import NormalEquations

__all__ = ["NormalEquations"]
