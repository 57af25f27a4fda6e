"""Texts of a column: codes whose zeros count, and words in several spellings."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

_CODE = re.compile(r"^[0-9]+$")
_YES_NO = {"yes", "no", "y", "n", "true", "false", "t", "f"}
# Where digits differ in number, this share must begin with a zero to make codes of them.
_ZEROS = 0.02


@dataclass(frozen=True)
class CodeForm:
    """Digits that are a name, such as a postal code: zeros before them count.

    Attributes
    ----------
    width : int
        How many digits every code has; 0 where they differ. A reader that took codes for numbers
        has lost their zeros, which come back by it.
    """

    width: int = 0

    def spelt(self, text: str) -> str:
        """The code of a cell.

        Examples
        --------
        >>> [CodeForm(5).spelt(text) for text in ("01234", "1234", "1234.0", "K1")]
        ['01234', '01234', '01234', 'K1']
        """
        text = text[:-2] if text.endswith(".0") and _CODE.match(text[:-2]) else text
        return text.zfill(self.width) if _CODE.match(text) else text


@dataclass(frozen=True)
class WordForm:
    """Words that differ in capitals alone are one.

    Attributes
    ----------
    words : dict
        From a word without capitals to its one spelling.
    """

    words: dict[str, str] = field(default_factory=dict)

    def spelt(self, text: str) -> str:
        """The one spelling of a word.

        Examples
        --------
        >>> [WordForm({"yes": "Yes"}).spelt(text) for text in ("YES", "no")]
        ['Yes', 'no']
        """
        return self.words.get(folded(text), text)


def folded(text: str) -> str:
    """A word without capitals and with single blanks."""
    return " ".join(text.casefold().split())


def find_code_form(texts: Mapping[str, int]) -> CodeForm | None:
    """The form of a column of codes, None where it holds no code with a zero before it.

    Examples
    --------
    >>> find_code_form({"01234": 1, "90210": 2}), find_code_form({"0": 1, "10": 2})
    (CodeForm(width=5), None)
    """
    if not texts or not all(_CODE.match(text) for text in texts):
        return None
    zeros = sum(n for text, n in texts.items() if text.startswith("0") and len(text) > 1)
    lengths = {len(text) for text in texts}
    if not zeros or (len(lengths) > 1 and zeros < _ZEROS * sum(texts.values())):
        return None
    return CodeForm(lengths.pop() if len(lengths) == 1 else 0)


def find_word_form(texts: Mapping[str, int]) -> WordForm | None:
    """The form of a column with one word in several spellings, None where there is none.

    The commonest spelling is the one kept. Single letters stay apart, as codes such as alleles do,
    unless all words of the column are a yes or a no.

    Examples
    --------
    >>> find_word_form({"Yes": 3, "yes": 1, "NO": 2, "no": 2})
    WordForm(words={'yes': 'Yes', 'no': 'NO'})
    >>> find_word_form({"A": 3, "a": 1}) is None
    True
    """
    spellings: dict[str, dict[str, int]] = defaultdict(dict)
    for text, count in texts.items():
        spellings[folded(text)][text] = count
    yes_no = set(spellings) <= _YES_NO
    shared = {
        word: found
        for word, found in spellings.items()
        if len(found) > 1 and (yes_no or len(word) > 1)
    }
    if not shared:
        return None
    kept = spellings if yes_no else shared
    return WordForm(
        {word: min(found, key=lambda text: (-found[text], text)) for word, found in kept.items()}
    )
