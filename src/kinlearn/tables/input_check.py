"""Are these rows of the kind the model was trained on? Columns named where they are not.

The bound on the error of answered rows holds for rows like those of the training. Rows come in
pieces and are compared, column by column, with what the model remembers
(:mod:`kinlearn.tables.input_profile`): range, shape, missing cells, mix of categories, and the mix
of answers. A column is named when a test says that chance does not do this (all tests together err
for one table in a thousand), and the difference is large enough to matter.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn.cells.refusals import quoted
from kinlearn.optional import require
from kinlearn.tables.input_profile import NOTHING_KNOWN, counts_in, numbers_of, row_hashes
from kinlearn.tables.shift_tests import (
    beyond_p,
    counts_p,
    mean_p,
    moved_share,
    ranks_p,
    share_p,
    unseen_p,
)
from kinlearn.tables.units import fitting_change
from kinlearn.tables.words import percent

Floats = NDArray[np.float64]

# All tests of a table together raise an alarm on rows of the training's kind this often.
FALSE_ALARMS = 0.001
# Smaller differences are not named, however sure they are: shares of rows.
MIN_BEYOND = 0.02
MIN_MOVED = 0.1
_TIMES_RARER = 3.0
# Categories this rare stand together.
_RARE = 0.02
_SAMPLE = 2000
_MAX_REMEMBERED = 1000
_MAX_SENTENCES = 8


@dataclass(frozen=True)
class Difference:
    """A column, or an answer, that is not as it was in training.

    Attributes
    ----------
    column : str
        Its name; of an answer, the class or label.
    kind : {"missing", "range", "moved", "later", "categories", "new category", "answers"}
        What differs.
    size : float
        Share of the rows concerned.
    alarming : bool
        Whether the promise of bounded error is withdrawn for it.
    sentence : str
        What to tell.
    """

    column: str
    kind: str
    size: float
    alarming: bool
    sentence: str


class InputCheck:
    """Compares rows, piece by piece, with those of the training.

    Parameters
    ----------
    profile : dict
        As :func:`kinlearn.tables.input_profile.profile_inputs` makes it.
    task : str, optional
        The column of tasks: one never seen is answered by what all tasks share.
    task_mix_matters : bool, default=True
        False where every task has a bound of its own, so that their mix does not touch it.
    promise : str, optional
        What no longer holds when rows are not like those of the training.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from kinlearn.tables.input_profile import profile_inputs
    >>> rng = np.random.default_rng(0)
    >>> profile = profile_inputs(pd.DataFrame({"crp": rng.lognormal(2.0, 1.0, 500)}))
    >>> check = InputCheck(profile)
    >>> check.add(pd.DataFrame({"crp": rng.lognormal(2.0, 1.0, 200)}))
    >>> check.sentences(), check.withdrawn
    ([], False)
    >>> check = InputCheck(profile)
    >>> check.add(pd.DataFrame({"crp": 10 * rng.lognormal(2.0, 1.0, 200)}))
    >>> check.withdrawn, [each.column for each in check.differences()]
    (True, ['crp'])
    >>> "a factor of 10 would fit: another unit?" in check.sentences()[0]
    True
    """

    def __init__(
        self,
        profile: dict[str, Any],
        *,
        task: str | None = None,
        task_mix_matters: bool = True,
        promise: str | None = None,
    ) -> None:
        self.profile = profile
        self.task = task
        self.task_mix_matters = task_mix_matters
        self.promise = promise
        self.n_rows = 0
        self._columns: dict[str, _Numbers | _Categories] = {
            name: _Categories(column) if column["kind"] == "categorical" else _Numbers(column)
            for name, column in profile["columns"].items()
        }
        self._answers = dict.fromkeys(profile["answers"], 0.0)
        self._n_answered = 0
        known = [int(value, 16) for value in profile["sketch"]["hashes"]]
        self._known = np.array(known, dtype=np.uint64)
        self._n_small = self._n_known = 0

    @classmethod
    def of_model(cls, facts: dict[str, Any]) -> InputCheck:
        """The check of a model file, by the facts in it; of an older file, one that finds nothing.

        Parameters
        ----------
        facts : dict
            As :func:`kinlearn.tables.training.training_facts` notes them.
        """
        wishes = facts["training"]["wishes"]
        return cls(
            facts.get("inputs", NOTHING_KNOWN),
            task=facts["table"]["task"],
            task_mix_matters=not wishes["per_task"],
            promise=f"at most {percent(float(wishes['max_error']))} wrong answers",
        )

    def add(self, frame: Any, answers: dict[str, Floats] | None = None) -> None:
        """Take further rows, and the probabilities they were given."""
        self.n_rows += len(frame)
        for name, column in self._columns.items():
            column.add(frame[name].to_numpy())
        if answers:
            self._n_answered += len(frame)
            for name in self._answers:
                self._answers[name] += float(np.sum(answers[name]))
        if len(self._known):
            hashes = row_hashes(frame[list(self._columns)])
            small = hashes[hashes <= self._known[-1]]
            self._n_small += len(small)
            self._n_known += int(np.isin(small, self._known).sum())

    @property
    def withdrawn(self) -> bool:
        """Whether the promise of bounded error does not apply to these rows."""
        return any(each.alarming for each in self.differences())

    def as_facts(self) -> dict[str, Any]:
        """What was found, as plain values."""
        return {
            "like_training": not self.withdrawn,
            "columns": {each.column: each.kind for each in self.differences() if each.alarming},
            "sentences": self.sentences(),
        }

    @property
    def are_training_rows(self) -> bool:
        """Whether most rows are rows of the training, by a sketch of both."""
        known_share = self._n_known / max(self._n_small, 1)
        return bool(
            self._n_small >= 10 and known_share > 0.5 and self.profile["sketch"]["distinct"] > 0.9
        )

    def differences(self, false_alarms: float = FALSE_ALARMS) -> list[Difference]:
        """What differs, the most of it first; all tests together err so often."""
        if self.n_rows == 0:
            return []
        level = false_alarms / max(self._n_tests, 1)
        size = _Sizes(self.profile["rows"], self.n_rows, self.profile["rows_per_case"])
        found = [
            each
            for name, column in self._columns.items()
            for each in column.differences(_Asked(name, name == self.task, size, level))
        ]
        if self.task is not None and not self.task_mix_matters:
            found = [each for each in found if not self._is_task_mix(each)]
        found += self._answers_differ(size, level)
        return sorted(found, key=lambda each: (not each.alarming, -each.size))

    def sentences(self) -> list[str]:
        """What to tell about the rows, column by column, and that the promise is withdrawn."""
        found = self.differences()
        said = [each.sentence for each in found[:_MAX_SENTENCES]]
        if len(found) > _MAX_SENTENCES:
            rest = list(dict.fromkeys(each.column for each in found[_MAX_SENTENCES:]))
            said.append(f"Not as in training are also {quoted(rest)}.")
        if self.promise is not None and self.withdrawn:
            names = list(dict.fromkeys(each.column for each in found if each.alarming))
            said.append(
                f"These rows are not like those of the training (see {quoted(names, 4)}): the "
                f"promise of {self.promise} does not hold for them."
            )
        return said

    @property
    def _n_tests(self) -> int:
        return sum(column.N_TESTS for column in self._columns.values()) + len(self._answers)

    def _is_task_mix(self, found: Difference) -> bool:
        return found.column == self.task and found.kind == "categories"

    def _answers_differ(self, size: _Sizes, level: float) -> list[Difference]:
        found = []
        for name, total in self._answers.items():
            if self._n_answered == 0:
                continue
            usual = self.profile["answers"][name]
            old, new = float(usual["mean"]), total / self._n_answered
            n_new = self._n_answered / size.per_case
            p = mean_p(new, n_new, old, size.n_old / size.per_case, float(usual["deviation"]))
            low, high = sorted([old, new])
            times = high >= _TIMES_RARER * low and n_new * high >= 10 and n_new * old >= 1
            if p < level and (high - low >= MIN_MOVED or times):
                found.append(
                    Difference(
                        name,
                        "answers",
                        high - low,
                        True,
                        f"The model expects {name!r} for {percent(new)} of these rows, where it "
                        f"was {percent(old)} in training.",
                    )
                )
        # Two classes say the same thing twice.
        return found[-1:] if len(self._answers) == 2 else found


@dataclass(frozen=True)
class _Sizes:
    n_old: int
    n_new: int
    per_case: float


@dataclass(frozen=True)
class _Asked:
    """What a column needs to say how it differs."""

    name: str
    is_task: bool
    size: _Sizes
    level: float


def _missing(asked: _Asked, old: int, new: int) -> list[Difference]:
    size = asked.size
    before, now = old / size.n_old, new / size.n_new
    p = share_p(*(value / size.per_case for value in (new, size.n_new, old, size.n_old)))
    if p >= asked.level or abs(now - before) < MIN_MOVED:
        return []
    where = "empty in every row" if new == size.n_new else f"missing in {_share(now)}"
    return [
        Difference(
            asked.name,
            "missing",
            abs(now - before),
            True,
            f"{asked.name}: {where}, where training missed {percent(before)}.",
        )
    ]


class _Numbers:
    """A numeric column: counts in the training's bins, beyond its range, and a sample."""

    N_TESTS = 5

    def __init__(self, usual: dict[str, Any]) -> None:
        self.usual = usual
        self.edges = np.array(usual.get("edges", []), dtype=np.float64)
        self.counts = np.zeros(len(self.edges) + 1, dtype=np.int64)
        self.n_missing = self.n_below = self.n_above = 0
        self._sample: list[Floats] = []
        self._held, self._step = 0, 1

    def add(self, values: NDArray) -> None:
        numbers = numbers_of(values)
        values = np.full(len(values), np.nan) if numbers is None else numbers
        known = values[np.isfinite(values)]
        self.n_missing += len(values) - len(known)
        if not len(self.edges):
            return
        self.counts += counts_in(self.edges, known)
        self.n_below += int((known < self.usual["low"]).sum())
        self.n_above += int((known > self.usual["high"]).sum())
        self._sample.append(known[:: self._step])
        self._held += len(self._sample[-1])
        while self._held > _SAMPLE:
            thinned = np.concatenate(self._sample)[::2]
            self._sample, self._held, self._step = [thinned], len(thinned), 2 * self._step

    def differences(self, asked: _Asked) -> list[Difference]:
        missing = _missing(asked, int(self.usual["missing"]), self.n_missing)
        n_known = int(self.counts.sum())
        if missing and n_known == 0:
            return missing
        if self.usual["kind"] == "date":
            return [*missing, *self._later(asked, n_known)]
        return [*missing, *(self._values_differ(asked, n_known) if n_known else [])]

    def _later(self, asked: _Asked, n_known: int) -> list[Difference]:
        """New rows come later than those of the training: said, and no cause for alarm."""
        share = self.n_above / max(n_known, 1)
        if share < MIN_MOVED:
            return []
        last = np.datetime64("1970-01-01") + np.timedelta64(int(self.usual["high"]), "D")
        said = (
            f"{asked.name}: {_share(share)} are later than anything seen in training (last there: "
            f"{last})."
        )
        return [Difference(asked.name, "later", share, False, said)]

    def _values_differ(self, asked: _Asked, n_known: int) -> list[Difference]:
        per_case = asked.size.per_case
        old = np.array(self.usual["counts"], dtype=np.float64)
        new = self.counts.astype(np.float64)
        sample = np.concatenate(self._sample)
        for n_beyond, end, side in (
            (self.n_above, "high", "above"),
            (self.n_below, "low", "below"),
        ):
            p = beyond_p(n_beyond / per_case, n_known / per_case, old.sum() / per_case)
            share = n_beyond / n_known
            if p < asked.level and share >= MIN_BEYOND:
                name = "largest" if end == "high" else "smallest"
                hint = self._hint(old, sample, per_case)
                said = (
                    f"{asked.name}: {_share(share)} are {side} anything seen in training "
                    f"({name} there: {self.usual[end]:.6g}){hint}."
                )
                return [Difference(asked.name, "range", share, True, _closed(said))]
        moved = moved_share(old, new)
        p = min(counts_p(old, new, per_case), ranks_p(old, new, per_case))
        if moved < MIN_MOVED or p >= asked.level:
            return []
        hint = self._hint(old, sample, per_case)
        said = f"{asked.name}: {self._shape(old, new, sample)}{hint}."
        return [Difference(asked.name, "moved", moved, True, _closed(said))]

    def _hint(self, old: Floats, sample: Floats, per_case: float) -> str:
        change = fitting_change(self.edges, old, sample, per_case)
        return "" if change is None else f"; {change}"

    def _shape(self, old: Floats, new: Floats, sample: Floats) -> str:
        """How the values differ, in the words that tell most."""
        quantiles, middle = self.usual["quantiles"], float(np.median(sample))
        if not quantiles["0.25"] <= middle <= quantiles["0.75"]:
            return f"the middle value is {middle:.6g}, where training had {quantiles['0.5']:.6g}"
        shares = new / new.sum(), old / old.sum()
        bounds = [self.usual["low"], *self.edges.tolist(), self.usual["high"]]
        at = int(np.argmax(shares[0] - shares[1]))
        return (
            f"{_share(float(shares[0][at]))} lie between {bounds[at]:.6g} and "
            f"{bounds[at + 1]:.6g}, where training had {percent(float(shares[1][at]))}"
        )


class _Categories:
    """A column of texts: counts of the training's categories, and those it lacked."""

    N_TESTS = 4

    def __init__(self, usual: dict[str, Any]) -> None:
        self.usual = usual
        self.counts: Counter[str] = Counter()
        self.fresh: Counter[str] = Counter()
        self.n_missing = self.n_fresh = 0

    def add(self, values: NDArray) -> None:
        pandas = require("pandas", "Reading a table")
        counts = pandas.Series(values).dropna().astype(str).value_counts()
        self.n_missing += len(values) - int(counts.sum())
        for text, n in counts.items():
            if text in self.usual["levels"]:
                self.counts[text] += n
            else:
                self.n_fresh += n
                if text in self.fresh or len(self.fresh) < _MAX_REMEMBERED:
                    self.fresh[text] += n

    def differences(self, asked: _Asked) -> list[Difference]:
        missing = _missing(asked, int(self.usual["missing"]), self.n_missing)
        n_known = self.counts.total() + self.n_fresh
        if n_known == 0:
            return missing
        new = self._new_categories(asked, n_known)
        moved = [] if any(each.alarming for each in new) else self._mix(asked, n_known)
        return [*missing, *new, *moved]

    def _new_categories(self, asked: _Asked, n_known: int) -> list[Difference]:
        if self.n_fresh == 0 or self.usual["rest"]:
            return []
        single = sum(n == 1 for n in self.usual["levels"].values())
        per_case, share = asked.size.per_case, self.n_fresh / n_known
        counted = (self.n_fresh / per_case, n_known / per_case)
        p = unseen_p(*counted, single, asked.size.n_old / per_case)
        return [
            Difference(
                asked.name,
                "new category",
                share,
                bool(p < asked.level and share >= MIN_BEYOND),
                on_new_categories(asked.name, self.n_fresh, self.fresh, asked.is_task),
            )
        ]

    def _mix(self, asked: _Asked, n_known: int) -> list[Difference]:
        levels, seen = self.usual["levels"], self.counts + self.fresh
        n_old = max(sum(levels.values()) + int(self.usual["rest"]), 1)
        # By how common they are in both together: those that were common in training alone would
        # be fewer in any new rows.
        both = Counter(levels) + seen
        names = [n for n in sorted(both) if both[n] >= _RARE * (n_old + n_known)]
        old, new = ([float(counts.get(n, 0)) for n in names] for counts in (levels, seen))
        before = np.array([*old, n_old - sum(old)])
        now = np.array([*new, n_known - sum(new)])
        moved = moved_share(before, now)
        if moved < MIN_MOVED or _mix_p(before, now, asked.size.per_case) >= asked.level:
            return []
        gain = now / now.sum() - before / before.sum()
        at = int(np.argmax(np.abs(gain)))
        which = repr(names[at]) if at < len(names) else "a rare or new category"
        return [
            Difference(
                asked.name,
                "categories",
                moved,
                True,
                f"{asked.name}: {which} in {_share(now[at] / now.sum())}, where training had "
                f"{percent(before[at] / before.sum())}.",
            )
        ]


def on_new_categories(name: str, n_rows: int, fresh: Counter[str], is_task: bool) -> str:
    """What to tell of cells whose category training did not have.

    Examples
    --------
    >>> on_new_categories("site", 2, Counter({"Yew": 2}), is_task=True)
    "2 rows have a value of 'site' that training did not have (such as 'Yew'): answered by what all
    tasks share."
    """
    shown = quoted([value for value, _ in fresh.most_common(3)], 3)
    how = "answered by what all tasks share" if is_task else f"answered without help from {name!r}"
    return (
        f"{n_rows} {'row has' if n_rows == 1 else 'rows have'} a value of {name!r} that training "
        f"did not have (such as {shown}): {how}."
    )


def _mix_p(before: Floats, now: Floats, per_case: float) -> float:
    """The smaller p-value: of all categories together, or of one of them (all being tried)."""
    ends = now.sum() / per_case, before.sum() / per_case
    one = [
        share_p(new / per_case, ends[0], old / per_case, ends[1])
        for old, new in zip(before, now, strict=True)
    ]
    return min(counts_p(before, now, per_case), len(one) * min(one))


def _share(share: float) -> str:
    """A share of the rows, as a person says it."""
    if share >= 0.9995:
        return "all rows"
    return "half of the rows" if 0.45 <= share <= 0.55 else f"{percent(share)} of the rows"


def _closed(sentence: str) -> str:
    return sentence[:-1] if sentence.endswith("?.") else sentence
