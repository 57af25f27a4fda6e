"""Draw the picture of the labelling studio: ``python docs/label_figures.py`` (needs Chromium)."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any

from pandas import DataFrame
from PIL import Image
from playwright.sync_api import sync_playwright

from kinlearn.datasets import make_clinic_table
from kinlearn.studio.server import listen, make_app, make_server
from kinlearn.studio.start import Asked, Studio, start

PICTURE = Path(__file__).parent / "images" / "label.png"
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
N_LABELS, GAP = 130, 36


def label_some(studio: Studio, truth: list[str]) -> None:
    """Answer as somebody would who knows."""
    session = studio.session
    for _ in range(N_LABELS):
        session.desk.teacher.wait(session.desk.teacher.version, 60)
        row = session.now("me", "figure")["row"]["row"]
        session.answer("me", "figure", "label", row, truth[row - 1])
    session.desk.teacher.wait(session.desk.teacher.version, 60)


def photograph(studio: Studio, address: str, folder: Path) -> list[Path]:
    """The page on a desk in light, on a phone in dark."""
    made = []
    with sync_playwright() as playwright:
        names = ("chromium", "chromium-browser", "google-chrome")
        chromium = next((path for path in map(shutil.which, names) if path), None)
        browser = playwright.chromium.launch(executable_path=chromium, args=["--disable-gpu"])
        for size, scheme in ((DESKTOP, "light"), (PHONE, "dark")):
            context: dict[str, Any] = {"viewport": size, "color_scheme": scheme}
            tab = browser.new_context(**context, device_scale_factor=1.5).new_page()
            tab.goto(address)
            tab.wait_for_selector("#why .nearest p")
            tab.evaluate("() => document.getAnimations().forEach((one) => one.finish())")
            made.append(folder / f"{scheme}.png")
            tab.screenshot(path=made[-1])
        browser.close()
    return made


def main() -> Path:
    """Label a table, look at the page twice, put both beside each other."""
    table = DataFrame(make_clinic_table(900, random_state=0))
    answers = table.pop("readmitted")
    truth = [str(answer) for answer in answers]
    with TemporaryDirectory() as name:
        path = Path(name) / "clinic.csv"
        table.to_csv(path, index=False)
        studio = start(path, Asked("readmitted", ["yes", "no"]))
        door = listen(0)
        port = door.getsockname()[1]
        server = make_server(make_app(studio.session, studio.people, port), studio.teacher.end)
        thread = Thread(target=server.run, kwargs={"sockets": [door]})
        try:
            label_some(studio, truth)
            thread.start()
            [token] = studio.people
            made = photograph(studio, f"http://127.0.0.1:{port}/{token}/", Path(name))
        finally:
            server.handle_exit(15, None)
            thread.join(60)
            studio.close()
        wide, narrow = (Image.open(one).convert("RGB") for one in made)
        both = Image.new("RGB", (wide.width + GAP + narrow.width, wide.height), (255, 255, 255))
        both.paste(wide, (0, 0))
        both.paste(narrow, (wide.width + GAP, (wide.height - narrow.height) // 2))
        both.quantize(128, dither=Image.Dither.NONE).save(PICTURE, optimize=True)
    return PICTURE


if __name__ == "__main__":
    sys.stdout.write(f"{main()}\n")
