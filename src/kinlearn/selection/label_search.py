"""Search over (sigma, reg, sharing) for many labels at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kinlearn.selection.combine import stacked_weights, within_se_weights
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
    rows : HeldOutLabels
        What the scores speak of.
    """

    rows: HeldOutLabels  # type: ignore[assignment]

    def __init__(
        self,
        axes: dict[str, np.ndarray],
        growing: dict[str, bool],
        evaluate: Callable[[dict[str, np.ndarray]], np.ndarray],
        rows: HeldOutLabels,
        scoring: Any,
    ) -> None:
        super().__init__(axes, growing, evaluate, rows, scoring)  # type: ignore[arg-type]

    def _criteria(self) -> tuple[np.ndarray, np.ndarray | None]:
        return score_label_grid(self.scores, self.rows, self.scoring)

    def _row_weights(self) -> np.ndarray:
        return row_weights(self.rows, self.scoring)

    def mix(self, rule: str, chosen: np.ndarray | None = None) -> np.ndarray:
        """Return the weights of the points under a rule, of the `chosen` ones only if given."""
        candidates = np.arange(len(self.scores))
        candidates = candidates if chosen is None else candidates[chosen]
        rows, weights = self.rows, np.zeros(len(self.scores))
        if rule == "stack":
            gram, moment = self._sums()
            found = stacked_weights(gram[np.ix_(candidates, candidates)], moment[candidates])
            if found.any():
                weights[candidates] = found
                return weights
        if not self.judged:
            self._score()
        best = int(np.nanargmax(self.mean_scores[candidates]))
        if rule != "within_se":
            weights[candidates[best]] = 1.0
            return weights
        if self.by_row is not None:
            by_row, shares = self.by_row[candidates], self._row_weights()
        else:
            by_row = np.stack(
                [row_scores(self.scores[p], rows, "squared_error") for p in candidates]
            )
            shares = row_weights(rows, "squared_error")
        weights[candidates] = within_se_weights(by_row, shares, best)
        return weights

    def _refined(self, weights: np.ndarray) -> np.ndarray:
        """Weigh the points stacking kept anew, by the log-loss over all observed pairs."""
        rows, used = self.rows, np.flatnonzero(weights)
        if len(set(rows.layout.sizes)) > 1 or used.size < 2:
            return weights  # labels of differing classes have no common softmax to weigh by
        by_point = [rows.layout.by_label(self.scores[p].astype(np.float64)) for p in used]
        seen = [np.flatnonzero(shares > 0) for shares in rows.pair_weights.T]
        pairs = np.stack(
            [
                np.concatenate([q[here] for q, here in zip(by_label, seen, strict=True)])
                for by_label in by_point
            ]
        )
        targets = np.concatenate([z[here] for z, here in zip(rows.targets, seen, strict=True)])
        shares = np.concatenate(
            [w[here] for w, here in zip(rows.pair_weights.T, seen, strict=True)]
        )
        out = np.zeros_like(weights)
        out[used] = refined_weights(
            pairs, targets, shares, weights[used], rows.n_smooth, offsets=True
        )
        return out

    def kept_points(
        self, weights: np.ndarray
    ) -> list[tuple[float, list[tuple[float, float]], np.ndarray]]:
        """Return (sigma, its (reg, sharing) points, their weights) for all widths in the mix."""
        points, out = self.points, []
        for sigma in self.axes["sigma"]:
            used = [
                p for p, point in enumerate(points) if point["sigma"] == sigma and weights[p] > 0
            ]
            if used:
                pairs = [(points[p]["reg"], points[p]["sharing"]) for p in used]
                out.append((float(sigma), pairs, weights[used]))
        return out
