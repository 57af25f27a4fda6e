"""One benchmark for the question "should I use this?": ``kinlearn bench``.

Suites of data sets and methods; every cell (suite, data set, method, seed, size) is measured in a
process of its own on the same split as all other methods, and is kept as soon as it is finished.

::

    data/ + methods/ -> suites -> worker (one cell) -> runner (all cells) -> journal
    journal -> groups (held out or not, by size) -> summary, statistics -> report, page, plots
"""
