"""Files of plain arrays and JSON: bounded memory, checked sizes, never half of a file."""
