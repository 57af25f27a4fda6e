"""The guide: pages have the same parts, links lead somewhere, and blocks print what is shown."""

import re
from pathlib import Path

import pytest

from printed import blocks_of, differences, run_page

DOCS = Path(__file__).parent.parent / "docs"
QUESTIONS = sorted(page for page in (DOCS / "guide").glob("*.md") if page.stem != "index")
OTHERS = [DOCS / name for name in ("migrating.md", "extending.md")]
TEXTS = [DOCS / name for name in ("mathematics.md", "troubleshooting.md")]
PARTS = ["Try it", "Read the result", "What can go wrong", "When not to use it"]


def test_the_questions_are_there():
    wanted = "features_differ few_labels many_sites many_tags must_not_be_wrong too_big"
    assert [page.stem for page in QUESTIONS] == wanted.split()


@pytest.mark.parametrize("page", QUESTIONS, ids=lambda page: page.stem)
def test_every_page_has_the_same_parts(page):
    text = page.read_text(encoding="utf-8")
    assert re.findall(r"^## (.*)$", text, flags=re.MULTILINE) == PARTS
    assert "\nDeeper: " in text
    assert blocks_of(page)


def anchors(page):
    """Names of a page's headings, as GitHub and the site make them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [*QUESTIONS, *OTHERS, *TEXTS], ids=lambda page: page.stem)
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)", page.read_text(encoding="utf-8"))
    assert links
    for target, anchor in links:
        found = page.parent / target if target else page
        assert found.exists(), f"{page.name} links to {target}, which is not there."
        assert not anchor or anchor in anchors(found), f"{target} has no heading {anchor}."


@pytest.mark.parametrize("page", [*QUESTIONS, *OTHERS], ids=lambda page: page.stem)
def test_a_page_prints_what_it_shows(page):
    pairs = run_page(page)
    assert pairs, f"{page.name} shows nothing of what its examples print."
    for shown, printed in pairs:
        assert not differences(shown, printed)


def test_differences_are_found():
    assert not differences("accuracy 0.91\n", "accuracy 0.93\n")
    assert differences("accuracy 0.91\n", "accuracy 0.71\n")
    assert differences("accuracy 0.91\n", "error 0.91\n")
    assert differences("[1 2 3]\n", "[1 2]\n")


@pytest.mark.parametrize(("page", "at_least"), [("mathematics.md", 30), ("promises.md", 15)])
def test_pages_name_tests_that_exist(page, at_least):
    text = (DOCS / page).read_text(encoding="utf-8")
    here = Path(__file__).parent
    assert all((here / file).exists() for file in re.findall(r"tests/(\w+\.py)", text))
    named = re.findall(r"tests/(\w+\.py)::(\w+)", text)
    assert len(named) > at_least
    for file, test in named:
        source = (here / file).read_text(encoding="utf-8")
        assert f"def {test}(" in source, f"There is no {test} in {file}."
