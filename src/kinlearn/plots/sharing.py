"""What sharing gains, task by task, beside separate models and a pooled one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from kinlearn.pipelines import last_step
from kinlearn.plots._style import FAINT, PALETTE, AxesDisplay, require_matplotlib, show_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MAX_LABELLED = 40
SCORE_NAMES = {
    "squared_error": "Held-out score (negative squared error)",
    "log_loss": "Held-out score (negative log-loss)",
    "brier": "Held-out score (negative Brier score)",
    "accuracy": "Held-out accuracy",
    "roc_auc": "Held-out AUC",
    "f1": "Held-out F1",
}


class SharingDisplay(AxesDisplay):
    """Held-out score of every task with sharing, alone, and pooled, sorted by the gain.

    A line leads from each task's independent model to the shared one: blue where sharing gains,
    orange where it loses. Use :meth:`from_estimator` or :meth:`from_report`.

    Parameters
    ----------
    report : mapping
        As ``MultiTaskLSPCCV.sharing_report_``.
    score_name : str, default="Held-out score"
        Label of the axis.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    order_ : ndarray of shape (T,)
        Tasks from the bottom to the top, by rising gain over independent models.
    gains_ : matplotlib LineCollection
        The lines.
    points_ : dict of str to matplotlib PathCollection
        ``independent``, ``pooled`` and ``shared``.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from kinlearn.plots import SharingDisplay
    >>> report = {
    ...     "task": ["north", "south"],
    ...     "independent": [-0.20, -0.15],
    ...     "pooled": [-0.18, -0.19],
    ...     "shared": [-0.12, -0.14],
    ... }
    >>> SharingDisplay.from_report(report).order_
    array([1, 0])
    """

    def __init__(self, *, report: Mapping[str, Any], score_name: str = "Held-out score") -> None:
        self.report = report
        self.score_name = score_name

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, ax: Axes | None = None, **kwargs: Any
    ) -> SharingDisplay:
        """Draw the report of a fitted, tuned multi-task model.

        Parameters
        ----------
        estimator : fitted ``MultiTaskLSPCCV``, or a pipeline that ends in one
            Its ``sharing_report_`` is drawn.
        ax, **kwargs
            As in :meth:`plot`.

        Returns
        -------
        SharingDisplay
        """
        require_matplotlib(f"{cls.__name__}.from_estimator")
        tuned = last_step(estimator)
        if not hasattr(tuned, "sharing_report_"):
            raise TypeError(
                f"{cls.__name__} needs a fitted estimator with sharing_report_, such as "
                f"MultiTaskLSPCCV on several tasks; {type(tuned).__name__} has none."
            )
        scoring = getattr(tuned, "scoring_", None)
        name = SCORE_NAMES.get(scoring, "Held-out score") if isinstance(scoring, str) else None
        return cls.from_report(tuned.sharing_report_, score_name=name, ax=ax, **kwargs)

    @classmethod
    def from_report(
        cls,
        report: Mapping[str, Any],
        *,
        score_name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> SharingDisplay:
        """Draw a report: arrays over tasks under ``task``, ``shared``, ``independent``, ``pooled``.

        Parameters
        ----------
        report : mapping
            Such as ``sharing_report_`` of a tuned multi-task model.
        score_name : str, default=None
            What the score is called on the axis.
        ax, **kwargs
            As in :meth:`plot`.

        Returns
        -------
        SharingDisplay
        """
        require_matplotlib(f"{cls.__name__}.from_report")
        missing = [k for k in ("task", "shared", "independent", "pooled") if k not in report]
        if missing:
            raise ValueError(f"The report lacks {missing}; its keys are {sorted(report)}.")
        display = cls(report=report, score_name=score_name or "Held-out score")
        return display.plot(ax=ax, **kwargs)

    def plot(
        self, ax: Axes | None = None, *, name: str | None = None, **kwargs: Any
    ) -> SharingDisplay:
        """Draw one line of points per task.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None: a new figure in kinlearn's style.
        name : str, default=None
            Title of the axes; None: the number of tasks that gain.
        **kwargs : dict
            Passed to the ``matplotlib.axes.Axes.scatter`` of the shared scores.

        Returns
        -------
        SharingDisplay
            The display itself.
        """
        values = {
            key: np.asarray(self.report[key], dtype=float)
            for key in ("shared", "independent", "pooled")
        }
        gain = values["shared"] - values["independent"]
        self.order_ = np.argsort(np.where(np.isnan(gain), -np.inf, gain), kind="stable")
        height = min(1.6 + 0.24 * len(gain), 9.0)
        self._start(ax, panel_size=(5.8, max(height, 3)))
        at = np.arange(len(gain))
        ordered = {key: value[self.order_] for key, value in values.items()}
        colors = [PALETTE[0] if g >= 0 else PALETTE[1] for g in gain[self.order_]]
        self.gains_ = self.ax_.hlines(
            at, ordered["independent"], ordered["shared"], colors=colors, linewidth=2, alpha=0.6
        )
        looks: dict[str, dict[str, Any]] = {
            "independent": {"marker": "o", "facecolor": "white", "edgecolor": FAINT, "s": 34},
            "pooled": {"marker": "d", "facecolor": PALETTE[4], "edgecolor": "none", "s": 30},
            "shared": {"marker": "o", "facecolor": colors, "edgecolor": "none", "s": 44, **kwargs},
        }
        names = {
            "independent": "each task alone",
            "pooled": "one pooled model",
            "shared": "sharing",
        }
        self.points_ = {
            key: self.ax_.scatter(ordered[key], at, zorder=3, **look) for key, look in looks.items()
        }
        for key, look in looks.items():
            # Points of two colours would lend the legend whichever comes first.
            plain = look | ({"facecolor": PALETTE[0]} if look["facecolor"] is colors else {})
            self.ax_.scatter([], [], label=names[key], **plain)
        tasks = [str(self.report["task"][k]) for k in self.order_]
        if len(tasks) <= _MAX_LABELLED:
            self.ax_.set_yticks(at, tasks)
        else:
            self.ax_.set_yticks([])
        self.ax_.grid(False, axis="y")
        self.ax_.set(xlabel=self.score_name, ylabel="Task", ylim=(-0.7, len(gain) - 0.3))
        known = gain[~np.isnan(gain)]
        told = f"Sharing helps {int((known > 0).sum())} of {len(known)} tasks"
        self.ax_.set_title(told if name is None else name, pad=26)
        show_legend(self.ax_, loc="lower left", bbox_to_anchor=(0, 1), ncols=3, borderaxespad=0.2)
        return self
