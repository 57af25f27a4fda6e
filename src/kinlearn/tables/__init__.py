"""Tables in files: reading, column kinds, one pipeline, scored copies (extra ``cli``).

Nothing here prints. :mod:`kinlearn.cli` is the command line over it, :mod:`kinlearn.report` the
page. Importing this package does not import pyarrow or pandas; opening a table does.
"""
