"""ActiveLearner: asks for labels one at a time, and knows how good it is by now."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples

from kinlearn.active.audit import AUDIT, Audited, AuditRows
from kinlearn.active.book import Book, Event, read_event
from kinlearn.active.curve import Curve, EarlierModels, audited_rows, drawn_at
from kinlearn.active.forecast import Forecast, forecast
from kinlearn.active.label_noise import contradicted, suspicion
from kinlearn.active.panel import Panel, panel_of
from kinlearn.active.refits import Fit, Refits, Settings
from kinlearn.active.strategies import STRATEGIES, Situation
from kinlearn.active.table_rows import TableRows
from kinlearn.active.told import check_class, check_row
from kinlearn.estimators._checks import check_choice
from kinlearn.estimators._classifier import KernelClassifier
from kinlearn.estimators._passes_tasks_on import need_probabilities
from kinlearn.pipelines import last_step
from kinlearn.tasks import check_task_ids, number_tasks

GIVEN = "given"
TUNING = ("at once", "on request")
# So many random rows stand for the table where models are compared.
N_COMPARED = 2_000


class Estimate(NamedTuple):
    """A figure and its 95 % interval."""

    estimate: float
    low: float
    high: float


@dataclass(eq=False)
class TunedOn:
    """The labels that settings were found on, or are to be when they are needed."""

    rows: NDArray[np.intp]
    y: NDArray
    settings: Settings | None = None


class ActiveLearner:
    """A classifier that asks for the labels of a table's rows, one at a time.

    After every label the model is the exact fit on all labels so far, so that the next row is
    chosen by what the last answer taught. One row in five is drawn at random beforehand (the audit
    share): on these, and on them alone, accuracy is measured.

    Parameters
    ----------
    estimator : classifier
        Any with ``predict_proba``, also a pipeline. An :class:`LSPCCV` has its settings tuned when
        the labels have grown by a quarter, and between is fitted at these in closed form, as an
        :class:`LSPC`. Others are fitted anew after each label. Steps of a pipeline that see no
        labels are fitted once, on all rows.
    X : array-like, CSR matrix or DataFrame of shape (n_rows, n_features)
        All rows, of which none is labelled yet.
    classes : array-like, optional
        The classes there are; those told so far when left out.
    task : array-like of shape (n_rows,), optional
        Task ids of the rows, for an estimator that takes such. Rows are then asked for in the task
        with fewest labels first.
    audit_share : float in [0, 1), default=0.2
        Share of the rows asked for that are drawn at random.
    strategy : {"mixed", "unsure", "spread", "balanced", "random"} or callable, default="mixed"
        What is asked for besides: rows the model is unsure of, the more so where they stand for
        others that are unlike anything labelled (``"mixed"``), either alone, rows of the class with
        fewest labels, or rows by chance. A function gets a ``Situation`` of
        ``kinlearn.active.strategies`` and returns one number a row, of which the largest is asked
        for.
    random_state : int, default=None
        Seed of the draws; 0 when left out, so that a replayed log asks for the same rows.
    tuning : {"at once", "on request"}, default="at once"
        Whether settings are tuned anew when they are due, by whoever needs the model next; or when
        :meth:`tuning_job` is run, in another thread perhaps, and its result adopted.

    Attributes
    ----------
    labels : dict
        Class by row number, in the order told.
    how : dict
        Why each of these rows was labelled: ``"audit"``, ``"strategy"``, ``"start"`` (before there
        is a model) or ``"given"`` (not asked for).
    skipped : tuple of int
        Rows passed over.
    log : list of dict
        All that was told, skipped and undone, as plain values: :meth:`replay` makes the same
        learner of it.
    classes_ : ndarray of shape (n_classes,)
        Classes, given or seen.
    model_ : classifier or None
        The exact fit on all labels so far; None until two classes were seen. Every row is a case of
        its own, also where rows are equal (``groups=np.arange(n_labels)`` in its fit).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from kinlearn import LSPCCV, ActiveLearner
    >>> X, y = load_iris(return_X_y=True)
    >>> learner = ActiveLearner(make_pipeline(StandardScaler(), LSPCCV()), X)
    >>> for _ in range(30):
    ...     row = learner.ask()
    ...     learner.tell(row, y[row])
    >>> bool((learner.model_.predict(X) == y).mean() > 0.9)
    True
    >>> estimate, low, high = learner.accuracy()
    >>> low <= estimate <= high
    True
    """

    n_rows: int
    task: NDArray | None
    strategy: Any
    tuning: str
    _due: TunedOn | None
    _drawn: tuple[Any, Curve | None] | None
    _seed: int
    _given_classes: NDArray | None
    _refits: Refits
    _table: TableRows
    _audit: AuditRows
    _book: Book
    _asked: dict[int, str]
    _kept: dict[str, Any]

    def __init__(
        self,
        estimator: Any,
        X: Any,
        *,
        classes: Any = None,
        task: Any = None,
        audit_share: float = 0.2,
        strategy: Any = "mixed",
        random_state: int | None = None,
        tuning: str = "at once",
    ) -> None:
        need_probabilities(estimator)
        if not isinstance(audit_share, Real) or not 0 <= audit_share < 1:
            raise ValueError(f"audit_share must be at least 0 and below 1, got {audit_share!r}.")
        if not callable(strategy) and strategy not in STRATEGIES:
            raise ValueError(
                f"strategy={strategy!r} is not known. Choose one of {sorted(STRATEGIES)} or pass a "
                "function of a Situation."
            )
        if random_state is not None and not isinstance(random_state, Integral):
            raise ValueError(
                f"random_state must be a whole number or None, got {random_state!r}: a log is "
                "replayed by the same one."
            )
        check_choice("tuning", tuning, TUNING)
        X = X if hasattr(X, "shape") else np.asarray(X)
        self.estimator = estimator
        self.X = X
        self.task = None if task is None else check_task_ids(task, _num_samples(X))
        self.audit_share = float(audit_share)
        self.strategy = strategy
        self.tuning = tuning
        self.random_state = random_state
        self._seed = 0 if random_state is None else int(random_state)
        self._given_classes = None if classes is None else np.unique(np.asarray(classes))
        self.n_rows = _num_samples(X)
        self._refits = Refits(estimator, X, self.task)
        seen_as_is = isinstance(last_step(estimator), KernelClassifier)
        self._table = TableRows(self._refits.X, not seen_as_is, self._seed)
        self._audit = AuditRows(self.n_rows, self.audit_share, self._seed)
        self._book = Book()
        self._asked = {}
        self._kept = {}
        self._due = None
        self._drawn = None

    # -- what was told ------------------------------------------------------------------------

    @property
    def labels(self) -> dict[int, Any]:
        """Class by row number, in the order told."""
        return dict(self._book.labels)

    @property
    def how(self) -> dict[int, str]:
        """Why each of these rows was labelled."""
        return dict(self._book.how)

    @property
    def skipped(self) -> tuple[int, ...]:
        """Rows passed over, and not labelled since."""
        return tuple(row for row in self._book.skipped if row not in self._book.labels)

    @property
    def log(self) -> list[dict[str, Any]]:
        """All that was told, skipped and undone."""
        return [dict(entry) for entry in self._book.log]

    @property
    def classes_(self) -> NDArray:
        """Classes, given or seen."""
        if self._given_classes is not None:
            return self._given_classes
        return np.unique(np.array(list(self._book.labels.values())))

    def tell(self, i: int, y: Any) -> None:
        """Take the label of a row; of a labelled row, correct it.

        Parameters
        ----------
        i : int
            Row number, of a row asked for or any other.
        y : object
            Its class.
        """
        self._do(self._telling([i], [y], None))

    def tell_many(self, rows: Iterable[int], y: Iterable[Any]) -> None:
        """Take the labels of several rows in one step, which is undone in one step.

        Parameters
        ----------
        rows : iterable of int
            Row numbers.
        y : iterable
            Their classes.
        """
        event = self._telling(list(rows), list(y), None)
        if event.rows:
            self._do(event)

    def skip(self, i: int) -> None:
        """Pass over a row: it is asked for again only when no other is left.

        Parameters
        ----------
        i : int
            Row number.
        """
        self._do(Event("skip", (check_row(i, self.n_rows),)))

    def undo(self) -> dict[str, Any] | None:
        """Take back what was told or skipped last; without limit.

        Returns
        -------
        dict or None
            What was undone: ``"event"`` ("tell" or "skip"), ``"rows"``, and of labels ``"y"`` and
            ``"how"``. None when there is nothing left.
        """
        event = self._book.undo()
        while event is not None and event.kind == "settings":
            event = self._book.undo()
        self._due = None  # the next label tells whether settings are still due
        self._forget_figures()
        if event is None:
            return None
        for row, how in zip(event.rows, event.how, strict=False):
            if row not in self._book.labels and how != GIVEN:
                self._asked[row] = how
        return event.written()

    def replay(self, log: Iterable[dict[str, Any]]) -> ActiveLearner:
        """Do again what a log holds.

        Parameters
        ----------
        log : iterable of dict
            ``log`` of another learner with the same parameters.

        Returns
        -------
        ActiveLearner
            Itself, with the same labels, model and next question as that one had.
        """
        for entry in log:
            event = read_event(entry)
            if event is None:
                self._book.undo()
                continue
            if event.kind == "tell":
                event = self._telling(list(event.rows), list(event.values), event.how)
            self._do(event)
        self._forget_figures()
        return self

    def _telling(self, rows: list[Any], y: list[Any], how: tuple[str, ...] | None) -> Event:
        if len(rows) != len(y):
            raise ValueError(f"{len(rows)} rows and {len(y)} labels were told: give one each.")
        rows = [check_row(row, self.n_rows) for row in rows]
        values = [value.item() if isinstance(value, np.generic) else value for value in y]
        for value in values:
            check_class(value, self._given_classes, self._book.labels)
        if how is None:
            known = self._asked | self._book.how
            how = tuple(known.get(row, GIVEN) for row in rows)
        return Event("tell", tuple(rows), tuple(values), how)

    def _do(self, event: Event) -> None:
        self._book.apply(event)
        for row in event.rows:
            self._asked.pop(row, None)
        if event.kind == "tell":
            self._plan_tuning()
        elif event.kind == "settings":
            self._take_settings(dict(event.values[0]))
        self._forget_figures()

    def _take_settings(self, settings: Settings) -> None:
        n_labels = int(settings.pop("n_labels", len(self._book.labels)))
        rows = np.array(list(self._book.labels)[:n_labels], dtype=np.intp)
        values = np.array(list(self._book.labels.values()))[:n_labels]
        self._book.tuned_on = TunedOn(rows, values, settings)
        self._due = None

    # -- the model ----------------------------------------------------------------------------

    def _plan_tuning(self) -> None:
        """Note which labels the settings are to be found on, when they are needed."""
        labels, last = self._book.labels, self._book.tuned_on
        known = None if last is None else len(last.rows)
        if known is not None and len(labels) < known * 1.2:  # cannot be due: spares the count
            return
        values = np.array(list(labels.values()))
        _, counts = np.unique(values, return_counts=True)
        if self._refits.due(len(labels), counts, known):
            plan = TunedOn(np.array(list(labels), dtype=np.intp), values)
            if self.tuning == "at once":
                self._book.tuned_on = plan
            else:
                self._due = plan

    def tuning_job(self) -> Callable[[], dict[str, Any]] | None:
        """Return what finds new settings, where they are due; None where they are not.

        Returns
        -------
        callable or None
            Takes nothing, touches nothing of the learner, and may run in another thread while more
            labels are told. What it returns is for :meth:`adopt`.
        """
        plan, refits = self._due, self._refits
        if plan is None:
            return None
        return lambda: {"n_labels": len(plan.rows), **refits.tuned(plan.rows, plan.y)}

    def adopt(self, settings: dict[str, Any]) -> None:
        """Take settings that a tuning job found; from now on models are fitted at these.

        Parameters
        ----------
        settings : dict
            What the job returned, or the log holds.
        """
        self._do(Event("settings", values=(dict(settings),)))

    def _settings(self) -> Settings | None:
        if not self._refits.tunes:
            return None
        plan = self._book.tuned_on
        if plan is None:
            return self._keep("first_settings", self._refits.first_settings, for_good=True)
        if plan.settings is None:
            plan.settings = self._refits.tuned(plan.rows, plan.y)
        return plan.settings

    def _fit(self) -> Fit | None:
        """The exact fit on all labels."""

        def make() -> Fit | None:
            y = np.array(list(self._book.labels.values()))
            if len(np.unique(y)) < 2:
                return None
            rows = np.array(list(self._book.labels), dtype=np.intp)
            return self._refits.fit(self._settings(), rows, y)

        return self._keep("fit", make)

    @property
    def model_(self) -> Any:
        """The exact fit on all labels so far; None until two classes were seen."""
        fit = self._fit()
        return None if fit is None else self._refits.whole(fit.model)

    def predict_proba(self, rows: Any = None) -> NDArray[np.float64]:
        """Return class probabilities of rows of the table.

        Parameters
        ----------
        rows : array-like of int, optional
            Row numbers; all rows when left out.

        Returns
        -------
        ndarray of shape (n, n_classes)
            In the order of ``classes_``: equal ones before the first model, and 0 for a class of
            which no label is known.
        """
        rows = np.arange(self.n_rows) if rows is None else np.asarray(rows, dtype=np.intp)
        classes, fit = self.classes_, self._fit()
        if not len(classes):
            raise ValueError("No class is known yet: tell a label first, or give classes=.")
        if fit is None:
            return np.full((len(rows), len(classes)), 1.0 / len(classes))
        if len(rows) == self.n_rows and np.array_equal(rows, np.arange(self.n_rows)):
            everything = self._keep("proba", lambda: self._by_class(fit.proba(rows), fit))
            return everything.copy()
        return self._by_class(fit.proba(rows), fit)

    def held_out_proba(self) -> NDArray[np.float64]:
        """Return probabilities of the labelled rows from models that have not seen their label.

        Returns
        -------
        ndarray of shape (n_labels, n_classes)
            Rows in the order of ``labels``, classes in that of ``classes_``; equal ones before the
            first model.
        """
        fit = self._fit()
        if fit is None:
            n_classes = len(self.classes_)
            return np.full((len(self._book.labels), n_classes), 1.0 / max(n_classes, 1))
        return self._keep("held_out", lambda: self._by_class(fit.held_out(), fit)).copy()

    def _by_class(self, proba: NDArray[np.float64], fit: Fit) -> NDArray[np.float64]:
        full = np.zeros((len(proba), len(self.classes_)))
        full[:, np.searchsorted(self.classes_, fit.model.classes_)] = proba
        return full

    # -- what to ask --------------------------------------------------------------------------

    def ask(self, exclude: Iterable[int] = ()) -> int | None:
        """Return the row whose label is wanted next; asked twice, the same.

        Parameters
        ----------
        exclude : iterable of int, default=()
            Rows that somebody else is at work on; those that were asked for count towards the
            audit's share.

        Returns
        -------
        int or None
            Row number; None when all rows are labelled.
        """
        exclude = list(exclude)
        is_open = np.ones(self.n_rows, dtype=bool)
        is_open[[*self._book.labels, *exclude]] = False
        kept = is_open.copy()
        kept[list(self._book.skipped)] = False
        is_open = kept if kept.any() else is_open
        if not is_open.any():
            return None
        out = {row: self._asked[row] for row in exclude if row in self._asked}
        row, how = self._choose(is_open, out)
        self._asked[row] = how
        return row

    def _choose(self, is_open: NDArray[np.bool_], out: dict[int, str]) -> tuple[int, str]:
        if self._audit.is_due({**self._book.how, **out}):
            row = self._audit.next_row(is_open)
            assert row is not None
            return row, AUDIT
        is_open = self._in_neediest_task(is_open)
        rows, distances = self._table.candidates(is_open)
        labelled = list(self._book.labels)
        fit, classes = self._fit(), self.classes_
        seen_all = fit is not None and len(fit.model.classes_) == len(classes)
        asked = list(self._book.how.values())
        now = Situation(
            proba=self._by_class(fit.proba(rows), fit) if fit is not None and seen_all else None,
            gain=self._table.gain(distances, labelled),
            counts=self._counts(),
            n_asked=asked.count("strategy"),
            random=np.random.default_rng([self._seed, 3, self._book.n_events]),
        )
        strategy = self.strategy if callable(self.strategy) else STRATEGIES[self.strategy]
        wanted = np.asarray(strategy(now), dtype=np.float64)
        return int(rows[wanted.argmax()]), "start" if now.proba is None else "strategy"

    def _in_neediest_task(self, is_open: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Open rows of the task with fewest labels."""
        if self.task is None:
            return is_open
        tasks, index = number_tasks(self.task)
        counts = np.bincount(index[list(self._book.labels)], minlength=len(tasks)).astype(float)
        counts[np.bincount(index[is_open], minlength=len(tasks)) == 0] = np.inf
        return is_open & (index == counts.argmin())

    def _counts(self) -> NDArray[np.intp]:
        codes = np.searchsorted(self.classes_, np.array(list(self._book.labels.values())))
        return np.bincount(codes.astype(np.intp), minlength=len(self.classes_))

    # -- how good it is -----------------------------------------------------------------------

    def _audited(self) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """Held-out probabilities and codes of the audit's rows; none before there is a model."""
        rows = self._audit.passed(self._book.how)
        rows = rows if self._fit() is not None else rows[:0]
        place = {row: k for k, row in enumerate(self._book.labels)}
        at = np.array([place[row] for row in rows.tolist()], dtype=np.intp)
        values = np.array(list(self._book.labels.values()))
        return self.held_out_proba()[at], np.searchsorted(self.classes_, values[at])

    def _beside_table(self) -> Audited:
        """The audit's rows, and how sure the model is of them and of the table."""

        def make() -> Audited:
            proba, codes = self._audited()
            fit, sample = self._fit(), self._table.order[:N_COMPARED]
            if fit is None or not len(codes):
                return Audited(np.zeros(0, dtype=bool), np.zeros(0), float("nan"))
            of_sample, held_out = self._by_class(fit.proba(sample), fit), self.held_out_proba()
            return audited_rows(proba, codes, sample, of_sample, fit.rows, held_out)

        return self._keep("beside table", make)

    def accuracy(self) -> Estimate:
        """Return the accuracy of the model on new rows of the table's kind.

        Rows still to be labelled are easier than these: a strategy has taken the hard ones out.

        Returns
        -------
        (estimate, low, high)
            From the audit's rows, each by the model without it, raised by how much surer the model
            is of the table than of these; with the 95 % interval of Clopper and Pearson. Without
            audit rows (nan, 0, 1).
        """
        return Estimate(*self._beside_table().figure)

    def panel(self) -> Panel:
        """Return what is known of the model by now: figures with intervals, and counts.

        Returns
        -------
        Panel
            See its attributes.
        """
        proba, codes = self._audited()
        return panel_of(
            self._beside_table(),
            proba,
            codes,
            self.classes_,
            self._counts(),
            self.n_rows,
            self._curve(),
        )

    def forecast(self, goal: float) -> Forecast:
        """Return about how many more labels bring the accuracy to a goal.

        Parameters
        ----------
        goal : float in (0, 1)
            Accuracy wanted.

        Returns
        -------
        (more, low, high)
            Labels to go, and a range that is meant to hold in four of five cases; at most the rows
            that are left. See ``kinlearn.active.forecast`` for how little is known of it: the range
            is wide. Before ten labels nothing is known, and the answer is (all, 0, all) that are
            left.
        """
        if not isinstance(goal, Real) or not 0 < goal < 1:
            raise ValueError(f"goal must lie between 0 and 1, but {goal!r} was given.")
        left = self.n_rows - len(self._book.labels)
        curve = self._curve()
        if curve is None:
            return Forecast(left, 0, left)
        found = self._beside_table()
        n_audit = len(found.right)
        right = found.accuracy * n_audit if n_audit else 0.0
        losses = list(zip(curve.counts, curve.losses, strict=True))
        more = forecast(float(goal), curve.n, right, n_audit, curve.confidence, losses)
        return Forecast(*(min(count, left) for count in more))

    def _curve(self) -> Curve | None:
        """The learning curve, as it was last drawn."""
        at = drawn_at(len(self._book.labels))
        if at is None:
            return None
        rows = np.array(list(self._book.labels)[:at], dtype=np.intp)
        values = np.array(list(self._book.labels.values()))[:at]
        key = (tuple(rows.tolist()), tuple(values.tolist()), self._book.tuned_on)
        if self._drawn is None or self._drawn[0] != key:
            codes = np.searchsorted(self.classes_, values)
            known = {row: self._book.how[row] for row in rows.tolist()}
            models = EarlierModels(self._refits, self._settings(), rows, values, self._by_class)
            sample = self._table.order[:N_COMPARED]
            self._drawn = key, models.curve(codes, self._audit.passed(known), sample)
        return self._drawn[1]

    def suspects(self) -> list[int]:
        """Return labelled rows whose held-out probabilities favour another class.

        Returns
        -------
        list of int
            Row numbers, most suspect first.
        """
        if self._fit() is None:
            return []
        rows, values = list(self._book.labels), np.array(list(self._book.labels.values()))
        proba, codes = self.held_out_proba(), np.searchsorted(self.classes_, values)
        by, against = suspicion(proba, codes), contradicted(proba, codes)
        return [rows[k] for k in np.argsort(-by, kind="stable") if against[k]]

    # -- kept figures -------------------------------------------------------------------------

    def _keep(self, name: str, make: Any, for_good: bool = False) -> Any:
        """What was made before, until the labels change."""
        key = name if for_good else f"now {name}"
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]

    def _forget_figures(self) -> None:
        for key in [key for key in self._kept if key.startswith("now ")]:
            del self._kept[key]
