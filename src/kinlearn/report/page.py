"""The page: sections in reading order, conclusions first."""

from __future__ import annotations

from html import escape

import numpy as np

from kinlearn.report.conclusions import conclusions, interval, percent
from kinlearn.report.findings import SUSPICIOUS, Findings, Part
from kinlearn.report.html import (
    Markup,
    document,
    figure,
    gain,
    html,
    meter,
    paragraph,
    section,
    table,
)
from kinlearn.report.measures import LEVEL, N_BINS, Measure
from kinlearn.report.pictures import (
    importance_picture,
    reliability_picture,
    risk_picture,
    surface_picture,
)
from kinlearn.version import VERSION

_SHOWN_CELLS = 6
_MAX_CONFUSION = 12


def make_page(found: Findings) -> str:
    """Return the report as one HTML text."""
    sections = [
        ("conclusions", "Conclusions", _conclusions(found)),
        ("data", "The data", _data(found)),
        ("sizes", "Classes and tasks", _sizes(found)),
        ("performance", "How good it is on rows it had not seen", _performance(found)),
        ("calibration", "Can its probabilities be trusted?", _calibration(found)),
        ("handover", "What is answered, what is handed over", _hand_over(found)),
        ("confusion", "What is taken for what", _confusion(found)),
        ("parts", "Labels" if found.labels else "Tasks", _parts(found)),
        ("search", "The settings that were searched", _search(found)),
        ("suspects", "Records to look at again", _suspects(found)),
        ("importance", "Which columns matter", _importance(found)),
    ]
    kept = [(anchor, title, parts) for anchor, title, parts in sections if parts]
    links = "".join(f'<a href="#{anchor}">{html(title)}</a>' for anchor, title, _ in kept)
    head = Markup(
        f"<header><p class=under>kinlearn {VERSION} · report on "
        f"{html(found.file)}</p><h1>Predicting {html(found.title)}</h1></header>"
        f"<nav aria-label=Sections>{links}</nav>"
    )
    body = [head, *(section(anchor, title, *parts) for anchor, title, parts in kept), _foot(found)]
    return document(f"Predicting {found.title} – kinlearn", body)


def _conclusions(found: Findings) -> list[Markup]:
    items = "".join(f"<li>{html(sentence)}</li>" for sentence in conclusions(found))
    return [Markup(f"<ul class=conclusions>{items}</ul>")]


def _data(found: Findings) -> list[Markup]:
    training = found.facts["training"]
    used = training["rows_used"]
    source = f"The model was trained on {used} rows of {training['file']}"
    if used < training["rows_in_file"] - training["rows_without_answer"]:
        source += f", drawn evenly from {training['rows_in_file']}"
    if training["rows_without_answer"]:
        source += f"; {training['rows_without_answer']} rows without an answer were left out"
    about = [paragraph(source + ".")]
    if not found.is_training:
        about.append(
            paragraph(
                f"This report judges it on {found.held_out.n_rows} "
                f"{'known labels' if found.labels else 'labelled rows'} of {found.file}."
            )
        )
    rows = [
        [
            column.name,
            column.kind,
            column.why,
            f"{column.n_missing}" if column.n_missing else "",
            column.example[:40],
        ]
        for column in found.columns
    ]
    header = ["column", "taken for", "because", "missing", "example"]
    return [*about, table(header, rows, numbers=[3])]


def _sizes(found: Findings) -> list[Markup]:
    if found.labels is not None:
        return [_shares(["label", "known rows", "yes"], found.parts)]
    parts = [_shares(["class", "rows", "share"], found.by_class)]
    if found.parts:
        parts.append(_shares([f"task ({found.schema.task})", "rows", "share"], found.parts))
    return parts


def _shares(header: list[str], parts: list[Part]) -> Markup:
    rows = [[part.name, part.n_rows, percent(part.share), meter(part.share)] for part in parts]
    made = table([*header, ""], rows, numbers=[1, 2])
    # The bar's column takes the room that is left.
    return Markup(str(made).replace("<th></th>", "<th class=track></th>"))


def _performance(found: Findings) -> list[Markup]:
    several = len(found.held_out.classes) > 2
    tiles = [
        ("Accuracy", found.overall["accuracy"], True),
        ("AUC, mean over classes" if several else "AUC", found.overall["auc"], False),
        ("Log-loss", found.overall["log_loss"], False),
        ("Brier score", found.overall["brier"], False),
        ("Calibration error (ECE)", found.overall["ece"], True),
    ]
    shown = "".join(
        f"<div><dt>{html(name)}</dt><dd><b>{html(_value(value, share))}</b>"
        f"<span class=soft>{html(_range(value, share))}</span></dd></div>"
        for name, value, share in tiles
    )
    how = (
        f"Every figure is over {found.held_out.n_rows} "
        f"{'known labels' if found.labels else 'rows'}, held out from the model that answers for "
        f"them ({found.held_out.origin})"
        if found.is_training
        else f"Every figure is over {found.held_out.n_rows} rows of {found.file}"
    )
    unit = "whole groups" if found.held_out.group is not None else "rows"
    return [
        Markup(f"<dl class=figures>{shown}</dl>"),
        paragraph(
            f"{how}; intervals hold with {percent(LEVEL)} confidence (bootstrap over {unit}). AUC "
            "is the chance that a row of a class scores higher than a row of another; log-loss and "
            f"Brier score are of the probabilities, lower is better; the calibration error is over "
            f"{N_BINS} bins.",
            "soft",
        ),
    ]


def _value(found: Measure, share: bool) -> str:
    if not np.isfinite(found.value):
        return "–"
    return percent(found.value, 1) if share else f"{found.value:.3f}"


def _range(found: Measure, share: bool) -> str:
    if not np.isfinite(found.low):
        return ""
    return interval(found, 1) if share else f"{found.low:.3f} to {found.high:.3f}"


def _calibration(found: Findings) -> list[Markup]:
    return [
        figure(
            reliability_picture(found.held_out),
            "Answers grouped by stated confidence; on the dashed line, a confidence of 80 % is "
            "right in 80 % of cases. Bars are exact 95 % intervals, larger points hold more rows.",
        ),
        paragraph(
            f"Exactly calibrated probabilities would show a calibration error of up to "
            f"{percent(found.chance_ece, 1)} on so many rows, by chance alone; seen is "
            f"{percent(found.overall['ece'].value, 1)}.",
            "soft",
        ),
    ]


def _hand_over(found: Findings) -> list[Markup]:
    point = found.hand_over
    max_error = 0.05 if point is None else point.max_error
    chosen = None if point is None or point.coverage == 0 else (point.coverage, point.error)
    said = []
    if point is not None and point.coverage > 0:
        # Each task then has its own, and the one of all tasks together is not in force.
        own = found.facts["training"]["wishes"]["per_task"]
        start = "its task's own threshold" if own else percent(point.threshold, 1)
        said.append(
            paragraph(
                f"A row is answered from a confidence of {start} on, unless it is unlike the "
                "training rows; all others are handed over to a person."
            )
        )
    return [
        *said,
        figure(
            risk_picture(found.held_out, max_error, chosen),
            "Error left among answered rows when the least confident ones are handed over. The "
            "marked point is the rule in force.",
        ),
    ]


def _confusion(found: Findings) -> list[Markup]:
    if found.labels is not None:
        return []
    names = found.held_out.classes
    if len(names) > _MAX_CONFUSION:
        return _confused_pairs(found)
    counts = np.zeros((len(names), len(names)), dtype=int)
    np.add.at(counts, (found.held_out.truth, found.held_out.predicted), 1)
    rows = []
    for name, row in zip(names, counts, strict=True):
        total = max(int(row.sum()), 1)
        cells = "".join(
            f'<td style="--s:{0.03 + 0.55 * count / total:.2f}">{count}<br>'
            f"<span class=soft>{percent(count / total)}</span></td>"
            for count in row
        )
        rows.append(f"<tr><th>{html(name)}</th>{cells}</tr>")
    header = "".join(f"<th>{html(name)}</th>" for name in names)
    return [
        Markup(
            "<div class=scroll><table class=confusion><thead><tr><th>recorded ↓ answered →</th>"
            f"{header}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
        )
    ]


def _confused_pairs(found: Findings) -> list[Markup]:
    names, held = found.held_out.classes, found.held_out
    pairs = np.stack([held.truth, held.predicted])[:, ~held.right]
    if pairs.shape[1] == 0:
        return [paragraph("No row was taken for another class.")]
    kinds, counts = np.unique(pairs, axis=1, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:20]
    rows = [[names[kinds[0, i]], names[kinds[1, i]], int(counts[i])] for i in order]
    return [table(["recorded", "answered", "rows"], rows, numbers=[2])]


def _parts(found: Findings) -> list[Markup]:
    if not found.parts:
        return []
    with_pooled = any(np.isfinite(part.gain_pooled) for part in found.parts)
    kind = "label" if found.labels is not None else "task"
    header = [kind, "rows", "accuracy", "95 % interval", "AUC", "log-loss", "gain over alone"]
    if with_pooled:
        header.append("gain over one for all")
    rows = [_part_row(part, with_pooled) for part in found.parts]
    return [
        table(header, rows, numbers=range(1, len(header))),
        paragraph(
            f"Gain: by how much learning {kind}s together lowers the held-out squared error, "
            f"against a model for each {kind} alone"
            + (" and against one model for all." if with_pooled else ".")
            + (" Measured on the training rows, held out." if not found.is_training else ""),
            "soft",
        ),
    ]


def _part_row(part: Part, with_pooled: bool) -> list[object]:
    found = part.figures
    row: list[object] = [
        part.name,
        part.n_rows,
        percent(found["accuracy"].value),
        interval(found["accuracy"]),
        "–" if not np.isfinite(found["auc"].value) else f"{found['auc'].value:.3f}",
        f"{found['log_loss'].value:.3f}",
        gain(part.gain_alone),
    ]
    return [*row, gain(part.gain_pooled)] if with_pooled else row


def _search(found: Findings) -> list[Markup]:
    if not found.search:
        return []
    picture = surface_picture(found.search["results"], found.search["best_index"])
    if picture is None:
        return []
    caption = (
        f"{found.search['n_points']} settings, each scored on held-out rows (stronger is better; "
        f"the worse half shares the faintest shade), the best one ringed. The model mixes "
        f"{found.search['n_mixed']} of them."
    )
    return [figure(picture, caption)]


def _suspects(found: Findings) -> list[Markup]:
    if not found.suspects:
        return [paragraph("No row was answered wrongly.")]
    names = [entry.column for entry in found.importance[:_SHOWN_CELLS]]
    names = names or list(found.suspects[0].cells)[:_SHOWN_CELLS]
    rows = [
        [
            suspect.position,
            suspect.recorded,
            suspect.predicted,
            percent(suspect.p_recorded, 1),
            *(suspect.cells.get(name, "") for name in names),
        ]
        for suspect in found.suspects
    ]
    header = ["row", "recorded", "answered", "chance of the record", *names]
    return [
        paragraph(
            "The wrong answers the model was most sure of. Some are hard cases, some are wrong "
            f"records: {found.n_suspicious} were given less than {percent(SUSPICIOUS)}, where "
            f"{found.expected_suspicious:.0f} are to be expected. Rows are numbered from 1, below "
            "the line of names."
        ),
        table(header, rows, numbers=[0, 3]),
    ]


def _importance(found: Findings) -> list[Markup]:
    if not found.importance:
        return []
    how = (
        "Measured on rows held back from a model with the best single setting."
        if found.is_training
        else f"Measured on rows of {found.file}."
    )
    return [
        figure(
            importance_picture(found.importance),
            f"How much the log-loss rises when a column is shuffled, with 95 % intervals. {how} "
            "Columns that say the same share their importance.",
        )
    ]


def _foot(found: Findings) -> Markup:
    seed = escape(str(found.facts["training"]["wishes"]["seed"]))
    return Markup(
        f"<footer><p>This page shows rows of the table: treat it as confidentially as the table "
        f"itself. Seed {seed}.</p></footer>"
    )
