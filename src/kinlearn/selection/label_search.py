"""Search over (sigma, reg, sharing) for many labels at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kinlearn.selection.combine import combination_weights
from kinlearn.selection.label_scoring import (
    HeldOutLabels,
    row_scores,
    row_weights,
    score_label_grid,
)
from kinlearn.selection.refine import refined_weights
from kinlearn.selection.search import GridSearch


class LabelGridSearch(GridSearch):
    """A grid search whose held-out scores have a column per label (or class of a label).

    Parameters
    ----------
    axes, growing, evaluate, scoring
        As in :class:`GridSearch`.
    label_rows : HeldOutLabels
        What the scores speak of.
    """

    def __init__(
        self,
        axes: dict[str, np.ndarray],
        growing: dict[str, bool],
        evaluate: Callable[[dict[str, np.ndarray]], np.ndarray],
        label_rows: HeldOutLabels,
        scoring: Any,
    ) -> None:
        self.label_rows = label_rows
        super().__init__(axes, growing, evaluate, None, scoring)  # type: ignore[arg-type]

    def _criteria(self) -> tuple[np.ndarray, np.ndarray | None]:
        return score_label_grid(self.scores, self.label_rows, self.scoring)

    def _row_weights(self) -> np.ndarray:
        return row_weights(self.label_rows, self.scoring)

    def combine(self, rule: str, refine: bool = False) -> np.ndarray:
        """Choose the weights of the points and return the mix's held-out scores, (R, columns).

        With `refine`, the points that stacking keeps are weighed anew by log-loss.
        """
        rows, by_row, weights = self.label_rows, self.by_row, self._row_weights()
        if by_row is None and rule == "within_se":
            by_row = np.stack([row_scores(q, rows, "squared_error") for q in self.scores])
            weights = row_weights(rows, "squared_error")
        n_points = len(self.scores)
        self.weights = combination_weights(
            rule,
            self.scores.reshape(n_points, -1, 1),
            rows.fit_targets.reshape(-1, 1),
            rows.fit_weights.ravel(),
            np.empty((0, 0)) if by_row is None else by_row,
            weights,
            self.best,
        )
        if refine and rule == "stack":
            self.weights = self._refined(self.weights)
        return self.mixed_scores(self.weights)

    def _refined(self, weights: np.ndarray) -> np.ndarray:
        """Weigh the points stacking kept anew, by the log-loss over all observed pairs."""
        rows, used = self.label_rows, np.flatnonzero(weights)
        if len(set(rows.layout.sizes)) > 1 or used.size < 2:
            return weights  # labels of differing classes have no common softmax to weigh by
        by_point = [rows.layout.by_label(self.scores[p].astype(np.float64)) for p in used]
        seen = [np.flatnonzero(weights > 0) for weights in rows.pair_weights.T]
        pairs = np.stack(
            [
                np.concatenate([q[here] for q, here in zip(by_label, seen, strict=True)])
                for by_label in by_point
            ]
        )
        targets = np.concatenate([z[here] for z, here in zip(rows.pair_targets, seen, strict=True)])
        shares = np.concatenate(
            [w[here] for w, here in zip(rows.pair_weights.T, seen, strict=True)]
        )
        out = np.zeros_like(weights)
        out[used] = refined_weights(
            pairs, targets, shares, weights[used], rows.n_smooth, offsets=True
        )
        return out

    def kept_points(self) -> list[tuple[float, list[tuple[float, float]], np.ndarray]]:
        """Return (sigma, its (reg, sharing) points, their weights) for all widths in the mix."""
        points, out = self.points, []
        for sigma in self.axes["sigma"]:
            used = [
                p
                for p, point in enumerate(points)
                if point["sigma"] == sigma and self.weights[p] > 0
            ]
            if used:
                pairs = [(points[p]["reg"], points[p]["sharing"]) for p in used]
                out.append((float(sigma), pairs, self.weights[used]))
        return out
