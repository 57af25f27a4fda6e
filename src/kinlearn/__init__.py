"""Classification with trustworthy probabilities, in closed form, for one task or many."""

__version__ = "0.1.0"
