"""The parts of ``kinlearn demo``, in the order they run.

To add one: write a function in a file of its own here that follows :class:`Part`, and append it
to ``PARTS``. It draws into the folder it is given, shows its progress on the console, and returns
its tables and pictures for ``demo`` to print.
"""

from kinlearn.cli.demo_parts.base import Part, PartResult
from kinlearn.cli.demo_parts.heterogeneous import heterogeneous
from kinlearn.cli.demo_parts.multi_label import multi_label
from kinlearn.cli.demo_parts.multi_task import multi_task
from kinlearn.cli.demo_parts.single_task import single_task
from kinlearn.cli.demo_parts.table import table

PARTS: tuple[Part, ...] = (table, single_task, multi_task, multi_label, heterogeneous)

__all__ = ["PARTS", "Part", "PartResult"]
