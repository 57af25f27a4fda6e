"""Make ``docs/benchmarks.md`` from the stored results of ``lspc.py`` and ``rivals.py``."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from kinlearn_experiments.measures.lspc import show
from kinlearn_experiments.measures.rivals import details, summary
from kinlearn_experiments.results import RESULTS, ROOT
from kinlearn_experiments.tables import table

PAGE = ROOT / "docs" / "benchmarks.md"

TEXT = """# What it costs, and what the alternatives do

Made by `python -m kinlearn_experiments.measures.costs_page` from `experiments/results/lspc.json`
and `rivals.json`; to change a figure, measure again (`make bench-costs`,
`python -m kinlearn_experiments.measures.rivals`). {machine}

## In units of linear algebra

Ratios of works timed in turn in one run, {threads} BLAS thread(s). *dsyevd* is one
eigendecomposition of the kernel matrix, *bare* the blockwise exp(gemm)·gemm that prediction cannot
do without. Digits, enlarged with small noise.

{costs}

## Beside the alternatives

Up to 2000 training rows of each set (all there are where that is less), one split, every model
tuned by its own practice on one thread. Log-loss on new rows, and seconds of the whole tuned fit.
All cells are of one run (`python -m kinlearn_experiments.measures.rivals --fresh`), on a machine
doing other work too.

{details}

Geometric means of ratios to the calibrated, grid-searched SVC; *at least* is the slowest set:

{summary}

How to read this: the whole tuned, calibrated fit of `LSPCCV` takes a fraction of the SVC's grid
search and states better probabilities on every set. Boosted trees at their defaults are faster by
far, and better on shuttle, whose classes are cut by thresholds; on the others their log-loss is
higher. A tuned Nyström map with logistic regression is level on magic, satimage, banana, landmine
and shuttle, and behind on digits, pen strokes and breast cancer. The Gaussian process was given
300 rows only, for its cost.
"""


def page_text() -> str:
    """The page, from the stored results."""
    costs = json.loads((RESULTS / "lspc.json").read_text())
    rivals = json.loads((RESULTS / "rivals.json").read_text())
    facts = costs["machine"]
    machine = (
        f"Measured on {facts['cores']} cores of an {facts['processor']}, Python {facts['python']}, "
        f"numpy {facts['packages']['numpy']}, scikit-learn {facts['packages']['scikit-learn']}."
    )
    return TEXT.format(
        machine=machine,
        threads=costs["threads"],
        costs=show([row for cell in costs["cells"].values() for row in cell]),
        details=table(*details(rivals["cells"])),
        summary=table(*summary(rivals["cells"])),
    )


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--page", type=Path, default=PAGE)
    options = parser.parse_args(arguments)
    options.page.write_text(page_text(), encoding="utf-8")
    print(f"Written: {options.page}")


if __name__ == "__main__":
    main()
