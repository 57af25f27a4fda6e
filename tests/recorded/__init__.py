"""What every estimator says, as recorded at one commit, to compare later ones with."""
