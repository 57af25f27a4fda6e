"""The watch as a page: for a phone, without scripts, and loading nothing from elsewhere."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np

from kinlearn.report.html import Markup, document, figure, html, meter, paragraph, section, table
from kinlearn.report.svg import Plot

_STYLE = (
    "<style>@media(min-width:700px){.when{white-space:nowrap}}"
    ".bad{border-bottom:3px solid var(--warm)}.fine{border-bottom:3px solid var(--good)}"
    ".figures dd small{color:var(--soft);font-size:.8rem;display:block}</style>"
)
_CAVEAT = "The accuracy expected is for rows like those of the training: it may be too high now."
_MOST_SHOWN = 100
_TURNED_UP_AGAIN = 30  # seconds


def monitor_page(
    states: list[dict[str, Any]],
    requests: dict[str, Any] | None = None,
    *,
    title: str = "How the models are doing",
    under: str = "",
    live: bool = True,
) -> str:
    """The page on models in use.

    Parameters
    ----------
    states : list of dict
        As :meth:`kinlearn.watch.watching.Watch.state` makes them.
    requests : dict, optional
        How often each address was asked, and how long it took.
    title, under : str
        What the page is called, and a line below it.
    live : bool
        Whether the page loads itself anew.
    """
    again = f'<meta http-equiv="refresh" content="{_TURNED_UP_AGAIN}">' if live else ""
    parts = [Markup(_STYLE + again), Markup(f"<h1>{html(title)}</h1>")]
    parts.append(paragraph(under or f"As of {_when(None)}.", "under"))
    for state in states:
        parts += _model(state, several=len(states) > 1)
    if requests:
        parts.append(section("requests", "Requests", _requests(requests)))
    return document(title, parts)


def _model(state: dict[str, Any], *, several: bool) -> list[Markup]:
    name = state["model"]
    at = f"-{name}" if several else ""
    title = f"{name}: now" if several else "Now"
    traffic = state["traffic"]
    if traffic is None:
        return [section(f"now{at}", title, paragraph("No row has been answered yet."))]
    parts = [section(f"now{at}", title, _conclusion(state), _figures(state))]
    if state["alarms"]:
        rows = _grouped(state["alarms"])
        note = paragraph(
            "While nothing has changed, at most one stream of rows in twenty ever raises an alarm "
            "of drift, however long it is; the same holds for the alarm of the labels.",
            "soft",
        )
        listed = table(["about", "what", "times", "last"], rows, [2])
        parts.append(section(f"alarms{at}", "Alarms", listed, note))
    if len(state["windows"]) > 1:
        parts.append(section(f"accuracy{at}", "Accuracy", *_over_time(state)))
    if state["feedback"]:
        parts.append(section(f"labels{at}", "Labels that came back", *_labels(state)))
    parts.append(section(f"answers{at}", "Answers", *_answers(state)))
    rows = _tasks(state)
    if rows:
        header = ["task", "rows", "accuracy expected", "95 % interval", "seen from labels"]
        parts.append(section(f"tasks{at}", "Tasks", table(header, rows, [1, 2, 3, 4])))
    return parts


def _grouped(alarms: list[dict[str, Any]]) -> list[list[object]]:
    """Alarms about one thing as one line, the latest of them told."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for each in alarms:
        found.setdefault((each["kind"], each["column"]), []).append(each)
    return [
        [
            column or kind.replace("feedback below", "labels").replace("feedback above", "labels"),
            each[0]["sentence"],
            len(each),
            Markup(f"<span class=when>{_when(each[0]['at'])}</span>"),
        ]
        for (kind, column), each in found.items()
    ]


def _conclusion(state: dict[str, Any]) -> Markup:
    expected, feedback = state["expected"], state["feedback"]
    if feedback and feedback["alarm"]:
        way = "less" if feedback["alarm"] == "below" else "more"
        return paragraph(
            Markup(
                f"<b class=bad>Answers are right {way} often than stated.</b> "
                f"{html(feedback['advice'])}"
            )
        )
    recent = [alarm for window in state["windows"][-3:] for alarm in window["alarms"]]
    if recent:
        return paragraph(
            Markup(
                "<b class=bad>What arrives is not what the model was trained on.</b> "
                f"{html(recent[-1]['sentence'])} {_CAVEAT}"
            )
        )
    if not state["windows"]:
        return paragraph("Too few rows yet to compare with those of the training.")
    text = "What arrives is like what the model was trained on."
    if expected is not None and expected.get("prior"):
        text = "Classes seem to come in other shares than in training: see kinlearn.with_prior."
    return paragraph(Markup(f"<b class=fine>{html(text)}</b>"))


def _figures(state: dict[str, Any]) -> Markup:
    traffic, expected, feedback = state["traffic"], state["expected"], state["feedback"]
    handed = 1.0 - traffic["reasons"].get("answer", 0) / max(sum(traffic["reasons"].values()), 1)
    cells = [("rows answered", f"{traffic['rows']:,}".replace(",", " "), "")]
    if expected is not None:
        cells.append(
            (
                "accuracy expected",
                f"{expected['accuracy']:.1%}",
                f"{expected['low']:.1%} to {expected['high']:.1%}",
            )
        )
    if state["usual_accuracy"] is not None:
        cells.append(("in training", f"{state['usual_accuracy']:.1%}", "rows held out"))
    if feedback:
        cells.append(
            (
                "accuracy seen",
                f"{feedback['observed_accuracy']:.1%}",
                f"{feedback['rows']} labels; {feedback['low']:.1%} to {feedback['high']:.1%}",
            )
        )
    cells.append(("handed over", f"{handed:.1%}", ""))
    familiar = traffic.get("familiar")
    if familiar:
        low = familiar["low"] / familiar["rows"]
        cells.append(("unlike the training", f"{low:.1%}", "10 % is usual"))
    body = "".join(
        f"<div><dt>{html(name)}</dt><dd><b>{html(value)}</b><small>{html(more)}</small></dd></div>"
        for name, value, more in cells
    )
    return Markup(f"<dl class=figures>{body}</dl>")


def _over_time(state: dict[str, Any]) -> list[Markup]:
    windows = state["windows"][-_MOST_SHOWN:]
    numbers = [float(each["k"]) for each in windows]
    low = min(each["expected"]["low"] for each in windows)
    bottom = max(0.0, np.floor(10 * min(low, state["usual_accuracy"] or 1.0) - 0.5) / 10)
    plot = Plot(
        (numbers[0] - 0.5, numbers[-1] + 0.5),
        (bottom, 1.0),
        f"window (the last ones, of {windows[-1]['rows']} rows each)",
        "accuracy expected",
        "The accuracy expected of each window of rows, with an interval",
        height=300,
    )
    usual = state["usual_accuracy"]
    if usual is not None:
        plot.line([numbers[0] - 0.5, numbers[-1] + 0.5], [usual, usual], "reference")
    for k, each in zip(numbers, windows, strict=True):
        found = each["expected"]
        hint = f"window {k:.0f}: {found['accuracy']:.1%}"
        plot.bar(k, found["low"], found["high"], "whisker")
        plot.dot(k, found["accuracy"], 4.0, "chosen" if each["alarms"] else "dot", hint)
    return [
        figure(
            plot.svg(),
            "From the probabilities of the answers, without labels; upright lines are 95 % "
            "intervals, the dashed line is the accuracy of the training rows, held out. Windows "
            "that raised an alarm stand out in colour.",
        )
    ]


def _labels(state: dict[str, Any]) -> list[Markup]:
    feedback = state["feedback"]
    counts, stated, right = (np.array(part) for part in feedback["bins"])
    plot = Plot(
        (0.0, 1.0),
        (0.0, 1.0),
        "probability stated",
        "share that was right",
        "The share of right answers against the probability stated",
        percent=True,
        height=320,
    )
    plot.line([0, 1], [0, 1], "reference")
    for n, p, k in zip(counts, stated, right, strict=True):
        if n > 0:
            radius = 2.0 + 8.0 * float(np.sqrt(n / counts.max()))
            plot.dot(p / n, k / n, radius, "dot", f"{n:.0f} labels, {k / n:.1%} right")
    rows = [
        ["accuracy seen", f"{feedback['observed_accuracy']:.1%}"],
        ["accuracy stated", f"{feedback['stated_accuracy']:.1%}"],
        ["calibration error", f"{feedback['calibration_error']:.3f}"],
        ["log-loss", f"{feedback['log_loss']:.3f}"],
        ["Brier score", f"{feedback['brier']:.3f}"],
    ]
    return [
        Markup(f"<div class=pair>{table(['', ''], rows, [1])}"),
        figure(plot.svg(), "Points on the line are as stated; larger ones stand for more labels."),
        Markup("</div>"),
    ]


def _answers(state: dict[str, Any]) -> list[Markup]:
    traffic = state["traffic"]
    total = max(sum(traffic["classes"].values()), 1)
    rows: list[list[object]] = [
        [name, count, f"{count / total:.1%}", meter(count / total)]
        for name, count in sorted(traffic["classes"].items(), key=lambda item: -item[1])[:20]
    ]
    parts = [table(["answer", "rows", "share", ""], rows, [1, 2])]
    reasons = {k: n for k, n in traffic["reasons"].items() if k != "answer"}
    told = [[f"handed over: {reason}", n] for reason, n in sorted(reasons.items())]
    told += [[f"category never seen: {name}", n] for name, n in traffic["unseen"].items()]
    told += [[f"cell missing: {name}", n] for name, n in traffic.get("missing", {}).items()]
    if told:
        parts.append(table(["out of the ordinary", "rows"], told, [1]))
    return parts


def _tasks(state: dict[str, Any]) -> list[list[object]]:
    found = state["windows"][-1]["tasks"] if state["windows"] else {}
    seen = (state["feedback"] or {}).get("tasks", {})
    rows: list[list[object]] = []
    for name in sorted({*found, *seen}):
        one, labels = found.get(name), seen.get(name)
        rows.append(
            [
                name,
                one["n_rows"] if one else "–",
                f"{one['accuracy']:.1%}" if one else "–",
                f"{one['low']:.1%} to {one['high']:.1%}" if one else "–",
                f"{labels['observed_accuracy']:.1%} of {labels['rows']}" if labels else "–",
            ]
        )
    return rows


def _requests(requests: dict[str, Any]) -> Markup:
    rows = [
        [key.rpartition(" ")[0], key.rpartition(" ")[2], each["count"],
         f"{1000 * each['seconds'] / each['count']:.1f} ms"]
        for key, each in sorted(requests.items())
    ]  # fmt: skip
    return table(["address", "status", "requests", "on average"], rows, [1, 2, 3])


def _when(at: float | None) -> str:
    moment = datetime.now(UTC) if at is None else datetime.fromtimestamp(at, UTC)
    return moment.strftime("%Y-%m-%d %H:%M UTC")
