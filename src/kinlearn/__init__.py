"""Classification with trustworthy probabilities, in closed form, for one task or many."""

from kinlearn.estimators.lspc import LSPC
from kinlearn.estimators.lspc_cv import LSPCCV
from kinlearn.estimators.multilabel_lspc import MultiLabelLSPC
from kinlearn.estimators.multilabel_lspc_cv import MultiLabelLSPCCV

__version__ = "0.1.0"

__all__ = ["LSPC", "LSPCCV", "MultiLabelLSPC", "MultiLabelLSPCCV", "__version__"]
