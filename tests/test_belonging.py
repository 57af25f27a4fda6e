"""Rows of one patient, and copies: figures that hold for new patients, and no copies by chance."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from kinlearn.cli import app
from kinlearn.estimators._duplicate_rows import find_copies
from kinlearn.report.findings import chance_calibration_error
from kinlearn.tables.belonging import likeness
from kinlearn.tables.evaluation import Evaluation, LabelEvaluation
from kinlearn.tables.hand_over import label_rule

runner = CliRunner()


@pytest.fixture(scope="module")
def visits(tmp_path_factory):
    """Eight visits of each patient, alike but for a little noise, answers drawn at random."""
    rng = np.random.default_rng(0)
    patient = np.repeat(np.arange(24), 8)
    table = pd.DataFrame(
        (rng.normal(size=(24, 3))[patient] + rng.normal(0, 0.02, (192, 3))).round(3),
        columns=["u", "v", "w"],
    )
    table["patient"] = [f"P{i:03d}" for i in patient]
    table["ill"] = np.repeat(["yes", "no"], 12)[rng.permutation(24)][patient]
    path = tmp_path_factory.mktemp("visits") / "visits.csv"
    table.to_csv(path, index=False)
    return path


def train(path, *arguments):
    out = path.with_name("model.kin")
    command = ["train", path, "--target", "ill", "--out", out, "--force", "--json", *arguments]
    found = runner.invoke(app, [str(argument) for argument in command])
    assert found.exit_code == 0, found.output
    return json.loads(found.stdout)


def test_what_holds_for_known_patients_alone_is_not_promised_for_others(visits):
    found = train(visits)
    said = " ".join(found["conclusions"])
    assert found["figures"]["accuracy"]["value"] > 0.9
    assert "for rows of a new 'patient' the former is what to expect" in said
    assert "for rows of a 'patient' that is in the table" in said
    assert "That is not promised for rows of a new 'patient'" in said
    assert "at their word" not in said


def test_likeness_is_of_pairs_and_nothing_by_chance():
    rng = np.random.default_rng(1)
    group, answer = rng.integers(0, 30, 200), rng.integers(0, 2, 200)
    assert likeness(group, answer) == 0.0
    alike = np.where(rng.uniform(size=200) < 0.8, group % 2, answer)
    pairs = (group[:, None] == group) & ~np.eye(200, dtype=bool)
    same, others = alike[:, None] == alike, ~np.eye(200, dtype=bool)
    chance = same[others].mean()
    assert likeness(group, alike) == pytest.approx((same[pairs].mean() - chance) / (1 - chance))


def test_few_counts_with_a_common_divisor_are_no_copies():
    x, y = np.repeat([0.0, 1.0], [225, 275])[:, None], np.repeat(["a", "b"], [225, 275])
    assert find_copies(x, y)[0] == 1.0
    rng = np.random.default_rng(0)
    rows, labels = rng.integers(0, 3, 90).astype(float)[:, None], rng.choice(["a", "b"], 90)
    assert find_copies(rows, labels)[0] == 1.0
    assert find_copies(np.vstack([rows, rows]), np.tile(labels, 2))[0] == 2.0


def test_a_column_that_tells_all_answers_is_answered(tmp_path):
    table = pd.DataFrame({"ill": np.repeat(["yes", "no"], [60, 100])})
    table["x"] = (table["ill"] == "yes").astype(int)
    table.to_csv(tmp_path / "t.csv", index=False)
    assert train(tmp_path / "t.csv")["hand_over"]["coverage"] == 1.0


def test_chance_makes_more_of_rows_that_come_twice():
    rng = np.random.default_rng(2)
    p = rng.uniform(size=300)
    proba, truth = np.column_stack([1 - p, p]), (rng.uniform(size=300) < p).astype(int)

    def chance(times, group=None):
        n = 300 * times
        rows = np.tile(proba, (times, 1)), np.arange(n)
        return chance_calibration_error(
            Evaluation(["n", "y"], np.tile(truth, times), *rows, "x", group=group), 0
        )

    once = chance(1)
    assert chance(4, np.tile(np.arange(300), 4)) == pytest.approx(once, rel=0.15)
    assert chance(4) < 0.7 * once


def test_labels_of_a_group_count_as_fewer():
    rng = np.random.default_rng(3)
    proba = np.repeat(rng.uniform(0.9, 1.0, (40, 2)), 5, axis=0)
    truth = np.repeat((rng.uniform(size=(40, 2)) < 0.96).astype(float), 5, axis=0)
    found = LabelEvaluation(["a", "b"], truth, proba, np.arange(200), "x", np.repeat(range(40), 5))
    alone = label_rule(found.truth, found.proba, 0.08)
    together = label_rule(found.truth, found.proba, 0.08, found.group)
    assert alone["threshold"] < together["threshold"]
