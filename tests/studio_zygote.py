"""Starts studios by the line, each in a process that can be killed: importing once is enough.

Every line on standard input is a table; the answer is the number of a process and its address. With
``wait N`` the process of that number is waited for.
"""

import os
import sys
from pathlib import Path

import kinlearn.report.page  # noqa: F401
from kinlearn.studio.server import listen, make_app, serve
from kinlearn.studio.start import Asked, start


def run(table):
    """A studio in this process, until it is killed."""
    door = listen(0)
    opened = start(Path(table), Asked("urgent", ["yes", "no"]))
    port = door.getsockname()[1]
    [token] = opened.people
    print(os.getpid(), f"http://127.0.0.1:{port}/{token}/", flush=True)
    serve(make_app(opened.session, opened.people, port), door, opened.teacher.end)


if __name__ == "__main__":
    for line in sys.stdin:
        word = line.strip()
        if word.startswith("wait "):
            os.waitpid(int(word[5:]), 0)
            print("gone", flush=True)
        elif os.fork() == 0:
            try:
                run(word)
            finally:
                os._exit(0)
