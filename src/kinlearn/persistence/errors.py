"""The one error of reading a model file."""


class KinFileError(ValueError):
    """A model file is damaged, edited, from a newer version, or no model file at all."""
