"""Pressing Ctrl-C at every line of the package that a call goes through."""

import sys
from pathlib import Path

import kinlearn
from kinlearn import threads

PACKAGE = str(Path(kinlearn.__file__).parent)


class Interrupting:
    """Raise KeyboardInterrupt at the line of the given number, counting lines of the package."""

    def __init__(self, at=None):
        self.at, self.lines = at, 0

    def __enter__(self):
        self.before = sys.gettrace()
        sys.settrace(self._call)
        return self

    def __exit__(self, *args):
        sys.settrace(self.before)

    def _call(self, frame, event, arg):
        return self._line if frame.f_code.co_filename.startswith(PACKAGE) else None

    def _line(self, frame, event, arg):
        if event == "line":
            self.lines += 1
            if self.lines == self.at:
                raise KeyboardInterrupt
        return self._line


def _as_before():
    """Put back what threads noted, of which an interrupt between two lines may leave a part.

    A lock that was left held would keep every other thread waiting for a moment, in all tests to
    come.
    """
    threads._limits._lock = threads._Guard()
    threads._busy._lock = threads._Guard()
    threads._room.set(0)
    threads._busy._count = 0
    threads._limits._active.clear()
    threads._limits._apply()


def interrupted(make, act, n_places=60):
    """Yield what `make` made after `act` was interrupted in it, at lines spread over the call.

    An interrupt that was swallowed is an error.
    """
    with Interrupting() as counted:
        act(make())
    step = max(1, counted.lines // n_places)
    for at in range(1, counted.lines, step):
        thing = make()
        try:
            with Interrupting(at) as reached:
                act(thing)
        except KeyboardInterrupt:
            _as_before()
            yield at, thing
        else:
            assert reached.lines < at, f"the interrupt at line {at} was swallowed"
