"""The page: sections in reading order, conclusions first."""

from __future__ import annotations

from html import escape

import numpy as np

from kinlearn.report.baselines import rows_learnt_from
from kinlearn.report.conclusions import baselines_of, conclusions, interval
from kinlearn.report.effects import effect_picture
from kinlearn.report.findings import SUSPICIOUS, Findings, Part
from kinlearn.report.html import (
    Markup,
    document,
    figure,
    gain,
    html,
    meter,
    paragraph,
    prose,
    section,
    table,
)
from kinlearn.report.measures import LEVEL, N_BINS, Measure
from kinlearn.report.next_steps import next_steps
from kinlearn.report.pictures import (
    importance_picture,
    relevance_picture,
    reliability_picture,
    risk_picture,
    surface_picture,
)
from kinlearn.report.rare_pictures import cost_picture, precision_recall_picture, rarest_class
from kinlearn.tables.words import percent
from kinlearn.version import VERSION

_SHOWN_CELLS = 6
_MAX_CONFUSION = 12
_MAX_CLASSES = 30
_TILES = [
    ("accuracy", "Accuracy", True),
    ("auc", "AUC", False),
    ("log_loss", "Log-loss", False),
    ("brier", "Brier score (0 to 2)", False),
    ("ece", "Calibration error (ECE)", True),
]


def make_page(found: Findings) -> str:
    """Return the report as one HTML text."""
    sections = [
        ("conclusions", "Conclusions", _conclusions(found)),
        ("leaks", "Too good to be true?", _leaks(found)),
        ("data", "The data", _data(found)),
        ("sizes", "Classes and tasks", _sizes(found)),
        ("performance", "How good it is on rows it had not seen", _performance(found)),
        ("baselines", "Beside logistic regression and boosted trees", _baselines(found)),
        ("calibration", "Can its probabilities be trusted?", _calibration(found)),
        ("handover", "What is answered, what is handed over", _hand_over(found)),
        ("classes", "Class by class", _classes(found)),
        ("confusion", "What is taken for what", _confusion(found)),
        ("parts", "Labels" if found.labels else "Tasks", _parts(found)),
        ("search", "The settings that were searched", _search(found)),
        ("suspects", _suspects_title(found), _suspects(found)),
        ("relevance", "What the model looks at", _relevance(found)),
        ("importance", "Which columns matter", _importance(found)),
        ("effects", "Which way they push", _effects(found)),
        ("groups", "Does it serve all alike?", _groups(found)),
        ("next", "What next", _next(found)),
    ]
    kept = [(anchor, title, parts) for anchor, title, parts in sections if parts]
    links = "".join(f'<a href="#{anchor}">{html(title)}</a>' for anchor, title, _ in kept)
    training = found.facts["training"]
    made = training.get("made")
    model = training.get("estimator", "model")
    when = "" if made is None else f"on {made} "
    trained = f"{model}, trained {when}on {training['rows_used']} rows"
    head = Markup(
        f"<header><p class=under>kinlearn {VERSION} · report on "
        f"{html(found.file)} · {html(trained)} of {html(training['file'])} (SHA-256 "
        f"{html(training['sha256'][:12])}…)</p><h1>Predicting {html(found.title)}</h1></header>"
        f"<nav aria-label=Sections>{links}</nav>"
    )
    body = [head, *(section(anchor, title, *parts) for anchor, title, parts in kept), _foot(found)]
    return document(f"Predicting {found.title} – kinlearn", body)


def _conclusions(found: Findings) -> list[Markup]:
    items = "".join(f"<li>{prose(sentence)}</li>" for sentence in conclusions(found))
    return [Markup(f"<ul class=conclusions>{items}</ul>")]


def _leaks(found: Findings) -> list[Markup]:
    leaks = found.facts.get("leaks")
    if not leaks:
        return []
    said = [paragraph(f"{sentence}.") for sentence in leaks["sentences"]]
    if "without" not in leaks:
        return said
    rows = []
    for name, title, share in _TILES:
        sides = [Measure(*map(_number, leaks[side][name])) for side in ("with", "without")]
        rows.append([title, *(f"{_value(m, share)} ({_range(m, share)})" for m in sides)])
    return [*said, table(["held-out figure", "with these columns", "without them"], rows)]


def _number(value: float | None) -> float:
    return float("nan") if value is None else value


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
        (f"{title}, mean over classes" if name == "auc" and several else title, name, share)
        for name, title, share in _TILES
    ]
    shown = "".join(
        f"<div><dt>{html(title)}</dt><dd><b>{html(_value(found.overall[name], share))}</b>"
        f"<span class=soft>{html(_range(found.overall[name], share))}</span></dd></div>"
        for title, name, share in tiles
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
            f"{how}; intervals hold with {percent(LEVEL)} confidence (exact for the "
            f"accuracy, else bootstrap over {unit}). AUC "
            "is the chance that a row of a class scores higher than a row of another; log-loss and "
            f"Brier score (squared error summed over classes) are of the probabilities, lower is "
            "better; the calibration error is over "
            f"{N_BINS} bins.",
            "soft",
        ),
    ]


def _baselines(found: Findings) -> list[Markup]:
    rivals = baselines_of(found)
    if not rivals:
        return []
    rows: list[list[object]] = []
    if found.is_training:
        rows.append(["this model", *_shown(found.overall)])
    for rival in rivals:
        figures = {name: Measure(*map(_number, m)) for name, m in rival.figures.items()}
        rows.append([rival.name, *_shown(figures)])
    in_folds = rivals[0].in_folds
    by = " of whole groups" if found.facts["table"]["group"] else ""
    said = [
        paragraph(
            f"Both are fitted to the same columns in folds{by} and judged on the rows that judge "
            "this model when it was trained."
            if in_folds
            else "Both are fitted to the same columns of all rows but those kept out to judge this "
            "model, and judged on these."
        ),
        table(["", *(title for _, title, _ in _TILES)], rows),
    ]
    n_classes = len(found.held_out.classes)
    most = rows_learnt_from(len(found.schema.features), n_classes, in_folds)
    if found.facts["training"]["rows_used"] > most:
        where = "In every fold they" if in_folds else "They"
        said.append(paragraph(f"{where} learnt from {most} rows at most.", "soft"))
    for rival in rivals:
        if rival.is_better:
            said.append(
                paragraph(
                    f"{rival.name.capitalize()}: the log-loss of this model is larger by "
                    f"{rival.difference:.3f} (standard error {rival.error:.3f}). To use it with "
                    "the same promise, in Python: "
                )
            )
            said.append(Markup(f"<pre>{html(_recipe(rival.name, found))}</pre>"))
    return said


def _recipe(name: str, found: Findings) -> str:
    """Lines of Python that use a rival in place of the model, with hand-over."""
    where = f"{found.file!r}"
    target = f"{found.schema.target or found.schema.labels[0]!r}"
    return (
        "import pandas as pd\n"
        "from kinlearn import HandOver\n"
        "from kinlearn.report.baselines import baseline_models\n\n"
        f"table = pd.read_csv({where})\n"
        f"X, y = table[{found.schema.features!r}], table[{target}]\n"
        f"rival = baseline_models(X, 0)[{name!r}]\n"
        f"max_error = {found.facts['training']['wishes']['max_error']:g}\n"
        "model = HandOver(rival, max_error=max_error).fit(X, y)"
    )


def _shown(figures: dict[str, Measure]) -> list[Markup]:
    return [
        Markup(
            f"{html(_value(figures[name], share))}<br>"
            f"<span class=soft>{html(_range(figures[name], share))}</span>"
        )
        for name, _, share in _TILES
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
        costs = found.held_out.costs
        until = f"from a confidence of {start} on"
        if costs is not None and not own:
            until = f"while its expected cost is below {(1 - point.threshold) * costs.max():.3g}"
        said.append(
            paragraph(
                f"A row is answered {until}, unless it is unlike the training rows; all others are "
                "handed over to a person."
            )
        )
    return [
        *said,
        figure(
            risk_picture(found.held_out, max_error, chosen),
            "Error left among answered rows when the least confident ones are handed over."
            + (" The marked point is the rule in force." if chosen is not None else ""),
        ),
    ]


def _classes(found: Findings) -> list[Markup]:
    if found.labels is not None:
        return []
    names = ["recall", "specificity", "precision", "missed", "handed"]
    header = [
        "class",
        "rows",
        "recognised (sensitivity)",
        "others not taken for it (specificity)",
        "right where it is the answer (positive predictive value)",
        "answered as another",
        "handed over",
    ]
    rows: list[list[object]] = [
        [part.name, part.n_rows, *(_with_range(part.figures[name]) for name in names)]
        for part in found.by_class[:_MAX_CLASSES]
    ]
    about = "Shares with exact 95 % intervals. Recognised rows may be handed over all the same."
    if len(found.by_class) > _MAX_CLASSES:
        about += f" And {len(found.by_class) - _MAX_CLASSES} more classes."
    name = found.held_out.classes[rarest_class(found.held_out)]
    pictures = [
        figure(
            precision_recall_picture(found.held_out),
            f"Alarms for {name!r}, the rarest class, over all thresholds; the dashed line is an "
            "alarm at random, the dot the answers as they are given.",
        )
    ]
    costs = cost_picture(found.held_out)
    if costs is not None:
        unit = "as given" if found.held_out.costs is not None else "1 for every error"
        pictures.append(
            figure(
                costs,
                f"What errors cost ({unit}) when {name!r} is answered from a probability on; the "
                "dashed line is the threshold that follows from the costs, where the curve is "
                "lowest if the probabilities are right.",
            )
        )
    shown = Markup(f"<div class=pair>{''.join(pictures)}</div>")
    return [table(header, rows, numbers=range(1, 7)), paragraph(about, "soft"), shown]


def _with_range(found: Measure) -> Markup:
    if not np.isfinite(found.value):
        return Markup("–")
    return Markup(
        f"{html(percent(found.value))}<br><span class=soft>{html(interval(found))}</span>"
    )


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


def _suspects_title(found: Findings) -> str:
    return "Answers that were wrong" if found.withdrawn else "Records to look at again"


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
    meaning = (
        "These rows are not like those of the training, so that they speak against its answers, "
        "not against the records"
        if found.withdrawn
        else "They are hard cases or wrong records"
    )
    return [
        paragraph(
            f"The wrong answers the model was most sure of. {meaning}: "
            f"{found.n_suspicious} were given less than {percent(SUSPICIOUS)}, where "
            f"{found.expected_suspicious:.0f} are to be expected. Rows are numbered from 1, below "
            "the line of names."
        ),
        table(header, rows, numbers=[0, 3]),
    ]


def _relevance(found: Findings) -> list[Markup]:
    if len(found.relevance) < 2:
        return []
    return [
        figure(
            relevance_picture(found.relevance),
            "How much the scores of a first fit change along each column, the mean column being 1: "
            "the metric in which the model takes a further look. Columns that say the same are "
            "all looked at; whether a column would be missed is told below.",
        )
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


def _effects(found: Findings) -> list[Markup]:
    if not found.effects:
        return []
    pictures = "".join(
        str(figure(effect_picture(effect), effect.sentence)) for effect in found.effects
    )
    return [
        paragraph(
            "The mean probability when only this column is changed and all others stay as they "
            "are; the shaded shape shows where the rows are (of categories, their share). It is "
            "what the model does, not what causes what.",
        ),
        Markup(f"<div class=pair>{pictures}</div>"),
    ]


def _groups(found: Findings) -> list[Markup]:
    made = []
    for column in dict.fromkeys(group.column for group in found.groups):
        rows: list[list[object]] = [
            [
                group.name,
                group.n_rows,
                _with_range(group.wrong),
                percent(group.handed),
                _with_range(group.answered_wrong),
                _with_range(group.recall),
                f"{100 * group.too_sure:+.1f}",
            ]
            for group in found.groups
            if group.column == column
        ]
        header = [column, "rows", "wrong", "handed over", "wrong of answered"]
        rarest = found.held_out.classes[rarest_class(found.held_out)]
        header += [f"{rarest} recognised", "too sure by (points)"]
        made.append(table(header, rows, numbers=range(1, 7)))
    if not made:
        return []
    return [
        *made,
        paragraph(
            "Shares with exact 95 % intervals. Too sure by: stated confidence less the share that "
            "is right, on average; below zero it is too modest.",
            "soft",
        ),
    ]


def _next(found: Findings) -> list[Markup]:
    items = "".join(f"<li>{prose(sentence)}</li>" for sentence in next_steps(found))
    return [Markup(f"<ul class=conclusions>{items}</ul>")]


def _foot(found: Findings) -> Markup:
    seed = escape(str(found.facts["training"]["wishes"]["seed"]))
    return Markup(
        f"<footer><p>This page shows rows of the table: treat it as confidentially as the table "
        f"itself. Seed {seed}.</p></footer>"
    )
