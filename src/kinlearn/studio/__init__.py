"""The labelling studio: a page on this computer where every answer retrains the model.

:mod:`~kinlearn.studio.store` keeps what people said in one SQLite file,
:mod:`~kinlearn.studio.history` says what holds after all undos,
:mod:`~kinlearn.studio.session` deals out rows and answers questions, and
:mod:`~kinlearn.studio.server` speaks to the browser (extra ``label``). Nothing here prints.
"""
