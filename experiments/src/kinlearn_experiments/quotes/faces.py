"""Figures of the faces in docs/mtda.md, from ``faces.json``."""

from __future__ import annotations

import re

from kinlearn_experiments.measures import faces
from kinlearn_experiments.quotes.registry import extent, quote, quotes
from kinlearn_experiments.quotes.stored import QuoteError, stored
from kinlearn_experiments.reproduce.published_faces import DATABASES, ERRORS

SHRUNK_LDA = "LDA-rt + shrinkage, cosine"
SHRUNK_MTDA = "MTDA joint + shrinkage, cosine"
PS = (2, 3, 4, 5)


def error(method: str, database: str, p: int) -> float:
    """Mean error in percent."""
    for row in stored("faces.json")["table"]:
        if (row["method"], row["database"], row["p"]) == (method, database, p):
            return 100 * row["mean"]
    raise QuoteError(f"faces.json has no {method}, {database}, p = {p}.")


def deviation(method: str, database: str, p: int) -> float:
    """Standard error of a mean, in percent."""
    for row in stored("faces.json")["table"]:
        if (row["method"], row["database"], row["p"]) == (method, database, p):
            return 100 * row["std"] / row["n_trials"] ** 0.5
    raise QuoteError(f"faces.json has no {method}, {database}, p = {p}.")


def paper(database: str, p: int) -> float:
    """The paper's MTDA, in percent."""
    return 100 * ERRORS["MTDA"][p - 2][DATABASES.index(database)]


def over_p(method: str, database: str, ps: tuple[int, ...] = PS) -> str:
    return " / ".join(f"{error(method, database, p):.1f}" for p in ps)


def metric_gain(database: str, start: str = "") -> list[float]:
    """By how many percent the angle lowers the error of a reduction, over reductions and p."""
    methods = dict.fromkeys(row["method"] for row in stored("faces.json")["table"])
    plain = [m.removesuffix(", cosine") for m in methods if m.endswith(", cosine")]
    return [
        100 * (1 - error(f"{m}, cosine", database, p) / error(m, database, p))
        for m in plain
        for p in PS
        if m.startswith(start)
    ]


def chosen(method: str | None = None) -> int:
    counts = stored("faces.json")["chosen"].values()
    return sum(n for by in counts for name, n in by.items() if method in (None, name))


@quote("faces.table")
def faces_table() -> str:
    text = faces.show(stored("faces.json")["table"])
    return re.sub(r"^p = (\d) ", r"**p = \1** ", text.strip(), flags=re.MULTILINE)


@quote("faces.below")
def chosen_below() -> str:
    pairs = [(database, p) for database in DATABASES for p in PS]
    below = sum(error("chosen", database, p) < paper(database, p) for database, p in pairs)
    return f"{below} of {len(pairs)} cells"


@quote("faces.lowest")
def lowest() -> str:
    rows = [r for r in stored("faces.json")["table"] if r["database"] != "PIE" and r["lowest"]]
    return f"{sum(row['method'] == SHRUNK_LDA for row in rows)} of the {len(rows)} cells"


@quote("faces.pie_gain")
def pie_gain() -> str:
    """LDA-tr + shrinkage to MTDA + shrinkage on PIE."""
    return ", ".join(
        f"{error('LDA-tr + shrinkage', 'PIE', p):.1f} → "
        f"{error('MTDA joint + shrinkage', 'PIE', p):.1f}"
        for p in (3, 4, 5)
    )


def orl_gap(p: int) -> float:
    return paper("ORL", p) - error("chosen", "ORL", p)


def percent(value: float) -> str:
    return f"{value:.0f}"


quotes(
    "faces",
    orl=lambda: over_p("chosen", "ORL"),
    orl_paper=lambda: " / ".join(f"{paper('ORL', p):.1f}" for p in PS),
    orl_gap4=lambda: f"{orl_gap(4):.1f}",
    orl_error4=lambda: f"{deviation('chosen', 'ORL', 4):.1f}",
    chosen=lambda: f"{chosen(SHRUNK_LDA)} of {chosen()} splits",
    metric_ar=lambda: extent(metric_gain("AR"), percent),
    metric_pie=lambda: extent(metric_gain("PIE"), percent),
    metric_orl=lambda: percent(max(metric_gain("ORL", "LDA"))),
    mtda_pie=lambda: over_p(SHRUNK_MTDA, "PIE", (3, 4, 5)),
    lda_pie=lambda: over_p(SHRUNK_LDA, "PIE", (3, 4, 5)),
    mtda_ar5=lambda: percent(error(SHRUNK_MTDA, "AR", 5)),
    lda_ar5=lambda: percent(error(SHRUNK_LDA, "AR", 5)),
    table1_ar=lambda: extent([error("MTDA table1", "AR", p) for p in PS], percent),
)
