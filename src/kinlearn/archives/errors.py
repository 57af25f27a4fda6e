"""The one error of reading a model file."""


class KinFileError(ValueError):
    """A model file is damaged, edited, from a newer version, or no model file at all.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import kinlearn
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "model.kin")
    ...     _ = path.write_text("not a model")
    ...     try:
    ...         kinlearn.load(path)
    ...     except kinlearn.KinFileError as error:
    ...         print(type(error).__name__)
    KinFileError
    """
