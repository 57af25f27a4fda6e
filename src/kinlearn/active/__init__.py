"""Labels asked for one at a time, every answer in the model at once; and suspect labels."""

from kinlearn.active.learner import ActiveLearner
from kinlearn.active.suspects import find_suspect_labels

__all__ = ["ActiveLearner", "find_suspect_labels"]
