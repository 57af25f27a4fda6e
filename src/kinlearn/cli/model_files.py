"""Model files that came from a table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kinlearn.cells.schema import TableSchema


@dataclass(frozen=True)
class TableModel:
    """A model, the columns it takes and what is noted of its training."""

    model: Any
    schema: TableSchema
    facts: dict[str, Any]

    def limit_memory(self, megabytes: int) -> None:
        """Bound what one block of kernel values takes, for streams."""
        from kinlearn.tables.hand_over import bare_classifier

        bare_classifier(self.model).set_params(memory_mb=megabytes)


def load_table_model(path: Path) -> TableModel:
    """Load a model that ``kinlearn train`` has written, or say why not."""
    import kinlearn
    from kinlearn.cells.refusals import TableError
    from kinlearn.cells.schema import TableSchema

    if not path.exists():
        raise TableError(f"There is no file {path}.")
    if path.is_dir():
        raise TableError(f"{path} is a folder: give the model file in it.")
    facts = kinlearn.model_info(path)["facts"]
    if "table" not in facts:
        raise TableError(
            f"{path} holds a model that was not trained on a table file, so it is not known which "
            "columns it takes: use it from Python with kinlearn.load."
        )
    return TableModel(kinlearn.load(path), TableSchema.from_facts(facts["table"]), facts)
