"""The models by name; a file that was replaced takes over once it has loaded and answers."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from threading import Lock

from kinlearn.answering.known_rows import KnownRows, known_rows
from kinlearn.answering.refusals import Refusal
from kinlearn.answering.served_model import ServedModel, load_served, stamp_of
from kinlearn.cells.refusals import TableError, quoted

SUFFIX = ".kin"
log = logging.getLogger("kinlearn.service")


class Registry:
    """Models by name.

    Parameters
    ----------
    given : list of paths
        Files, and folders whose ``.kin`` files are served.

    Raises
    ------
    TableError
        In a sentence, when there is nothing to serve.
    """

    def __init__(self, given: list[str]) -> None:
        self.given = [Path(each) for each in given]
        self.problems: dict[str, str] = {}
        # who is asked what to serve when the file of a model was replaced
        self.replaced: dict[str, Callable[[ServedModel], ServedModel]] = {}
        self._models: dict[str, ServedModel] = {}
        self._known: dict[str, KnownRows | None] = {}
        self._stamps: dict[Path, tuple[int, int, int]] = {}
        self._lock = Lock()
        paths = self._paths(strict=True)
        for name, path in paths.items():
            self._stamps[path] = stamp_of(path)
            self._models[name] = load_served(path, name)
        if not self._models:
            raise TableError(
                f"There is no model to serve: {quoted(given)} holds no file that ends in {SUFFIX}."
            )

    def path(self, name: str) -> Path:
        """The file of a model."""
        return self._paths(strict=False)[name]

    @property
    def names(self) -> list[str]:
        return sorted(self._models)

    def all(self) -> list[ServedModel]:
        """The models as they are now."""
        models = self._models
        return [models[name] for name in sorted(models)]

    def get(self, name: str | None = None, version: str | None = None) -> ServedModel:
        """The model of a name, or the only one."""
        models = self._models
        if name is None:
            if len(models) > 1:
                raise Refusal(
                    f"Several models are served: name one of {quoted(sorted(models))} in the "
                    "address, such as /models/NAME/predict.",
                    status=404,
                )
            [name] = models
        if name not in models:
            raise Refusal(
                f"There is no model {name!r} here; there is {quoted(sorted(models))}.", status=404
            )
        found = models[name]
        if version is not None and version not in (found.version, found.checksum):
            raise Refusal(
                f"Model {name!r} has no version {version!r} here: {found.version!r} answers now.",
                status=404,
            )
        return found

    def known(self, served: ServedModel) -> KnownRows | None:
        """The rows that a model keeps, made when they are first asked for."""
        with self._lock:
            if served.checksum not in self._known:
                current = {each.checksum for each in self._models.values()}
                self._known = {k: v for k, v in self._known.items() if k in current}
                self._known[served.checksum] = known_rows(served)
            return self._known[served.checksum]

    def put(self, served: ServedModel) -> None:
        """Let a model take over; requests that were begun keep the one they began with."""
        self._models = {**self._models, served.name: served}

    def look(self) -> list[str]:
        """Load what was replaced or added, and say which names changed.

        The old model answers until the new one has loaded and answers; a file that does not load
        never takes the place of one that did.
        """
        changed = []
        paths = self._paths(strict=False)
        for name, path in paths.items():
            try:
                stamp = stamp_of(path)
                if self._stamps.get(path) == stamp:
                    continue
                served = load_served(path, name)
            except FileNotFoundError:
                continue  # between two moves
            except (OSError, ValueError) as error:
                self._stamps[path] = stamp
                self.problems[name] = str(error)
                log.warning("%s The model that was there goes on answering.", error)
                continue
            self._stamps[path] = stamp
            self.problems.pop(name, None)
            if name in self.replaced:
                served = self.replaced[name](served)
            before = self._models.get(name)
            if before is None or before.checksum != served.checksum:
                self.put(served)
                changed.append(name)
                log.info("Model %s is now version %s.", name, served.version)
        gone = [name for name in self._models if name not in paths and self._in_folder(name)]
        for name in gone:
            self._models = {key: each for key, each in self._models.items() if key != name}
            changed.append(name)
        return changed

    def _in_folder(self, name: str) -> bool:
        """Whether a name can only have come from a folder that no longer has it."""
        return len(self._models) > 1 and not any(
            path.stem == name and path.suffix == SUFFIX for path in self.given
        )

    def _paths(self, *, strict: bool) -> dict[str, Path]:
        found: dict[str, Path] = {}
        for given in self.given:
            if strict and not given.exists():
                raise TableError(f"There is no file {given}.")
            files = sorted(given.glob(f"*{SUFFIX}")) if given.is_dir() else [given]
            for path in files:
                if path.name.startswith("."):
                    continue
                if path.stem in found and strict:
                    raise TableError(
                        f"{found[path.stem]} and {path} are both named {path.stem!r}: models are "
                        "served by the names of their files, which must differ."
                    )
                found.setdefault(path.stem, path)
        return found
