"""The honest panel: figures on the audit's rows, each with its 95 % interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from kinlearn.active.audit import Audited, exact_interval
from kinlearn.active.curve import Curve

Array: TypeAlias = NDArray[np.float64]
Figure: TypeAlias = tuple[float, float, float]
# Of answers that changed since there were half as many labels, so few are no reason to go on.
SETTLED = 0.02
# With fewer random rows nobody is told to stop, whatever changed.
LEAST_AUDIT = 10
LEAST = 1e-15  # probabilities below it count as this


@dataclass(frozen=True)
class Panel:
    """What is known of the model by now; every figure is (estimate, low, high).

    Attributes
    ----------
    n_labels, n_rows, n_audit : int
        Labels so far, rows of the table, and audit rows that the figures are from.
    accuracy : tuple
        Share of rows answered right.
    log_loss : tuple
        Mean of -log of the probability of the true class, by models without the row: new rows have
        less.
    recall : dict
        By class, the share of its rows that are found, by models without the row.
    labels_of : dict
        By class, the number of labels.
    learning_curve : list of (number of labels, accuracy)
        Of earlier models and the present one on the same audit rows, each with its interval.
    changed_by_half : float
        Share of the table's rows that are answered otherwise than by the model of half the labels;
        as many labels again change fewer. NaN before ten labels.
    can_stop : str
        That in a sentence.
    """

    n_labels: int
    n_rows: int
    n_audit: int
    accuracy: Figure
    log_loss: Figure
    recall: dict[Any, Figure]
    labels_of: dict[Any, int]
    learning_curve: list[tuple[int, Figure]]
    changed_by_half: float
    can_stop: str

    @property
    def settled(self) -> bool:
        """Whether further labels are not worth their while."""
        return is_settled(self.changed_by_half, self.n_audit)


def is_settled(changed: float, n_audit: int) -> bool:
    """Whether so few answers changed, seen by enough random rows, that one may stop."""
    return bool(changed <= SETTLED and n_audit >= LEAST_AUDIT)


def share(right: NDArray[np.bool_]) -> Figure:
    """A share with Clopper and Pearson's interval."""
    n, n_right = len(right), int(right.sum())
    return (n_right / n if n else float("nan"), *exact_interval(n_right, n))


def loss_figure(proba: Array, codes: NDArray[np.intp]) -> Figure:
    """The mean log-loss with Student's interval; of fewer than two rows nothing is known.

    Where a class is rare, rows drawn at random may hold none of it, and their losses are all alike
    and small. So they are taken to spread no less than the probabilities themselves expect.
    """
    logs, n = np.log(np.maximum(proba, LEAST)), len(codes)
    loss = -logs[np.arange(n), codes]
    if n < 2:
        return (float(loss[0]) if n else float("nan"), 0.0, float("inf"))
    mean = float(loss.mean())
    expected = float(((proba * logs**2).sum(axis=1) - (proba * logs).sum(axis=1) ** 2).mean())
    spread = np.sqrt(max(float(loss.var(ddof=1)), expected))
    half = float(student.ppf(0.975, n - 1) * spread / np.sqrt(n))
    return mean, max(0.0, mean - half), mean + half


def curve_figures(curve: Curve) -> list[tuple[int, Figure]]:
    """The accuracy of each model on the audit's rows."""
    counts = [*curve.counts, curve.n]
    return [(n, found.figure) for n, found in zip(counts, curve.audited, strict=True)]


def in_words(curve: Curve | None, n_audit: int) -> str:
    """What further labels change."""
    if curve is None:
        return "Too few labels to tell what further ones change."
    changed = curve.changed_by_half
    said = (
        f"From {round(curve.n / 2)} to {curve.n} labels, {changed:.1%} of the answers changed; as "
        "many labels again are likely to change fewer."
    )
    return f"You can stop: {said[0].lower()}{said[1:]}" if is_settled(changed, n_audit) else said


def panel_of(
    audited: Audited,
    proba: Array,
    codes: NDArray[np.intp],
    classes: NDArray,
    counts: NDArray[np.intp],
    n_rows: int,
    curve: Curve | None,
) -> Panel:
    """The figures of held-out probabilities of audit rows."""
    right = proba.argmax(axis=1) == codes if len(codes) else np.zeros(0, dtype=bool)
    names = classes.tolist()
    return Panel(
        n_labels=int(counts.sum()),
        n_rows=n_rows,
        n_audit=len(codes),
        accuracy=audited.figure,
        log_loss=loss_figure(proba, codes),
        recall={name: share(right[codes == k]) for k, name in enumerate(names)},
        labels_of={name: int(n) for name, n in zip(names, counts, strict=True)},
        learning_curve=[] if curve is None else curve_figures(curve),
        changed_by_half=float("nan") if curve is None else curve.changed_by_half,
        can_stop=in_words(curve, len(codes)),
    )
