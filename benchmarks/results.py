"""Keep what a study came to: `python benchmarks/results.py maze-60 runs/maze-fast`; or a game: `... corollary-1`.

Reads the finished runs of a study's directory, plays what is missing (every test, with the last student of each run),
adds them to `src/tutelage/reproduce/results/` and writes the page in `docs/results/`. Runs that were kept
before and are not in the directory stay, so a study can be run on several machines or days. A table that is a game is
played at once, without a directory. Without either, the pages are written anew.
"""

import argparse
from dataclasses import replace
from datetime import date
from pathlib import Path

from tutelage.report.tables import to_markdown
from tutelage.reproduce import games, results, tables
from tutelage.reproduce.catalogue import catalogue, exhibit
from tutelage.reproduce.evaluating import complete
from tutelage.runs import grid, study
from tutelage.runs.directory import package_version

ROOT = Path(__file__).parents[1]
DATA = ROOT / "src" / "tutelage" / "reproduce" / results.FOLDER
PAGES = ROOT / "docs" / "results"


def keep(name: str, directory: Path) -> None:
    """Add a study's finished runs to what was kept."""
    asked = grid.read(directory / study.COPY)
    chosen = exhibit(name)
    runs = [study.StudyRun(plan, directory / plan.name) for plan in asked.plans]
    groups = list(dict.fromkeys(results.group(plan) for plan in asked.plans))
    suites = [source for source in chosen.sources if set(source.columns) & set(groups)]
    source = next(source for source in suites if source.study == directory.name or len(suites) == 1)
    complete(runs, source.suite, chosen.episodes)
    found = results.collect(chosen, source, runs, chosen.episodes)
    path = DATA / results.file_name(found)
    if path.exists():
        found = results.merge(results.parse(path.read_text()), found)
    order = {group: i for i, group in enumerate(groups)}  # as in the study's file
    found = replace(found, runs=tuple(sorted(found.runs, key=lambda run: order.get(run.group, len(order)))))
    DATA.mkdir(exist_ok=True)
    results.write(path, found)


def pages() -> None:
    """Everything that was kept, for people."""
    PAGES.mkdir(exist_ok=True)
    for chosen in catalogue().values():
        if (played := games.shipped_for(chosen.name)) is not None:
            table = to_markdown(games.table(chosen, played))
            command = f"    tutelage reproduce {chosen.name} --scale full"
            made = f"Made on {played.day} with version {played.version} by\n\n{command}"
            text = f"# {chosen.title}\n\n{made}\n\n{table}\n\n{chosen.says}\n\n{games.EXPLAINED}\n"
            (PAGES / f"{chosen.name}.md").write_text(text, encoding="utf-8")
    for path in sorted(DATA.glob("*.json")):
        found = results.parse(path.read_text())
        chosen = exhibit(found.exhibit)
        source = next(source for source in chosen.sources if source.study == found.study)
        train = f"    tutelage study studies/{found.study}.toml"
        collect = f"    python benchmarks/results.py {found.exhibit} runs/{found.study}"
        text = f"# {chosen.title}\n\nMade by\n\n{train}\n{collect}\n\n{tables.markdown(chosen, source, found)}\n"
        (PAGES / path.name.replace(".json", ".md")).write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("name", nargs="?", help="the table, as `tutelage reproduce` calls it")
    parser.add_argument("directory", nargs="?", type=Path, help="the study's directory, named as its file is")
    options = parser.parse_args()
    if options.directory:
        keep(options.name, options.directory)
    elif options.name:
        games.write(DATA / "games", games.play(exhibit(options.name), package_version(), date.today().isoformat()))
    pages()


if __name__ == "__main__":
    main()
