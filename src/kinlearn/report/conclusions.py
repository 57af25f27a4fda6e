"""What the findings mean, in sentences: the same on the page and in the terminal."""

from __future__ import annotations

import numpy as np

from kinlearn.cells.refusals import quoted
from kinlearn.report.baselines import Baseline
from kinlearn.report.findings import FEW_ROWS, SUSPICIOUS, Findings, HandOverPoint, Part
from kinlearn.report.measures import Measure, exact_interval
from kinlearn.tables.costs import read_costs, read_limits
from kinlearn.tables.words import number_of, percent, percents

# A gain below this share of the error is not worth a claim.
_NOTABLE = 0.01
# A column of this relevance is looked at more than others are, of which the mean has one.
_LOOKED_AT = 1.2
# Chance of a bound that does not hold.
_RISK = 0.05
# Of fewer rows of a class nothing can be bounded.
_ENOUGH = 10
# A calibration error that chance does not explain is called small below this.
SMALL_ECE = 0.015
# Rows on which chance alone makes more than this say little of a calibration.
TOLD_NOTHING = 0.1


def conclusions(found: Findings) -> list[str]:
    """Sentences for a reader who wants to know whether to use the model, the weightiest first."""
    return [
        *found.differences,
        *_leaks(found),
        *_belonging(found),
        *_accuracy(found),
        _calibration(found),
        *_baselines(found),
        *_hand_over(found),
        *_costs(found),
        *_task_choice(found),
        *_sharing(found),
        *_weak(found),
        *_groups(found),
        *_columns(found),
        *_relevance(found),
        *_records(found),
    ]


def interval(found: Measure, digits: int = 0) -> str:
    """An interval in words.

    Examples
    --------
    >>> interval(Measure(0.81, 0.783, 0.836))
    '78 to 84 %'
    >>> interval(Measure(1.0, 0.9959, 1.0))
    '99.6 to 100 %'
    >>> interval(Measure(0.9892, 0.9854, 0.9921))
    '98.5 to 99.2 %'
    """
    if not (np.isfinite(found.low) and np.isfinite(found.high)):
        return "too few rows to say"
    low, high = percents([found.low, found.high], digits)
    return f"{low.removesuffix(' %')} to {high}"


def _task_choice(found: Findings) -> list[str]:
    """Whether tasks were learnt as such, or as a category."""
    choice = found.facts.get("task_choice")
    if not choice or not found.is_training:
        return []
    name, losses = choice["column"], {key: f"{choice[key]:.3f}" for key in ("tasks", "category")}
    if choice["kept"]:
        return [
            f"Tasks by {name!r} did better on held-out rows (log-loss {losses['tasks']}) than "
            f"that column as one category among others ({losses['category']})."
        ]
    return [
        f"{name!r} as one category among others did better on held-out rows (log-loss "
        f"{losses['category']}) than tasks that share ({losses['tasks']}), and was kept."
    ]


def _what(found: Findings) -> str:
    return "labels" if found.labels is not None else "rows"


def _leaks(found: Findings) -> list[str]:
    leaks = found.facts.get("leaks")
    if not leaks:
        return []
    said = [f"{sentence}." for sentence in leaks["sentences"]]
    names = quoted(leaks["columns"])
    if "without" not in leaks:
        return [*said, f"Without {names} no column is left to learn from."]
    ours, rest = (Measure(*leaks[side]["accuracy"]) for side in ("with", "without"))
    return [
        *said,
        f"A model without {names} was right for {percent(rest.value)} (95 % interval "
        f"{interval(rest)}), where this one was for {percent(ours.value)}: if "
        f"{'it is' if len(leaks['columns']) == 1 else 'they are'} not known "
        "when an answer is asked for, the former is what to expect.",
    ]


def _belonging(found: Findings) -> list[str]:
    """What rows that belong together make of the figures."""
    belonging = found.facts.get("belonging")
    if not belonging or not found.is_training:
        return []
    name = belonging["column"]
    ours, apart = (Measure(*belonging[side]["accuracy"]) for side in ("alone", "together"))
    said = (
        f"Rows of one {name!r} often have the same answer. With all of them held out together the "
        f"model was right for {percent(apart.value)} (95 % interval {interval(apart)}), with "
        f"single rows held out for {percent(ours.value)}"
    )
    if _only_known(found):
        return [
            f"{said}: for rows of a new {name!r} the former is what to expect. Train with --group "
            f"{name} for figures and a hand-over that hold for these."
        ]
    return [f"{said}: they do not vouch for each other here."]


def _only_known(found: Findings) -> str | None:
    """The column for whose known values alone the figures hold, None where there is none."""
    belonging = found.facts.get("belonging")
    if not belonging or not found.is_training:
        return None
    ours, apart = (belonging[side]["accuracy"] for side in ("alone", "together"))
    better = belonging["together"]["log_loss"][0] > belonging["alone"]["log_loss"][2]
    return str(belonging["column"]) if ours[0] > apart[2] or better else None


def _accuracy(found: Findings) -> list[str]:
    accuracy, base = found.overall["accuracy"], found.base_rate
    unseen = "had not seen" if found.is_training else "was not trained on"
    ours, theirs = percents([accuracy.value, base])
    said = [
        f"On rows it {unseen} the model was right for {ours} of the "
        f"{_what(found)} (95 % interval {interval(accuracy)}); always giving the most common "
        f"answer would be right for {theirs}."
    ]
    auc = found.overall["auc"]
    if np.isfinite(auc.value):
        said.append(
            f"Rows of different classes are told apart in {percent(auc.value)} of pairs (AUC "
            f"{auc.value:.3f}, 95 % interval {auc.low:.3f} to {auc.high:.3f})."
        )
    if not accuracy.low > base and found.held_out.costs is None:
        said.append(
            "That is not clearly better than the most common answer: by this table alone, its "
            "single answers should not be relied on."
        )
    return said


def _calibration(found: Findings) -> str:
    ece = found.overall["ece"].value
    off = f"Stated probabilities are {100 * ece:.1f} percentage points off on average"
    if found.withdrawn and ece <= found.chance_ece:
        return f"{off} on these rows, which are not like those of the training."
    if ece <= found.chance_ece and found.chance_ece > TOLD_NOTHING:
        return (
            f"{off}, and exact ones would be up to {100 * found.chance_ece:.0f} off on so few rows "
            "as these: whether they can be taken at their word cannot be told yet."
        )
    if ece <= found.chance_ece and (only := _only_known(found)):
        return f"{off}, for rows of a {only!r} that is in the table."
    if ece <= found.chance_ece and found.facts.get("leaks"):
        return f"{off}, as long as {quoted(found.facts['leaks']['columns'])} can be relied on."
    if ece <= found.chance_ece:
        return (
            f"{off}, which is what chance alone makes of exact probabilities on so few rows as "
            "these: they can be taken at their word."
            if found.held_out.n_rows < 2000
            else f"{off}, no more than chance makes of exact ones: they can be taken at their word."
        )
    said, chance = f"{100 * ece:.1f}", f"{100 * found.chance_ece:.1f}"
    if said == chance:
        said, chance = f"{100 * ece:.2f}", f"{100 * found.chance_ece:.2f}"
    times = (
        f"Stated probabilities are {said} percentage points off on average, where chance would "
        f"make up to {chance} of exact ones"
    )
    held = found.held_out
    direction = held.confidence.mean() - (held.likeliest == held.truth).mean()
    lean = "too sure" if direction > 0 else "too modest"
    if ece < SMALL_ECE:
        return f"{times}: small, but real; on the whole they are {lean}."
    return f"{times}: on the whole they are {lean}; read them with care."


def baselines_of(found: Findings) -> list[Baseline]:
    """The rivals that were fitted when the model was trained."""
    return [Baseline(**entry) for entry in found.facts.get("baselines", [])]


def _baselines(found: Findings) -> list[str]:
    rivals = baselines_of(found)
    if not rivals or not found.is_training:
        return []
    ours = found.overall["log_loss"].value
    better = [rival for rival in rivals if rival.is_better]
    if better:
        named = " and ".join(
            f"{rival.name} (log-loss {rival.figures['log_loss'][0]:.3f})" for rival in better
        )
        return [
            f"On these rows {named} did better than this model ({ours:.3f}): the report says "
            "under baselines how to use it with the same hand-over."
        ]
    parts = []
    for rival in rivals:
        how = "clearly worse" if rival.is_worse else "no better"
        verb = "are" if rival.name.endswith("s") else "is"
        parts.append(f"{rival.name} {verb} {how} ({rival.figures['log_loss'][0]:.3f})")
    return [f"By the log-loss of these rows ({ours:.3f}), {' and '.join(parts)}."]


def _hand_over(found: Findings) -> list[str]:
    point = found.hand_over
    if point is None:
        return []
    if not found.is_training:
        return _hand_over_of_new_rows(found, point)
    goal = f"To keep the error among answered {_what(found)} at or below {percent(point.max_error)}"
    if point.coverage == 0:
        return [
            f"{goal}, every one of them has to be handed over to a person: {_why_nothing(found)}"
        ]
    return [
        f"{goal}, {percent(point.coverage)} of them are answered and "
        f"{percent(round(1 - point.coverage, 9))} handed over to a person; among those answered "
        f"here, {percent(point.error, 1)} were wrong.{_limited_promise(found)}"
    ]


def _limited_promise(found: Findings) -> str:
    only = _only_known(found)
    return f" That is not promised for rows of a new {only!r}." if only else ""


def _why_nothing(found: Findings) -> str:
    """What keeps every row from being answered, and what to do."""
    wishes = found.facts.get("training", {}).get("wishes", {})
    parts = {part.name: part for part in found.by_class}
    for name, limit in read_limits(wishes.get("miss", []), list(parts)).items():
        needed = int(np.ceil(np.log(_RISK) / np.log1p(-limit)))
        if parts[name].n_rows < needed:
            return (
                f"that at most {percent(limit)} of {name!r} are missed cannot be shown by its "
                f"{number_of(parts[name].n_rows, 'row')}, {needed} are needed at least. Allow more "
                f"with --miss, or gather more rows of {name!r}."
            )
    return (
        "there are too few rows, or too many errors among the surest ones. Allow more with "
        "--max-error, or gather more rows."
    )


def _hand_over_of_new_rows(found: Findings, point: HandOverPoint) -> list[str]:
    """On new rows the rule is judged, not chosen."""
    what, n = _what(found), found.held_out.n_rows
    if point.coverage == 0:
        return [f"All {n} {what} were handed over to a person."]
    n_answered = round(point.coverage * n)
    n_wrong = round(point.error * n_answered)
    low, high = exact_interval(n_wrong, n_answered)
    said = (
        f"{percent(point.coverage)} of the {what} were answered and {percent(1 - point.coverage)} "
        f"handed over to a person; among those answered {percent(point.error, 1)} were wrong "
        f"(95 % interval {percent(low, 1)} to {percent(high, 1)}), where at most "
        f"{percent(point.max_error)} were promised"
    )
    if low > point.max_error:
        return [f"{said}: the promise was not kept on these {what}."]
    if found.withdrawn:
        return [f"{said} for rows like those of the training, which these are not."]
    return [f"{said}."]


def _costs(found: Findings) -> list[str]:
    """What costs and limits on misses come to, class by class."""
    wishes = found.facts.get("training", {}).get("wishes", {})
    said = []
    parts = {part.name: part for part in found.by_class}
    if found.held_out.costs is not None:
        for answered, true in read_costs(wishes["cost"], list(parts)):
            part, alarm = parts[true], parts[true].figures["precision"]
            recall = part.figures["recall"]
            said.append(
                f"Because answering {answered!r} where {true!r} is true costs more, {true!r} is "
                f"recognised in {percent(recall.value)} of its {part.n_rows} rows "
                f"({interval(recall)}); where {true!r} is the answer, "
                f"{percent(alarm.value)} are right ({interval(alarm)})."
            )
    for name, limit in read_limits(wishes.get("miss", []), list(parts)).items():
        missed, handed = parts[name].figures["missed"], parts[name].figures["handed"]
        said.append(
            f"At most {percent(limit)} of {name!r} may be answered otherwise: here "
            f"{percent(missed.value, 1)} were (95 % interval {interval(missed, 1)}), and "
            f"{percent(handed.value)} of {name!r} were handed over."
        )
    return said


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
                f"{percent(recall)} of its {number_of(worst.n_rows, 'row')} were recognised."
            )
            if recall < 0.5 and worst.n_rows >= _ENOUGH and _may_be_dear(found):
                other = max(seen, key=lambda part: part.n_rows).name
                said.append(
                    f"If missing {worst.name!r} is worse than a false alarm, say so: --cost "
                    f"{other}:{worst.name}=10 makes it ten times as bad, --miss {worst.name}=0.05 "
                    "lets 5 % of it be missed and hands over the others in doubt."
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


def _may_be_dear(found: Findings) -> bool:
    """Whether costs are worth a hint: none were given, and the rows are the model's own kind."""
    wishes = found.facts.get("training", {}).get("wishes", {})
    return found.held_out.costs is None and not wishes.get("miss") and not found.withdrawn


def _clearly_worse(part: Part, overall: Measure) -> bool:
    found = part.figures["accuracy"]
    return part.n_rows >= FEW_ROWS and found.high < overall.value


def _groups(found: Findings) -> list[str]:
    if not found.groups:
        return []
    wrong = 1.0 - found.overall["accuracy"].value
    said = [
        f"Rows with {group.column} {group.name!r} fare worse: wrong for "
        f"{percent(group.wrong.value)} ({interval(group.wrong)}), where all "
        f"rows are for {percent(wrong)}."
        for group in found.groups
        if group.fares_worse
    ]
    columns = quoted(list(dict.fromkeys(group.column for group in found.groups)))
    return said or [f"No group by {columns} is clearly answered worse than all rows together."]


def _columns(found: Findings) -> list[str]:
    clear = [entry.column for entry in found.importance if entry.low > 0]
    if not found.importance:
        return []
    if not clear:
        return ["No single column stands out: shuffling any one of them changes little."]
    names = ", ".join(repr(name) for name in clear[:4])
    return [f"Answers rest most on {names}."]


def _relevance(found: Findings) -> list[str]:
    """Which columns the model looks at: those that are looked at more than the mean column."""
    looked_at = [(name, value) for name, value in found.relevance.items() if value >= _LOOKED_AT]
    if not looked_at:
        return []
    (first, value), *others = looked_at[:4]
    rest = "".join(f", {name!r} ({value:.1f})" for name, value in others)
    return [f"The model looks most at {first!r}, {value:.1f} times the mean column{rest}."]


def _records(found: Findings) -> list[str]:
    n, expected = found.n_suspicious, found.expected_suspicious
    if n == 0:
        return []
    if found.withdrawn or (not found.is_training and n > 2.0 * expected + 5.0):
        return [
            f"{_given_little(n)} by the model, where about {expected:.0f} would be "
            "expected: these rows are not what it was trained on, "
            "so that this speaks against its answers, not against the records."
        ]
    # Where records are wrong all over the table, probabilities allow for it: no more of them than
    # expected is no sign that they are right.
    them = "it" if n == 1 else "them"
    look = (
        f"look at {them} first for wrong records"
        if n > expected + 2 * np.sqrt(expected)
        else f"{'a hard case' if n == 1 else 'hard cases'}, or records as often wrong as it has "
        "learnt to expect"
    )
    return [
        f"{_given_little(n)} by the model, where its "
        f"probabilities lead to expect about {expected:.0f}: {look}. kinlearn audit lists {them}."
    ]


def _given_little(n: int) -> str:
    were = "was" if n == 1 else "were"
    return f"{number_of(n, 'recorded answer')} {were} given less than {percent(SUSPICIOUS)}"
