"""Model files as MLflow models of the flavour ``python_function``.

What is saved is the ``.kin`` file itself and the name of this module, so that
``mlflow.pyfunc.load_model`` gives a model whose ``predict`` answers as ``kinlearn serve`` does, and
``mlflow models serve`` serves it. Needs ``pip install mlflow``.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import kinlearn
from kinlearn.answering.answers import answer_rows
from kinlearn.answering.rows import Rows, rows_of_columns
from kinlearn.answering.served_model import ServedModel, load_served
from kinlearn.optional import require
from kinlearn.tables.scored_copy import ANSWER, HAND_OVER

FILE = "model.kin"
METHODS = ("predict", "predict_proba", "decide")


def save_model(model: Any, path: Any, **settings: Any) -> None:
    """Write an MLflow model to a folder.

    Parameters
    ----------
    model : path or estimator
        A ``.kin`` file, or a fitted estimator that :func:`kinlearn.save` can store.
    path : path
        The folder, which must not be there yet.
    **settings
        Given on to ``mlflow.pyfunc.save_model``, such as ``signature=`` and ``input_example=``.
    """
    pyfunc = require("mlflow.pyfunc", "A model of MLflow", "mlflow")
    with _as_file(model) as file:
        pyfunc.save_model(str(path), loader_module=__name__, data_path=str(file), **settings)


def log_model(model: Any, name: str = "model", **settings: Any) -> Any:
    """Log an MLflow model to the active run.

    Parameters
    ----------
    model : path or estimator
        A ``.kin`` file, or a fitted estimator that :func:`kinlearn.save` can store.
    name : str, default="model"
        What to call it.
    **settings
        Given on to ``mlflow.pyfunc.log_model``.

    Returns
    -------
    ModelInfo
        What MLflow says of it.
    """
    pyfunc = require("mlflow.pyfunc", "A model of MLflow", "mlflow")
    with _as_file(model) as file:
        return pyfunc.log_model(name=name, loader_module=__name__, data_path=str(file), **settings)


def load_model(path: Any) -> PyfuncModel:
    """Load a ``.kin`` file, or a folder with one, as a model that answers DataFrames.

    Parameters
    ----------
    path : path
        The file, or the folder that MLflow keeps it in.

    Returns
    -------
    PyfuncModel
    """
    path = Path(path)
    if path.is_dir():
        path = next(path.rglob("*.kin"))
    return PyfuncModel(load_served(path))


def _load_pyfunc(path: str) -> PyfuncModel:
    """What MLflow calls to load the model."""
    return load_model(path)


class PyfuncModel:
    """A model that answers DataFrames.

    Parameters
    ----------
    served : ServedModel
        The model.
    """

    def __init__(self, served: ServedModel) -> None:
        self.served = served

    def predict(self, model_input: Any, params: dict[str, Any] | None = None) -> Any:
        """Return a DataFrame: class, probabilities and decision, one row a row.

        Parameters
        ----------
        model_input : DataFrame, dict of columns, or array
            Rows; an array has the columns in the order of the training.
        params : dict, optional
            ``predict_method``: ``"predict"`` for classes alone, ``"predict_proba"`` for an array of
            probabilities.
        """
        pandas = require("pandas", "Answering a table")
        rows = self._rows(model_input)
        found = answer_rows(self.served, rows, familiarity=False)
        method = (params or {}).get("predict_method", "decide")
        if method not in METHODS:
            raise ValueError(f"predict_method is {method!r}: use one of {', '.join(METHODS)}.")
        if method == "predict_proba":
            return found.proba
        if method == "predict":
            return found.predicted if self.served.is_labels else found.classes
        names = [str(each) for each in self.served.classes.tolist()]
        decided = np.where(found.answered, ANSWER, HAND_OVER)
        columns: dict[str, Any] = {}
        if self.served.is_labels:
            for t, name in enumerate(names):
                columns[f"predicted_{name}"] = np.where(found.predicted[:, t], "yes", "no")
                columns[f"p_{name}"] = found.proba[:, t]
                columns[f"decision_{name}"] = decided[:, t]
        else:
            columns["predicted"] = found.classes
            columns |= {f"p_{name}": found.proba[:, k] for k, name in enumerate(names)}
            columns["decision"] = decided
        index = getattr(model_input, "index", None)
        return pandas.DataFrame(columns, index=index)

    def _rows(self, given: Any) -> Rows:
        served = self.served
        if hasattr(given, "columns") and hasattr(given, "iloc"):
            rules = served.schema.rules
            names = [str(name) for name in given.columns]
            wanted = set(served.schema.features)
            given = {
                name: rules.column(given.iloc[:, k])
                for k, name in enumerate(names)
                if name in wanted
            } | {name: [] for name in names if name not in wanted}
        elif not isinstance(given, dict):
            values = np.asarray(given)
            values = values[None] if values.ndim == 1 else values
            names = served.schema.features
            given = {name: values[:, k].tolist() for k, name in enumerate(names[: values.shape[1]])}
        return rows_of_columns(served, given)


class _as_file:
    """The file of a model, made for a while where an estimator is given."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> Path:
        if not hasattr(self.model, "predict_proba"):
            return Path(self.model)
        self._folder = tempfile.TemporaryDirectory()
        file = Path(self._folder.name, FILE)
        kinlearn.save(self.model, file)
        return file

    def __exit__(self, *error: object) -> None:
        if self._folder is not None:
            self._folder.cleanup()
