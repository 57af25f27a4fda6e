"""The problems that estimators pose: held-out scores at grid points, coefficients of a mix."""
