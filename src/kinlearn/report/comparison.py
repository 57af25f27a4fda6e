"""Two models on the same rows: figures side by side, and whether more than chance differs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, norm

from kinlearn.report.baselines import row_losses
from kinlearn.report.measures import Measure, measure
from kinlearn.tables.evaluation import Evaluation
from kinlearn.tables.words import percent

# A difference of this p-value or less is called one.
LEVEL = 0.05


@dataclass(frozen=True)
class Comparison:
    """How two models do on the rows that both answered.

    Attributes
    ----------
    n_rows : int
        Rows compared.
    first, second : dict of str to Measure
        Figures of each.
    agree : float
        Share of rows for which both predict the same.
    only_first, only_second : int
        Rows that the first alone, and the second alone, is right for.
    p_accuracy : float
        McNemar's exact p-value that both are right equally often.
    loss : Measure
        By how much the first one's log-loss is larger, with a 95 % interval over rows.
    p_loss : float
        Normal p-value that it is not.
    answered : (float, float)
        Share of rows that each answers.
    """

    n_rows: int
    first: dict[str, Measure]
    second: dict[str, Measure]
    agree: float
    only_first: int
    only_second: int
    p_accuracy: float
    loss: Measure
    p_loss: float
    answered: tuple[float, float]

    def sentences(self, first: str, second: str) -> list[str]:
        """What the comparison comes to."""
        said = [
            f"On {self.n_rows} rows they predict the same for {percent(self.agree)}. {first} alone "
            f"is right for {self.only_first} rows, {second} alone for {self.only_second}"
        ]
        if self.p_accuracy <= LEVEL:
            better = first if self.only_first > self.only_second else second
            said[0] += f": {better} is right more often (exact p {self.p_accuracy:.2g})."
        else:
            said[0] += f": no more than chance explains (exact p {self.p_accuracy:.2g})."
        better, worse = (second, first) if self.loss.value > 0 else (first, second)
        size = abs(self.loss.value)
        if self.p_loss <= LEVEL:
            said.append(
                f"The probabilities of {better} are better: its log-loss is {size:.3f} less than "
                f"that of {worse} (95 % interval of {first} less {second}: {self.loss.low:+.3f} to "
                f"{self.loss.high:+.3f})."
            )
        else:
            said.append(
                f"Their probabilities are about as good: the log-loss of {first} less that of "
                f"{second} is {self.loss.value:+.3f} (95 % interval {self.loss.low:+.3f} to "
                f"{self.loss.high:+.3f})."
            )
        said.append(
            f"{first} answers {percent(self.answered[0])} of the rows and {second} "
            f"{percent(self.answered[1])}; the others are handed over."
        )
        return said


def compare(
    first: Evaluation,
    second: Evaluation,
    answered: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    seed: int = 0,
) -> Comparison:
    """Compare two models on rows that both have an answer for.

    Parameters
    ----------
    first, second : Evaluation
        Of the same classes; rows are matched by their positions.
    answered : pair of ndarray
        Which rows each answers.
    seed : int
        Seed of the resamples.
    """
    _, here, there = np.intersect1d(first.positions, second.positions, return_indices=True)
    if first.pairs:  # a position stands for several labels, in one order
        here = there = np.arange(first.n_rows)
    a, b = first.part(here), second.part(there)
    only_a, only_b = int((a.right & ~b.right).sum()), int((b.right & ~a.right).sum())
    gap = row_losses(a.proba, a.truth) - row_losses(b.proba, b.truth)
    mean, error = float(gap.mean()), float(gap.std() / np.sqrt(max(len(gap), 1)))
    return Comparison(
        a.n_rows,
        measure(a, seed=seed),
        measure(b, seed=seed),
        float((a.predicted == b.predicted).mean()),
        only_a,
        only_b,
        mcnemar_p(only_a, only_b),
        Measure(mean, mean - 1.96 * error, mean + 1.96 * error),
        float(2 * norm.sf(abs(mean) / error)) if error > 0 else 1.0,
        (float(answered[0][here].mean()), float(answered[1][there].mean())),
    )


def mcnemar_p(only_first: int, only_second: int) -> float:
    """Exact two-sided p-value that, of the rows one alone is right for, each has half.

    Examples
    --------
    >>> mcnemar_p(5, 5), round(mcnemar_p(0, 6), 3)
    (1.0, 0.031)
    """
    n = only_first + only_second
    return float(min(1.0, 2.0 * binom.cdf(min(only_first, only_second), n, 0.5)))
