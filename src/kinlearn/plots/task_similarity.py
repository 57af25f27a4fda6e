"""How alike the models of related tasks are: correlations of their scores, alike tasks together."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from kinlearn.plots._style import AxesDisplay, require_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]
_MAX_LABELLED = 40
# Orange for opposite, purple for alike: told apart by readers with any colour vision.
DIVERGING = "PuOr"


class TaskSimilarityDisplay(AxesDisplay):
    """Correlation between the scores of all pairs of tasks, ordered so that alike tasks meet.

    Two tasks are alike if their models score the same rows alike: the correlation is over rows and
    classes, of scores centred for each class. Use :meth:`from_estimator` or :meth:`from_scores`.

    Parameters
    ----------
    correlation : ndarray of shape (T, T)
        Correlations, in the order drawn.
    tasks : list
        Task ids, in the same order.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    image_ : matplotlib AxesImage
        The cells.
    colorbar_ : matplotlib Colorbar or None
        The bar of colours, if drawn.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from kinlearn import MultiTaskLSPC
    >>> from kinlearn.datasets import make_related_tasks
    >>> from kinlearn.plots import TaskSimilarityDisplay
    >>> X, y, task = make_related_tasks(n_tasks=4, n_reversed=1, random_state=0)
    >>> model = MultiTaskLSPC(sharing=0.5).fit(X, y, task=task)
    >>> display = TaskSimilarityDisplay.from_estimator(model, X)
    >>> display.correlation.shape
    (4, 4)
    """

    def __init__(self, *, correlation: Floats, tasks: list[Any]) -> None:
        self.correlation = correlation
        self.tasks = tasks

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        part: str = "whole",
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> TaskSimilarityDisplay:
        """Draw the similarity of a fitted multi-task model's tasks.

        Parameters
        ----------
        estimator : fitted ``MultiTaskLSPC``, ``MultiTaskLSPCCV``, ``IndependentTasks``
            Anything with ``tasks_`` and ``decision_function(X, task=)``.
        X : array-like of shape (n, n_features)
            Rows on which the tasks' scores are compared, without a task column.
        part : {"whole", "individual"}, default="whole"
            Compare the tasks' whole scores, or what they have beside the shared part.
        ax, **kwargs
            As in :meth:`plot`.

        Returns
        -------
        TaskSimilarityDisplay
        """
        require_matplotlib(f"{cls.__name__}.from_estimator")
        tasks = getattr(estimator, "tasks_", None)
        if tasks is None or len(tasks) < 2:
            raise ValueError(
                f"{cls.__name__} compares tasks, but this {type(estimator).__name__} was fitted "
                "without task ids or on one task only."
            )
        if part not in ("whole", "individual"):
            raise ValueError(f"part={part!r} is not known. Choose 'whole' or 'individual'.")
        if getattr(estimator, "task_column", None) is not None:
            # The same fitted model, asked by argument: each task scores all the rows.
            estimator = copy(estimator).set_params(task_column=None)
        method = estimator.decision_function if part == "whole" else estimator.task_score
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        scores = np.stack([method(X, task=_repeated(task, n)) for task in tasks.tolist()])
        return cls.from_scores(scores, tasks.tolist(), ax=ax, **kwargs)

    @classmethod
    def from_scores(
        cls, scores: Any, tasks: list[Any], *, ax: Axes | None = None, **kwargs: Any
    ) -> TaskSimilarityDisplay:
        """Draw the similarity of tasks whose scores for the same rows are given.

        Parameters
        ----------
        scores : array-like of shape (T, n) or (T, n, c)
            Scores of each task's model.
        tasks : list
            Task ids.
        ax, **kwargs
            As in :meth:`plot`.

        Returns
        -------
        TaskSimilarityDisplay
        """
        require_matplotlib(f"{cls.__name__}.from_scores")
        correlation = score_correlation(np.asarray(scores, dtype=float))
        order = clustered_order(correlation)
        display = cls(
            correlation=correlation[np.ix_(order, order)], tasks=[tasks[k] for k in order]
        )
        return display.plot(ax=ax, **kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        colorbar: bool = True,
        **kwargs: Any,
    ) -> TaskSimilarityDisplay:
        """Draw the correlations.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None: a new figure in kinlearn's style.
        name : str, default=None
            Title of the axes; None: none.
        colorbar : bool, default=True
            Draw the colour bar.
        **kwargs : dict
            Passed to ``matplotlib.axes.Axes.imshow``.

        Returns
        -------
        TaskSimilarityDisplay
            The display itself.
        """
        self._start(ax, panel_size=(5.4, 4.6))
        style: dict[str, Any] = {"cmap": DIVERGING, "vmin": -1.0, "vmax": 1.0} | kwargs
        self.image_ = self.ax_.imshow(self.correlation, **style)
        self.ax_.grid(False)
        for side in self.ax_.spines.values():
            side.set_visible(False)
        self.ax_.tick_params(length=0)
        if len(self.tasks) <= _MAX_LABELLED:
            labels = [str(task) for task in self.tasks]
            upright = max(map(len, labels)) <= 2
            self.ax_.set_xticks(range(len(labels)), labels, rotation=0 if upright else 90)
            self.ax_.set_yticks(range(len(labels)), labels)
        else:
            self.ax_.set_xticks([])
            self.ax_.set_yticks([])
        self.ax_.set(xlabel="Task", ylabel="Task")
        self.colorbar_ = None
        if colorbar:
            self.colorbar_ = self.figure_.colorbar(
                self.image_, ax=self.ax_, label="Correlation of scores", shrink=0.9
            )
            self.colorbar_.outline.set_visible(False)
        if name is not None:
            self.ax_.set_title(name)
        return self


def score_correlation(scores: Floats) -> Floats:
    """Correlation between tasks over rows and classes; 0 with a task whose scores are constant."""
    centred = scores - scores.mean(axis=1, keepdims=True)
    flat = centred.reshape(len(scores), -1)
    norm = np.linalg.norm(flat, axis=1)
    flat = np.divide(flat, norm[:, None], out=np.zeros_like(flat), where=norm[:, None] > 0)
    correlation = np.clip(flat @ flat.T, -1.0, 1.0)
    np.fill_diagonal(correlation, 1.0)
    return correlation


def clustered_order(correlation: Floats) -> NDArray[np.intp]:
    """The leaves of an average-linkage tree over 1 - correlation, neighbours as near as can be."""
    if len(correlation) < 3:
        return np.arange(len(correlation))
    distance = np.clip(1.0 - 0.5 * (correlation + correlation.T), 0.0, None)
    np.fill_diagonal(distance, 0.0)
    tree = linkage(squareform(distance, checks=False), "average", optimal_ordering=True)
    return leaves_list(tree).astype(np.intp)


def _repeated(task: Any, n: int) -> NDArray:
    if isinstance(task, (str, int, float)):
        return np.full(n, task)
    return np.fromiter((task for _ in range(n)), dtype=object, count=n)
