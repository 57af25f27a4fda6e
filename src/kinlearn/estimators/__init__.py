"""scikit-learn estimators: validate, prepare, call a solver, keep arrays."""
