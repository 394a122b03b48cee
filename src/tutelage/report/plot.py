"""Figures for a paper, by matplotlib: vector graphics with embedded fonts, as wide as a column or a page."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ..errors import UserError, require, unknown
from ..evaluation import statistics
from .comparison import FEWEST, LEVEL, NAMES, scores, telling
from .curves import held_out
from .records import Measure, Method, Study, method_called, read
from .svg import DASHES, PALETTE

WIDTHS = {"column": 3.25, "text": 6.75, "slide": 10.0}
"""Inches: a column of a two-column paper, a page of a one-column paper, a slide."""
FIGURES = ("curves", "intervals", "profiles", "improvement", "roses")
MARKERS = "osD^vP*X"
STYLE = {
    "pdf.fonttype": 42,  # TrueType: text stays text, and publishers accept it
    "ps.fonttype": 42,
    "svg.fonttype": "none",
    "font.size": 8,
    "axes.labelsize": 8,
    "axes.titlesize": 8,
    "legend.fontsize": 7,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.2,
    "legend.frameon": False,
    "figure.dpi": 200,
}


def plot(
    paths: Sequence[Path | str],
    out: Path | str = "plots",
    figures: Sequence[str] = (),
    suite: str = "",
    measure: Measure | None = None,
    against: str = "",
    width: Literal["column", "text", "slide"] = "column",
    kind: str = "pdf",
    warn: Callable[[str], None] = print,
) -> list[Path]:
    """Draw runs, groups of seeds or whole studies to files in a directory: learning curves, means with intervals,
    performance profiles, probabilities of improvement and roses of levels. Without ``figures``, all that can be drawn.
    """
    for name in figures:
        if name not in FIGURES:
            raise unknown("figure", name, FIGURES)
    require(width in WIDTHS, f"The width is {width}; give one of {', '.join(WIDTHS)}.")
    require(
        find_spec("matplotlib") is not None,
        "Plots need the package matplotlib, which is not installed; install it with `pip install 'tutelage[plot]'`.",
    )
    study = read(paths, suite)
    chosen = measure or telling(study)
    out = Path(out)
    if out.exists() and not out.is_dir():
        raise UserError(f"{out} is a file; give a directory with --out.")
    matplotlib: Any = import_module("matplotlib")
    matplotlib.use("Agg")
    plt: Any = import_module("matplotlib.pyplot")
    written = []
    draw = {
        "curves": lambda axes: _curves(axes, study, chosen),
        "intervals": lambda axes: _intervals(axes, study, chosen, width),
        "profiles": lambda axes: _profiles(axes, study, chosen),
        "improvement": lambda axes: _improvement(axes, study, chosen, against, width),
    }
    for name in figures or FIGURES:
        with plt.rc_context(STYLE):
            try:
                if name == "roses":
                    figure = _roses(plt, study, width)
                else:
                    bars = name in ("intervals", "improvement")
                    lines = sum(max(2, _titled(method, width).count("\n") + 1) for method in study.methods)
                    legend = 0 if bars else -(-len(study.methods) // _columns(study, width))
                    high = 0.16 * lines + 0.75 if bars else 0.62 * WIDTHS[width] + 0.16 * legend
                    columns = 2 if name == "intervals" else 1
                    figure, axes = plt.subplots(
                        1, columns, figsize=(WIDTHS[width], high), layout="constrained", sharey=name == "intervals"
                    )
                    draw[name](axes)
                    if not bars:  # above the axes, where it hides nothing
                        figure.legend(loc="outside upper center", ncols=_columns(study, width))
            except UserError as problem:
                plt.close("all")
                if figures:
                    raise
                warn(f"No {name}: {problem}")
                continue
            out.mkdir(parents=True, exist_ok=True)
            path = out / f"{name}.{kind}"
            # No date inside: the same runs give the same file.
            metadata = {"CreationDate": None} if kind == "pdf" else {"Date": None} if kind == "svg" else {}
            figure.savefig(path, metadata=metadata)
            plt.close(figure)
            written.append(path)
    return written


def _titled(method: Method, width: str) -> str:
    """A method's name for the side of a figure, in lines that leave room for what is drawn."""
    return textwrap.fill(f"{method.label} (n\u00a0=\u00a0{method.n})", 18 if width == "column" else 32)


def _columns(study: Study, width: str) -> int:
    """Of a legend: as many as there is room for."""
    longest = max(len(method.titled) for method in study.methods)
    return max(1, min(len(study.methods), int(WIDTHS[width] / (0.06 * longest + 0.55))))


def _look(number: int) -> dict[str, Any]:
    """How a method is drawn: told by colour, dash and marker."""
    dash = [float(part) / 1.2 for part in DASHES[number % len(DASHES)].split()]
    return {
        "color": PALETTE[number % len(PALETTE)][0],
        "linestyle": (0, dash) if dash else "-",
        "marker": MARKERS[number % len(MARKERS)],
    }


def _curves(axes: Any, study: Study, measure: Measure) -> None:
    panel = held_out(study, measure)
    require(bool(panel.curves), "the runs have no evaluations in common.")
    for number, curve in panel.curves.items():
        look, steps = _look(number), curve.steps / 1e6
        every = max(1, len(steps) // 8)
        axes.plot(steps, curve.mean, label=f"{curve.label} (n = {curve.n})", markevery=every, markersize=3, **look)
        if curve.error is not None:
            low, high = curve.mean - curve.error, curve.mean + curve.error
            axes.fill_between(steps, low, high, color=look["color"], alpha=0.2, linewidth=0)
    axes.set(xlabel="environment steps (millions)", ylabel=f"{NAMES[measure]}, {study.suite}")
    if measure == "solved":
        axes.set_ylim(-0.02, 1.02)


def _enough(study: Study) -> list[int]:
    """Methods with seeds enough for an interval, by number."""
    found = [number for number, method in enumerate(study.methods) if method.n >= FEWEST]
    require(bool(found), f"an interval needs at least {FEWEST} seeds of a method.")
    return found


def _intervals(axes: Any, study: Study, measure: Measure, width: str) -> None:
    numbers = _enough(study)
    for one, (name, of) in zip(axes, (("mean", statistics.mean), ("IQM", statistics.iqm)), strict=True):
        for row, number in enumerate(numbers):
            found = statistics.estimate(scores(study, study.methods[number], measure), of, LEVEL)
            colour = _look(number)["color"]
            one.barh(row, found.high - found.low, left=found.low, height=0.55, color=colour, alpha=0.35)
            one.plot([found.value] * 2, [row - 0.275, row + 0.275], color=colour)
        one.set(title=name, yticks=range(len(numbers)))
        one.use_sticky_edges = False  # an interval of no width is to be seen at the edge, too
        one.margins(x=0.08)
        one.set_yticklabels([_titled(study.methods[number], width) for number in numbers])
        one.grid(axis="y", visible=False)
        one.set_ylim(len(numbers) - 0.5, -0.5)
    axes[0].figure.supxlabel(f"{NAMES[measure]}, {study.suite}", fontsize=8)


def _profiles(axes: Any, study: Study, measure: Measure) -> None:
    numbers = _enough(study)
    each = {number: scores(study, study.methods[number], measure) for number in numbers}
    low, high = (
        (0.0, 1.0) if measure == "solved" else (min(map(np.min, each.values())), max(map(np.max, each.values())))
    )
    thresholds = np.linspace(low, high, 101)
    for number, values in each.items():
        look = _look(number) | {"marker": None}
        share, bottom, top = statistics.profile(values, thresholds, LEVEL)
        axes.step(thresholds, share, where="post", label=study.methods[number].titled, **look)
        axes.fill_between(thresholds, bottom, top, step="post", color=look["color"], alpha=0.2, linewidth=0)
    axes.set(xlabel=f"{NAMES[measure]} τ", ylabel="share of runs and tasks above τ", ylim=(0, 1.02))


def _improvement(axes: Any, study: Study, measure: Measure, against: str, width: str) -> None:
    reference = method_called(study, against) if against else study.methods[0]
    numbers = [number for number in _enough(study) if study.methods[number] is not reference]
    require(reference.n >= FEWEST and bool(numbers), f"two methods with at least {FEWEST} seeds each are needed.")
    theirs = scores(study, reference, measure)
    for row, number in enumerate(numbers):
        mine = scores(study, study.methods[number], measure)
        found = statistics.estimate_improvement(mine, theirs, LEVEL)
        colour = _look(number)["color"]
        axes.barh(row, found.high - found.low, left=found.low, height=0.55, color=colour, alpha=0.35)
        axes.plot([found.value] * 2, [row - 0.275, row + 0.275], color=colour)
    axes.axvline(0.5, color="0.4", linewidth=0.8, linestyle=":")
    axes.set(xlabel=f"P(better than {reference.label})", xlim=(-0.03, 1.03), yticks=range(len(numbers)))
    axes.set_yticklabels([_titled(study.methods[number], width) for number in numbers])
    axes.grid(axis="y", visible=False)
    axes.set_ylim(len(numbers) - 0.5, -0.5)


def _roses(plt: Any, study: Study, width: str) -> Any:
    """What levels were like at the end of training: each figure of theirs is a spoke, from the least to the most of all
    methods. A line is a seed; where methods replay, of replayed levels.
    """
    found: dict[int, list[dict[str, float]]] = {}
    for number, method in enumerate(study.methods):
        for run in method.runs:
            last = run.metrics[-max(1, len(run.metrics) // 10) :]  # the last tenth, so that it is no single batch
            for source in ("replayed", "generated"):
                values = {
                    name: float(np.mean([r[name] for r in last if r.get(name) is not None]))
                    for name in {key for record in last for key in record if key.startswith(f"{source}/level/")}
                    if any(r.get(name) is not None for r in last)
                }
                if values:
                    found.setdefault(number, []).append({name.split("/")[-1]: v for name, v in values.items()})
                    break
    spokes = sorted(set.intersection(*[set(seed) for seeds in found.values() for seed in seeds])) if found else []
    require(len(spokes) >= 3, "a rose needs levels with at least three figures.")
    everything = np.array([[seed[name] for name in spokes] for seeds in found.values() for seed in seeds])
    low, high = everything.min(axis=0), everything.max(axis=0)
    angles = np.linspace(0, 2 * np.pi, len(spokes), endpoint=False)
    columns = min(len(found), max(1, int(WIDTHS[width] / 1.6)))
    rows = -(-len(found) // columns)
    figure, axes = plt.subplots(
        rows,
        columns,
        figsize=(WIDTHS[width], rows * (min(WIDTHS[width] / columns, 2.5) + 0.3) + 0.4),
        subplot_kw={"projection": "polar"},
        layout="constrained",
        squeeze=False,
    )
    for one in axes.flat[len(found) :]:
        one.set_visible(False)
    for one, (number, seeds) in zip(axes.flat, found.items(), strict=False):
        colour = _look(number)["color"]
        for seed in seeds:
            values = np.array([seed[name] for name in spokes])
            share = np.divide(values - low, high - low, out=np.full(len(spokes), 0.5), where=high > low)
            one.plot([*angles, angles[0]], [*share, share[0]], color=colour, linewidth=1.0)
            one.fill([*angles, angles[0]], [*share, share[0]], color=colour, alpha=0.12)
        one.set(ylim=(0, 1.02), yticks=[0.5, 1.0], yticklabels=[], xticks=angles)
        one.set_xticklabels(spokes, fontsize=6)
        one.tick_params(axis="x", pad=0)
        one.set_title(_titled(study.methods[number], "column"))
    ranges = ", ".join(f"{name} {a:.3g} to {b:.3g}" for name, a, b in zip(spokes, low, high, strict=True))
    figure.supxlabel(textwrap.fill(f"Centre to rim: {ranges}.", int(18 * WIDTHS[width])), fontsize=6)
    return figure
