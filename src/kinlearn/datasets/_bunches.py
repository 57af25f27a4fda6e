"""Results of loaders: scikit-learn's Bunch, with data frames where asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import Bunch

from kinlearn.optional import require


def bunch(*, as_frame: bool = False, return_X_y: bool = False, **parts: Any) -> Any:
    """Return the parts as a Bunch, or ``(data, target)``; as pandas objects if asked.

    ``frame`` holds the features, the target and, where rows belong to tasks, their task. Names in
    arrays become lists.
    """
    names = {key: parts[key] for key in ("feature_names", "label_names") if key in parts}
    result = Bunch(**parts | {key: np.asarray(each).tolist() for key, each in names.items()})
    if as_frame:
        _to_frames(result)
    if return_X_y:
        return result.data, result.target
    return result


def image_bunch(images: NDArray, y: NDArray, *, return_X_y: bool, **more: Any) -> Any:
    """Return images, their pixels as rows, and whole numbers as target."""
    data, target = images.reshape(len(images), -1), y.ravel().astype(np.int64)
    return bunch(images=images, data=data, target=target, return_X_y=return_X_y, **more)


def _to_frames(result: Bunch) -> None:
    pd = require("pandas", "as_frame=True")
    columns = [str(name) for name in result.feature_names]
    if sparse.issparse(result.data):
        result.data = pd.DataFrame.sparse.from_spmatrix(result.data, columns=columns)
    else:
        result.data = pd.DataFrame(result.data, columns=columns)
    if result.target.ndim == 2:
        result.target = pd.DataFrame(result.target, columns=[str(n) for n in result.label_names])
        frames = [result.data, result.target.add_prefix("label: ")]
    else:
        result.target = pd.Series(result.target, name="target")
        frames = [result.data, result.target]
    if "task" in result:
        result.task = pd.Series(result.task, name="task")
        frames.append(result.task)
    result.frame = pd.concat(frames, axis=1)
