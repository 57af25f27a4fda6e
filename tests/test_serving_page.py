"""Every command of "From a table to a service in five minutes", run in its order."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import served_models

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "serving.md").read_text("utf-8")


def commands():
    """The commands, each as it is typed."""
    blocks = re.findall(r"```bash\n(.*?)```", PAGE, re.S)
    found = []
    for block in blocks:
        whole = ""
        for line in block.splitlines():
            whole += ("\n" if whole else "") + line
            if whole.count("'") % 2 == 0:
                found.append(whole)
                whole = ""
    return found


@pytest.mark.slow
def test_every_command_of_the_page_works(tmp_path):
    if shutil.which("curl") is None:
        pytest.skip("The page asks with curl, which is not installed.")
    ours = f"{shlex.quote(sys.executable)} -m kinlearn"
    address, started, outputs, asked = "", None, {}, []
    try:
        for command in commands():
            if command.startswith("kinlearn serve"):
                started = served_models.serving(tmp_path / "model.kin")
                address, _ = started.__enter__()
                continue
            line = command.replace("http://127.0.0.1:8080", address)
            line = re.sub(r"^kinlearn ", f"{ours} ", line)
            done = subprocess.run(
                line, shell=True, cwd=tmp_path, capture_output=True, text=True, env=os.environ
            )
            assert done.returncode == 0, (command, done.stderr)
            path = command.split("8080")[-1].split(" ")[0]
            asked += [done.stdout] if path == "/predict" and done.stdout else []
            outputs[path] = done.stdout
    finally:
        if started is not None:
            started.__exit__(None, None, None)
    assert len(asked) == 1
    assert set(json.loads(asked[0])["answers"][0]) >= {"class", "probabilities", "decision"}
    assert "predict_proba" in outputs["/v2/models/model"]
    assert "kinlearn_expected_accuracy" in outputs["/metrics"]
    assert json.loads(outputs["/feedback"])["taken"] == 200
    scored = pd.read_csv(tmp_path / "scored.csv")
    assert len(scored) == 200
    assert {"predicted", "p_yes", "decision", "reason", "familiarity"} <= set(scored)
    answers = json.loads((tmp_path / "answers.json").read_text("utf-8"))
    assert len(answers["predictions"]) == 200
    assert (tmp_path / "monitor.html").exists()


def test_the_unit_and_the_container_name_what_there_is():
    unit = (ROOT / "deploy" / "kinlearn.service").read_text("utf-8")
    container = (ROOT / "deploy" / "Containerfile").read_text("utf-8")
    assert re.search(r"ExecStart=\S+/kinlearn serve \S+ --port \d+ --token-file", unit)
    for folder in re.findall(r"^COPY (.*) \S+$", container, re.M):
        for name in folder.split():
            assert (ROOT / name).exists()
    assert '"/src[serve]"' in container
