"""Pictures of how far probabilities can be trusted (extra ``plot``).

The displays follow scikit-learn's convention: ``from_estimator`` or ``from_predictions`` compute
and draw, ``plot`` draws again, and ``ax_``, ``figure_`` hold what was drawn. Importing this package
does not import matplotlib; drawing does.
"""

from kinlearn.plots._style import PALETTE, close, style_axes, subplots
from kinlearn.plots.cv_surface import CVSurfaceDisplay
from kinlearn.plots.embedding import EmbeddingDisplay
from kinlearn.plots.feature_relevance import FeatureRelevanceDisplay
from kinlearn.plots.label_gain import LabelGainDisplay
from kinlearn.plots.label_precision_recall import LabelPrecisionRecallDisplay
from kinlearn.plots.label_similarity import LabelSimilarityDisplay
from kinlearn.plots.objective_path import ObjectivePathDisplay
from kinlearn.plots.polish_path import PolishPathDisplay
from kinlearn.plots.reliability import ReliabilityDisplay
from kinlearn.plots.risk_coverage import RiskCoverageDisplay
from kinlearn.plots.sharing import SharingDisplay
from kinlearn.plots.task_error import TaskErrorDisplay
from kinlearn.plots.task_similarity import TaskSimilarityDisplay

__all__ = [
    "PALETTE",
    "CVSurfaceDisplay",
    "EmbeddingDisplay",
    "FeatureRelevanceDisplay",
    "LabelGainDisplay",
    "LabelPrecisionRecallDisplay",
    "LabelSimilarityDisplay",
    "ObjectivePathDisplay",
    "PolishPathDisplay",
    "ReliabilityDisplay",
    "RiskCoverageDisplay",
    "SharingDisplay",
    "TaskErrorDisplay",
    "TaskSimilarityDisplay",
    "close",
    "style_axes",
    "subplots",
]
