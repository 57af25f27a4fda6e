"""True labels as they come: what was right, against what the probabilities promised."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn.watch.betting import log_stakes, wealth

Floats = NDArray[np.float64]

# The chance that a model whose probabilities hold (to 0.02) ever raises this alarm.
FALSE_ALARMS = 0.05
BINS = 10
_LEAST_FOR_ADVICE = 30
_Z = 1.96
_FLOOR = 1e-15


def sums_of(proba: Floats, truth: NDArray[np.intp], answers: NDArray[np.intp]) -> dict[str, Any]:
    """What labelled rows add to the sums; they add up over requests, workers and restarts.

    Parameters
    ----------
    proba : ndarray of shape (n, c)
        Probabilities that were answered.
    truth : ndarray of shape (n,)
        Numbers of the true classes; -1 for a class the model does not know.
    answers : ndarray of shape (n,)
        Numbers of the classes that were answered.
    """
    n, c = proba.shape
    rows = np.arange(n)
    p = proba[rows, answers]
    right = (truth == answers).astype(np.float64)
    known = truth >= 0
    of_truth = np.where(known, proba[rows, np.maximum(truth, 0)], 0.0)
    target = np.zeros((n, c))
    target[rows[known], truth[known]] = 1.0
    bins = np.minimum((p * BINS).astype(np.intp), BINS - 1)
    return {
        "rows": n,
        "right": float(right.sum()),
        "stated": float(p.sum()),
        "variance": float((p * (1 - p)).sum()),
        "log_loss": float(-np.log(np.maximum(of_truth, _FLOOR)).sum()),
        "brier": float(np.square(proba - target).sum()),
        "unknown": int((~known).sum()),
        "bins": [
            np.bincount(bins, minlength=BINS).astype(float).tolist(),
            np.bincount(bins, weights=p, minlength=BINS).tolist(),
            np.bincount(bins, weights=right, minlength=BINS).tolist(),
        ],
        "classes": np.bincount(truth[known], minlength=c).astype(float).tolist(),
        "expected": proba.sum(axis=0).tolist(),
        "below": log_stakes(p, right, below=True).tolist(),
        "above": log_stakes(p, right, below=False).tolist(),
    }


def added(old: Any, new: Any) -> Any:
    """Two sums as one, entry by entry.

    Examples
    --------
    >>> added({"rows": 1, "bins": [1, 2]}, {"rows": 2, "bins": [3, 4]})
    {'rows': 3, 'bins': [4, 6]}
    """
    if old is None:
        return new
    if isinstance(new, dict):
        return {
            name: added(old.get(name), new.get(name)) if name in new else old[name]
            for name in {**old, **new}
        }
    if isinstance(new, list):
        return [added(a, b) for a, b in zip(old, new, strict=True)]
    return old + new


def judged(sums: dict[str, Any]) -> dict[str, Any]:
    """Observed against stated accuracy, calibration and the bets."""
    n = sums["rows"]
    observed, stated = sums["right"] / n, sums["stated"] / n
    counts, p, right = (np.array(part) for part in sums["bins"])
    known = counts > 0
    gap = np.abs(right[known] - p[known]).sum() / n
    wide = _Z * np.sqrt(max(observed * (1 - observed), 0.25 / n) / n)
    return {
        "rows": n,
        "observed_accuracy": observed,
        "low": max(0.0, observed - wide),
        "high": min(1.0, observed + wide),
        "stated_accuracy": stated,
        "log_loss": sums["log_loss"] / n,
        "brier": sums["brier"] / n,
        "calibration_error": float(gap),
        "wealth_below": wealth(np.array(sums["below"])),
        "wealth_above": wealth(np.array(sums["above"])),
    }


def alarm_of(sums: dict[str, Any], false_alarms: float = FALSE_ALARMS) -> str | None:
    """``"below"`` or ``"above"`` where answers are right less or more often than stated."""
    found = judged(sums)
    # two bets, each with half of the risk
    if found["wealth_below"] >= 2.0 / false_alarms:
        return "below"
    return "above" if found["wealth_above"] >= 2.0 / false_alarms else None


def advice(sums: dict[str, Any], classes: list[str], prior: list[float] | None) -> str:
    """What to do about an alarm, by what the sums show; `prior` are the training's shares."""
    if sums["unknown"] > 0.02 * sums["rows"]:
        return (
            f"{sums['unknown']} labels are of classes the model does not know: train it anew with "
            "rows of these."
        )
    seen = np.array(sums["classes"])
    n = seen.sum()
    if n < _LEAST_FOR_ADVICE:
        return "Wait for more labels before anything is changed."
    counts, p, right = (np.array(part) for part in sums["bins"])
    full = counts >= 5
    p, right = p[full] / counts[full], right[full] / counts[full]
    rises = full.sum() >= 2 and np.polyfit(p, right, 1)[0] > 0.3
    share = seen / n
    usual = np.array(sums["expected"]) / sums["rows"] if prior is None else np.array(prior)
    moved = np.abs(share - usual) / np.sqrt(np.maximum(usual * (1 - usual), 1e-6) / n)
    if rises and moved.max() > 4.0 and np.abs(share - usual).max() > 0.05:
        at = dict(zip(classes, [round(float(each), 3) for each in share], strict=True))
        return (
            "Classes come more or less often than in training: if each still looks as it did, "
            f"re-weigh the model with kinlearn.with_prior(model, {at}); else train it anew."
        )
    if rises:
        if sums["right"] > sums["stated"]:
            return (
                "Are these rows that the model was trained on? It is right more often of those. "
                "Else all answers are stated too low: calibrate the model again on rows of today."
            )
        return (
            "Surer answers are still right more often, but all are stated too high: calibrate the "
            "model again on rows of today."
        )
    return "Surer answers are no longer right more often: train the model anew with rows of today."
