"""Classification with trustworthy probabilities, in closed form, for one task or many."""

from kinlearn.estimators.independent_tasks import IndependentTasks
from kinlearn.estimators.pooled_tasks import PooledTasks

__version__ = "0.1.0"
__all__ = ["IndependentTasks", "PooledTasks"]
