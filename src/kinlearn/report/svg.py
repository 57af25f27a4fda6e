"""Small pictures as SVG text: coloured by the page's style sheet, so that they follow its theme."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

WIDTH, HEIGHT = 560.0, 360.0
LEFT, RIGHT, TOP, BOTTOM = 84.0, 34.0, 14.0, 56.0


class Plot:
    """Axes with straight scales, drawn into by methods that take data coordinates.

    Parameters
    ----------
    x, y : (float, float)
        Ends of the axes.
    x_label, y_label : str
        What they show.
    title : str
        What the picture shows, for readers who cannot see it.
    percent : bool
        Whether ticks are shares.
    height : float
        Height of the picture, in its own units; its width is 560.

    Examples
    --------
    >>> plot = Plot((0, 1), (0, 1), "confidence", "accuracy", "An example", percent=True)
    >>> plot.line([0, 1], [0, 1], "reference")
    >>> plot.svg().startswith("<svg")
    True
    """

    def __init__(
        self,
        x: tuple[float, float],
        y: tuple[float, float],
        x_label: str,
        y_label: str,
        title: str,
        *,
        percent: bool = False,
        height: float = HEIGHT,
    ) -> None:
        self.x, self.y, self.height = x, y, height
        self.title = title
        self.percent = percent
        self._parts: list[str] = []
        self._axes(x_label, y_label)

    def across(self, value: float) -> float:
        """Place of an x value."""
        low, high = self.x
        return LEFT + (value - low) / (high - low) * (WIDTH - LEFT - RIGHT)

    def up(self, value: float) -> float:
        """Place of a y value."""
        low, high = self.y
        return self.height - BOTTOM - (value - low) / (high - low) * (self.height - TOP - BOTTOM)

    def line(self, x: Sequence[float], y: Sequence[float], style: str) -> None:
        """A line through points."""
        places = " ".join(
            f"{self.across(a):.1f},{self.up(b):.1f}" for a, b in zip(x, y, strict=True)
        )
        self._parts.append(f'<polyline class="{style}" points="{places}"/>')

    def bar(self, x: float, low: float, high: float, style: str) -> None:
        """An upright bar that shows an interval."""
        self.line([x, x], [max(low, self.y[0]), min(high, self.y[1])], style)

    def dot(self, x: float, y: float, radius: float, style: str, hint: str = "") -> None:
        """A point; `hint` shows under the pointer."""
        self._parts.append(
            f'<circle class="{style}" cx="{self.across(x):.1f}" cy="{self.up(y):.1f}" '
            f'r="{radius:.1f}"><title>{escape(hint)}</title></circle>'
        )

    def text(self, x: float, y: float, words: str, style: str, anchor: str = "start") -> None:
        """Words at a point."""
        self._parts.append(_text(style, self.across(x), self.up(y), words, anchor))

    def svg(self) -> str:
        """The picture."""
        return _svg(WIDTH, self.height, self.title, self._parts)

    def _axes(self, x_label: str, y_label: str) -> None:
        left, right = self.across(self.x[0]), self.across(self.x[1])
        low, high = self.up(self.y[0]), self.up(self.y[1])
        for tick in ticks(*self.y):
            at = self.up(tick)
            self._parts.append(f'<path class="grid" d="M{left:.1f} {at:.1f}H{right:.1f}"/>')
            self._parts.append(_text("tick", left - 8, at + 4, self._name(tick), "end"))
        for tick in ticks(*self.x):
            self._parts += _upright(self.across(tick), low, high, self._name(tick))
        self._parts.append(f'<path class="axis" d="M{left:.1f} {high:.1f}V{low:.1f}H{right:.1f}"/>')
        self._parts.append(_text("label", (left + right) / 2, self.height - 10, x_label))
        self._parts.append(_turned_label((low + high) / 2, y_label))

    def _name(self, value: float) -> str:
        return f"{100 * value:.3g} %" if self.percent else f"{value:.3g}"


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round values between two ends.

    Examples
    --------
    >>> ticks(0.0, 1.0)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    span = high - low
    power = 10.0 ** np.floor(np.log10(span / most))
    step = next(power * m for m in (1, 2, 2.5, 5, 10) if span / (power * m) <= most)
    first = int(np.ceil(low / step - 1e-9))
    last = int(np.floor(high / step + 1e-9))
    return [float(f"{k * step:.10g}") for k in range(first, last + 1)]


def heat_map(
    values: np.ndarray,
    rows: Sequence[str],
    columns: Sequence[str],
    row_label: str,
    column_label: str,
    title: str,
    best: tuple[int, int],
) -> str:
    """Cells shaded from the lowest to the highest value, the best one ringed; NaN stays empty."""
    n_rows, n_columns = values.shape
    height = min(HEIGHT, 90.0 + 18.0 * n_rows)
    wide = (WIDTH - LEFT - 20 - RIGHT) / n_columns
    tall = (height - TOP - BOTTOM) / n_rows
    low, high = np.nanmin(values), np.nanmax(values)
    shades = (values - low) / max(high - low, 1e-300)
    left = LEFT + 20  # regs are longer to write than shares
    parts = []
    for i in range(n_rows):
        for k in range(n_columns):
            if np.isfinite(values[i, k]):
                hint = f"{row_label} {rows[i]}, {column_label} {columns[k]}: {values[i, k]:.4g}"
                parts.append(
                    f'<rect class="cell" x="{left + k * wide:.1f}" y="{TOP + i * tall:.1f}" '
                    f'width="{wide - 1:.1f}" height="{tall - 1:.1f}" '
                    f'fill-opacity="{0.04 + 0.96 * shades[i, k]:.3f}">'
                    f"<title>{escape(hint)}</title></rect>"
                )
    i, k = best
    parts.append(
        f'<rect class="ring" x="{left + k * wide - 0.5:.1f}" y="{TOP + i * tall - 0.5:.1f}" '
        f'width="{wide:.1f}" height="{tall:.1f}"/>'
    )
    every = max(1, int(np.ceil(24.0 / tall)))
    for i in range(0, n_rows, every):
        parts.append(_text("tick", left - 8, TOP + (i + 0.5) * tall + 4, rows[i], "end"))
    skip = max(1, int(np.ceil(58.0 / wide)))
    for k in range(0, n_columns, skip):
        parts.append(_text("tick", left + (k + 0.5) * wide, height - BOTTOM + 18, columns[k]))
    parts.append(_text("label", (left + WIDTH - RIGHT) / 2, height - 10, column_label))
    parts.append(_turned_label((TOP + height - BOTTOM) / 2, row_label))
    return _svg(WIDTH, height, title, parts)


def bars(
    names: Sequence[str],
    values: Sequence[float],
    lows: Sequence[float] = (),
    highs: Sequence[float] = (),
    *,
    label: str,
    title: str,
) -> str:
    """Lying bars, with their intervals where these are given; longest name cut."""
    tall, left = 26.0, 168.0
    height = TOP + tall * len(names) + BOTTOM
    low = min(0.0, *lows, *values)
    high = max(*highs, *values, low + 1e-9)

    def across(value: float) -> float:
        return left + (value - low) / (high - low) * (WIDTH - left - RIGHT)

    parts: list[str] = []
    for tick in ticks(low, high, 5):
        parts += _upright(across(tick), height - BOTTOM, TOP, f"{tick:.3g}")
    for i, name in enumerate(names):
        at = TOP + tall * i
        start, end = sorted((across(0.0), across(values[i])))
        shown = name if len(name) <= 22 else name[:21] + "…"
        hint = f"{name}: {values[i]:.4f}"
        if lows:
            hint += f" (95 % interval {lows[i]:.4f} to {highs[i]:.4f})"
        parts.append(
            f'<text class="tick" x="{left - 8:.1f}" y="{at + tall / 2 + 4:.1f}" '
            f'text-anchor="end">{escape(shown)}<title>{escape(name)}</title></text>'
            f'<rect class="fill" x="{start:.1f}" y="{at + 4:.1f}" width="{end - start:.1f}" '
            f'height="{tall - 8:.1f}"><title>{escape(hint)}</title></rect>'
        )
        if lows:
            parts.append(
                f'<path class="whisker" d="M{across(lows[i]):.1f} {at + tall / 2:.1f}'
                f'H{across(highs[i]):.1f}"/>'
            )
    parts.append(f'<path class="axis" d="M{across(0.0):.1f} {TOP:.1f}V{height - BOTTOM:.1f}"/>')
    parts.append(_text("label", (left + WIDTH - RIGHT) / 2, height - 10, label))
    return _svg(WIDTH, height, title, parts)


def _text(style: str, x: float, y: float, words: str, anchor: str = "middle") -> str:
    where = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text class="{style}" {where}>{escape(words)}</text>'


def _upright(x: float, low: float, high: float, name: str) -> tuple[str, str]:
    """A line of the grid, its name below it."""
    line = f'<path class="grid" d="M{x:.1f} {low:.1f}V{high:.1f}"/>'
    return line, _text("tick", x, low + 18, name)


def _turned_label(y: float, words: str) -> str:
    """The name of an upright axis, read from below."""
    turned = f'transform="rotate(-90 16 {y:.1f})"'
    return (
        f'<text class="label" x="16" y="{y:.1f}" text-anchor="middle" {turned}>'
        f"{escape(words)}</text>"
    )


def _svg(width: float, height: float, title: str, parts: Sequence[str]) -> str:
    return (
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}" role="img" '
        f'aria-label="{escape(title)}">{"".join(parts)}</svg>'
    )
