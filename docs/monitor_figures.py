"""Draw the pictures of the watch's page with Chromium: ``python docs/monitor_figures.py``."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
from typer.testing import CliRunner

from kinlearn.cli import app

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))
PICTURES = {"monitor": (1000, 1250, "light"), "monitor_phone": (390, 1250, "dark")}


def run(*arguments: object) -> None:
    """One command."""
    done = CliRunner().invoke(app, [str(each) for each in arguments])
    assert done.exit_code == 0, done.output


def draw() -> None:
    """A model of the example table on rows, the last of which have another unit in one column."""
    from site_browser import opened

    with TemporaryDirectory() as name:
        folder = Path(name)
        run("example", folder / "clinic.csv", "--rows", 600)
        options = ("--target", "readmitted", "--max-error", 0.15, "--out", folder / "model.kin")
        run("train", folder / "clinic.csv", *options, "--drop", "patient")
        run("example", folder / "new.csv", "--rows", 4000, "--seed", 1)
        rows = pd.read_csv(folder / "new.csv")
        rows.loc[3000:, "crp"] *= 10
        rows.to_csv(folder / "new.csv", index=False)
        page = folder / "page.html"
        run("monitor", folder / "model.kin", folder / "new.csv", "--window", 250, "--out", page)
        with opened() as browser:
            for picture, (width, height, scheme) in PICTURES.items():
                size = {"width": width, "height": height}
                tab = browser.new_context(viewport=size, color_scheme=scheme).new_page()
                tab.goto(page.as_uri())
                tab.screenshot(path=HERE / "images" / f"{picture}.png")


if __name__ == "__main__":
    draw()
