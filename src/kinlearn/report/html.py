"""Pieces of HTML: every text that comes from a table is escaped here and nowhere else."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from importlib.resources import files

import numpy as np

_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def html(value: object) -> str:
    """Escape a text, unless it is HTML already.

    Examples
    --------
    >>> html("a < b"), html(Markup("<b>a</b>"))
    ('a &lt; b', '<b>a</b>')
    """
    return value if isinstance(value, Markup) else escape(str(value))


def prose(value: object) -> str:
    """The same for sentences, whose lines break neither in an option nor before a per cent sign.

    Examples
    --------
    >>> prose("5 % by --group a")
    '5\\xa0% by <span class=whole>--group</span> a'
    """
    if isinstance(value, Markup):
        return value
    return _OPTION.sub(r"<span class=whole>\g<0></span>", html(value).replace(" %", "\u00a0%"))


def table(
    header: Sequence[object], rows: Sequence[Sequence[object]], numbers: Sequence[int] = ()
) -> Markup:
    """A table that scrolls sideways where it is too wide."""

    def line(cells: Sequence[object], tag: str) -> str:
        return "".join(
            f"<{tag}{' class=n' if i in numbers else ''}>{prose(cell)}</{tag}>"
            for i, cell in enumerate(cells)
        )

    body = "".join(f"<tr>{line(row, 'td')}</tr>" for row in rows)
    return Markup(
        f"<div class=scroll><table><thead><tr>{line(header, 'th')}</tr></thead>"
        f"<tbody>{body}</tbody></table></div>"
    )


def meter(share: float) -> Markup:
    """A bar as long as a share."""
    bar = f'<span class=meter style="width:{100 * share:.1f}%"></span>'
    return Markup(f"<span class=track>{bar}</span>")


def section(anchor: str, title: str, *parts: object) -> Markup:
    """A section of the page."""
    return Markup(
        f"<section id={anchor}><h2>{html(title)}</h2>{''.join(html(p) for p in parts)}</section>"
    )


def paragraph(text: object, style: str = "") -> Markup:
    """A paragraph."""
    return Markup(f"<p{f' class={style}' if style else ''}>{prose(text)}</p>")


def figure(svg: str, caption: str) -> Markup:
    """A picture with its caption."""
    return Markup(f"<figure>{svg}<figcaption>{prose(caption)}</figcaption></figure>")


def gain(value: float) -> Markup:
    """A gain in per cent, coloured by its sign."""
    if not np.isfinite(value):
        return Markup("–")
    style = "more" if value > 0.005 else "less" if value < -0.005 else "soft"
    # Rounded first: -0.3 % is shown as 0 %, not as -0 %.
    whole = round(100 * value)
    return Markup(f"<span class={style}>{f'{whole:+d}' if whole else '0'} %</span>")


def document(title: str, body: Sequence[Markup]) -> str:
    """A complete page that needs nothing from anywhere."""
    style = files("kinlearn.report").joinpath("style.css").read_text(encoding="utf-8")
    return (
        "<!doctype html>\n"
        '<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        # Without an icon of its own a browser asks the network for one.
        '<link rel="icon" href="data:,">'
        f"<title>{html(title)}</title><style>{style}</style></head>"
        f"<body><main>{''.join(body)}</main></body></html>\n"
    )
