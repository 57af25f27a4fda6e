"""From the columns of a table to numbers that kernels and linear models can take."""
