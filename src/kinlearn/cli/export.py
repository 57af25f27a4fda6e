"""``kinlearn export``: a model as an ONNX graph, compared with the model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kinlearn.cli.model_files import load_table_model
from kinlearn.cli.options import Delimiter, Encoding, Force, Json, ModelPath
from kinlearn.cli.refusal import refusing
from kinlearn.cli.terminal import Terminal

_ROWS = 500


def export(
    model: ModelPath,
    out: Annotated[Path, typer.Argument(help="Graph to write (.onnx).", show_default=False)],
    data: Annotated[
        Path | None,
        typer.Option(help="Table with rows to compare graph and model on.", show_default=False),
    ] = None,
    delimiter: Delimiter = None,
    encoding: Encoding = "utf-8",
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Write a model as an ONNX graph, for other languages and services (extra onnx).

    The graph takes a column each, texts or numbers, and gives label, probabilities, and whether
    the row is answered. With --data its answers for some rows are compared with the model's first,
    and a graph that differs is not written.
    """
    terminal = Terminal(as_json)
    with refusing():
        import kinlearn
        from kinlearn.archives.atomic_write import replacing
        from kinlearn.tables.files import open_table
        from kinlearn.tables.output import check_output
        from kinlearn.tables.sample import read_sample

        inputs = [model] if data is None else [model, data]
        check_output(out, force=force, inputs=inputs)
        if out.suffix.lower() != ".onnx":
            raise ValueError(f"{out} does not end in .onnx, as a graph does: rename it.")
        stored = load_table_model(model)
        frame = None
        if data is not None:
            file = open_table(data, delimiter=delimiter, encoding=encoding)
            stored.schema.check(file.names, str(data))
            frame = stored.schema.frame(read_sample(file, _ROWS, 0).table)
        with terminal.working(f"Writing {out}"):
            graph = kinlearn.to_onnx(stored.model, frame)
            with replacing(out) as partial:
                partial.write_bytes(graph.SerializeToString())
        names = [each.name for each in graph.graph.input]
        results = [each.name for each in graph.graph.output]
        terminal.path("Graph", out)
        terminal.say(f"It takes {', '.join(names)}, and gives {', '.join(results)}.")
        if frame is not None:
            terminal.say(f"Compared with the model on {len(frame)} rows of {data}: the same.")
        compared = 0 if frame is None else len(frame)
        said = {"graph": str(out), "inputs": names, "outputs": results, "compared_rows": compared}
        terminal.result(said)
