"""The examples of the README and of the pages run as they are printed."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = ["README.md", "docs/klr.md", "docs/multitask.md", "docs/multilabel.md", "docs/mtda.md"]


@pytest.mark.parametrize("page", PAGES)
def test_examples_run(page):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), flags=re.DOTALL)
    assert blocks
    import sklearn

    names: dict = {}
    try:
        exec("\n".join(blocks), names)
    finally:
        sklearn.set_config(enable_metadata_routing=False)
