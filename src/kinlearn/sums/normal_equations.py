"""NormalEquations: everything a least-squares fit with fixed centres needs to know of its rows."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_array

from kinlearn.kernels import resolve_kernel
from kinlearn.kernels.evaluation import DEFAULT_MEMORY_MB
from kinlearn.sums.batch import RowBatch, read_batch
from kinlearn.sums.batch_targets import check_kinds
from kinlearn.sums.changeable import ChangeableSums
from kinlearn.sums.subtraction import NeverAddedError
from kinlearn.training.label_table import refuse_mixed_labels

Array = NDArray[np.float64]
# Leave-one-out scores of this many rows settle the one number that calibration needs.
HELD_OUT_ROWS = 2000


class NormalEquations(ChangeableSums):
    """Sums over rows, from which LSPC and its relatives are solved without the rows.

    For features ``phi(x) = (k(x, c_1), ..., k(x, c_m))`` at fixed centres, weights D and one-hot
    targets (or label indicators) Z these are, for every task::

        H = ΦᵀDΦ,   h = ΦᵀDZ,   ZᵀDZ,   Σw,   counts

    (mt-lspc Eqs. 2-3 need no more). Sums add up: rows may come in any order and in batches, from
    several machines, and be taken out again; classes, labels and tasks may appear at any time. The
    regularisation, the sharing of tasks and the similarity of labels enter only when a model is
    solved (``LSPC().fit_statistics(sums)``), so they can be changed without the data.

    Beside the sums, a sample of at most `n_held_out` distinct rows is kept for calibration: those
    of the smallest hashes, which are the same in whatever order and on whatever machine rows are
    added.

    Parameters
    ----------
    centers : array-like or CSR matrix of shape (m, n_features)
        The centres.
    kernel : str or callable, default="rbf"
        As in :class:`LSPC`; not ``"precomputed"``.
    sigma : float, default=1.0
        Width of the kernel.
    degree, coef0 : float, default=3 and 1
        Of the polynomial kernel.
    n_held_out : int, default=2000
        Capacity of the sample; 0 keeps no rows at all.
    classes : array-like, optional
        Classes that are known before any row of them is seen.
    memory_mb : float, default=256
        Bound on the memory of kernel blocks in work.
    metric : array-like of shape (n_features,) or (n_features, k), optional
        The metric that rows and centres are seen in: factors of their columns, or a matrix they
        are multiplied by.

    Attributes
    ----------
    kind : {"classes", "labels"} or None
        What the targets are; None before the first row.
    classes : ndarray
        Sorted classes; for indicators, names of the labels in order of appearance.
    tasks : ndarray or None
        Ids of the tasks, sorted where they can be; None when rows came without.
    n_rows, weight : int and float
        Of all rows together.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn import NormalEquations
    >>> X, y = np.arange(6.0)[:, None], np.array([0, 0, 0, 1, 1, 1])
    >>> left = NormalEquations([[1.0], [4.0]]).update(X[:2], y[:2])
    >>> right = NormalEquations([[1.0], [4.0]]).update(X[2:], y[2:])
    >>> both = left + right
    >>> both.n_rows, both.classes
    (6, array([0, 1]))
    >>> whole = NormalEquations([[1.0], [4.0]]).update(X, y)
    >>> bool(np.allclose(both.gram(), whole.gram()))
    True
    """

    def __init__(
        self,
        centers: Any,
        *,
        kernel: Any = "rbf",
        sigma: float = 1.0,
        degree: float = 3,
        coef0: float = 1.0,
        n_held_out: int = HELD_OUT_ROWS,
        classes: Any = None,
        memory_mb: float = DEFAULT_MEMORY_MB,
        metric: Any = None,
    ) -> None:
        resolved = resolve_kernel(kernel, degree, coef0)
        if resolved.name == "precomputed":
            raise ValueError(
                "NormalEquations needs rows of features to compare with its centers; a precomputed "
                "kernel has none. Pass a kernel's name or a function."
            )
        if not np.isfinite(sigma) or sigma <= 0:
            raise ValueError(f"sigma must be a positive number, but {sigma!r} was given.")
        if isinstance(n_held_out, bool) or int(n_held_out) != n_held_out or n_held_out < 0:
            raise ValueError(
                f"n_held_out must be a whole number, 0 or more, but {n_held_out!r} was given."
            )
        self.centers = check_array(
            centers, accept_sparse="csr", dtype=np.float64, input_name="centers"
        )
        resolved.check(self.centers)
        self.kernel = kernel
        self.sigma = float(sigma)
        self.degree, self.coef0 = float(degree), float(coef0)
        self.n_held_out = int(n_held_out)
        self.memory_mb = float(memory_mb)
        self.metric = None if metric is None else _checked_metric(metric, self.centers.shape[1])
        self.kind = None
        self._names = []
        self._declared = []
        self._as_objects = False
        self._places = {}
        self._sums = []
        self._with_tasks = None
        self._sample = None
        if classes is not None:
            self.declare(classes)

    def declare(self, classes: Any) -> NormalEquations:
        """Make classes known of which no row need have been seen.

        Parameters
        ----------
        classes : array-like
            Classes, or names of labels.

        Returns
        -------
        NormalEquations
            The sums themselves, changed in place.
        """
        refuse_mixed_labels(classes, "classes")
        array = np.asarray(classes)
        names = np.unique(array).tolist()
        if self.kind == "labels":
            raise ValueError("Classes were declared, but the rows so far have label indicators.")
        check_kinds(self._names, names)
        changed = self.copy()
        changed.kind = "classes"
        changed._as_objects = self._as_objects or array.dtype == object
        changed._declared = list(dict.fromkeys([*self._declared, *names]))
        changed._extend_columns(names)
        return self._become(changed)

    def update(
        self, X: Any, y: Any, task: Any = None, sample_weight: Any = None
    ) -> NormalEquations:
        """Add rows.

        Nothing is changed if anything about them is wrong.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, n_features)
            Rows.
        y : array-like of shape (n,), or (n, n_labels)
            Classes, or 0/1 indicators of labels. A label that a table does not name is 0 in it, as
            it is in all rows before its first appearance.
        task : array-like of shape (n,), optional
            Task ids; always or never.
        sample_weight : array-like of shape (n,), optional
            Weights; a weight of 2 is the same as the row twice.

        Returns
        -------
        NormalEquations
            The sums themselves, changed in place.
        """
        batch = self._read(X, y, task, sample_weight)
        if batch.n_rows == 0:
            return self
        changed = self.copy()
        changed._absorb(batch)
        return self._become(changed)

    def downdate(
        self, X: Any, y: Any, task: Any = None, sample_weight: Any = None
    ) -> NormalEquations:
        """Take rows out again, leaving the sums of the rows that remain.

        Weights are numbers of copies here, too: what was added twice goes at once with a weight of
        2, and what was added with a weight of 2 in two steps.

        Refused, with nothing changed, is what cannot have been added: more weight of a class or
        task than there is; rows that the sample, or a task with fewer rows than centres, would
        know; and rows without which the sums would not be those of any data. A removal that none
        of these betrays is believed.

        Parameters
        ----------
        X, y, task, sample_weight
            As in :meth:`update`.

        Returns
        -------
        NormalEquations
            The sums themselves, changed in place.
        """
        batch = self._read(X, y, task, sample_weight)
        if batch.n_rows == 0:
            return self
        removed = self._like(n_held_out=batch.n_rows if self.n_held_out else 0)
        removed._absorb(batch)
        unknown = [name for name in removed._names if name not in self._names]
        if unknown or self.kind is None:
            raise NeverAddedError(f"No rows of {unknown[:1]!r} were added, so none can be removed.")
        changed = self.copy()
        changed._without(removed)
        return self._become(changed)

    def merge(self, other: NormalEquations) -> NormalEquations:
        """Add the rows of other sums, over the same centres and kernel, in place.

        Parameters
        ----------
        other : NormalEquations
            Sums over other rows.

        Returns
        -------
        NormalEquations
            The sums themselves, changed in place.
        """
        self._check_same_features(other)
        if other.kind is None or not (other._sums or other._names):
            return self
        self._check_kind(other.kind, other._with_tasks)
        check_kinds(self._names[-1:], other._names[-1:])
        changed = self.copy()
        changed._join(other)
        return self._become(changed)

    def __add__(self, other: Any) -> NormalEquations:
        if not isinstance(other, NormalEquations):
            return NotImplemented
        return self.copy().merge(other)

    def __radd__(self, other: Any) -> NormalEquations:
        # so that sum(list of NormalEquations) works
        return self.copy() if other == 0 else NotImplemented

    def copy(self) -> NormalEquations:
        """Sums of their own.

        Returns
        -------
        NormalEquations
            The copy.
        """
        other = object.__new__(NormalEquations)
        # the sums of a task and the sample are never written to, so that copies may share them
        vars(other).update(
            vars(self),
            _names=list(self._names),
            _declared=list(self._declared),
            _places=dict(self._places),
            _sums=list(self._sums),
        )
        return other

    def empty_copy(self) -> NormalEquations:
        """No rows yet, over the same centres and kernel, with the same declared classes.

        Returns
        -------
        NormalEquations
            Sums of no rows.
        """
        other = self._like(self.n_held_out)
        return other.declare(self._declared) if self._declared else other

    def condense(self) -> NormalEquations:
        """Keep nothing of single rows: neither the sample nor features of tasks with few rows.

        Returns
        -------
        NormalEquations
            The sums themselves, changed in place.
        """
        changed = self.copy()
        changed._sums = [sums.copy().condense() for sums in self._sums]
        changed._sample, changed.n_held_out = None, 0
        return self._become(changed)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to a file, all or nothing; no pickle is involved.

        Parameters
        ----------
        path : path
            Where to.
        """
        from kinlearn.sums.storage import write

        write(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], kernel: Any = None) -> NormalEquations:
        """Read what :meth:`save` wrote; a kernel that is a function must be given again.

        Parameters
        ----------
        path : path
            The file.
        kernel : callable, optional
            The kernel, if it was a function.

        Returns
        -------
        NormalEquations
            The sums.
        """
        from kinlearn.sums.storage import read

        return read(path, kernel)[0]

    # -- inside -------------------------------------------------------------------------------

    def _become(self, changed: NormalEquations) -> NormalEquations:
        """Take over what was made aside, in one step: nothing ever sees half a change."""
        self.__dict__ = vars(changed)
        return self

    def _like(self, n_held_out: int) -> NormalEquations:
        other = self.copy()
        other.n_held_out = n_held_out
        other.kind, other._with_tasks, other._sample = None, None, None
        other._names, other._declared, other._as_objects = [], [], False
        other._places, other._sums = {}, []
        return other

    def _read(self, X: Any, y: Any, task: Any, sample_weight: Any) -> RowBatch:
        """Validate a batch without changing anything."""
        batch = read_batch(X, y, task, sample_weight, self.n_features)
        resolve_kernel(self.kernel, self.degree, self.coef0).check(batch.X)
        self._check_kind(batch.targets.kind, batch.ids is not None)
        if batch.targets.kind == "classes":
            check_kinds(self._names, batch.targets.names)
        return batch

    def _check_kind(self, kind: str, with_tasks: bool | None) -> None:
        if self.kind is not None and self.kind != kind:
            said = {"classes": "classes of one label", "labels": "indicators of many labels"}
            raise ValueError(
                f"These rows have {said[kind]}, but those so far have {said[self.kind]}: keep sums "
                "of both apart."
            )
        if None not in (self._with_tasks, with_tasks) and self._with_tasks != with_tasks:
            raise ValueError(
                "These rows come with task ids, but those so far without."
                if with_tasks
                else "These rows come without task ids, but those so far with them: pass task=."
            )

    def _check_same_features(self, other: NormalEquations) -> None:
        mine, theirs = self.centers, other.centers
        same = mine.shape == theirs.shape and (
            abs(mine - theirs).max() == 0
            if sp.issparse(mine) or sp.issparse(theirs)
            else np.array_equal(mine, theirs)
        )
        if not same:
            raise ValueError(
                f"Sums over {mine.shape[0]} and {theirs.shape[0]} centers can only be merged when "
                "these are the same centers: give all parties one set."
            )
        if not same_metric(self.metric, other.metric):
            raise ValueError(
                "Sums in two metrics cannot be merged: their features differ. Give all parties one "
                "metric."
            )
        for name in ("kernel", "sigma", "degree", "coef0"):
            if getattr(self, name) != getattr(other, name):
                raise ValueError(
                    f"Sums with {name}={getattr(self, name)!r} and {getattr(other, name)!r} cannot "
                    "be merged: their features differ."
                )


def same_metric(mine: Array | None, theirs: Array | None) -> bool:
    """Whether two metrics are one."""
    if mine is None or theirs is None:
        return mine is theirs
    return np.array_equal(mine, theirs)


def _checked_metric(metric: Any, n_features: int) -> Array:
    """Factors of columns, or a matrix, as doubles."""
    found = np.asarray(metric, dtype=np.float64)
    right = found.ndim in (1, 2) and found.shape[0] == n_features
    if not right or not np.isfinite(found).all():
        raise ValueError(
            f"metric must hold a finite number, or a row of such, for each of the {n_features} "
            f"features, but an array of shape {found.shape} was given."
        )
    return found
