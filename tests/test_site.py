"""The site builds without a warning, its links hold, and its pages can be read in a browser.

``make docs`` builds the whole site and gives its folder in ``KINLEARN_SITE``; otherwise a site is
built here from a copy of the sources, without running the gallery's examples.
"""

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import site_browser
import site_links

ROOT = Path(__file__).parent.parent
# Pages whose pictures are kept, in both widths and both modes.
PHOTOGRAPHED = {
    "index.html",
    "which_estimator.html",
    "guide/index.html",
    "guide/many_sites.html",
    "mathematics.html",
    "migrating.html",
    "cli.html",
    "should_i_use_this.html",
    "benchmarks.html",
    "reproduction/landmine.html",
    "api/index.html",
    "api/kernels.html",
    "api/generated/kinlearn.MultiTaskLSPCCV.html",
    "auto_examples/index.html",
}


def build(folder: Path) -> Path:
    """Build from a copy, since a build writes pages beside its sources."""
    for name in ("docs", "examples"):
        leave = shutil.ignore_patterns("_build", "auto_examples", "generated", "__pycache__")
        shutil.copytree(ROOT / name, folder / name, ignore=leave)
    for file in ROOT.glob("*.md"):
        shutil.copy(file, folder)
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-D", "plot_gallery=0"]
    made = subprocess.run(
        [*command, str(folder / "docs"), str(folder / "html")],
        capture_output=True,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )
    (folder / "result.txt").write_text(
        "built" if made.returncode == 0 else made.stdout + made.stderr, encoding="utf-8"
    )
    return folder / "html"


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    if given := os.environ.get("KINLEARN_SITE"):
        assert (Path(given) / "index.html").is_file(), f"KINLEARN_SITE={given} holds no site."
        return Path(given)
    # Workers of one test run share what the first of them builds.
    shared = tmp_path_factory.getbasetemp()
    shared = shared.parent if "PYTEST_XDIST_WORKER" in os.environ else shared
    folder = shared / "site"
    with open(shared / "site.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            folder.mkdir()
            build(folder)
    result = (folder / "result.txt").read_text(encoding="utf-8")
    assert result == "built", f"The site does not build without warnings:\n{result}"
    return folder / "html"


def test_builds_and_has_its_pages(site):
    pages = {str(path.relative_to(site.resolve())) for path in site_links.read_pages(site)}
    assert pages >= PHOTOGRAPHED
    # Every page of Markdown became a page of the site.
    written = (path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md"))
    expected = {str(path.with_suffix(".html")) for path in written if path.parts[0][0] != "_"}
    assert expected <= pages


def test_names_in_pages_lead_to_the_reference(site):
    page = site_links.read_pages(site)[(site / "which_estimator.html").resolve()]
    links = {link for _, _, link in page.links}
    assert "api/generated/kinlearn.MTDA.html#kinlearn.MTDA" in links


def test_links_and_anchors_resolve(site):
    broken = site_links.broken_links(site)
    assert not broken, "\n".join(broken)


def test_pages_load_nothing_from_elsewhere(site):
    found = site_links.loaded_from_elsewhere(site)
    assert not found, "\n".join(found)


def test_pages_can_be_read(site, tmp_path):
    if site_browser.chromium() is None:
        pytest.skip(
            "The site was not opened in a browser: install Chromium (on Debian: apt install "
            "chromium), so that the command chromium is found."
        )
    pictures = Path(os.environ.get("KINLEARN_SCREENSHOTS", tmp_path / "screenshots"))
    pictures.mkdir(parents=True, exist_ok=True)
    names = [str(path.relative_to(site.resolve())) for path in site_links.read_pages(site)]
    photographed = PHOTOGRAPHED
    if "KINLEARN_SITE" not in os.environ:
        photographed = {"index.html"}  # nobody looks at the pictures of a test run
        # Pages of single names have one template: here one of eight is read, by make docs all.
        single = [n for n in names if n.startswith("api/generated/") and n not in PHOTOGRAPHED]
        names = sorted(set(names) - set(single)) + single[::8]
    with site_browser.opened() as browser:
        reader = site_browser.Reader(browser, site, pictures)
        for name in names:
            reader.read(name, picture=name in photographed)
        assert reader.search("sharing") > 3
    assert not reader.complaints, "\n".join(reader.complaints)
    assert reader.requests >= len(names)
    assert len(list(pictures.glob("*.png"))) >= 4 * len(photographed)
