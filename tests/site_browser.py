"""Open the pages of a built site from disk in headless Chromium, as a reader would."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import TimeoutError, sync_playwright

HERE = Path(__file__).parent
READABLE = (HERE / "site_browser.js").read_text(encoding="utf-8")
NARROW_ENOUGH = (HERE / "site_width.js").read_text(encoding="utf-8")
DESKTOP = {"width": 1280, "height": 900}
# Sidebars slide and colours fade when width or mode change: look at the page after that.
AT_REST = "() => document.getAnimations().forEach((one) => one.finish())"
IN_MODE = "(wanted) => document.documentElement.dataset.theme === wanted"
PHONE = {"width": 390, "height": 844}


def chromium() -> str | None:
    """Where Chromium is, if it is installed."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((path for path in map(shutil.which, names) if path), None)


@contextmanager
def opened() -> Iterator[Any]:
    """A browser that is closed again."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--disable-gpu"])
        try:
            yield browser
        finally:
            browser.close()


class Reader:
    """One reader: opens page after page and notes what is wrong with each.

    Parameters
    ----------
    browser : playwright Browser
        The browser.
    site : Path
        Folder of the built site.
    pictures : Path
        Folder for the screenshots.
    """

    def __init__(self, browser: Any, site: Path, pictures: Path) -> None:
        self.site, self.pictures = site.resolve(), pictures
        self.complaints: list[str] = []
        self.requests = 0
        self.tab = browser.new_context(viewport=DESKTOP, color_scheme="light").new_page()
        # A busy machine is no fault of the page.
        self.tab.set_default_timeout(120_000)
        self.name = ""
        self.tab.on("console", self._console)
        self.tab.on("pageerror", lambda error: self._complain(f"script error: {error}"))
        self.tab.on("request", self._request)
        self.tab.on(
            "requestfailed", lambda request: self._complain(f"could not load {request.url}")
        )

    def read(self, name: str, *, picture: bool) -> None:
        """Open a page at both widths, in light and in dark."""
        self.name = name
        self.tab.emulate_media(color_scheme="light")
        self.tab.set_viewport_size(DESKTOP)
        self.tab.goto((self.site / name).as_uri())
        # Formulas are drawn after the page has loaded.
        self.tab.evaluate("() => window.MathJax?.startup?.promise?.then(() => null)")
        for scheme in ("light", "dark"):
            self.tab.emulate_media(color_scheme=scheme)
            try:
                self.tab.wait_for_function(IN_MODE, arg=scheme, timeout=20_000)
            except TimeoutError:
                self._complain(f"a reader who prefers {scheme} does not get it")
            self.tab.evaluate(AT_REST)
            for sentence in self.tab.evaluate(READABLE, scheme == "dark"):
                self._complain(f"{scheme}: {sentence}")
            for width, size in (("desktop", DESKTOP), ("phone", PHONE)):
                if scheme == "dark" and not picture:
                    continue
                self.tab.set_viewport_size(size)
                self.tab.evaluate(AT_REST)
                if scheme == "light":
                    for sentence in self.tab.evaluate(NARROW_ENOUGH):
                        self._complain(f"{size['width']} pixels: {sentence}")
                if picture:
                    self._photograph(f"{width}-{scheme}")
            self.tab.set_viewport_size(DESKTOP)

    def search(self, word: str) -> int:
        """How many pages the site's own search finds."""
        self.name = "search.html"
        self.tab.goto(f"{(self.site / self.name).as_uri()}?q={word}")
        self.tab.wait_for_selector("#search-results li", timeout=60_000)
        return self.tab.locator("#search-results li").count()

    def _photograph(self, kind: str) -> None:
        stem = self.name.removesuffix(".html").replace("/", "_")
        height = self.tab.evaluate("() => document.documentElement.scrollHeight")
        # The first few screens show how a page looks; pictures of whole long pages are slow.
        seen = self.tab.viewport_size | {"x": 0, "y": 0, "height": min(height, 2600)}
        path = self.pictures / f"{stem}-{kind}.png"
        self.tab.screenshot(path=path, full_page=True, clip=seen)

    def _console(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self._complain(f"console {message.type}: {message.text}")

    def _request(self, request: Any) -> None:
        self.requests += 1
        if urlsplit(request.url).scheme not in ("file", "data", "blob"):
            self._complain(f"asks the network for {request.url}")

    def _complain(self, sentence: str) -> None:
        self.complaints.append(f"{self.name}: {sentence}")
