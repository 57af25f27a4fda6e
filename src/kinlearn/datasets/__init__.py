"""Data that the library makes itself, with the truth known."""

from kinlearn.datasets.clinic import make_clinic_table
from kinlearn.datasets.heterogeneous import load_digits_resolutions, make_heterogeneous_tasks
from kinlearn.datasets.related_tasks import make_related_tasks
from kinlearn.datasets.rotated_labels import make_rotated_labels
from kinlearn.datasets.toy import gaussian_mixture_toy_posterior, make_gaussian_mixture_toy

__all__ = [
    "gaussian_mixture_toy_posterior",
    "load_digits_resolutions",
    "make_clinic_table",
    "make_gaussian_mixture_toy",
    "make_heterogeneous_tasks",
    "make_related_tasks",
    "make_rotated_labels",
]
