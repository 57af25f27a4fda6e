"""Data that the library makes itself, with the truth known."""

from kinlearn.datasets.heterogeneous import load_digits_resolutions, make_heterogeneous_tasks

__all__ = ["load_digits_resolutions", "make_heterogeneous_tasks"]
