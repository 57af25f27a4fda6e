"""The baseline for tasks with different features: principal components, then one common LDA."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from kinlearn.estimators._discriminant_checks import cap_components, check_count, check_shrinkage
from kinlearn.estimators._heterogeneous_tasks import (
    CommonSpace,
    by_task,
)
from kinlearn.solvers.ratio_trace import fisherface, ratio_trace
from kinlearn.solvers.scatter import reduce_scatter, shrinkage_ridge, smallest_rank
from kinlearn.threads import on_own_threads


class AggregateLDA(CommonSpace):
    """The Aggregate method: PCA of every task to d' dimensions, one LDA on all rows there.

    maximise over W:  tr((W^T S_w W)^-1 W^T S_b W)  (Eq. 1 of Zhang and Yeung 2011)

    with the scatters of all rows in the intermediate space, every (task, class) pair a class of its
    own. It takes the j-th principal component of every task for the same thing, which they rarely
    are: a baseline, not a recommendation.

    Parameters
    ----------
    n_components : int, default=2
        Dimensions of the common space; capped, with a warning, at what the data allows.
    n_intermediate : int, default=None
        d', principal components kept of every task; capped, with a warning, at the smallest rank
        over tasks. None: that rank.
    shrinkage : float or "auto", default=0
        As in :class:`RatioTraceLDA`, as is the scaling of the directions.

    Attributes
    ----------
    components_ : list or dict of ndarray of shape (n_components_, d_i)
        The projection of every task, principal components and common LDA in one.
    means_ : list or dict of ndarray of shape (d_i,)
        Mean of the training rows of every task.
    ranks_ : list or dict of int
        Dimension of the span of every task.
    n_components_, n_intermediate_ : int
        Dimensions in use.
    tasks_ : list
        The tasks, as positions or keys.
    classes_ : list or dict of ndarray
        Classes of every task.
    n_features_in_, feature_names_ : list or dict
        Number and names of features of every task.

    References
    ----------
    Y. Zhang and D.-Y. Yeung, "Multi-task learning in heterogeneous feature spaces", AAAI 2011.

    Examples
    --------
    >>> from kinlearn import AggregateLDA
    >>> from kinlearn.datasets import make_heterogeneous_tasks
    >>> Xs, ys = make_heterogeneous_tasks(n_features=(5, 30), random_state=0)
    >>> AggregateLDA(n_components=2).fit(Xs, ys).transform(Xs[1], task=1).shape
    (60, 2)
    """

    def __init__(
        self,
        *,
        n_components: int = 2,
        n_intermediate: int | None = None,
        shrinkage: float | str = 0,
    ) -> None:
        self.n_components = n_components
        self.n_intermediate = n_intermediate
        self.shrinkage = shrinkage

    @on_own_threads
    def fit(self, Xs: Any, ys: Any) -> Self:
        """Fit the principal components of every task and the common LDA.

        Parameters
        ----------
        Xs : list or dict of array-like of shape (n_i, d_i)
            Rows of each task; the task is the position in the list, or the key.
        ys : list or dict of array-like of shape (n_i,)
            Class labels of each task.

        Returns
        -------
        AggregateLDA
            The fitted estimator itself.
        """
        wanted = check_count("n_components", self.n_components)
        shrinkage = check_shrinkage(self.shrinkage)
        tasks, reduced = self._read_tasks(Xs, ys)
        limit = smallest_rank(reduced)
        self.n_intermediate_ = limit
        if self.n_intermediate is not None:
            intermediate = check_count("n_intermediate", self.n_intermediate)
            self.n_intermediate_ = cap_components(
                intermediate, limit, "the smallest rank over the tasks", name="n_intermediate"
            )
        bases = [task.basis[:, : self.n_intermediate_] for task in reduced]
        rows = np.vstack(
            [
                (task.X - small.mean) @ basis
                for task, small, basis in zip(tasks, reduced, bases, strict=True)
            ]
        )
        offsets = np.cumsum([0, *(task.classes.size for task in tasks)])
        codes = np.concatenate(
            [task.codes + offset for task, offset in zip(tasks, offsets[:-1], strict=True)]
        )
        pooled = reduce_scatter(rows, codes, int(offsets[-1]))
        ridge = shrinkage_ridge(pooled, shrinkage)
        if ridge > 0:
            common, _ = ratio_trace(pooled, ridge=ridge)
        else:
            common, _ = fisherface(pooled)
            common = common / np.linalg.norm(common, axis=0)
        self.n_components_ = cap_components(
            wanted, common.shape[1], f"the common LDA in {self.n_intermediate_} dimensions"
        )
        common = pooled.basis @ common[:, : self.n_components_]
        self.components_ = by_task(
            self, [np.ascontiguousarray((basis @ common).T) for basis in bases]
        )
        return self
