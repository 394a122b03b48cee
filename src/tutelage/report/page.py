"""A report as one HTML file that needs nothing else, and its tables as Markdown."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from . import svg, tables
from .comparison import Comparison
from .curves import Panel, complexity, held_out
from .records import Study
from .tables import Table, row

if TYPE_CHECKING:
    from .pictures import Picture, RunPictures

MARK = "made by tutelage report"
"""In the head of everything that is written, so that a report replaces a report and nothing else."""


class Content(NamedTuple):
    """What a report is made of."""

    title: str
    comparison: Comparison
    pictures: Mapping[str, RunPictures]
    """Pictures of a run of each method, by the method's label. Empty for a report without pictures."""
    version: str
    date: str
    others: tuple[Comparison, ...] = ()
    """The same runs on other suites."""

    @property
    def study(self) -> Study:
        return self.comparison.study


def title_of(study: Study) -> str:
    methods = ", ".join(method.label for method in study.methods)
    return f"{methods} on {study.environment}"


def runs_table(study: Study) -> Table:
    """Which runs a report is about, and how far they are."""
    rows = []
    for method in study.methods:
        for run in method.runs:
            done = max([record.steps for record in run.evaluations] + [int(r.get("steps", 0)) for r in run.metrics])
            asked = run.settings.train.steps
            share = f"{done / 1e6:.3g} of {asked / 1e6:.3g}"
            rows.append(row(str(run.path), method.label, str(run.seed), share))
    return Table("Runs", ("run", "method", "seed", "steps, millions"), tuple(rows))


# --- Markdown


def to_markdown(content: Content) -> str:
    """The tables and notes of a report."""
    compared = content.comparison
    sections = [
        f"<!-- {MARK} {content.version}, {content.date} -->",
        f"# {tables.plain(content.title)}",
        f"## {tables.plain(compared.table().caption)}",
        tables.to_markdown(compared.table()),
        f"## {tables.plain(compared.summary().caption)}",
        tables.to_markdown(compared.summary()),
        "\n".join(f"- {tables.plain(note)}" for note in compared.notes()),
        *(
            text
            for other in content.others
            for table in (other.table(), other.summary())
            for text in (f"## {tables.plain(table.caption)}", tables.to_markdown(table))
        ),
        "## Runs",
        tables.to_markdown(runs_table(content.study)),
    ]
    return "\n\n".join(sections) + "\n"


# --- HTML


def to_html(content: Content) -> str:
    """The whole page."""
    sections = [
        _section("Held-out performance", _performance(content)),
        _section("Comparison" if len(content.study.methods) > 1 else "Task by task", _tables(content)),
        _section("Levels while training", _complexity(content.study)),
        *(_shown(label, pictures, content) for label, pictures in content.pictures.items()),
        _section("About this page", tables.to_html(runs_table(content.study))),
    ]
    title = escape(content.title)
    return (
        f'<!doctype html>\n<!-- {MARK} -->\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{_style()}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n"
        f"{_lead(content)}\n{''.join(sections)}</main>\n"
        f"<footer>tutelage {escape(content.version)}, {escape(content.date)}</footer>\n</body>\n</html>\n"
    )


def _lead(content: Content) -> str:
    study = content.study
    runs = "1 run" if len(study.runs) == 1 else f"{len(study.runs)} runs"
    methods = "1 method" if len(study.methods) == 1 else f"{len(study.methods)} methods"
    return f"<p>{runs} of {methods}; evaluated on {escape(study.suite)}, {len(study.tasks)} tasks.</p>"


def _section(heading: str, body: str) -> str:
    return f"<section>\n<h2>{escape(heading)}</h2>\n{body}\n</section>\n" if body else ""


def _figure(title: str, chart: str, legend: Sequence[tuple[int, str]], note: str = "") -> str:
    items = "".join(f"<li>{svg.swatch(number)}{escape(label)}</li>" for number, label in legend)
    said = f"<p>{escape(note)}</p>" if note else ""
    caption = f'<figcaption><ul class="legend">{items}</ul>{said}</figcaption>'
    return f"<figure><h3>{escape(title)}</h3>{chart}{caption}</figure>"


def _curves(panel: Panel, last_step: float, limits: tuple[float, float]) -> str:
    legend = [(number, f"{curve.label} (n = {curve.n})") for number, curve in panel.curves.items()]
    banded = any(curve.error is not None for curve in panel.curves.values())
    note = "Band: mean ± standard error over seeds." if banded else ""
    return _figure(panel.title, svg.chart(panel, last_step, limits), legend, note)


def _performance(content: Content) -> str:
    panel = held_out(content.study, content.comparison.measure)
    other = held_out(content.study, "return" if content.comparison.measure == "solved" else "solved")
    figures = [_curves(one, svg.last_step([one]), svg.extent([one])) for one in (panel, other) if one.curves]
    standings = content.comparison.standings
    level = f"{100 * content.comparison.level:g}%"
    for name, ranges in (
        ("Mean", [standing.mean for standing in standings]),
        ("IQM", [standing.iqm for standing in standings]),
    ):
        if len(standings) > 1 and any(figure.ends for figure in ranges):
            points = [
                (number, standing.method.label, figure.value, figure.ends)
                for number, (standing, figure) in enumerate(zip(standings, ranges, strict=True))
            ]
            legend = [(number, standing.method.titled) for number, standing in enumerate(standings)]
            title = f"{name} over all tasks, {level} interval"
            figures.append(_figure(title, svg.intervals(title, panel.unit, points), legend))
    return f'<div class="grid few">{"".join(figures)}</div>'


def _tables(content: Content) -> str:
    compared = content.comparison
    notes = "".join(f"<li>{escape(note)}</li>" for note in compared.notes())
    first = f'{tables.to_html(compared.table())}{tables.to_html(compared.summary())}<ul class="notes">{notes}</ul>'
    return first + "".join(
        tables.to_html(table) for other in content.others for table in (other.table(), other.summary())
    )


def _complexity(study: Study) -> str:
    rows = complexity(study)
    if not rows:
        return "<p>The runs have no metrics yet.</p>"
    last_step = max(svg.last_step(panels) for panels in rows)
    body = ""
    for panels in rows:
        limits = svg.extent(panels)
        body += f'<div class="grid">{"".join(_curves(panel, last_step, limits) for panel in panels)}</div>\n'
    return body


def _shown(label: str, pictures: RunPictures, content: Content) -> str:
    method = next(method for method in content.study.methods if method.label == label)
    run = method.runs[0]
    body = f"<p>From {escape(str(run.path))} (seed {run.seed}) at iteration {pictures.iteration:,}.</p>"
    body += "".join(f"<p>{escape(remark)}</p>" for remark in pictures.remarks)
    if pictures.levels:
        what = "The buffer's highest-scored levels" if pictures.kept else "New levels from the generator"
        body += f'<h3>{what}</h3><div class="pictures">{"".join(map(_picture, pictures.levels))}</div>'
    if pictures.lineage:
        body += (
            f"<h3>How one level came to be</h3><p>{escape(pictures.lineage.text)} What an edit changed is outlined.</p>"
        )
        body += f'<div class="pictures lineage">{"".join(map(_picture, pictures.lineage.pictures))}</div>'
    if pictures.episodes:
        body += f"<h3>The student on {escape(content.study.suite)}</h3>"
        body += (
            "<p>The shortest of a few solved episodes on tasks it solves most often, and a failure if it has one.</p>"
        )
        body += f'<div class="pictures wide">{"".join(map(_picture, pictures.episodes))}</div>'
    return _section(f"{label}: levels and episodes", body)


def _picture(picture: Picture) -> str:
    described = escape(f"{picture.title}: {picture.text}", quote=True)
    image = f'<img src="{_uri(picture.kind, picture.data)}" alt="{described}">'
    if picture.still:
        still = f'<source media="(prefers-reduced-motion: reduce)" srcset="{_uri("png", picture.still)}">'
        image = f"<picture>{still}{image}</picture>"
    return f"<figure>{image}<figcaption><b>{escape(picture.title)}</b><br>{escape(picture.text)}</figcaption></figure>"


def _uri(kind: str, data: bytes) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(data).decode()}"


def _style() -> str:
    light, dark = ("".join(f"--c{i}:{pair[side]};" for i, pair in enumerate(svg.PALETTE)) for side in (0, 1))
    return _STYLE.replace("/*light*/", light).replace("/*dark*/", dark)


_STYLE = """
:root { color-scheme: light dark; --paper: #fdfdfc; --ink: #1d1f22; --soft: #5b6068; --rule: #d9dadd; --card: #f4f4f2;
  /*light*/ }
@media (prefers-color-scheme: dark) { :root { --paper: #16181b; --ink: #e8e8e6; --soft: #a5a9b0; --rule: #3a3d43;
  --card: #1f2226; /*dark*/ } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 1280px; margin: 0 auto; padding: 1rem clamp(0.75rem, 3vw, 2.5rem); }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0.5rem 0; overflow-wrap: anywhere; }
h2 { font-size: 1.25rem; margin: 2.25rem 0 0.75rem; border-bottom: 1px solid var(--rule); padding-bottom: 0.25rem;
  overflow-wrap: anywhere; }
h3 { font-size: 1rem; margin: 0.75rem 0 0.5rem; }
p { max-width: 75ch; overflow-wrap: anywhere; }
figure { margin: 0; min-width: 0; }
figure h3 { margin: 0 0 0.25rem; font-weight: 600; }
.grid { display: grid; gap: 1.5rem; grid-template-columns: repeat(auto-fill, minmax(min(100%, 350px), 1fr));
  margin-bottom: 1.5rem; }
.grid > figure { max-width: 520px; }
.grid.few { grid-template-columns: repeat(auto-fit, minmax(min(100%, 350px), 1fr)); }
svg { display: block; width: 100%; height: auto; }
svg text { fill: var(--soft); font: 12px system-ui, sans-serif; }
svg .grid { stroke: var(--rule); stroke-width: 1; }
svg .axis { stroke: var(--soft); stroke-width: 1; }
svg .band { opacity: 0.22; }
figcaption { color: var(--soft); font-size: 0.85rem; line-height: 1.4; }
figcaption p { margin: 0.25rem 0 0; }
figcaption b { color: var(--ink); }
.legend { list-style: none; margin: 0.25rem 0 0; padding: 0; display: flex; flex-wrap: wrap; gap: 0.1rem 1.25rem; }
.legend li { display: flex; align-items: center; gap: 0.4rem; color: var(--ink); overflow-wrap: anywhere; }
.swatch { width: 34px; height: 14px; flex: none; }
.scroll { overflow-x: auto; margin-bottom: 1.5rem; }
table { border-collapse: separate; border-spacing: 0; font-variant-numeric: tabular-nums; font-size: 14px;
  line-height: 22px; }
th, td { text-align: right; padding: 4px 14px 4px 0; vertical-align: bottom; }
td { white-space: nowrap; }
th:first-child { text-align: left; position: sticky; left: 0; background: var(--paper); font-weight: 500; }
thead th { border-bottom: 1px solid var(--soft); font-weight: 600; }
tbody th, tbody td { border-bottom: 1px solid var(--rule); }
tr.apart th, tr.apart td { border-top: 1px solid var(--soft); }
.notes { color: var(--soft); font-size: 0.85rem; padding-left: 1.1rem; max-width: 90ch; overflow-wrap: anywhere; }
.pictures { margin-bottom: 1.25rem; }
.pictures { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fill, minmax(min(46%, 150px), 1fr)); }
.pictures.wide { grid-template-columns: repeat(auto-fill, minmax(min(100%, 280px), 1fr)); }
.pictures > figure { max-width: 400px; }
.pictures img { display: block; width: 100%; height: auto; border-radius: 4px; margin-bottom: 0.35rem; }
footer { color: var(--soft); font-size: 0.8rem; padding: 2rem clamp(0.75rem, 3vw, 2.5rem); max-width: 1280px;
  margin: 0 auto; }
@media print { section { break-inside: avoid-page; } }
"""
