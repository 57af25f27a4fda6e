"""Data that the library makes itself, with the truth known."""

from kinlearn.datasets.related_tasks import make_related_tasks

__all__ = ["make_related_tasks"]
