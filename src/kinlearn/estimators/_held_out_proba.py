"""Probabilities of the training rows, from what their own labels did not teach."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from kinlearn.posterior import ScoreLayout, links_of

Array = NDArray[np.float64]


def proba_of_scores(scores: Array, links: Array, layout: ScoreLayout) -> list[Array]:
    """Probabilities of each label, of rows that have links of their own."""
    own = links_of(links, layout)
    return [link(q) for link, q in zip(own, layout.by_label(scores), strict=True)]


def held_out_proba(self: Any) -> Any:
    """Return the probabilities of the training rows from scores that have not seen them.

    Returns
    -------
    ndarray of shape (n_samples, n_classes) or (n_samples, n_labels)
        From ``held_out_scores_``, each row by the link that was learnt without it; NaN for rows
        never held out.
    """
    check_is_fitted(self)
    labels = self.model_.labels
    if not labels.single and not labels.indicator:
        raise ValueError("held_out_proba answers for indicators and for one label only.")
    if not hasattr(self, "held_out_scores_") or self.posterior == "rounded_parameters":
        raise ValueError(
            f"This {type(self).__name__} kept no held-out scores of its posterior "
            f'({self.posterior!r}): use posterior="calibrated", or cross_val_predict.'
        )
    scores, layout = self.held_out_scores_, self.model_.calibration.layout
    if self.posterior == "calibrated":
        learnt = proba_of_scores(scores, self.held_out_links_, layout)
    else:
        learnt = self.model_.probabilities(scores)
    proba = labels.probabilities(learnt, len(scores))
    proba[np.isnan(scores).any(axis=1)] = np.nan
    return proba
