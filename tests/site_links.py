"""Do all links of a built site lead somewhere? Read from the HTML, without a browser."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Attributes by which a page loads a file while it is shown.
LOADING = {
    ("script", "src"),
    ("img", "src"),
    ("link", "href"),
    ("iframe", "src"),
    ("source", "src"),
}
SCRIPTS = ("javascript", "mailto", "data")


@dataclass
class Page(HTMLParser):
    """What a page offers to be linked to, and what it links to."""

    anchors: set[str] = field(default_factory=set)
    links: list[tuple[str, str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note ids, names and links of one element."""
        values = dict(attrs)
        for name in ("id", "name"):
            if values.get(name):
                self.anchors.add(str(values[name]))
        for name in ("href", "src", "xlink:href"):
            if values.get(name):
                self.links.append((tag, name, str(values[name])))


@cache
def read_pages(site: Path) -> dict[Path, Page]:
    """Every page of the site, by its path."""
    pages = {}
    for path in sorted(site.rglob("*.html")):
        if "_static" in path.parts:
            continue
        page = Page()
        page.feed(path.read_text(encoding="utf-8"))
        pages[path.resolve()] = page
    return pages


def broken_links(site: Path) -> list[str]:
    """A sentence for every link inside the site that leads nowhere."""
    pages = read_pages(site)
    broken = []
    for path, page in pages.items():
        for _, _, link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            where = path.relative_to(site.resolve())
            if not target.exists():
                broken.append(f"{where} links to {link}, which is not there.")
            elif parts.fragment and target in pages:
                # The theme's own link to the top of a page needs no anchor.
                anchors = pages[target].anchors
                if unquote(parts.fragment) not in anchors:
                    broken.append(f"{where} links to {link}, whose anchor is not on that page.")
    return broken


def loaded_from_elsewhere(site: Path) -> list[str]:
    """A sentence for every file that a page would load from the network."""
    found = []
    for path, page in read_pages(site).items():
        for tag, name, link in page.links:
            parts = urlsplit(link)
            remote = parts.netloc or (parts.scheme and parts.scheme not in SCRIPTS)
            if (tag, name) in LOADING and remote:
                found.append(f"{path.relative_to(site.resolve())} loads {link}.")
    return found
