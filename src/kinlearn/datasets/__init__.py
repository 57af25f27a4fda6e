"""Data that the library makes itself, with the truth known."""

from kinlearn.datasets.related_tasks import make_related_tasks
from kinlearn.datasets.rotated_labels import make_rotated_labels
from kinlearn.datasets.toy import gaussian_mixture_toy_posterior, make_gaussian_mixture_toy

__all__ = [
    "gaussian_mixture_toy_posterior",
    "make_gaussian_mixture_toy",
    "make_related_tasks",
    "make_rotated_labels",
]
