"""Choosing hyperparameters: grids, folds, scores, and the combination of grid points."""
