"""A polished fit to drawn rows, carried on over all rows of a table that does not fit in memory.

Kernels, widths and centres stay what the drawn rows chose. Of all rows, read batch by batch, sums
are made of their features, and the polish goes over them again from there. The rows that the fit
held out stay held out, so that they speak of the new model as they did of the old one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

from kinlearn.all_or_nothing import aside
from kinlearn.estimators._at_scale import reg_of_all
from kinlearn.estimators._polish import PolishedFit
from kinlearn.kernels import KernelMap
from kinlearn.model import KernelModel
from kinlearn.problems.coding import Coding
from kinlearn.problems.polish import AUTO_PASSES, Polish
from kinlearn.problems.polish_coordinates import HeldRows, OneTaskCoordinates, RowSums
from kinlearn.solvers.log_loss_pass import FeatureBlock, log_loss_pass
from kinlearn.sums.gram import gram

Array = NDArray[np.float64]
# Rows whose features are made at a time, and seconds between two reports of progress.
ROWS_AT_ONCE, SECONDS = 2048, 5.0

# Features and targets (of the score columns that are learnt) of some rows.
Rows = tuple[Any, Array]


@dataclass(frozen=True)
class StandingFeatures:
    """The features of a fitted model: those of all its kernels side by side."""

    maps: list[KernelMap]
    sigmas: Array

    @classmethod
    def of(cls, model: KernelModel, memory_mb: float) -> StandingFeatures:
        maps = [KernelMap(kernel, model.centers, memory_mb) for kernel in model.kernels]
        return cls(maps, model.sigmas)

    def __call__(self, X: Any) -> Array:
        parts = [each.features(X, s) for each, s in zip(self.maps, self.sigmas, strict=True)]
        return parts[0] if len(parts) == 1 else np.hstack(parts)

    def norm(self) -> Array | None:
        """The kernel between the centres, where that is positive."""
        parts = [each.norm(s) for each, s in zip(self.maps, self.sigmas, strict=True)]
        if any(part is None for part in parts):
            return None
        return np.asarray(block_diag(*parts))


def carries_on(estimator: Any) -> bool:
    """Whether a fit was polished, so that there is something to carry on."""
    of_tasks = getattr(estimator.model_, "shared", None) is not None
    polished = len(getattr(estimator, "polish_path_", ())) > 0 and estimator.n_iter_ > 1
    return polished and not of_tasks


def over_all_rows(
    estimator: Any,
    X: Any,
    targets: Array,
    batches: Callable[[], Iterable[Rows]],
    n_rows: int,
    say: Callable[[str], None],
) -> Any:
    """Return a model of all rows.

    Parameters
    ----------
    estimator : LSPCCV or MultiLabelLSPCCV
        Polished, see :func:`carries_on`.
    X : ndarray of shape (n, d)
        The rows it was fitted to.
    targets : ndarray of shape (n, k)
        A column for each class, or for each label that varies.
    batches : callable
        Goes through all rows, those of X among them, from the beginning.
    n_rows : int
        About how many they are, for what is said of progress.
    say : callable
        Told how far it has come.

    Returns
    -------
    estimator
        Of all rows, or as it was where they did not lower the held-out log-loss.
    """
    model, found = estimator.model_, aside(estimator)
    features = StandingFeatures.of(model, estimator.memory_mb)
    coding = Coding(True, True) if model.labels.indicator else Coding.of_classes(targets.shape[1])
    at = np.flatnonzero(~np.isnan(estimator.held_out_scores_).any(axis=1))
    own = coding.targets(targets[at])
    held = HeldRows(features(X[at]), own, np.ones(at.size))
    watch = Watch(n_rows, say)
    sums = _sums(features, coding, batches, held.features.shape[1], watch)
    reg = reg_of_all(float(estimator.reg_), sums.weight)
    coordinates = OneTaskCoordinates(sums, reg, features.norm())
    polish = Polish(coordinates, held, coding, max_passes=AUTO_PASSES)

    def blocks() -> Iterator[FeatureBlock]:
        for rows, Z in _in_parts(batches()):
            yield features(rows), coding.targets(Z), None
            watch.seen(len(Z))

    while not polish.done:
        watch.begin(f"Pass {polish.n_passes + 1} of at most {AUTO_PASSES}", more=AUTO_PASSES)
        polish.tell(*log_loss_pass(blocks(), polish.coef, coding.sigmoids))
    over = PolishedFit.of(polish, model.calibration.layout, None)
    if min(polish.path) >= estimator.polish_path_.min():
        found.polish_reason_ = "Passes over all rows did not lower the held-out log-loss."
        return found
    scores, links = found.held_out_scores_.copy(), found.held_out_links_.copy()
    scores[at], links[at] = over.scores, over.calibration.numbers()
    m, several = model.centers.shape[0], len(model.sigmas)
    reason = f"All {int(sums.weight)} rows were gone over; {len(targets)} of them chose the rest."
    vars(found).update(
        over.facts,
        n_iter_=polish.n_passes,
        held_out_scores_=scores,
        held_out_links_=links,
        held_out_log_loss_=over.held_out_log_loss(targets[at], held.weights),
        polish_reason_=reason,
        model_=replace(
            model,
            coef=over.coef.reshape(several, m, -1),
            calibration=over.calibration,
        ),
    )
    return found


def _in_parts(batches: Iterable[Rows]) -> Iterator[Rows]:
    for X, Z in batches:
        for start in range(0, len(Z), ROWS_AT_ONCE):
            part = slice(start, start + ROWS_AT_ONCE)
            yield X[part], Z[part]


def _sums(
    features: StandingFeatures,
    coding: Coding,
    batches: Callable[[], Iterable[Rows]],
    m: int,
    watch: Watch,
) -> RowSums:
    """What least squares knows of all rows."""
    H, weight = np.zeros((m, m)), 0
    moments: Array | None = None
    watch.begin("Sums over all rows")
    for X, Z in _in_parts(batches()):
        phi = features(X)
        H += gram(phi)
        everything = phi.sum(axis=0) if coding.indicators else None
        added = coding.moments(phi.T @ Z, everything)
        moments = added if moments is None else moments + added
        weight += len(Z)
        watch.seen(len(Z))
    assert moments is not None  # the drawn rows are among them
    return RowSums(H, moments, float(weight))


class Watch:
    """Says how far passes over rows have come, how fast, and how long they may yet take."""

    def __init__(self, n_rows: int, say: Callable[[str], None]) -> None:
        self.n_rows, self.say = max(n_rows, 1), say
        self.name, self.rows, self.left = "", 0, 0
        self.began = self.told = time.perf_counter()

    def begin(self, name: str, more: int = 0) -> None:
        """A pass begins; `more` such passes may be needed in all."""
        self.left = more - 1 if self.name.split()[:1] != ["Pass"] else self.left - 1
        self.name, self.rows = name, 0
        self.began = self.told = time.perf_counter()
        self.say(f"{name}, {self.n_rows} rows")

    def seen(self, n_rows: int) -> None:
        """Some rows more."""
        self.rows += n_rows
        now = time.perf_counter()
        if now - self.told < SECONDS:
            return
        self.told, rate = now, self.rows / (now - self.began)
        share = min(self.rows / self.n_rows, 1.0)
        here = max(self.n_rows - self.rows, 0) / rate
        text = f"{self.name}: {share:.0%}, {rate:,.0f} rows a second, {duration(here)} left"
        if self.left > 0:
            most = here + self.left * self.n_rows / rate
            text += f" of this pass, {duration(most)} at most"
        self.say(text)


def duration(seconds: float) -> str:
    """Some seconds as a person says it.

    Examples
    --------
    >>> duration(4.2), duration(130), duration(9000)
    ('4 s', '2 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
