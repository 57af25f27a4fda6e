"""Saving and loading: one file a model, replaced in one step, read without running anything."""

from __future__ import annotations

import json
import os
import platform
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import numpy as np
import scipy
import sklearn
from sklearn.utils.validation import check_is_fitted

from kinlearn.archives.archive import Archive, write_archive
from kinlearn.archives.atomic_write import replacing
from kinlearn.archives.errors import KinFileError
from kinlearn.persistence.allowed_types import name_of
from kinlearn.persistence.carried_facts import carried, carry
from kinlearn.persistence.decode import Decoder
from kinlearn.persistence.describe import describe, feature_table
from kinlearn.persistence.encode import Encoder
from kinlearn.persistence.rehearsal import answers, rehearse, with_few_centers
from kinlearn.version import VERSION

FORMAT = "kinlearn model"
SCHEMA = 1  # what this version writes, and the newest it reads


def save(
    model: Any,
    path: str | os.PathLike[str],
    *,
    facts: dict[str, Any] | None = None,
    feature_types: dict[str, str] | None = None,
) -> None:
    """Write a fitted model to a file.

    The file is an uncompressed archive of arrays (``.npy``) and JSON, without pickle. It appears
    under its name in one step, when it is complete and on disk: a crash leaves the file that was
    there before. A kernel model holds the rows that are its centres, which are training rows unless
    you gave centres of your own: see ``model_info(path)["training_rows_held"]``.

    Parameters
    ----------
    model : estimator
        A fitted estimator of kinlearn, or a scikit-learn pipeline around one, of encoders,
        imputers, scalers and the like. Functions (a callable kernel, a ``FunctionTransformer``) are
        refused.
    path : path
        Where to; ``.kin`` is the usual ending.
    facts : dict, optional
        What you want to note about the training, of JSON values: in ``model_info(path)["facts"]``.
        They stand beside what a model of :func:`kinlearn.train_table`, or one that was loaded,
        knows of the table it was trained on.
    feature_types : dict of {name: str}, optional
        Types of columns by name, to be noted. Left out, columns that a pipeline encodes as
        categories are ``"category"``, all others ``"number"``.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_iris
    >>> import kinlearn
    >>> X, y = load_iris(return_X_y=True)
    >>> model = kinlearn.LSPC().fit(X, y)
    >>> with TemporaryDirectory() as folder:
    ...     kinlearn.save(model, Path(folder, "iris.kin"), facts={"source": "iris"})
    ...     again = kinlearn.load(Path(folder, "iris.kin"))
    ...     kinlearn.model_info(Path(folder, "iris.kin"))["facts"]
    {'source': 'iris'}
    >>> bool((again.predict_proba(X) == model.predict_proba(X)).all())
    True
    """
    if name_of(type(model)) is None:
        Encoder.refuse("The model", model)
    check_is_fitted(model)
    try:
        noted = json.loads(json.dumps({**carried(model), **(facts or {})}, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"facts must be of JSON values (text, finite numbers, lists, dicts): {error}."
        ) from None
    encoder = Encoder()
    root = encoder.encode(model, type(model).__name__)["object"]
    manifest = {
        "format": FORMAT,
        "schema": SCHEMA,
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": _versions(),
        **describe(model, encoder.sources),
        "features": feature_table(model, feature_types),
        "answers": answers(model),
        "facts": noted,
    }
    with replacing(path) as partial, partial.open("wb") as file:
        write_archive(file, manifest, {"root": root, "objects": encoder.objects}, encoder.arrays)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model from a file that :func:`save` has written.

    Only types in a fixed list are made, of numbers and text in the file; nothing in it is imported
    or run. Sizes are counted and indices compared with bounds before anything is made, so that
    loading takes at most four times the file and 50 MB. Checksums tell damage and edits, not who
    wrote the file.

    Parameters
    ----------
    path : path
        The file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_iris
    >>> import kinlearn
    >>> X, y = load_iris(return_X_y=True)
    >>> model = kinlearn.LSPC(n_centers=20, random_state=0).fit(X, y)
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "iris.kin")
    ...     kinlearn.save(model, path)
    ...     bool((kinlearn.load(path).predict(X) == model.predict(X)).all())
    True

    Returns
    -------
    estimator
        The fitted model: its predictions are those of the model saved, bit by bit.

    Raises
    ------
    KinFileError
        In one sentence, when the file is damaged, edited, made to do harm, written by a newer
        version of kinlearn, or no model file at all.
    """
    with open(path, "rb") as file, _one_sentence(path):
        archive = Archive(file)
        _check_schema(archive.manifest)
        decoder = Decoder(archive.array, archive.budget)
        model = decoder.model(archive.tree())
        _check_description(archive.manifest, model, decoder.objects)
        if archive.manifest.get("answers"):
            _check_answers(model, decoder.objects)
        writer = str(archive.manifest["versions"]["scikit-learn"])
        carry(model, archive.manifest.get("facts", {}))
    _warn_of_versions(path, writer, decoder.objects)
    return model


def model_info(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the facts about a model file without reading its arrays.

    Parameters
    ----------
    path : path
        The file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_iris
    >>> import kinlearn
    >>> X, y = load_iris(return_X_y=True)
    >>> model = kinlearn.LSPC(n_centers=20, random_state=0).fit(X, y)
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "iris.kin")
    ...     kinlearn.save(model, path)
    ...     kinlearn.model_info(path)["training_rows_held"]
    20

    Returns
    -------
    dict
        ``schema``, ``written``, ``versions``, ``model`` (type, steps of a pipeline, settings,
        classes, tasks, labels), ``training_rows_held`` (how many rows of the training data the file
        holds), ``features`` (names and types), ``answers`` (whether the model answered for a
        made-up row when it was saved), ``facts`` (as given to :func:`save`) and
        ``bytes``, the size of the file.
    """
    with open(path, "rb") as file, _one_sentence(path):
        manifest = Archive(file).manifest
        _check_schema(manifest)
        size = os.fstat(file.fileno()).st_size
    return {**{name: fact for name, fact in manifest.items() if name != "members"}, "bytes": size}


@contextmanager
def _one_sentence(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn whatever inconsistent content leads to into the one error of reading a file."""
    try:
        yield
    except KinFileError as error:
        raise KinFileError(f"{os.fspath(path)} cannot be loaded: {error}.") from None
    except Exception as error:
        raise KinFileError(
            f"{os.fspath(path)} cannot be loaded: its content is damaged ({error!r})."
        ) from None


def _check_schema(manifest: dict[str, Any]) -> None:
    if manifest.get("format") != FORMAT or not isinstance(manifest.get("schema"), int):
        raise KinFileError("it is not a model file of kinlearn")
    if manifest["schema"] > SCHEMA:
        writer = manifest.get("versions", {}).get("kinlearn")
        raise KinFileError(
            f"it has schema {manifest['schema']}, written by kinlearn {writer}, and this version "
            f"reads up to schema {SCHEMA}: upgrade kinlearn"
        )


def _versions() -> dict[str, str]:
    return {
        "kinlearn": VERSION,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }


def _check_description(manifest: dict[str, Any], model: Any, objects: list[Any]) -> None:
    """What the manifest says of the model must be what the model is."""
    found = json.loads(json.dumps(describe(model, objects), allow_nan=False))
    for name, said in manifest["model"].items():
        if isinstance(said, dict):
            same = said.items() <= found["model"].get(name, {}).items()
        else:
            same = found["model"].get(name) == said
        if not same:
            raise KinFileError(f"what its manifest says about {name} is not what its model says")
    names = [feature["name"] for feature in manifest["features"]]
    if names != [feature["name"] for feature in feature_table(model, None)]:
        raise KinFileError("the columns in its manifest are not those of its model")


def _check_answers(model: Any, objects: list[Any]) -> None:
    try:
        with with_few_centers(objects):
            rehearse(model)
    except ImportError:
        return  # without pandas there are no tables to ask about
    except Exception as error:
        raise KinFileError(f"its model does not answer ({error!r})") from None


def _warn_of_versions(path: str | os.PathLike[str], then: str, objects: list[Any]) -> None:
    """scikit-learn's own objects may keep other attributes in another version."""
    theirs = any(type(each).__module__.startswith("sklearn.") for each in objects)
    now = sklearn.__version__
    if theirs and then.split(".")[:2] != now.split(".")[:2]:
        warnings.warn(
            f"{os.fspath(path)} holds steps of scikit-learn {then}, and this is {now}: compare "
            "some predictions before relying on them, or save the model anew from its data.",
            UserWarning,
            stacklevel=3,
        )
