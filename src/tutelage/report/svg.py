"""Charts as SVG text. A method has a colour, a dash and a marker, so that it can be told without colours too.

Colours are CSS variables, which the page sets for light and dark (``PALETTE``). The letters stay one size, because a
chart is drawn about as wide as it is shown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape

import numpy as np

from .curves import SHARES, Curve, Panel

PALETTE = (
    ("#0072b2", "#56b4e9"),
    ("#d55e00", "#e69f00"),
    ("#009e73", "#2fc89b"),
    ("#aa4c84", "#d99ac0"),
    ("#8a6d00", "#f0e442"),
    ("#3d3d3d", "#f2f2f2"),
)
"""On light and on dark paper: Okabe and Ito's colours, which colour-blind eyes can tell apart, some darker or lighter
than theirs where they would be too faint on the paper."""
DASHES = ("", "7 3", "2 2.5", "9 3 2 3", "4 2", "12 3")
WIDTH, HEIGHT = 400, 250
LEFT, RIGHT, TOP, BOTTOM = 48, 12, 12, 42

Axis = Callable[[float], float]
"""From a value to its place."""


def colour(number: int) -> str:
    return f"var(--c{number % len(PALETTE)})"


def _dash(number: int) -> str:
    dash = DASHES[number % len(DASHES)]
    return f' stroke-dasharray="{dash}"' if dash else ""


def marker(number: int, x: float, y: float, size: float = 3.6) -> str:
    """The sign of a method at a point: filled and unlike its neighbours in form."""
    s = size
    shape = number % 7
    if shape == 0:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{s:.1f}" fill="{colour(number)}"/>'
    long, thin = 1.5 * s, 0.5 * s
    plus = [
        *((-thin, -long), (thin, -long), (thin, -thin), (long, -thin), (long, thin), (thin, thin)),
        *((thin, long), (-thin, long), (-thin, thin), (-long, thin), (-long, -thin), (-thin, -thin)),
    ]
    corners = {
        1: [(-s, -s), (s, -s), (s, s), (-s, s)],
        2: [(0, -1.3 * s), (1.2 * s, s), (-1.2 * s, s)],
        3: [(0, -1.4 * s), (1.4 * s, 0), (0, 1.4 * s), (-1.4 * s, 0)],
        4: [(0, 1.3 * s), (1.2 * s, -s), (-1.2 * s, -s)],
        5: plus,
        6: [(0.7 * (dx - dy), 0.7 * (dx + dy)) for dx, dy in plus],  # turned by an eighth
    }[shape]
    points = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in corners)
    return f'<polygon points="{points}" fill="{colour(number)}"/>'


def swatch(number: int) -> str:
    """The sign of a method for a legend."""
    line = f'<line x1="1" y1="7" x2="33" y2="7" stroke="{colour(number)}" stroke-width="2"{_dash(number)}/>'
    return f'<svg class="swatch" viewBox="0 0 34 14" aria-hidden="true">{line}{marker(number, 17, 7)}</svg>'


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers that span a range."""
    span = high - low
    if not math.isfinite(span) or span <= 0:
        return [low, low + 1.0]
    raw = span / (most - 1)
    unit = 10.0 ** math.floor(math.log10(raw))
    step = next(unit * factor for factor in (1, 2, 2.5, 5, 10) if unit * factor >= raw * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [step * number for number in range(first, last + 1)]


def chart(panel: Panel, last_step: float, limits: tuple[float, float]) -> str:
    """Curves with bands, against environment steps. Panels that are given the same ends of the axes can be compared."""
    y_ticks = ticks(*((0.0, 1.0) if panel.unit in SHARES else limits))
    unit, scale = _magnitude(last_step)
    x_ticks = ticks(0.0, last_step / scale, most=7)
    # The axis ends with the data and not with a round number, which might lie far behind it.
    x_low, x_high, y_low, y_high = 0.0, last_step or x_ticks[-1], y_ticks[0], y_ticks[-1]

    def x_of(value: float) -> float:
        return LEFT + (value - x_low) / (x_high - x_low) * (WIDTH - LEFT - RIGHT)

    def y_of(value: float) -> float:
        return HEIGHT - BOTTOM - (value - y_low) / (y_high - y_low) * (HEIGHT - TOP - BOTTOM)

    parts = []
    for tick in y_ticks:
        y = y_of(tick)
        parts.append(f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{_number(tick)}</text>')
    for tick in x_ticks:
        x = x_of(tick * scale)
        if tick * scale <= x_high * 1.0001:
            parts.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{_number(tick)}</text>')
            parts.append(
                f'<line class="axis" x1="{x:.1f}" y1="{HEIGHT - BOTTOM}" x2="{x:.1f}" y2="{HEIGHT - BOTTOM + 4}"/>'
            )
    parts.append(f'<line class="axis" x1="{LEFT}" y1="{HEIGHT - BOTTOM}" x2="{WIDTH - RIGHT}" y2="{HEIGHT - BOTTOM}"/>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text x="{middle:.1f}" y="{HEIGHT - 6}" text-anchor="middle">environment steps{unit}</text>')
    height = (TOP + HEIGHT - BOTTOM) / 2
    parts.append(
        f'<text transform="translate(12 {height:.1f}) rotate(-90)" text-anchor="middle">{escape(panel.unit)}</text>'
    )
    for number, line in panel.curves.items():
        parts.append(_band(number, line, x_of, y_of, (y_low, y_high)))
    for number, line in panel.curves.items():
        parts.append(_line(number, line, x_of, y_of))
    said = "; ".join(f"{line.label} (n = {line.n}) ends at {line.mean[-1]:.2f}" for line in panel.curves.values())
    label = escape(f"{panel.title}: {panel.unit} against environment steps. {said}.", quote=True)
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">{"".join(parts)}</svg>'


def extent(panels: Sequence[Panel]) -> tuple[float, float]:
    """Lowest and highest value of some panels, bands included, and zero where values are of one sign."""
    values = [
        value
        for panel in panels
        for line in panel.curves.values()
        for shift in ([line.error, -line.error] if line.error is not None else [np.zeros_like(line.mean)])
        for value in (line.mean + shift).tolist()
    ]
    return min(0.0, *values), max(0.0, *values)


def last_step(panels: Sequence[Panel]) -> float:
    """Where the longest curve ends."""
    return max(float(line.steps[-1]) for panel in panels for line in panel.curves.values())


def intervals(title: str, unit: str, rows: Sequence[tuple[int, str, float, tuple[float, float] | None]]) -> str:
    """A point for each method, with its interval where it has one."""
    gap, head = 30, 8
    height = head + gap * len(rows) + BOTTOM
    values = [value for _, _, value, ends in rows for value in (value, *(ends or ()))]
    axis = ticks(0.0, 1.0) if unit in SHARES else ticks(min(0.0, *values), max(0.0, *values))
    left = 14

    def x_of(value: float) -> float:
        return left + (value - axis[0]) / (axis[-1] - axis[0]) * (WIDTH - left - RIGHT)

    parts = []
    for tick in axis:
        x = x_of(tick)
        parts.append(f'<line class="grid" x1="{x:.1f}" y1="{head}" x2="{x:.1f}" y2="{height - BOTTOM}"/>')
        parts.append(f'<text x="{x:.1f}" y="{height - BOTTOM + 16}" text-anchor="middle">{_number(tick)}</text>')
    for place, (number, _, value, ends) in enumerate(rows):
        y = head + gap * (place + 0.5)
        if ends:
            low, high = map(x_of, ends)
            style = f'stroke="{colour(number)}" stroke-width="2"'
            parts.append(f'<line x1="{low:.1f}" y1="{y}" x2="{high:.1f}" y2="{y}" {style}{_dash(number)}/>')
            parts += [f'<line x1="{x:.1f}" y1="{y - 5}" x2="{x:.1f}" y2="{y + 5}" {style}/>' for x in (low, high)]
        parts.append(marker(number, x_of(value), y, 4.5))
    parts.append(f'<text x="{WIDTH / 2}" y="{height - 6}" text-anchor="middle">{escape(unit)}</text>')
    said = "; ".join(f"{label} {value:.2f}" for _, label, value, _ in rows)
    name = escape(f"{title}. {said}.", quote=True)
    return f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{name}">{"".join(parts)}</svg>'


def _band(number: int, line: Curve, x_of: Axis, y_of: Axis, limits: tuple[float, float]) -> str:
    if line.error is None or len(line.steps) < 2:
        return ""
    upper = np.clip(line.mean + line.error, *limits)
    lower = np.clip(line.mean - line.error, *limits)
    there = [f"{x_of(x):.1f},{y_of(y):.1f}" for x, y in zip(line.steps, upper, strict=True)]
    back = [f"{x_of(x):.1f},{y_of(y):.1f}" for x, y in zip(line.steps[::-1], lower[::-1], strict=True)]
    return f'<polygon class="band" points="{" ".join(there + back)}" fill="{colour(number)}"/>'


def _line(number: int, line: Curve, x_of: Axis, y_of: Axis) -> str:
    places = [(x_of(x), y_of(y)) for x, y in zip(line.steps, line.mean, strict=True)]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    drawn = f'<polyline points="{points}" fill="none" stroke="{colour(number)}" stroke-width="2"{_dash(number)}/>'
    # Some markers are enough, and other places than the neighbours' keep them from covering each other.
    every = max(1, len(places) // 6)
    shown = {*range((number * every) // 3, len(places), every), len(places) - 1}
    return drawn + "".join(marker(number, *places[i]) for i in sorted(shown))


def _magnitude(steps: float) -> tuple[str, float]:
    if steps >= 1e6:
        return " (millions)", 1e6
    return (" (thousands)", 1e3) if steps >= 1e4 else ("", 1.0)


def _number(value: float) -> str:
    return f"{value:.6g}" if abs(value) > 1e-12 else "0"
