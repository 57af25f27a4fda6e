"""Cells of tables: how they are spelt, read and refused, the same for files and data frames."""
