"""Rows of all tasks in their common space, one panel per task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kinlearn.plots._style import PALETTE, require_matplotlib, subplots

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARKERS = "osD^vPX*<>"


class EmbeddingDisplay:
    """The first two common coordinates of every task: a panel per task, a colour per class.

    Classes that tasks have in common look the same in every panel. Use :meth:`from_estimator`.

    Parameters
    ----------
    embeddings : dict of task to ndarray of shape (n_i, k)
        With at least one column; a single one is drawn against the row number.
    labels : dict of task to ndarray of shape (n_i,)
        Class of every row.
    titles : dict of task to str, default=None
        Titles of the panels; None: the tasks' names.

    Attributes
    ----------
    figure_ : matplotlib Figure
        The figure.
    axes_ : ndarray of matplotlib Axes
        One per task.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from kinlearn import MTDA
    >>> from kinlearn.datasets import make_heterogeneous_tasks
    >>> from kinlearn.plots import EmbeddingDisplay
    >>> Xs, ys = make_heterogeneous_tasks(n_features=(5, 30), random_state=0)
    >>> display = EmbeddingDisplay.from_estimator(MTDA().fit(Xs, ys), Xs, ys)
    >>> [ax.get_title() for ax in display.axes_]
    ['Task 0 (5 features)', 'Task 1 (30 features)']
    """

    def __init__(
        self,
        *,
        embeddings: Mapping[Any, NDArray[Any]],
        labels: Mapping[Any, NDArray[Any]],
        titles: Mapping[Any, str] | None = None,
    ) -> None:
        self.embeddings = dict(embeddings)
        self.labels = {task: np.asarray(y) for task, y in labels.items()}
        self.titles = dict(titles) if titles is not None else {}

    @classmethod
    def from_estimator(cls, estimator: Any, Xs: Any, ys: Any, **kwargs: Any) -> EmbeddingDisplay:
        """Project rows by a fitted estimator and draw them.

        Parameters
        ----------
        estimator : fitted MTDA or AggregateLDA, or MTDAClassifier or HeterogeneousLSPC
            The model whose common space is drawn.
        Xs, ys : list or dict of array-like
            Rows and labels per task; a dict may hold some of the tasks only.
        **kwargs : dict
            As in :meth:`plot`.

        Returns
        -------
        EmbeddingDisplay
        """
        require_matplotlib(f"{cls.__name__}.from_estimator")
        reducer = getattr(estimator, "reducer_", estimator)
        if not hasattr(reducer, "transform_all"):
            raise TypeError(
                f"{cls.__name__} draws estimators over several tasks, such as MTDA; "
                f"{type(estimator).__name__} is none."
            )
        keys = list(Xs) if isinstance(Xs, Mapping) else list(range(len(Xs)))
        embeddings = {key: np.asarray(reducer.transform(Xs[key], task=key)) for key in keys}
        named = isinstance(Xs, Mapping)
        titles = {
            key: f"{key if named else f'Task {key}'} ({reducer.n_features_in_[key]} features)"
            for key in keys
        }
        labels = {key: ys[key] for key in keys}
        return cls(embeddings=embeddings, labels=labels, titles=titles).plot(**kwargs)

    def plot(self, *, figure: Figure | None = None, **kwargs: Any) -> EmbeddingDisplay:
        """Draw one panel per task.

        Parameters
        ----------
        figure : matplotlib Figure, default=None
            Where to draw: a figure with as many axes as there are tasks. None: a new one in
            kinlearn's style.
        **kwargs : dict
            Passed to ``matplotlib.axes.Axes.scatter``.

        Returns
        -------
        EmbeddingDisplay
            The display itself.
        """
        require_matplotlib(f"{type(self).__name__}.plot")
        if figure is None:
            figure, axes = subplots(1, len(self.embeddings), panel_size=(3.6, 3.4))
            self.axes_ = axes.ravel()
        else:
            self.axes_ = np.array(figure.axes, dtype=object)
            if len(self.axes_) != len(self.embeddings):
                raise ValueError(
                    f"The figure has {len(self.axes_)} axes for {len(self.embeddings)} tasks; give "
                    "one with an axes per task."
                )
        self.figure_ = figure
        classes = list(
            dict.fromkeys(v for y in self.labels.values() for v in np.unique(y).tolist())
        )
        handles: dict[Any, Any] = {}
        for ax, (task, Z) in zip(self.axes_, self.embeddings.items(), strict=True):
            plane = Z[:, :2] if Z.shape[1] > 1 else np.column_stack([np.arange(len(Z)), Z[:, 0]])
            for label in np.unique(self.labels[task]).tolist():
                rank = classes.index(label)
                style = {
                    "color": PALETTE[rank % len(PALETTE)],
                    "marker": MARKERS[rank // len(PALETTE) % len(MARKERS)],
                    "s": 22,
                    "linewidth": 0.4,
                    "edgecolor": "white",
                } | kwargs
                rows = plane[self.labels[task] == label]
                handles[label] = ax.scatter(rows[:, 0], rows[:, 1], **style)
            single = Z.shape[1] == 1
            ax.set(
                title=self.titles.get(task, str(task)),
                xlabel="Row" if single else "First common coordinate",
                ylabel="First common coordinate" if single else "Second",
            )
        if len(handles) <= 2 * len(PALETTE):
            figure.legend(
                list(handles.values()),
                [str(label) for label in handles],
                loc="outside right center",
                frameon=False,
                title="Class",
            )
        return self
