"""Fits and predictions over Dask collections; nothing here imports Dask before one is given."""

from kinlearn.distributed.prediction import is_dask

__all__ = ["is_dask"]
