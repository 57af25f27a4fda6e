"""Models that learn on from the labels that come back: a journal, versions, and the way back."""
