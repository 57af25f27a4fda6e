"""From the closed-form solution to that of the log-loss, in a few passes over the rows.

Minimised is, over coefficients A of features φ::

    1/W Σ_i w_i ℓ(Aᵀφ_i, z_i) + penalty/2 tr(AᵀRA),      W = Σw,

ℓ the log-loss of a softmax, or of a sigmoid for each column. What the parameters are, of one task
or of many, and in which coordinates the objective is nearly round, is the business of
:mod:`~kinlearn.problems.polish_coordinates`: L-BFGS in these, started at beta times the closed
form, needs a few passes.

Rows that are held out, from the sums too, say when to stop. Where they are a notable share of all
rows, as many steps are then gone again with all of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from kinlearn.problems.coding import Coding
from kinlearn.problems.polish_coordinates import Coordinates, HeldRows
from kinlearn.solvers.lbfgs_steps import LbfgsSteps
from kinlearn.solvers.log_loss_pass import log_losses

Array = NDArray[np.float64]

# Passes over the rows, at most, where their number is left open.
AUTO_PASSES = 32
# Five steps that together gain less of the held-out log-loss than this share are the last, or
# ten, as long as all of them together have led to nothing.
LEAST_GAIN = 0.002
LAST_STEPS = 5
# So many steps, if the first ones lead to nothing but more of it.
FIRST_STEPS = 3
# Beyond this share of held-out rows, the steps are gone again with them.
NOTABLE = 0.05
# The ridge grows by this factor where the first one left nothing to gain.
SMOOTHER = 10.0
# The curvature of the log-loss where nearly all rows are certain.
LEAST_CURVATURE = 1e-5
# The penalty at the start is at most this share of the log-loss there.
PENALTY_SHARE = 0.02
# Beta times the spread of the scores lies between these powers of e.
BETAS = (-5.0, 7.0)


class Polish:
    """One polish: gives coefficients to go over the rows with, and is told what came of it.

    ::

        while not polish.done:
            polish.tell(*log_loss_pass(blocks, polish.coef, coding.sigmoids))

    Parameters
    ----------
    coordinates : Coordinates
        Of all rows, those held out included.
    held : HeldRows
        Rows that say when to stop; with `tol`, only how certain the rows are.
    coding : Coding
    max_passes : int
        Most passes while rows are held out.
    penalty : float, optional
        Of the log-loss; left out, the ridge times the mean curvature of the log-loss at the start,
        which weighs about as much as the ridge does beside squares, and no more than a fiftieth of
        the log-loss at the start.
    tol : float, optional
        Hold out nothing, and stop at this norm of the gradient.

    Attributes
    ----------
    done : bool
    path : list of float
        Held-out log-loss at the start, and after every step.
    n_passes : int
        Passes so far.
    penalty : float
        In use.
    gradient_norm : float
        At the last point.
    """

    def __init__(
        self,
        coordinates: Coordinates,
        held: HeldRows,
        coding: Coding,
        *,
        max_passes: int = AUTO_PASSES,
        penalty: float | None = None,
        tol: float | None = None,
    ) -> None:
        self.coordinates, self.held, self.coding = coordinates, held, coding
        self.share = held.weight / coordinates.weight
        self.max_passes, self.tol = max_passes, tol
        self.n_passes, self.done = 0, False
        self.path: list[float] = []
        self.steps_to_go: int | None = None
        self.gradient_norm = np.inf
        n_held, n_columns = held.targets.shape
        # which half of the held-out rows says where to stop for the other
        self.half = np.arange(n_held) % 2
        self.half_best = np.full(2, np.inf)
        self.half_scores = np.zeros((n_held, n_columns))
        self.first = 0  # where in the path the steps began
        self._begin(penalty)
        self.best, self.best_coef = 0, np.zeros_like(self.coef)

    def _begin(self, penalty: float | None = None) -> None:
        """At beta times the closed form."""
        held, coding, coordinates = self.held, self.coding, self.coordinates
        self._set_out(without_held=self.tol is None)
        start = coordinates.closed_form()
        scores = coordinates.scores(held, coordinates.coef(start))
        self.beta = held_out_beta(scores, held, coding.sigmoids)
        losses, p = log_losses(self.beta * scores, held.targets, coding.sigmoids)
        spread = held.weights @ (p * (1.0 - p)).mean(axis=1) / held.weights.sum()
        self.curvature = max(float(spread), LEAST_CURVATURE)
        size = float(np.vdot(start, coordinates.normed(start)))
        size = max(self.beta**2 * size, np.finfo(np.float64).tiny)
        most = 2.0 * PENALTY_SHARE * float(held.weights @ losses) / held.weights.sum() / size
        own = min(self.curvature * coordinates.ridge, float(most))
        self.penalty = own if penalty is None else float(penalty)
        if penalty is not None:
            coordinates.factor(self.penalty / self.curvature)
        self.steps = LbfgsSteps(self.beta * coordinates.inward(start), 1.0 / self.curvature)

    def _set_out(self, without_held: bool) -> None:
        """Learn from all rows, or from those that are not held out."""
        self.holding = without_held
        self.coordinates.learn(self.held if without_held else None, self.coding)

    @property
    def coef(self) -> Array:
        """Coefficients to go over the rows with."""
        return self.coordinates.coef(self.coordinates.outward(self.steps.point))

    # -- passes -------------------------------------------------------------------------------

    def tell(self, value: float, gradient: Array) -> None:
        """Take the log-loss of all rows and its gradient at :attr:`coef`."""
        self.n_passes += 1
        coordinates = self.coordinates
        parameters = coordinates.outward(self.steps.point)
        coef = coordinates.coef(parameters)
        if self.holding:
            own, slopes = coordinates.log_loss(self.held, coef, self.coding.sigmoids)
            value, gradient = value - own, gradient - slopes
        normed, weight = coordinates.normed(parameters), coordinates.weight
        value = value / weight + 0.5 * self.penalty * float(np.vdot(parameters, normed))
        slopes = coordinates.slopes(gradient) / weight + self.penalty * normed
        if self.steps.tell(value, coordinates.pulled(slopes)):
            self.gradient_norm = float(np.linalg.norm(slopes))
            self._arrive(coef)
        elif self.n_passes >= self._most():
            self._end()

    def _most(self) -> float:
        return self.max_passes if self.steps_to_go is None else np.inf

    def _arrive(self, coef: Array) -> None:
        """Judge a step that was kept."""
        if self.steps_to_go is not None:
            self.steps_to_go -= 1
            if self.steps_to_go < 0:
                self.best_coef, self.done = coef, True
            return
        held = self.held
        scores = self.coordinates.scores(held, coef)
        losses, _ = log_losses(scores, held.targets, self.coding.sigmoids)
        if self.coding.indicators:
            losses = losses / held.targets.shape[1]
        self.path.append(float(held.weights @ losses / held.weights.sum()))
        for half in range(2):
            other, mine = self.half != half, self.half == half
            told = float(held.weights[other] @ losses[other])
            if told < self.half_best[half] or not np.isfinite(self.half_best[half]):
                self.half_best[half] = told
                self.half_scores[mine] = scores[mine]
        step = len(self.path) - 1
        if self.tol is not None or self.path[-1] < self.path[self.best] or step == 0:
            self.best, self.best_coef = step, coef
        if self.n_passes >= self.max_passes or self._is_enough():
            self._end()

    def _is_enough(self) -> bool:
        if self.tol is not None:
            return self.gradient_norm <= self.tol
        path = self.path[self.first :]
        if self.best == 0 and self.first == 0 and len(path) > FIRST_STEPS:
            return True
        patience = LAST_STEPS if self.best > 0 else 2 * LAST_STEPS
        if len(path) <= patience:
            return False
        return min(path[-patience:]) > (1.0 - LEAST_GAIN) * min(path[:-patience])

    def _end(self) -> None:
        """The end of the steps with rows held out; all of them are wanted where it matters.

        Where no step helped, the start was too close to the rows: they begin once more, smoother.
        """
        again = self.tol is None and self.best == 0 and self.first == 0
        if again and self.n_passes < self.max_passes:
            self.first = len(self.path)
            self.coordinates.ridge *= SMOOTHER
            self._begin()
            return
        if self.tol is not None or self.best == 0 or self.share <= NOTABLE:
            self.done = True
            return
        self.steps_to_go = self.best - self.first
        self._set_out(without_held=False)
        start = self.coordinates.inward(self.coordinates.closed_form())
        self.steps = LbfgsSteps(self.beta * start, 1.0 / self.curvature)

    @property
    def helped(self) -> bool:
        """Whether any step had a lower held-out log-loss than the start."""
        return self.best > 0

    # -- as plain arrays ----------------------------------------------------------------------

    def to_arrays(self) -> dict[str, Array]:
        """How far this has come, for a checkpoint; the sums and the held-out rows are not in it."""
        to_go = -1 if self.steps_to_go is None else self.steps_to_go
        return {
            **{f"step_{name}": array for name, array in self.steps.to_arrays().items()},
            "path": np.array(self.path),
            "best_coef": self.best_coef,
            "half_best": self.half_best,
            "half_scores": self.half_scores,
            "progress": np.array(
                [
                    *(self.n_passes, self.best, to_go, self.done, self.gradient_norm),
                    *(self.first, self.coordinates.ridge),
                ],
                dtype=float,
            ),
        }

    def go_on_from(self, arrays: dict[str, Any]) -> None:
        """Take up what :meth:`to_arrays` told, over the same sums and rows."""
        n_passes, best, to_go, done, norm, first, ridge = arrays["progress"].tolist()
        self.first = int(first)
        if ridge != self.coordinates.ridge:
            self.coordinates.ridge = ridge
            self._begin()
        if to_go >= 0:
            self.steps_to_go = int(to_go)
            self._set_out(without_held=False)
        own = {
            name.removeprefix("step_"): array
            for name, array in arrays.items()
            if name.startswith("step_")
        }
        self.steps = LbfgsSteps.from_arrays(own)
        self.n_passes, self.best, self.done = int(n_passes), int(best), bool(done)
        self.gradient_norm, self.path = norm, arrays["path"].tolist()
        self.best_coef, self.half_best = arrays["best_coef"], arrays["half_best"].copy()
        self.half_scores = arrays["half_scores"].copy()


def held_out_beta(scores: Array, held: HeldRows, sigmoids: bool) -> float:
    """Return the factor of some scores with the least log-loss, targets moved by 1/(n + 1)."""
    reach = float(np.abs(scores).max(initial=0.0))
    if not reach > 0.0:
        return 1.0
    n_classes = 2 if sigmoids else scores.shape[1]
    moved = 1.0 / (len(scores) + 1.0)
    targets = (1.0 - moved) * held.targets + moved / n_classes

    def loss(power: float) -> float:
        factor = float(np.exp(power)) / reach
        return float(held.weights @ log_losses(factor * scores, targets, sigmoids)[0])

    found = minimize_scalar(loss, bounds=BETAS, method="bounded", options={"xatol": 1e-6})
    return float(np.exp(found.x)) / reach
