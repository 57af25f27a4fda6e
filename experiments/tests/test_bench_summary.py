"""From cells to tables, sentences, pictures: checked on cells made by hand."""

import json
from pathlib import Path

import numpy as np
import pytest

from kinlearn_experiments.bench.journal import Journal, Key, read_results
from kinlearn_experiments.bench.page import NOT_YET, page_text, write_page
from kinlearn_experiments.bench.plots import spread_labels
from kinlearn_experiments.bench.reading import reading, short_answer, verdicts
from kinlearn_experiments.bench.report import (
    details,
    markdown,
    overview,
    statistics_of,
    summaries_of,
)
from kinlearn_experiments.results import RESULTS

ROOT = Path(__file__).parents[2]
FACTS = {
    "machine": {"processor": "P", "cores": 2, "python": "3", "packages": {"numpy": "2"}},
    "quick": False,
    "seeds": 3,
    "limit_seconds": 9.0,
    "left_out": {"lsanomaly": "not installed"},
}
LOSSES = {"LSPCCV": 0.2, "LightGBM": 0.3, "Random forest": 0.1, "Nearest neighbours": 0.2}
SETS = ["iris", "wine", "digits", "banana", "magic", "adult", "vowel", "landmine"]


def cell(data, name, seed, loss, **others):
    found = {
        "suite": "single",
        "data": data,
        "method": name,
        "seed": seed,
        "size": 9,
        "quick": False,
        "protocol": 1,
        "status": "done",
        "log_loss": loss,
        "accuracy": 1 - loss,
        "auc": 1 - loss / 2,
        "brier": loss,
        "ece": loss / 10,
        "fit_cpu_seconds": 10 * loss,
        "predict_cpu_seconds": 0.01,
        "peak_mb": 20.0,
        "n_train": 300,
    }
    return found | others


def wiggle(method, d, seed):
    """A small spread over splits; neighbours are ours but for a little more or less by turns."""
    sign = (-1) ** (d + seed) * (d + 1) if method == "Nearest neighbours" else 0
    return 0.001 * seed * (d + 1) + 0.0001 * len(method) * (seed % 2) + 0.0005 * sign


@pytest.fixture
def cells():
    return [
        cell(data, method, seed, loss * (1 + d / 10) + wiggle(method, d, seed))
        for method, loss in LOSSES.items()
        for d, data in enumerate(SETS)
        for seed in range(3)
    ]


def summary_of(cells):
    (found,) = summaries_of(cells)
    return found


def test_means_spreads_and_ranks(cells):
    found = summary_of(cells)
    assert found.methods == ["LSPCCV", "LightGBM", "Random forest", "Nearest neighbours"]
    values = [c["log_loss"] for c in cells if (c["data"], c["method"]) == ("wine", "LightGBM")]
    assert found.means("log_loss")[1, 1] == pytest.approx(np.mean(values))
    assert found.spreads("log_loss")[1, 1] == pytest.approx(np.std(values, ddof=1))
    np.testing.assert_array_equal(found.mean_ranks("log_loss")[[1, 2]], [4, 1])
    # more accuracy is better
    np.testing.assert_array_equal(found.ranks("accuracy"), found.ranks("log_loss"))


def test_ratios_are_geometric_means_to_ours(cells):
    found = summary_of(cells)
    means = found.means("fit_cpu_seconds")
    expected = np.exp(np.log(means / means[:, [0]]).mean(axis=0))
    np.testing.assert_allclose(found.ratios("fit_cpu_seconds"), expected)


def test_a_failed_cell_ranks_worst_and_is_shown(cells):
    bad = next(c for c in cells if c["method"] == "Random forest" and c["data"] == "wine")
    bad.update(status="timeout", reason="not finished after 9 s", limit=9.0)
    found = summary_of(cells)
    assert np.isnan(found.means("log_loss")[1, 2])
    assert found.ranks("log_loss")[1, 2] == 4
    assert found.outcomes("log_loss")["Random forest"][1] == "win"
    text = markdown(FACTS | {"cells": cells})
    assert "Random forest on wine, split 0: not finished after 9 s" in text
    assert (
        dict(zip(*[details(found, "log_loss")[0], details(found, "log_loss")[1][1]], strict=True))[
            "Random forest"
        ]
        == "failed"
    )


def test_splits_that_are_not_complete_do_not_count(cells):
    kept = [c for c in cells if (c["method"], c["data"], c["seed"]) != ("LightGBM", "wine", 2)]
    found = summary_of(kept)
    assert found.n_missing == 1
    whole = summary_of(cells)
    values = whole.values["log_loss"][1, 0, :2]
    assert found.means("log_loss")[1, 0] == pytest.approx(values.mean())
    assert found.spreads("log_loss")[1, 0] == pytest.approx(values.std(ddof=1))
    only = [c for c in cells if c["data"] != "wine" or c["method"] != "LightGBM"]
    assert "wine" not in summary_of(only).data
    assert not summaries_of([c for c in cells if c["method"] != "LSPCCV"])


def test_the_reading_follows_the_figures(cells):
    found = summary_of(cells)
    by_rival = {verdict.rival: verdict for verdict in verdicts(found)}
    assert by_rival["LightGBM"].outcome == "win"
    assert by_rival["LightGBM"].wins == len(SETS)
    assert by_rival["Random forest"].outcome == "loss"
    text = "\n".join(reading(found))
    assert "against**: LightGBM" in text
    assert "to**: Random forest" in text
    assert "8 of 8: iris (Random forest" in text
    assert "try first where time matters: Random forest" in text
    answer = short_answer(found)
    assert "better than 1 " in answer
    assert "worse than 1." in answer


def test_with_few_sets_the_reading_counts_them(cells):
    few = summary_of([c for c in cells if c["data"] in SETS[:3]])
    by_rival = {verdict.rival: verdict.outcome for verdict in verdicts(few)}
    assert by_rival["LightGBM"] == "ahead"
    assert by_rival["Random forest"] == "behind"


def test_the_table_is_sorted_by_rank_and_ours_stands_out(cells):
    header, rows = overview(summary_of(cells))
    assert rows[0][0] == "Random forest"
    assert "**LSPCCV**" in [row[0] for row in rows]
    assert all(len(row) == len(header) for row in rows)
    ours = next(row for row in rows if row[0] == "**LSPCCV**")
    assert ours[header.index("fit ÷ ours")] == "1"


def test_statistics_are_plain_json(cells):
    found = json.loads(json.dumps(statistics_of(summary_of(cells)), allow_nan=False))
    assert found["t_test_win_tie_loss"]["LightGBM"] == [8, 0, 0]


def test_the_page_and_its_pictures(cells, tmp_path):
    content = FACTS | {"cells": cells}
    paths = write_page(content, tmp_path / "docs" / "page.md")
    text = paths[0].read_text()
    assert text == page_text(content)
    assert "more than 300 training rows" in text
    assert "8 data sets (iris, " in text
    assert "), 3 splits of each, 4 methods." in text
    for name in ("bench_ranks.png", "bench_cost.png"):
        assert f"images/{name}" in text
    from matplotlib.image import imread

    assert [path.name for path in paths[1:]] == ["bench_ranks.png", "bench_cost.png"]
    for path in paths[1:]:
        assert imread(path).std() > 0.02


def test_the_committed_page_says_what_the_committed_results_say():
    content = read_results(RESULTS / "bench.json")
    page = (ROOT / "docs" / "should_i_use_this.md").read_text()
    assert page == page_text(content), (
        "docs/should_i_use_this.md and experiments/results/bench.json differ: run kinlearn bench "
        "--out experiments/results --page docs/should_i_use_this.md"
    )


def test_held_out_sets_come_first_and_apart(cells):
    tables = [
        cell(data, method, seed, 2 * loss + wiggle(method, d, seed), size=400, n_train=243 + d)
        for method, loss in (LOSSES | {"CatBoost": 0.15}).items()
        for d, data in enumerate(["bands", "ring", "twonorm"])
        for seed in range(3)
    ]
    chosen = [c | {"data": "pima", "size": 1500} for c in tables if c["data"] == "ring"]
    assert NOT_YET in page_text(FACTS | {"cells": cells})
    content = FACTS | {"cells": cells + chosen + tables}
    found = summaries_of(content["cells"])
    keys = ["single/held-out/400", "single/chosen-on/1500", "single/development/9"]
    assert [summary.group.key for summary in found] == keys
    # a method measured on some groups only does not void the others
    assert [len(summary.methods) for summary in found] == [5, 5, 4]
    assert found[0].data == ["bands", "ring", "twonorm"]
    alone = summary_of(cells)
    np.testing.assert_array_equal(found[2].mean_ranks("log_loss"), alone.mean_ranks("log_loss"))
    assert statistics_of(found[0])["role"] == "held-out"
    text = page_text(content)
    assert text.index("## One task, held-out tables, up to 400") < text.index("## One task, tables")
    assert "Training rows: 243 to 245." in text
    assert NOT_YET not in text
    assert "the held-out tables excepted" in text


def test_sizes_of_one_suite_are_not_mixed():
    task = {"suite": "multitask", "method": "MultiTaskLSPCCV"}
    old = [cell("vowel", "", seed, 0.5, **task, at=1) for seed in range(2)]
    new = cell("vowel", "", 0, 0.25, **task | {"size": 3, "at": 2})
    found = summary_of([*old, new])
    assert found.group.key == "multitask"
    np.testing.assert_array_equal(found.values["log_loss"].ravel(), [0.25])


def test_labels_are_moved_apart_in_order(rng):
    heights = rng.random(12)
    moved = spread_labels(heights, share=0.06)
    order = np.argsort(heights)
    np.testing.assert_array_equal(np.argsort(moved), order)
    assert np.diff(moved[order]).min() >= 0.06 * np.ptp(heights) - 1e-12
    far = np.linspace(0, 1, 5)
    np.testing.assert_allclose(spread_labels(far, share=0.06), far)


def test_the_journal_keeps_whole_lines_only(tmp_path):
    journal = Journal(tmp_path)
    journal.add(cell("iris", "LSPCCV", 0, 0.1))
    journal.add(cell("iris", "LSPCCV", 1, 0.2))
    lines = tmp_path / "cells.jsonl"
    lines.write_bytes(lines.read_bytes() + b'{"suite": "single", "da')
    again = Journal(tmp_path)
    assert set(again.cells) == {Key("single", "iris", "LSPCCV", seed, 9) for seed in (0, 1)}
    again.add(cell("iris", "LSPCCV", 2, 0.3))
    assert len(Journal(tmp_path).cells) == 3
    content = again.finish(**FACTS)
    assert not lines.exists()
    assert read_results(tmp_path / "bench.json") == content
    assert Journal(tmp_path).cells == again.cells
    assert not Journal(tmp_path, fresh=True).cells


@pytest.mark.parametrize("text", ["no json", "[1]", '{"machine": 1}'])
def test_other_files_are_refused(tmp_path, text):
    (tmp_path / "bench.json").write_text(text)
    with pytest.raises(ValueError, match=r"bench\.json .* --fresh"):
        Journal(tmp_path)
