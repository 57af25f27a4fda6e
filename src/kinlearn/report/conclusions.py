"""What the findings mean, in sentences: the same on the page and in the terminal."""

from __future__ import annotations

import numpy as np

from kinlearn.report.findings import FEW_ROWS, SUSPICIOUS, Findings, Part
from kinlearn.report.measures import Measure

# A gain below this share of the error is not worth a claim.
_NOTABLE = 0.01


def conclusions(found: Findings) -> list[str]:
    """Sentences for a reader who wants to know whether to use the model, the weightiest first."""
    return [
        *_accuracy(found),
        _calibration(found),
        *_hand_over(found),
        *_sharing(found),
        *_weak(found),
        *_columns(found),
        *_records(found),
    ]


def percent(value: float, digits: int = 0) -> str:
    """A share in words.

    Examples
    --------
    >>> percent(0.8149)
    '81 %'
    """
    return "–" if not np.isfinite(value) else f"{100 * value:.{digits}f} %"


def interval(found: Measure, digits: int = 0) -> str:
    """An interval in words.

    Examples
    --------
    >>> interval(Measure(0.81, 0.783, 0.836))
    '78 to 84 %'
    """
    if not (np.isfinite(found.low) and np.isfinite(found.high)):
        return "too few rows to say"
    return f"{100 * found.low:.{digits}f} to {100 * found.high:.{digits}f} %"


def _what(found: Findings) -> str:
    return "labels" if found.labels is not None else "rows"


def _accuracy(found: Findings) -> list[str]:
    accuracy, base = found.overall["accuracy"], found.base_rate
    unseen = "had not seen" if found.is_training else "was not trained on"
    said = [
        f"On rows it {unseen} the model was right for {percent(accuracy.value)} of the "
        f"{_what(found)} (95 % interval {interval(accuracy)}); always giving the most common "
        f"answer would be right for {percent(base)}."
    ]
    if not accuracy.low > base:
        said.append(
            "That is not clearly better than the most common answer: by this table alone, its "
            "single answers should not be relied on."
        )
    return said


def _calibration(found: Findings) -> str:
    ece = found.overall["ece"].value
    off = f"Stated probabilities are {100 * ece:.1f} percentage points off on average"
    if ece <= found.chance_ece:
        return (
            f"{off}, which is what chance alone makes of exact probabilities on so few rows as "
            "these: they can be taken at their word."
            if found.held_out.n_rows < 2000
            else f"{off}, no more than chance makes of exact ones: they can be taken at their word."
        )
    if ece < 0.05:
        return f"{off}: a little more than chance would make of exact ones, but close."
    direction = found.held_out.confidence.mean() - found.held_out.right.mean()
    lean = "too sure" if direction > 0 else "too modest"
    return f"{off}, and on the whole {lean}: read them with care."


def _hand_over(found: Findings) -> list[str]:
    point = found.hand_over
    if point is None:
        return []
    goal = f"To keep the error among answered {_what(found)} at or below {percent(point.max_error)}"
    if point.coverage == 0:
        return [
            f"{goal}, every one of them has to be handed over to a person: there are too few rows, "
            "or too many errors among the surest ones. Allow more with --max-error, or gather more "
            "rows."
        ]
    return [
        f"{goal}, {percent(point.coverage)} of them are answered and {percent(1 - point.coverage)} "
        f"handed over to a person; among those answered here, {percent(point.error, 1)} were wrong."
    ]


def _sharing(found: Findings) -> list[str]:
    if found.labels is not None:
        gains = [part.gain_alone for part in found.parts if np.isfinite(part.gain_alone)]
        return [] if not gains else [_gain_of_labels(float(np.mean(gains)))]
    if not found.sharing:
        return []
    ours = -found.sharing["shared"]
    alone, pooled = -found.sharing["independent"], -found.sharing["pooled"]
    rivals = [
        ("a model for each task alone", (alone - ours) / alone),
        ("one model for all tasks alike", (pooled - ours) / pooled),
    ]
    helped = [f"{percent(gain)} less than {name}" for name, gain in rivals if gain > _NOTABLE]
    even = [name for name, gain in rivals if -_NOTABLE <= gain <= _NOTABLE]
    worse = [name for name, gain in rivals if gain < -_NOTABLE]
    said = []
    if helped:
        said.append(f"Sharing between tasks helped: the held-out error is {' and '.join(helped)}.")
    if even:
        said.append(f"Sharing did about as well as {' and as '.join(even)}.")
    if worse:
        said.append(f"Sharing did worse than {' and than '.join(worse)}: these tasks differ.")
    return said


def _gain_of_labels(gain: float) -> str:
    if gain > _NOTABLE:
        return (
            f"Learning the labels together helped: the held-out error is {percent(gain)} less than "
            "when each is learnt alone."
        )
    if gain < -_NOTABLE:
        return "Learning the labels together did not help: each alone does better here."
    return "Learning the labels together did about as well as each alone."


def _weak(found: Findings) -> list[str]:
    said = []
    if found.labels is None:
        seen = [part for part in found.by_class if part.n_rows > 0]
        worst = min(seen, key=lambda part: part.figures["recall"].value)
        recall = worst.figures["recall"].value
        if recall < found.overall["accuracy"].value - 0.1:
            said.append(
                f"It is weakest on the class {worst.name!r}: "
                f"{percent(recall)} of its {worst.n_rows} rows were recognised."
            )
    kind = "label" if found.labels is not None else "task"
    weak = [part for part in found.parts if _clearly_worse(part, found.overall["accuracy"])]
    if weak:
        worst = min(weak, key=lambda part: part.figures["accuracy"].value)
        said.append(
            f"It is weakest on the {kind} {worst.name!r}: right for "
            f"{percent(worst.figures['accuracy'].value)} ({interval(worst.figures['accuracy'])})."
        )
    few = [part.name for part in found.parts if part.n_rows < FEW_ROWS]
    if few:
        said.append(
            f"With fewer than {FEW_ROWS} rows, {', '.join(map(repr, few[:5]))} cannot be judged on "
            "their own."
        )
    return said


def _clearly_worse(part: Part, overall: Measure) -> bool:
    found = part.figures["accuracy"]
    return part.n_rows >= FEW_ROWS and found.high < overall.value


def _columns(found: Findings) -> list[str]:
    clear = [entry.column for entry in found.importance if entry.low > 0]
    if not found.importance:
        return []
    if not clear:
        return ["No single column stands out: shuffling any one of them changes little."]
    names = ", ".join(repr(name) for name in clear[:4])
    return [f"Answers rest most on {names}."]


def _records(found: Findings) -> list[str]:
    n, expected = found.n_suspicious, found.expected_suspicious
    if n == 0:
        return []
    look = (
        "look at them first for wrong records"
        if n > expected + 2 * np.sqrt(expected)
        else ("no sign of many wrong records")
    )
    return [
        f"{n} recorded answers were given less than {percent(SUSPICIOUS)} by the model, where "
        f"about {expected:.0f} are to be expected by chance: {look}."
    ]
