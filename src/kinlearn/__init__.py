"""Classification with trustworthy probabilities, in closed form, for one task or many."""

from kinlearn.estimators.lspc import LSPC
from kinlearn.estimators.lspc_cv import LSPCCV

__version__ = "0.1.0"

__all__ = ["LSPC", "LSPCCV", "__version__"]
