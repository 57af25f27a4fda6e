"""Importing, fitting and asking load nothing that was not asked for, and need no extra."""

import subprocess
import sys

EXTRAS = (
    "cv2",
    "dask",
    "distributed",
    "fastapi",
    "hmmlearn",
    "matplotlib",
    "onnx",
    "onnxruntime",
    "orjson",
    "skl2onnx",
    "soundfile",
    "typer",
    "uvicorn",
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


def test_a_command_that_needs_no_model_loads_no_library():
    heavy = {"numpy", "scipy", "sklearn", "pandas", "pyarrow", "joblib", "rich"}
    loaded = f"print(sorted({heavy!r} & set(sys.modules)))"
    assert run(f"import sys, kinlearn.cli\n{loaded}") == "[]"


def test_public_names_are_found_when_they_are_used():
    used = "kinlearn.LSPC, kinlearn.datasets.make_clinic_table, kinlearn.__version__"
    shown = "print(hasattr(kinlearn, 'LSPD'))\nassert set(kinlearn.__all__) <= set(dir(kinlearn))"
    assert run(f"import kinlearn\n{used}\n{shown}") == "False"
    assert run("from kinlearn import *\nprint(LSPC.__name__)") == "LSPC"
