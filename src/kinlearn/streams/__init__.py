"""Rows that arrive batch by batch: from arrays, tables, iterators, files and folders."""

from kinlearn.streams.batches import Batch, ColumnRoles, StreamError, StreamProgress
from kinlearn.streams.sources import open_source

__all__ = ["Batch", "ColumnRoles", "StreamError", "StreamProgress", "open_source"]
