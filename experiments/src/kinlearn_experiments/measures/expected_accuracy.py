"""The accuracy expected without labels, beside NannyML's estimate from the same probabilities.

Real tables, rows drawn with weights so that classes come in other shares, or other kinds of rows
arrive; the reference of both is the held-out probabilities of the training rows. Writes
``results/expected_accuracy.json``. Needs nannyml, in an environment of its own
(``tests/clients/requirements.txt``), and ``KINLEARN_DATA``.
"""

from __future__ import annotations

import argparse
import os
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from kinlearn import LSPCCV
from kinlearn.watch.expected import Usual, expected_accuracy
from kinlearn_experiments.machine import machine_facts
from kinlearn_experiments.results import RESULTS, Results, significant
from kinlearn_experiments.tables import table

TRAINING, ROWS, REPEATS, LEAST_ROWS = 500, 400, 20, 640
KINDS = ("none", "classes", "rows")


def read_set(path: Path) -> tuple[NDArray[np.float64], NDArray]:
    """A table as numbers, and its classes."""
    frame = pd.read_csv(path)
    y = frame.pop("class").astype(str).to_numpy()
    numbers = make_column_selector(dtype_include="number")
    others = make_column_selector(dtype_exclude="number")
    encode = OneHotEncoder(sparse_output=False, max_categories=20)
    front = make_column_transformer((StandardScaler(), numbers), (encode, others))
    return front.fit_transform(frame), y


def weights(
    kind: str, X: NDArray[np.float64], y: NDArray, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Weights by which new rows are drawn."""
    if kind == "none":
        return np.ones(len(y))
    if kind == "classes":
        names, code = np.unique(y, return_inverse=True)
        share = np.bincount(code) / len(y)
        return (rng.dirichlet(np.ones(len(names))) / share)[code]
    along = X @ rng.normal(size=X.shape[1])
    along = (along - along.mean()) / along.std()
    return np.exp(rng.uniform(0.5, 1.5) * along)


def one_set(path: Path, seed: int) -> dict[str, Any]:
    """Mean absolute errors by kind of shift, ours and NannyML's."""
    rng = np.random.default_rng(seed)
    X, y = read_set(path)
    order = rng.permutation(len(y))
    half = min(TRAINING, len(y) // 2)
    training, rest = order[:half], order[half:]
    model = LSPCCV(kernel="rbf", metric=None).fit(X[training], y[training])
    rest = rest[np.isin(y[rest], model.classes_)]
    held = model.held_out_proba()
    usual = Usual(held, len(held), float(held.max(axis=1).mean()))
    proba = model.predict_proba(X[rest])
    right = model.classes_[proba.argmax(axis=1)] == y[rest]
    drawn, kinds, seen, ours = [], [], [], []
    inside = 0
    for kind in KINDS:
        for _ in range(REPEATS):
            w = weights(kind, X[rest], y[rest], rng)
            some = rng.choice(len(rest), ROWS, p=w / w.sum())
            found = expected_accuracy(proba[some], usual)
            drawn.append(some)
            kinds.append(kind)
            seen.append(float(right[some].mean()))
            ours.append(found.accuracy)
            inside += found.low <= seen[-1] <= found.high
    theirs = nannyml(held, y[training], proba[np.concatenate(drawn)], model.classes_)
    answer: dict[str, Any] = {}
    for kind in KINDS:
        own = np.array(kinds) == kind
        for name, told in (("ours", np.array(ours)), ("NannyML", theirs)):
            error = np.abs(told - np.array(seen))[own].mean()
            answer[f"{kind}, {name}"] = significant(error, 3)
    answer["inside the interval"] = significant(inside / len(kinds), 3)
    return answer


def nannyml(
    held: NDArray[np.float64], truth: NDArray, proba: NDArray[np.float64], classes: NDArray
) -> NDArray[np.float64]:
    """NannyML's estimate for each piece of ROWS rows."""
    os.environ["NML_DISABLE_USAGE_LOGGING"] = "1"  # it would speak to a host
    from nannyml import CBPE

    names = [str(each) for each in classes]

    def frame(p: NDArray[np.float64]) -> pd.DataFrame:
        if len(names) == 2:
            return pd.DataFrame({"p": p[:, 1], "answer": p.argmax(axis=1)})
        columns = {f"p_{name}": p[:, k] for k, name in enumerate(names)}
        return pd.DataFrame({**columns, "answer": [names[k] for k in p.argmax(axis=1)]})

    two = len(names) == 2
    reference = frame(held)
    reference["truth"] = (truth == classes[1]).astype(int) if two else truth
    estimator = CBPE(
        y_pred_proba="p" if two else {name: f"p_{name}" for name in names},
        y_pred="answer",
        y_true="truth",
        metrics=["accuracy"],
        problem_type="classification_binary" if two else "classification_multiclass",
        chunk_size=ROWS,
    )
    estimator.fit(reference)
    found = estimator.estimate(frame(proba)).filter(period="analysis").to_df()
    return found[("accuracy", "value")].to_numpy(dtype=float)


def main(arguments: list[str] | None = None) -> Results:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--out", type=Path, default=RESULTS / "expected_accuracy.json")
    options = parser.parse_args(arguments)
    results = Results(options.out)
    folder = Path(os.environ["KINLEARN_DATA"], "tables")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for path in sorted(folder.glob("*.csv.gz")):
            if len(pd.read_csv(path, usecols=["class"])) < LEAST_ROWS:
                continue
            for seed in range(options.seeds):
                name = path.name.removesuffix(".csv.gz")
                results.cell((name, seed), partial(one_set, path, seed))
    results.save(machine=machine_facts(), training=TRAINING, rows=ROWS, repeats=REPEATS)
    first = next(iter(results.cells.values()))
    rows = [
        [what, significant(float(np.mean([cell[what] for cell in results.cells.values()])), 3)]
        for what in first
    ]
    print(table(["mean over sets", ""], rows))
    return results


if __name__ == "__main__":
    main()
