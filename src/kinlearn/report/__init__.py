"""A page about a model and its table: one HTML file, made from rows the model had not seen.

:func:`kinlearn.report.page.write_report` writes it; the other files are its parts: what was
measured, how sure one can be of it, pictures, and conclusions in plain language.
"""
