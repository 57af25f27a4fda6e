"""Model files: arrays and JSON in one archive, read without running anything that is in them."""

from kinlearn.archives.errors import KinFileError
from kinlearn.persistence.files import load, model_info, save

__all__ = ["KinFileError", "load", "model_info", "save"]
