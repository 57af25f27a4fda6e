"""Pure functions on arrays; each is named after the formula it computes."""
