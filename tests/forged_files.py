"""Model files changed at one place, with all checksums made to fit again."""

import hashlib
import io
import json
import zipfile

import numpy as np

from kinlearn.archives.archive import COMMENT, MANIFEST, TREE

JUNK = [
    None,
    True,
    -1,
    0,
    2,
    10**6,
    10**12,
    2**63,
    -0.5,
    1e300,
    "",
    "a",
    "rbf",
    "precomputed",
    [],
    {},
    {"float": "nan"},
    {"float": "-inf"},
    {"list": [1, 2]},
    {"list": []},
    {"dict": [["a", 1]]},
    {"tuple": [0, None]},
    {"object": 0},
    {"object": 10**6},
    {"type": "numpy.int8"},
    {"dtype": "<U500000"},
    {"dtype": "<f4"},
    {"slice": [None, 10**9]},
    {"scalar": ["<f8", {"array": [0, [0]]}]},
    {"scalar": ["<U500000", "a"]},
    {"masked": [{"array": [0, [0]]}, False, {"dtype": "<U500000"}]},
    {"objects": [[2], ["a", None]]},
    {"frame": [1.0, {"array": [0, [0]]}, {"array": [0, [0]]}]},
    {"sparse": ["csr_matrix", [3, 10**9]] + [{"array": [i, [0]]} for i in range(3)]},
    {"random_state": ["MT19937", {"array": [0, [0]]}, 10**9, 0, 0.0]},
]
DTYPES = [
    "<f8",
    "<f4",
    ">f8",
    "<f2",
    "<i8",
    "<i4",
    "<u8",
    "|i1",
    "|u1",
    "|b1",
    "<U1",
    "|S8",
    "<c16",
]
VALUES = [np.nan, np.inf, -np.inf, -1, 0, 1, 1e300, -1e300, 2**31, 2**62, 10**6]


def members_of(path):
    """All members of an archive by name."""
    with zipfile.ZipFile(path) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


def write_members(target, members):
    """Write an archive whose checksums fit its members."""
    manifest = json.loads(members[MANIFEST])
    manifest["members"] = {
        name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for name, content in members.items()
        if name != MANIFEST
    }
    members = {**members, MANIFEST: json.dumps(manifest).encode()}
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
        archive.comment = COMMENT + hashlib.sha256(members[MANIFEST]).hexdigest().encode()
    return target


def forge(members, rng):
    """Change the description in JSON, or an array: values, types, shapes, names."""
    arrays = [name for name in members if name.startswith("arrays/")]
    if rng.random() < 0.6 or not arrays:
        name = MANIFEST if rng.random() < 0.05 else TREE
        tree = json.loads(members[name])
        _change_json(tree, rng)
        return {**members, name: json.dumps(tree).encode()}
    name = arrays[rng.integers(len(arrays))]
    if rng.random() < 0.1:
        other = arrays[rng.integers(len(arrays))]
        return {**members, name: members[other], other: members[name]}
    array = np.load(io.BytesIO(members[name]), allow_pickle=False)
    if array.dtype == np.uint8 and array.size > 50:  # the JSON header of sums
        header = json.loads(array.tobytes())
        _change_json(header, rng)
        changed = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    else:
        changed = _change_array(array, rng)
    stream = io.BytesIO()
    np.save(stream, changed, allow_pickle=False)
    return {**members, name: stream.getvalue()}


def _places(value, found):
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in list(items):
        found.append((value, key))
        if isinstance(item, (dict, list)):
            _places(item, found)
    return found


def _change_json(tree, rng):
    places = _places(tree, [])
    holder, key = places[rng.integers(len(places))]
    kind = rng.integers(5)
    if kind <= 1:
        holder[key] = JUNK[rng.integers(len(JUNK))]
    elif kind == 2 and isinstance(holder, dict):
        name = ["a", key + "_", "predict", "coef_", "centers_", "list", "array"][rng.integers(7)]
        holder[name] = holder.pop(key)
    elif kind == 2:
        del holder[key]
    elif kind == 3:
        other, there = places[rng.integers(len(places))]
        copied = json.loads(json.dumps(other[there]))
        holder[key] = copied
    elif isinstance(holder[key], (int, float)) and not isinstance(holder[key], bool):
        holder[key] = [holder[key] + 1, -holder[key], holder[key] * 1000][rng.integers(3)]
    else:
        holder[key] = JUNK[rng.integers(len(JUNK))]


def _change_array(array, rng):
    kind = rng.integers(5)
    if kind == 0:
        return (
            array.astype(DTYPES[rng.integers(len(DTYPES))]) if array.dtype.kind in "biuf" else array
        )
    if kind == 1 and array.dtype.kind in "biuf":
        flat = array.copy().ravel()
        value = VALUES[rng.integers(len(VALUES))]
        some = rng.random(flat.size) < [0.02, 1.0][rng.integers(2)]
        if array.dtype.kind != "f":
            low, high = (
                (0, 1)
                if array.dtype == bool
                else (np.iinfo(array.dtype).min, np.iinfo(array.dtype).max)
            )
            value = 7 if not np.isfinite(value) else value
            value = int(min(max(value, low), high))
        flat[some] = value
        return flat.reshape(array.shape)
    if kind == 2:
        shapes = [(-1,), (1, -1), (-1, 1), (1, 1, -1)]
        return array.reshape(shapes[rng.integers(4)])
    if kind == 3 and array.ndim:
        cut = [array[:0], array[:-1], np.repeat(array, 2, axis=0), array[:1], array[::-1]]
        return cut[rng.integers(5)]
    return array.T if array.ndim > 1 else np.resize(array, rng.integers(1, 200))
