"""What a fit works on: distinct rows, their labels and weights, and what of them is held out."""
