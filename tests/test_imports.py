"""Importing, fitting and asking load nothing that was not asked for, and need no extra."""

import subprocess
import sys

EXTRAS = (
    "cv2",
    "dask",
    "distributed",
    "hmmlearn",
    "matplotlib",
    "onnx",
    "onnxruntime",
    "skl2onnx",
    "soundfile",
    "typer",
)
WORK = """
import kinlearn, kinlearn.metrics, kinlearn.plots
model = kinlearn.LSPC().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
model.predict([[1.0]])
"""


def run(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_nothing_of_the_extras_is_loaded():
    """But rich, which scikit-learn loads where it finds it."""
    loaded = f"print(sorted({set(EXTRAS)!r} & {{name.split('.')[0] for name in sys.modules}}))"
    assert run(f"import sys\n{WORK}\n{loaded}") == "[]"


def test_nothing_of_the_extras_is_needed():
    missing = (*EXTRAS, "pandas", "polars", "pyarrow", "rich")
    run(f"import sys\nsys.modules.update(dict.fromkeys({missing!r}))\n{WORK}")
