"""Small tables to be labelled, and studios over them."""

from __future__ import annotations

import csv
from contextlib import contextmanager
from threading import Thread

import numpy as np

from kinlearn.studio.server import listen, make_app, make_server
from kinlearn.studio.start import Asked, start

HOSTILE = (
    "<script>document.title='run'</script>",
    "<img src=x onerror=\"document.title='run'\">",
    "javascript:document.title='run'",
    '=HYPERLINK("http://evil.example","x")',
    "@SUM(A1:A9)",
)


def write_table(path, n_rows=80, seed=0, more=()):
    """Two columns that tell the classes apart, one that does not, and those in `more`."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(n_rows, 2))
    names = ["age", "dose", "sex", *(name for name, _ in more)]
    with path.open("w", newline="", encoding="utf-8") as stream:
        lines = csv.writer(stream)
        lines.writerow(names)
        for k in range(n_rows):
            cells = [f"{50 + 10 * x[k, 0]:.1f}", f"{x[k, 1]:.3f}", "fm"[k % 2]]
            lines.writerow(cells + [values[k % len(values)] for _, values in more])
    return x[:, 0] + x[:, 1] > 0


@contextmanager
def studio(path, **asked):
    """A studio that is closed again."""
    opened = start(path, Asked(**{"target": "urgent", "classes": ["yes", "no"], **asked}))
    try:
        yield opened
    finally:
        opened.close()


def label_rows(session, truth, n_rows, who="me", seat="a"):
    """Answer so many rows as they come; return their numbers."""
    asked = []
    for _ in range(n_rows):
        settled(session)  # on a busy machine, too, the same rows in the same order
        row = session.now(who, seat)["row"]["row"]
        asked.append(row)
        session.answer(who, seat, "label", row, "yes" if truth[row - 1] else "no")
    return asked


def settled(session):
    """The lesson that knows of every change."""
    return session.desk.teacher.wait_for_figures(session.desk.teacher.version, 60)


@contextmanager
def served(opened):
    """Serve a studio to a browser of this computer; yields the address of each person."""
    door = listen(0)
    port = door.getsockname()[1]
    server = make_server(make_app(opened.session, opened.people, port), opened.teacher.end)
    thread = Thread(target=server.run, kwargs={"sockets": [door]})
    thread.start()
    try:
        yield {who: f"http://127.0.0.1:{port}/{token}/" for token, who in opened.people.items()}
    finally:
        server.handle_exit(15, None)
        thread.join(60)
        door.close()
