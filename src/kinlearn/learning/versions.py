"""Files of a model that learns: the one that is served, and those it was before."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import kinlearn
from kinlearn.archives.atomic_write import replacing
from kinlearn.cells.refusals import TableError

# How many former versions are kept.
MOST_KEPT = 10
NOTED = "learnt"


@dataclass(frozen=True)
class Noted:
    """What a file notes of its learning.

    Attributes
    ----------
    line : str
        The model that learns; empty for one that does not.
    version : int
        Counted from 0, which is the file it began with.
    seq : int
        The last row of the journal that it knows.
    oldest : int
        The oldest version that may still be there: earlier ones know what was forgotten.
    forgets : int
        How often rows were forgotten.
    """

    line: str = ""
    version: int = 0
    seq: int = 0
    oldest: int = 0
    forgets: int = 0

    @classmethod
    def of(cls, info: dict[str, Any]) -> Noted:
        """What the facts in a file say."""
        found = info["facts"].get(NOTED)
        return cls() if found is None else cls(**found)


class Versions:
    """The files of one model.

    Parameters
    ----------
    path : Path
        The file that is served; former ones stand in a folder beside it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.folder = path.with_name(f"{path.stem}.versions")

    def numbers(self) -> list[int]:
        """The versions that are kept, the oldest first."""
        if not self.folder.is_dir():
            return []
        return sorted(int(each.stem) for each in self.folder.glob("[0-9]*.kin"))

    def file(self, version: int) -> Path:
        """Where a version is kept."""
        return self.folder / f"{version:06d}.kin"

    def keep(self, version: int) -> None:
        """Keep the file that is served as a version."""
        self.folder.mkdir(exist_ok=True)
        with replacing(self.file(version)) as partial:
            shutil.copyfile(self.path, partial)
        for old in self.numbers()[: -MOST_KEPT - 1]:
            self.file(old).unlink(missing_ok=True)

    def save(self, model: Any, info: dict[str, Any], noted: Noted) -> None:
        """Write a version, which is served from now on, and keep it."""
        facts = {**info["facts"], NOTED: vars(noted)}
        kinds = {each["name"]: each["type"] for each in info["features"]}
        kinlearn.save(model, self.path, facts=facts, feature_types=kinds or None)
        self.keep(noted.version)

    def forget_before(self, version: int | None) -> None:
        """Remove earlier versions than this one, or all."""
        for old in self.numbers():
            if version is None or old < version:
                self.file(old).unlink(missing_ok=True)

    def forget_after(self, version: int) -> None:
        """Remove versions that were left behind by going back."""
        for old in self.numbers():
            if old > version:
                self.file(old).unlink(missing_ok=True)

    def put_back(self, version: int | None) -> int:
        """Serve a version that was kept; the one before the present one, if none is named."""
        present = Noted.of(kinlearn.model_info(self.path)).version
        kept = [each for each in self.numbers() if each != present]
        if version is None:
            before = [each for each in kept if each < present]
            if not before:
                raise TableError(f"{self.path} has no version before {present} to go back to.")
            version = before[-1]
        if version not in kept:
            told = ", ".join(map(str, kept)) or "none"
            raise TableError(
                f"{self.path} is version {present} and has no version {version} to go back to: "
                f"kept are {told}."
            )
        with replacing(self.path) as partial:
            shutil.copyfile(self.file(version), partial)
        os.utime(self.path)
        return version
