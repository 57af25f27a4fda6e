"""The demo's part on tasks of different features."""

import numpy as np
from matplotlib.image import imread
from rich.console import Console

from kinlearn.cli.demo_parts import PARTS
from kinlearn.cli.demo_parts.heterogeneous import heterogeneous, split_digits


def test_the_part_gives_a_table_and_a_picture(tmp_path):
    console = Console(record=True, width=120, force_terminal=False)
    result = heterogeneous(tmp_path, console, seed=1, quick=True)
    for table in result.tables:
        console.print(table)
    text = console.export_text()
    for word in ("MTDA + 1-NN", "MTDA + LSPC", "LDA + LSPC", "16 × 16", "log-loss"):
        assert word in text
    (path,) = result.paths
    assert path == tmp_path / "heterogeneous.png"
    assert imread(path).std() > 0.05
    losses = [float(cell.replace("[bold]", "").replace("[/]", "")) for cell in _last(result)]
    assert losses[1] < losses[0]  # probabilities beat votes of one neighbour
    assert heterogeneous in PARTS


def _last(result):
    return list(result.tables[0].columns[-1].cells)


def test_training_and_test_rows_do_not_meet():
    train_X, train_y, test_X, test_y = split_digits(0, 4)
    assert list(train_X) == ["16 × 16", "8 × 8", "4 × 4"]
    for task, y in train_y.items():
        assert np.bincount(y).tolist() == [4] * 10
        assert len(test_y[task]) == 599 - 40
        assert not set(map(bytes, train_X[task])) & set(map(bytes, test_X[task]))
