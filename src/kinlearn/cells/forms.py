"""How the cells of a column are written, as a value that a model keeps."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from kinlearn.cells.date_form import DateForm
from kinlearn.cells.number_form import NumberForm
from kinlearn.cells.word_forms import CodeForm, WordForm

Form = NumberForm | DateForm | CodeForm | WordForm
_KINDS: dict[str, type[Form]] = {
    "number": NumberForm,
    "date": DateForm,
    "code": CodeForm,
    "words": WordForm,
}


def form_as_facts(form: Form) -> dict[str, Any]:
    """Plain values, to be stored with a model.

    Examples
    --------
    >>> form_as_facts(CodeForm(5))
    {'kind': 'code', 'width': 5}
    """
    kind = next(name for name, made in _KINDS.items() if type(form) is made)
    return {"kind": kind, **asdict(form)}


def form_from_facts(facts: dict[str, Any]) -> Form:
    """The form that :func:`form_as_facts` stored.

    Examples
    --------
    >>> form_from_facts({"kind": "code", "width": 5})
    CodeForm(width=5)
    """
    rest = {name: value for name, value in facts.items() if name != "kind"}
    return _KINDS[facts["kind"]](**rest)
