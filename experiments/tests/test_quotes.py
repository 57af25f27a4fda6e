"""Figures in pages are those of the committed results; none stands there without a source."""

import json
import re

import pytest
from markdown_it import MarkdownIt

from kinlearn_experiments.quotes import __main__ as quote
from kinlearn_experiments.quotes import bench, load_all, marks, registry, scan, stored
from kinlearn_experiments.quotes.pages import WHOLE, experiments, quoting_pages
from kinlearn_experiments.quotes.stored import QuoteError
from kinlearn_experiments.results import ROOT

load_all()


def name_of(path):
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", quoting_pages(), ids=name_of)
def test_figures_are_those_of_the_results(path):
    assert not quote.problems(path), "\n".join(quote.problems(path))


@pytest.mark.parametrize("name", WHOLE)
def test_pages_made_as_a_whole(name):
    assert not quote.whole_page_problems(name), "\n".join(quote.whole_page_problems(name))


@pytest.mark.parametrize("path", experiments(), ids=name_of)
def test_pages_of_experiments_state_their_findings(path):
    assert not quote.experiment_problems(path), "\n".join(quote.experiment_problems(path))


def test_every_quote_is_used():
    pages = "\n".join(path.read_text("utf-8") for path in quoting_pages())
    used = set(re.findall(r"<!-- table: (\S+) -->|<!--= (\S+) -->", pages))
    assert set(registry.QUOTES) == {name for pair in used for name in pair if name}


@pytest.mark.parametrize("path", quoting_pages(), ids=name_of)
def test_marks_are_invisible_and_leave_the_markdown_alone(path):
    reader = MarkdownIt("commonmark").enable("table")
    marked = reader.render(path.read_text("utf-8"))
    plain = reader.render(re.sub(r"<!--.*?-->", "", path.read_text("utf-8"), flags=re.DOTALL))

    def bare(html):
        html = re.sub(r"<pre>.*?</pre>|<code>.*?</code>", "", html, flags=re.DOTALL)
        return re.sub(r"\s+", "", re.sub(r"<!--.*?-->", "", html, flags=re.DOTALL))

    assert bare(marked) == bare(plain)
    assert "&lt;!--" not in bare(marked)


@pytest.fixture
def results(tmp_path, monkeypatch):
    """A results file of its own."""
    (tmp_path / "speed.json").write_text(
        json.dumps({"cells": {"fit/100": {"ratio": 2.345, "seconds": [1.0, 3.0]}}})
    )
    monkeypatch.setattr(stored, "RESULTS", tmp_path)
    monkeypatch.setattr(stored, "ROOT", tmp_path)
    monkeypatch.setattr(stored, "_files", {})
    monkeypatch.setattr(registry, "QUOTES", {})
    registry.quotes("speed", table=lambda: "| a |\n|---|\n| 2.3 |")
    return tmp_path


GOOD = """It took <!--= speed.json; cells; fit/100; ratio; .1f -->2.3<!--/--> times as long.

<!-- table: speed.table -->

| a |
|---|
| 2.3 |

<!-- / -->
"""


def test_an_outdated_figure_is_named_and_mended(results):
    assert marks.outdated(GOOD) == []
    old = "A line.\n\n" + GOOD.replace(">2.3<", ">9.9<")
    (sentence,) = marks.outdated(old)
    for part in ("line 3", "'9.9'", "'2.3'", "speed.json"):
        assert part in sentence
    assert marks.written(old) == "A line.\n\n" + GOOD
    assert marks.written(GOOD) == GOOD


def test_an_outdated_table_is_named_by_its_line(results):
    old = GOOD.replace("| 2.3 |", "| 7.1 |")
    (sentence,) = marks.outdated(old)
    assert "line 7: the page says '| 7.1 |', but speed.table is '| 2.3 |'" in sentence
    assert marks.written(old) == GOOD
    assert marks.written("<!-- table: speed.table -->\n<!-- / -->\n") in GOOD


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("speed.json; cells; fit/200; ratio; .1f", "speed.json > cells has no entry 'fit/200'"),
        ("speed.json; cells; fit/100; seconds; 5; .1f", "is a list of 2 and has no entry '5'"),
        (
            "speed.json; cells; fit/100; ratio; deep; .1f",
            "is 2.345, so that it has no entry 'deep'",
        ),
        ("other.json; cells; .1f", "There is no results file other.json"),
        ("speed.json; cells; fit/100; ratio; .1q", "cannot be made from speed.json"),
        ("nobody.knows", "There is no quote 'nobody.knows'"),
    ],
)
def test_a_look_up_that_finds_nothing_is_loud(results, what, message):
    with pytest.raises(QuoteError, match=re.escape(message)):
        marks.outdated(f"It took <!--= {what} -->2.3<!--/--> times.")


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ("took <!--= speed.table -->2.3 times\n", "line 1: the mark <!--= has no counterpart"),
        ("\n<!-- table: speed.table -->\n\n", "line 2: the mark <!-- table: has no counterpart"),
        ("took 2.3<!--/--> times\n", "the mark <!--/--> has no counterpart"),
        (
            "- <!--= speed.table -->2.3<!--/--> times\n",
            "line 1 begins with the mark of speed.table",
        ),
    ],
)
def test_marks_that_go_wrong_are_refused(results, page, message):
    with pytest.raises(QuoteError, match=re.escape(message)):
        marks.outdated(page)


def test_marks_in_code_are_text(results):
    page = "Write `<!--= name -->1<!--/-->` or\n\n```text\n<!-- table: name -->\n```\n"
    assert marks.outdated(page) == []
    assert marks.written(page) == page


@pytest.mark.parametrize(
    "text",
    [
        "It was 3.2× as fast.",
        "It was 14.8x as fast.",
        "It took 47 s.",
        "It took four minutes.",
        "An AUC of 0.605 was reached.",
        "An area of .94 was reached.",
        "23 % of them.",
        "It peaked at 279 MB.",
        "Scores were equal to 7e-12.",
        "It was threefold.",
        "Five folds took 12 times as long.",
        "| a |\n|---|\n| 0.605 |",
        "- an item with 0.605\n- another <!-- stated: here alone -->",
        "```{note}\nIt was 3.2× as fast.\n```",
    ],
)
def test_unmarked_figures_are_found(text):
    (sentence,) = scan.unmarked(f"# Title\n\n{text}\n", "page.md")
    assert sentence.startswith("line ")
    assert "looks measured, but no results file vouches for it" in sentence


@pytest.mark.parametrize(
    "text",
    [
        "Python 3.11, scikit-learn 1.9, section 3.1, Eqs. 2.1 and 2.2, steps 2.3 and 2.4.",
        "300 rows of 20 features, 28 × 28 pixels, 10,000 centres, seeds 10 to 19.",
        "A `tol=1.5` of `0.605`, and 1e-8 in scores.",
        "```python\nx = 0.605\n```",
        "    q = 0.5 x\n    r = 2.5 y",
        "$x = 0.5$ and\n\n$$y = 0.25$$",
        "[a page](https://example.org/1.25/0.605)",
        "It was <!--= speed.json; ratio; .1f -->2.3<!--/--> times.",
        "<!-- table: some.table -->\n\n| 0.605 |\n\n<!-- / -->",
        "Half of it,\nthat is 0.5. <!-- stated: arithmetic -->",
        "<!-- stated: a published table -->\n\n| a |\n|---|\n| 0.605 |",
        "<!-- stated: a published table -->\n| a |\n|---|\n| 0.605 |",
    ],
)
def test_what_is_no_measurement_is_left_alone(text):
    assert scan.unmarked(f"# Title\n\n{text}\n", "page.md") == []


def test_a_reason_is_needed_and_speaks_for_one_block():
    assert scan.unmarked("It is 0.5. <!-- stated: -->\n", "page.md")
    page = "It is 0.5. <!-- stated: arithmetic -->\n\nIt was 0.7.\n"
    (sentence,) = scan.unmarked(page, "page.md")
    assert "line 3: '0.7'" in sentence


def test_listed_numbers_are_known_by_their_words(monkeypatch):
    monkeypatch.setattr(scan, "NOT_MEASURED", {"page.md": {"a default of 0.5": "a default"}})
    assert scan.unmarked("It has a default of 0.5 now.\n", "page.md") == []
    assert scan.unmarked("It has a default of 0.5 now.\n", "other.md")
    assert scan.unmarked("It has a loss of 0.5 now.\n", "page.md")


def test_the_command_checks(capsys):
    assert quote.main(["--check"]) == 0
    assert capsys.readouterr().err == ""


def test_the_command_names_page_and_line(results, monkeypatch, capsys):
    page = results / "page.md"
    page.write_text(GOOD.replace(">2.3<", ">9.9<") + "\nIt was 0.77.\n")
    monkeypatch.setattr(quote, "ROOT", results)
    monkeypatch.setattr(quote, "WHOLE", {})
    monkeypatch.setattr(quote, "experiments", list)
    monkeypatch.setattr(quote, "quoting_pages", lambda: [page])
    monkeypatch.setattr(quote, "load_all", lambda: None)
    assert quote.main(["--check"]) == 1
    said = capsys.readouterr().err
    assert "page.md, line 1: the page says '9.9'" in said
    assert "page.md, line 11: '0.77'" in said
    assert quote.main([]) == 1  # what has no mark cannot be written
    assert "page.md was brought up to date." in capsys.readouterr().out
    assert page.read_text() == GOOD + "\nIt was 0.77.\n"


def test_a_loss_is_shown_as_a_loss():
    table = registry.render("bench.alternatives")[0]
    summary = bench.suite("single")
    for verdict in bench.verdicts(summary):
        (line,) = (row for row in table.splitlines() if row.startswith(f"| {verdict.rival} "))
        assert bench.WORDS[verdict.outcome] in line
        assert f"{verdict.wins}/{verdict.ties}/{verdict.losses}" in line
    assert f"**{summary.ours}**" in table
