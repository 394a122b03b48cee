"""`tutelage reproduce`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import require
from .parser import MANY, parser_of, whole_number
from .terminal import warn

if TYPE_CHECKING:
    from ..reproduce.catalogue import Exhibit


def run(arguments: list[str]) -> int:
    """List the thesis's tables and figures, show one of them, or run its study."""
    parser = parser_of("reproduce")
    parser.add_argument("name", nargs="?", default="", help="a table or figure; without it, all are listed")
    parser.add_argument(
        "--scale", choices=("laptop", "full"), help="run its study, at a size for your own computer or as published"
    )
    parser.add_argument("--out", help="directory for its runs (default runs/reproduce/NAME-SCALE)")
    parser.add_argument("--jobs", type=whole_number(MANY), help="runs at once (default: one for each core)")
    parser.add_argument("--engine", default="local", help="local (default) for this machine, or ray")
    options = parser.parse_args(arguments)
    if not options.name:
        require(options.scale is None, "--scale needs the name of a table or figure, as in `reproduce maze-60`.")
        return _list()
    from ..reproduce.catalogue import exhibit

    chosen = exhibit(options.name)
    if options.scale is None:
        return _show(chosen)
    if chosen.kind == "game":
        return _play(chosen)
    out = Path(options.out or Path("runs") / "reproduce" / f"{chosen.name}-{options.scale}")
    again = shlex.join(["tutelage", "reproduce", *arguments])
    return _run(chosen, options.scale, out, options.engine, options.jobs, again)


def _list() -> int:
    from ..report.tables import Table, row, to_text
    from ..reproduce import games
    from ..reproduce.catalogue import SCALES, catalogue, cost, table_of
    from ..reproduce.results import shipped_for

    rows = []
    for chosen in catalogue().values():
        sizes = []
        for scale in SCALES:
            sources = table_of(chosen).at(scale)
            sizes.append(_hours(cost(sources).hours) if sources else "minutes" if chosen.kind == "game" else "–")
        ran = [f"{len(result.runs)} of {result.planned} runs of {result.study}" for result in shipped_for(chosen.name)]
        if (played := games.shipped_for(chosen.name)) is not None:
            ran = [f"{len(played.rows)} of {len(chosen.plays)} methods"]
        note = chosen.missing or "; ".join(ran) or (f"see {chosen.shows}" if chosen.shows else "")
        rows.append(row(chosen.name, str(chosen.chapter), *sizes, note or "not run"))
    columns = ("name", "chapter", *(f"{scale}, hours" for scale in SCALES), "run here")
    print(to_text(Table("", columns, tuple(rows))))
    print(
        "\nHours are of two cores without an accelerator. One of them: tutelage reproduce NAME; to run it: "
        "tutelage reproduce NAME --scale laptop"
    )
    return 0


def _hours(hours: float) -> str:
    return f"{hours:,.0f}" if hours >= 10 else f"{hours:.1f}"


def _show(chosen: Exhibit) -> int:
    from ..report.tables import to_text
    from ..reproduce import games, tables
    from ..reproduce.catalogue import cost, table_of
    from ..reproduce.published import printed
    from ..reproduce.results import shipped_for

    print(f"{chosen.name}: {chosen.title} (chapter {chosen.chapter})")
    for line in filter(None, (chosen.says, chosen.missing and f"It cannot be made: {chosen.missing}")):
        print(line)
    for source in table_of(chosen).sources:
        paid = cost((source,))
        print(
            f"Study {source.study} ({source.scale}): {paid.runs} runs, {paid.steps / 1e6:,.0f}M steps, about "
            f"{_hours(paid.hours)} hours on two cores; tested on {source.suite}."
        )
    if chosen.shows:
        print(f"Drawn from the runs of {chosen.shows}: {chosen.command}")
    if (played := games.shipped_for(chosen.name)) is not None:
        table = games.table(chosen, played)
        print(f"\n{to_text(table)}\n{games.EXPLAINED} Played on {played.day} with version {played.version}.")
    results = shipped_for(chosen.name)
    sources = {source.study: source for source in chosen.sources}
    for result in results:
        print(f"\n{tables.text(chosen, sources[result.study], result)}")
    if not results and printed(chosen.name):
        table = tables.printed_table(chosen.name)
        print(f"\n{table.caption}; nothing of it was run here\n{to_text(table)}")
    return 0


def _play(chosen: Exhibit) -> int:
    from ..runs.launch import start_jax

    start_jax()
    from datetime import UTC, datetime

    from ..report.tables import to_text
    from ..reproduce import games
    from ..runs.directory import package_version

    table = games.table(chosen, games.play(chosen, package_version(), datetime.now(UTC).strftime("%Y-%m-%d")))
    print(f"{table.caption}\n{to_text(table)}\n{chosen.says}\n{games.EXPLAINED}")
    return 0


def _run(chosen: Exhibit, scale: str, out: Path, engine: str, jobs: int | None, again: str) -> int:
    from ..reproduce import results, tables
    from ..reproduce.catalogue import cost, sources_at, study_file, table_of
    from ..reproduce.evaluating import complete
    from ..runs import grid, study
    from .study import conduct

    table, sources = table_of(chosen), sources_at(chosen, scale)
    paid = cost(sources)
    print(
        f"{table.name} at the scale {scale}: {paid.runs} runs, {paid.steps / 1e6:,.0f}M steps, about "
        f"{_hours(paid.hours)} hours on two cores. Ctrl-C stops it; the same command goes on."
    )
    for source in sources:
        directory = out / source.study
        code = conduct(study_file(source.study), directory, engine, jobs, (), again)
        if code:
            return code
        with study.opened(grid.read(study_file(source.study)), directory) as runs:
            complete(runs, source.suite, table.episodes, warn)
            result = results.collect(table, source, runs, table.episodes)
        results.write(out / results.file_name(result), result)
        page = out / f"{results.file_name(result).removesuffix('.json')}.md"
        page.write_text(f"# {table.title}\n\n{tables.markdown(table, source, result)}\n", encoding="utf-8")
        print(f"\n{tables.text(table, source, result)}\nWrote {page} and {out / results.file_name(result)}.")
        if chosen.command:
            print(f"{chosen.name}: {chosen.command.replace('STUDY', shlex.quote(str(directory)))}")
    return 0
