"""Model files under damage: mutated, edited with fitting checksums, and killed while written."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import kinlearn
from kinlearn import LSPC, KinFileError
from saved_models import CLASSES, X, edited, state

N_MUTATIONS = 2000
N_KILLS = 50


def mutate(content, rng):
    """Damage bytes in one of the ways that disks, networks and editors do."""
    content = bytearray(content)
    kind = rng.integers(8)
    at, length = int(rng.integers(len(content))), int(rng.integers(1, 64))
    if kind == 0:
        content[at] ^= 1 << int(rng.integers(8))
    elif kind == 1:
        content[at : at + length] = rng.bytes(length)
    elif kind == 2:
        del content[at:]
    elif kind == 3:
        del content[at : at + length]
    elif kind == 4:
        content[at:at] = rng.bytes(length)
    elif kind == 5:
        content[at : at + length] = bytes(length)
    elif kind == 6:
        content[at:at] = content[at : at + length]
    else:
        for position in rng.integers(len(content), size=length):
            content[position] = int(rng.integers(256))
    return bytes(content)


def tail(content, rng):
    """Damage the directory at the end, which says where everything is."""
    start = content.rindex(b"PK\x01\x02", 0, content.index(b"PK\x01\x02") + 4)
    return content[:start] + mutate(content[start:], rng)


@pytest.mark.parametrize("damage", [mutate, tail])
def test_mutations_load_equal_or_are_refused(damage, tmp_path):
    rng = np.random.default_rng(0)
    model = LSPC(n_centers=5, random_state=0).fit(X, CLASSES)
    path = tmp_path / "m"
    kinlearn.save(model, path)
    whole, wanted = path.read_bytes(), state(model)
    refused = 0
    for _ in range(N_MUTATIONS // 2):
        path.write_bytes(damage(whole, rng))
        try:
            again = kinlearn.load(path)
        except KinFileError:
            refused += 1
        else:
            assert state(again) == wanted
    assert refused > 0.5 * N_MUTATIONS // 2


def test_edits_with_fitting_checksums_load_or_are_refused(tmp_path):
    rng = np.random.default_rng(1)
    kinlearn.save(LSPC(n_centers=5, random_state=0).fit(X, CLASSES), tmp_path / "m")
    junk = [None, -1, 1e300, "", [], {}, {"array": [0, []]}, {"object": 0}, {"list": 3}, "a" * 99]

    def change(content):
        tree = json.loads(content)
        state = tree["objects"][0]["state"]
        node = junk[rng.integers(len(junk))]
        where = rng.integers(4)
        if where == 0:
            tree[["root", "objects"][rng.integers(2)]] = node
        elif where == 1:
            tree["objects"][0][["type", "state", "requests"][rng.integers(3)]] = node
        else:
            name = list(state)[rng.integers(len(state))]
            if isinstance(state[name], dict) and where == 2:
                state[name] = {next(iter(state[name])): node}
            else:
                state[name] = node
        return json.dumps(tree).encode()

    for _ in range(500):
        try:
            kinlearn.load(edited(tmp_path / "m", tmp_path / "e", change))
        except KinFileError:
            continue


KILLER = """
import json, os, random, signal, sys, time
import numpy as np
import kinlearn
folder, n_kills = sys.argv[1], int(sys.argv[2])
rng = np.random.default_rng(0)
X = rng.normal(size=(300, 20))
y = (X[:, 0] > 0).astype(int)
models = [kinlearn.LSPC(reg=reg).fit(X, y) for reg in (1e-3, 1e-2)]
path = os.path.join(folder, "model.kin")
kinlearn.save(models[0], path)
random.seed(0)
found = []
for _ in range(n_kills):
    child = os.fork()
    if child == 0:
        while True:
            for model in models:
                kinlearn.save(model, path)
    time.sleep(random.uniform(0.0, 0.03))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    found.append(kinlearn.load(path).reg)
print(json.dumps(found))
"""


def test_kills_while_saving_leave_the_old_or_the_new_file(tmp_path):
    source = str(Path(kinlearn.__file__).parents[1])
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    environment["PYTHONPATH"] = source
    done = subprocess.run(
        [sys.executable, "-c", KILLER, str(tmp_path), str(N_KILLS)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)) == N_KILLS
    assert set(json.loads(done.stdout)) <= {1e-3, 1e-2}
    unfinished = [p for p in tmp_path.iterdir() if p.name.endswith(".tmp")]
    assert len(unfinished) > N_KILLS // 5  # the kills did fall into the midst of saving
