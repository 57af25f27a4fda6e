"""Commands that are added to ``kinlearn``, by the entry points of this distribution."""
