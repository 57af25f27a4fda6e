"""Heat map of how similar labels are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kinlearn.pipelines import last_step
from kinlearn.plots._predictions import names_of
from kinlearn.plots._style import SEQUENTIAL, AxesDisplay, require_matplotlib
from kinlearn.solvers.label_similarity import label_spectrum

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Even in lightness on both sides of white, which stands for unrelated.
DIVERGING = "PuOr_r"
MAX_NAMES = 40


class LabelSimilarityDisplay(AxesDisplay):
    """Similarity W of every two labels, similar ones side by side.

    Use :meth:`from_estimator` on a fitted :class:`~kinlearn.MultiLabelLSPC`, or give a matrix.

    Parameters
    ----------
    similarity : array-like of shape (n_labels, n_labels)
        Similarities; negative ones are drawn on a scale of two colours.
    names : array-like of str, default=None
        Names of the labels; None: their numbers.
    order : bool, default=True
        Whether to sort the labels by the second eigenvector of the Laplacian, which puts labels
        that share much next to each other; False keeps the order of Y.

    Attributes
    ----------
    order_ : ndarray of shape (n_labels,)
        Position in Y of every row drawn.
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    image_ : matplotlib AxesImage
        The cells.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from kinlearn import MultiLabelLSPC
    >>> from kinlearn.datasets import make_rotated_labels
    >>> from kinlearn.plots import LabelSimilarityDisplay
    >>> model = MultiLabelLSPC().fit(*make_rotated_labels(80, n_labels=6, random_state=0))
    >>> LabelSimilarityDisplay.from_estimator(model).image_.get_array().shape
    (6, 6)
    """

    def __init__(
        self, *, similarity: ArrayLike, names: ArrayLike | None = None, order: bool = True
    ) -> None:
        self.similarity = np.asarray(similarity, dtype=np.float64)
        if self.similarity.ndim != 2 or self.similarity.shape[0] != self.similarity.shape[1]:
            raise ValueError(
                f"The similarity has shape {self.similarity.shape}, but it must be square, one row "
                "and one column per label."
            )
        n_labels = len(self.similarity)
        self.names: NDArray = np.asarray(np.arange(n_labels) if names is None else names)
        if len(self.names) != n_labels:
            raise ValueError(f"There are {len(self.names)} names for {n_labels} labels.")
        self.order = order

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, order: bool = True, ax: Axes | None = None, **kwargs: Any
    ) -> LabelSimilarityDisplay:
        """Draw the similarity that a fitted multi-label LSPC used.

        Parameters
        ----------
        estimator : fitted MultiLabelLSPC or MultiLabelLSPCCV, or a pipeline that ends in one
            The model.
        order : bool, default=True
            As in the constructor.
        ax, **kwargs
            As in :meth:`plot`.

        Returns
        -------
        LabelSimilarityDisplay
        """
        require_matplotlib(f"{cls.__name__}.from_estimator")
        last = last_step(estimator)
        similarity = getattr(last, "similarity_", None)
        if similarity is None or isinstance(similarity, list):
            raise TypeError(
                f"{type(last).__name__} holds no single similarity of labels: fit a MultiLabelLSPC "
                "on 0/1 labels, or pass a matrix to LabelSimilarityDisplay(similarity=...)."
            )
        return cls(similarity=similarity, names=names_of(estimator), order=order).plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> LabelSimilarityDisplay:
        """Draw the heat map.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None: a new figure in kinlearn's style.
        **kwargs : dict
            Passed to ``matplotlib.axes.Axes.imshow``.

        Returns
        -------
        LabelSimilarityDisplay
            The display itself.
        """
        self._start(ax, panel_size=(5.2, 4.4))
        W = self.similarity - np.diag(np.diag(self.similarity))
        self.order_ = np.arange(len(W))
        if self.order and len(W) > 2:
            self.order_ = np.argsort(label_spectrum(np.maximum(W, 0.0))[1][:, 1], kind="stable")
        signed = bool((W < 0).any())
        reach = float(np.abs(W).max()) or 1.0
        style: dict[str, Any] = {
            "cmap": DIVERGING if signed else SEQUENTIAL,
            "vmin": -reach if signed else 0.0,
            "vmax": reach,
        } | kwargs
        shown = np.ma.masked_array(
            W[np.ix_(self.order_, self.order_)], mask=np.eye(len(W), dtype=bool)
        )
        self.image_ = self.ax_.imshow(shown, **style)
        self.ax_.grid(False)
        self.figure_.colorbar(self.image_, ax=self.ax_, label="Similarity")
        names = [str(name) for name in self.names[self.order_]]
        if len(names) <= MAX_NAMES:
            positions = np.arange(len(names))
            self.ax_.set_xticks(positions, names, rotation=90 if len(names) > 6 else 0)
            self.ax_.set_yticks(positions, names)
        self.ax_.set(xlabel="Label", ylabel="Label")
        return self
