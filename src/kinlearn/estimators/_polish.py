"""The logistic polish of an estimator: whether it is worth it, and what the model becomes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn.kernels import Kernel
from kinlearn.posterior import Calibration, Link, ScoreLayout
from kinlearn.problems.coding import Coding
from kinlearn.problems.hashed_rows import HashedRows
from kinlearn.problems.polish import AUTO_PASSES, Polish
from kinlearn.problems.polish_coordinates import HeldRows, OneTaskCoordinates, RowSums
from kinlearn.solvers.fixed_centers import FeatureSource, normal_equations
from kinlearn.solvers.log_loss_pass import FeatureBlock, log_loss_pass, log_losses
from kinlearn.sums import NormalEquations
from kinlearn.training.training_set import TrainingSet

Array = NDArray[np.float64]

# "auto" polishes from so many rows on, where they are so many times as many as the centres.
AUTO_ROWS, AUTO_RATIO = 5000, 3
IN_MEMORY = "A polish of tasks goes over rows in memory, and these come in a stream"
TOO_FEW = "Too few distinct rows or groups could be held out to say when a polish must stop."
NOT_FALLEN = "The held-out log-loss did not fall in a polish."


def check_polish(polish: Any) -> None:
    """Refuse what is no number of passes."""
    if polish is None or (isinstance(polish, str) and polish == "auto"):
        return
    whole = isinstance(polish, Integral) and not isinstance(polish, bool)
    if not whole or polish < 1:
        raise ValueError(
            'polish must be "auto", None for the closed form alone, or the largest number of '
            f"passes over the rows, 1 or more, but {polish!r} was given."
        )


@dataclass(frozen=True)
class PolishChoice:
    """How many passes at most, None for the closed form, and why."""

    passes: int | None
    reason: str


def choose_polish(
    polish: Any,
    n_rows: int,
    n_centers: int,
    *,
    everything: bool = False,
    obstacles: list[str] | None = None,
) -> PolishChoice:
    """Decide whether a fit is polished.

    Parameters
    ----------
    polish : "auto", None or int
        As an estimator was given it.
    n_rows, n_centers : int
    everything : bool, default=False
        Whether all rows are centres.
    obstacles : list of str, optional
        What stands in the way: sentences of which a number of passes makes an error.

    Examples
    --------
    >>> choose_polish("auto", 20_000, 500).passes
    32
    >>> choose_polish("auto", 300, 300, everything=True).reason
    'All rows are centres: the closed form holds out every row exactly.'
    """
    check_polish(polish)
    if polish is None:
        return PolishChoice(None, "polish=None asks for the closed form.")
    asked = not isinstance(polish, str)
    if everything:
        reason = "All rows are centres: the closed form holds out every row exactly"
        obstacles = [*(obstacles or []), f"{reason}; give n_centers to polish fewer centres"]
        if not asked:
            return PolishChoice(None, f"{reason}.")
    if obstacles:
        if asked:
            refuse_obstacles(polish, obstacles)
        return PolishChoice(None, f"{obstacles[0]}.")
    if asked:
        return PolishChoice(int(polish), f"polish={polish} was asked for.")
    if n_rows < AUTO_ROWS or n_rows < AUTO_RATIO * n_centers:
        return PolishChoice(
            None,
            f"{n_rows} rows are few beside {n_centers} centres: the log-loss gains from a polish "
            f"from {AUTO_ROWS} rows on, and {AUTO_RATIO} rows a centre.",
        )
    return PolishChoice(AUTO_PASSES, f"{n_rows} rows outnumber {n_centers} centres by far.")


def polish_of_sums(estimator: Any, sums: NormalEquations) -> PolishChoice:
    """Whether a fit from sums is polished, by what the sums and the parameters are."""
    return choose_polish(
        estimator.polish,
        sums.n_rows,
        sums.n_centers,
        obstacles=parameter_obstacles(estimator),
    )


def refuse_obstacles(polish: Any, obstacles: list[str]) -> None:
    """Say what stands in the way of passes that were asked for, if anything does."""
    if obstacles:
        raise ValueError(f"polish={polish!r} cannot be had. {obstacles[0]}, or leave polish out.")


@dataclass(frozen=True)
class PolishedFit:
    """What a polish came to.

    Attributes
    ----------
    coef : ndarray of shape (m, K)
        Coefficients of the model's score columns.
    scores : ndarray of shape (s, K)
        Held-out score columns of the held-out rows, from the step that the other half of them
        says.
    helped : bool
        Whether the held-out log-loss fell.
    calibration : Calibration
        Scores are log-odds already.
    facts : dict
        What there is to tell, by the names of fitted attributes.
    """

    coef: Array
    scores: Array
    helped: bool
    calibration: Calibration
    facts: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, polish: Polish, layout: ScoreLayout, balances: list[Array] | None) -> PolishedFit:
        """Take what a polish found; `balances` are factors of a class weight."""
        columns = polish.coding.columns
        coef = columns(polish.best_coef)
        facts = {"polish_path_": np.array(polish.path), "polish_penalty_": polish.penalty}
        if polish.helped:
            facts["n_iter_"] = polish.n_passes
        else:
            facts["polish_reason_"] = NOT_FALLEN
        return cls(
            coef,
            columns(polish.half_scores),
            polish.helped,
            identity_calibration(layout, coef.shape[-1], balances),
            facts,
        )

    def with_held_out(self, hashed: HashedRows, targets: Array, weights: Array) -> PolishedFit:
        """The same with what was held out of rows in memory, by the names of fitted attributes."""
        if not self.helped:
            return self
        numbers, inside = self.calibration.numbers(), hashed.entry >= 0
        scores = np.full((inside.size, self.scores.shape[1]), np.nan)
        links = np.full((inside.size, numbers.size), np.nan)
        scores[inside] = self.scores[hashed.entry[inside]]
        links[inside] = numbers
        facts = {
            "held_out_scores_": scores,
            "held_out_links_": links,
            "held_out_log_loss_": self.held_out_log_loss(targets, weights),
        }
        return replace(self, facts={**self.facts, **facts})

    def held_out_log_loss(self, targets: Array, weights: Array) -> float:
        """Log-loss of the held-out rows' probabilities, the mean over labels.

        Parameters
        ----------
        targets : ndarray of shape (s, classes), or (s, labels) of indicators
        weights : ndarray of shape (s,)
            Without a class weight.
        """
        layout, losses = self.calibration.layout, []
        for t, (q, link) in enumerate(
            zip(layout.by_label(self.scores), self.calibration.links, strict=True)
        ):
            own = targets
            if layout.indicator:
                own = np.column_stack([1.0 - targets[:, t], targets[:, t]])
            losses.append(log_losses(q + link.shift, own, sigmoids=False)[0])
        return float(weights @ np.mean(losses, axis=0) / weights.sum())


def polish_source(
    source: FeatureSource,
    data: TrainingSet,
    reg: float,
    passes: int,
    say: Any = None,
    groups: NDArray | None = None,
) -> PolishedFit | None:
    """Polish in memory, or from rows whose features are made again in every pass.

    Parameters
    ----------
    source : FeatureSource
        Features of the distinct rows.
    data : TrainingSet
    reg : float
    passes : int
        At most.
    say : callable, optional
        Told of every pass.
    groups : ndarray of shape (n_passed,), optional
        What is held out together.

    Returns
    -------
    PolishedFit or None
        None where too few distinct rows, or groups, could be held out.
    """
    hashed = HashedRows.of(data, groups)
    if not hashed.first.size:
        return None
    coding = coding_of(data.table.indicator, data.sizes)
    Z = data.targets[:, 1::2] if coding.indicators else data.targets
    weights = data.pair_weights[:, 0]
    own = None if np.all(weights == 1.0) else weights
    fitted = np.column_stack([Z, np.ones(len(Z))]) if coding.indicators else Z
    H, h = normal_equations(source, fitted, own)
    everything = h[:, -1] if coding.indicators else None
    moments = coding.moments(h[:, :-1] if coding.indicators else h, everything)
    held = held_rows(source, data, hashed, coding)
    sums = RowSums(H, moments, float(weights.sum()))
    coordinates = OneTaskCoordinates(sums, reg, source.norm())
    polish = Polish(coordinates, held, coding, max_passes=passes)
    targets = coding.targets(Z)

    def blocks() -> Iterator[FeatureBlock]:
        for positions, phi in source.blocks():
            yield phi, targets[positions], None if own is None else own[positions]

    while not polish.done:
        polish.tell(*log_loss_pass(blocks(), polish.coef, coding.sigmoids))
        if say is not None:
            say(f"pass {polish.n_passes}, held-out log-loss {polish.path[-1]:.4f}.")
    plain, one_hot = hashed.weights, data.unit_targets[data.units.of[hashed.first]]
    found = PolishedFit.of(polish, ScoreLayout(data.table.indicator, data.sizes), data.leaning)
    return found.with_held_out(hashed, one_hot[:, 1::2] if coding.indicators else one_hot, plain)


def parameter_obstacles(estimator: Any) -> list[str]:
    """What parameters stand in the way of a polish, as sentences without their end."""
    found = []
    if estimator.posterior != "calibrated":
        found.append(
            f"posterior={estimator.posterior!r} rounds scores of least squares, and a polish makes "
            "log-odds of them"
        )
    if estimator.basis != "full":
        found.append(f"A polish is for basis='full', and basis={estimator.basis!r} was given")
    if isinstance(getattr(estimator, "threshold", None), str):
        found.append(f"threshold={estimator.threshold!r} needs held-out scores of all rows")
    if getattr(estimator, "solver", "auto") not in ("auto", "direct", "lbfgs", "newton"):
        found.append(f"solver={estimator.solver!r} forms no sums, which a polish starts from")
    return found


def polish_obstacles(estimator: Any, kernel: Kernel) -> list[str]:
    """What stands in the way of a polish of rows in memory, likewise."""
    found = parameter_obstacles(estimator)
    if kernel.name == "precomputed":
        found.append("A polish draws rows by their features, of which kernel values have none")
    return found


def label_obstacles(data: TrainingSet) -> list[str]:
    """What of labels stands in the way, likewise."""
    found = []
    if not data.table.indicator and not data.table.single:
        found.append("A polish of many labels is for 0/1 indicators, and Y holds other classes")
    if not data.complete:
        found.append("A polish needs every label observed, with one weight a row")
    return found


def coding_of(indicator: bool, sizes: tuple[int, ...]) -> Coding:
    """What the log-loss is of."""
    return Coding(True, indicators=True) if indicator else Coding.of_classes(sizes[0])


def held_rows(
    source: FeatureSource,
    data: TrainingSet,
    hashed: HashedRows,
    coding: Coding,
    place: NDArray[np.intp] | None = None,
) -> HeldRows:
    """Features, targets and weights of the held-out rows; `place` is where the source has rows."""
    at = data.rows.member[hashed.first]
    at = at if place is None else place[at]
    order, back = np.unique(at, return_inverse=True)  # equal rows may differ in their labels
    phi = np.concatenate([block for _, block in source.blocks(order)])[back.ravel()]
    units = data.units.of[hashed.first]
    one_hot = data.unit_targets[units]
    weights = hashed.weights
    if not coding.indicators:
        weights = weights * data.unit_factors[units, 0]
    return HeldRows(
        phi, one_hot[:, 1::2] if coding.indicators else coding.targets(one_hot), weights
    )


# -- what becomes of it ---------------------------------------------------------------------------


def identity_calibration(
    layout: ScoreLayout, n_columns: int, balances: list[Array] | None = None
) -> Calibration:
    """Scores are log-odds; by a class weight they lean, and the link brings them back."""
    links: list[Link] = []
    for t in layout.labels:
        shift: Any = 0.0
        if balances is not None:
            shift = np.log(balances[t]).mean() - np.log(balances[t])
        links.append(Link(1.0, shift=shift))
    return Calibration(layout, Link(1.0), tuple(links), None, np.zeros(n_columns))
