"""Data sets of the suites: scikit-learn's own, generators, files under ``KINLEARN_DATA``."""
