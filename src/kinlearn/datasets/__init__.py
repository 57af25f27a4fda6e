"""Data that the library makes itself, with the truth known, and loaders for the user's own files.

Generators (``make_…``) need nothing. Loaders (``load_…``) read the folder ``data_home`` or the one
that ``KINLEARN_DATA`` names, and say what a missing file is called and must contain.
"""

from kinlearn.datasets._files import DataFileChanged, DataFileError, DataFileMissing
from kinlearn.datasets.clinic import make_clinic_table
from kinlearn.datasets.faces import load_ar, load_orl, load_pie, load_umist
from kinlearn.datasets.gaussian_mixture_toy import (
    gaussian_mixture_toy_posterior,
    make_gaussian_mixture_toy,
)
from kinlearn.datasets.heterogeneous import load_digits_resolutions, make_heterogeneous_tasks
from kinlearn.datasets.landmine import load_landmine
from kinlearn.datasets.multilabel_sets import load_multilabel
from kinlearn.datasets.object_images import load_fashion_mnist, load_office_caltech
from kinlearn.datasets.related_tasks import make_related_tasks
from kinlearn.datasets.rotated_labels import make_rotated_labels
from kinlearn.datasets.sounds import load_esc50, load_vowel

__all__ = [
    "DataFileChanged",
    "DataFileError",
    "DataFileMissing",
    "gaussian_mixture_toy_posterior",
    "load_ar",
    "load_digits_resolutions",
    "load_esc50",
    "load_fashion_mnist",
    "load_landmine",
    "load_multilabel",
    "load_office_caltech",
    "load_orl",
    "load_pie",
    "load_umist",
    "load_vowel",
    "make_clinic_table",
    "make_gaussian_mixture_toy",
    "make_heterogeneous_tasks",
    "make_related_tasks",
    "make_rotated_labels",
]
