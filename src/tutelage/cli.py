"""The command line. JAX is imported only by commands that compute, so that help answers at once."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import config
from .algorithms import METHODS, method
from .envs.registry import ENVIRONMENTS, environment, label, preset
from .errors import UserError, unknown
from .runs import sinks
from .runs.processes import ALONE, Group
from .settings import Settings

if TYPE_CHECKING:
    from .runs.session import Progress, Run

AUTO = "auto"
FEWEST = 8
"""Levels of a batch that a CPU's device should have at least, when nobody says how many devices there are to be."""

COMMANDS = {
    "train": "start a new run",
    "resume": "go on with a run that was stopped",
    "study": "train a grid of methods and seeds, and compare them",
    "eval": "play a run's student on a held-out suite",
    "show": "summarise a run",
    "levels": "show the levels that a run's buffer values most",
    "compare": "set methods side by side, by what their runs solve",
    "report": "put runs on one page: curves, tables, levels, episodes",
    "methods": "list the methods",
    "envs": "list the environments, their presets and suites",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; returns its exit code."""
    try:
        code = _run(list(sys.argv[1:] if arguments is None else arguments))
        sys.stdout.flush()
        return code
    except UserError as problem:
        print(f"tutelage: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader of our output, such as head, has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains when it ends
        return 0


def _run(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help"):
        width = max(map(len, COMMANDS))
        print("usage: tutelage COMMAND ...\n\nTrain robust agents by designing what they train on.\n")
        print("\n".join(f"  {name:<{width}}  {summary}" for name, summary in COMMANDS.items()))
        print("\n`tutelage COMMAND --help` says more. A first run: tutelage train maze accel --preset small")
        return 0
    if arguments[0] == "--version":
        from .runs.directory import package_version

        print(f"tutelage {package_version()}")
        return 0
    if arguments[0] not in COMMANDS:
        raise unknown("command", arguments[0], COMMANDS)
    return {
        "train": _train,
        "resume": _resume,
        "study": _study,
        "eval": _eval,
        "show": _show,
        "levels": _levels,
        "compare": _compare,
        "report": _report,
        "methods": _methods,
        "envs": _envs,
    }[arguments[0]](arguments[1:])


class _Parser(argparse.ArgumentParser):
    """Speaks in sentences and leaves the exit to ``main``."""

    def error(self, message: str) -> Any:
        raise UserError(f"{message[:1].upper()}{message[1:]}. See `{self.prog} --help`.")


def _parser(command: str) -> _Parser:
    return _Parser(prog=f"tutelage {command}", description=COMMANDS[command], allow_abbrev=False)


# --- training


def _train(arguments: list[str]) -> int:
    parser = _Parser(
        prog="tutelage train",
        description="Start a new run. Every setting can be given as --section.name value; "
        "`tutelage train ENVIRONMENT METHOD --help` lists them.",
        allow_abbrev=False,
        add_help=False,
    )
    parser.add_argument("environment", nargs="?", help=f"one of: {', '.join(ENVIRONMENTS)}; or a Python file")
    parser.add_argument("method", nargs="?", help=f"one of: {', '.join(METHODS)}")
    parser.add_argument("--preset", default="", help="a named set of settings (`tutelage envs` lists them)")
    parser.add_argument("--config", help="settings from a file, such as the config.toml of another run")
    parser.add_argument("--seed", help="everything random comes from this (default 0)")
    parser.add_argument("--seeds", type=int, default=1, help="train so many seeds, from --seed on, as one program")
    parser.add_argument("--steps", help="environment steps in all, such as 20M")
    parser.add_argument(
        "--run",
        help="directory to be made (default runs/ENVIRONMENT-METHOD-sSEED); several seeds get one each, inside it",
    )
    _add_devices(parser, f"1 accelerator, or {AUTO} on a CPU")
    _add_log(parser)
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    parser.add_argument("-h", "--help", action="store_true", help="show this page")
    given, arguments = _apart(arguments)
    options, rest = parser.parse_known_args(arguments)
    if options.help and not (options.config or (options.environment and options.method)):
        parser.print_help()
        return 0
    settings = _chosen_settings(options)
    if options.help:
        parser.print_help()
        print("\nsettings (and their values here):")
        for name, kind, value, text in config.describe(settings):
            if "." in name:
                print(f"  --{name.removeprefix('curriculum.').replace('_', '-'):<28} {value:<14} {text} ({kind})")
        return 0
    changes = _overrides(given + rest)
    sinks.check(options.log)
    for name in ("seed", "steps"):
        if getattr(options, name) is not None:
            changes[f"train.{name}"] = getattr(options, name)
    settings = config.override(settings, changes)
    if options.seeds < 1:
        raise UserError(f"--seeds is {options.seeds}; give at least 1.")
    said = options.config or "train.devices" in changes or options.seeds > 1
    first, last = settings.train.seed, settings.train.seed + options.seeds - 1
    which = f"s{first}" if first == last else f"s{first}-{last}"
    path = options.run or f"runs/{label(settings.environment)}-{settings.method}-{which}"
    settings = _with_devices(settings, options, all_cores=not said)
    from .runs import session

    def start(progress: Progress) -> list[Run]:
        return session.train_seeds(settings, path, options.seeds, progress, options.log)

    return _finish(start, path, options.quiet)


def _with_devices(settings: Settings, options: argparse.Namespace, all_cores: bool = False) -> Settings:
    """Start JAX on the devices that were asked for; the settings with their number.

    With ``all_cores``, a process alone that was not told a number uses a CPU as a whole.
    """
    group = _group(options)
    if options.devices == AUTO:
        return _on_all_devices(settings, group)
    if options.devices is not None:
        if not options.devices.isdigit():
            raise UserError(
                f"--devices is '{options.devices}'; give a whole number, or {AUTO} for as many as there are."
            )
        settings = config.override(settings, {"train.devices": options.devices})
    elif all_cores and group == ALONE:
        return _on_cores(settings)
    _use_jax(group, settings.train.devices)
    return settings


def _on_cores(settings: Settings) -> Settings:
    """One device, but a CPU is used as a whole."""
    import jax

    everything = _on_all_devices(settings, ALONE)
    return everything if jax.default_backend() == "cpu" else settings


def _on_all_devices(settings: Settings, group: Group) -> Settings:
    """The settings with as many devices as there are and the batch can be shared by. A CPU has one for each core."""
    from .machine import cores

    _use_jax(group, len(cores()) * group.processes)
    import jax

    from .experiment import build_domain
    from .hosts.environment import HostEnvironment

    if isinstance(build_domain(settings).env, HostEnvironment):
        return settings  # its simulators use the cores
    fewest = FEWEST if jax.default_backend() == "cpu" else 1
    for number in range(min(jax.device_count(), settings.train.levels // fewest), 1, -1):
        with suppress(UserError):  # the batch cannot be shared by so many
            return config.override(settings, {"train.devices": str(number)})
    return config.override(settings, {"train.devices": "1"})


def _chosen_settings(options: argparse.Namespace) -> Settings:
    if options.config:
        if options.preset or options.environment:
            raise UserError("--config already says the environment, the method and the preset; leave those out.")
        from .runs.directory import read_settings

        return read_settings(options.config)
    if not options.environment or not options.method:
        raise UserError("Say what to train on and how, as in: tutelage train maze accel. See `tutelage train --help`.")
    environment(options.environment)
    method(options.method)
    return preset(options.environment, options.method, options.preset)


def _apart(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Settings and their values apart from the rest: argparse would take such a value for the environment."""
    settings: list[str] = []
    rest: list[str] = []
    words = iter(arguments)
    for word in words:
        name, equals, _ = word.partition("=")
        if name.startswith("--") and "." in name:
            settings += [word] if equals else [word, *islice(words, 1)]
        else:
            rest.append(word)
    return settings, rest


def _overrides(rest: list[str]) -> dict[str, str]:
    """``--section.name value`` and ``--section.name=value`` as a mapping."""
    changes: dict[str, str] = {}
    words = iter(rest)
    for word in words:
        name, equals, value = word.partition("=")
        if not name.startswith("--") or len(name) == 2:
            raise UserError(f"'{word}' was not understood; settings are given as --section.name value.")
        if not equals:
            value = next(words, None)
            if value is None or value.startswith("--"):
                raise UserError(f"{name} has no value; give one, as in: {name} VALUE.")
        changes[name[2:]] = value
    return changes


def _resume(arguments: list[str]) -> int:
    parser = _parser("resume")
    parser.add_argument("run", help="the directory of the run, or of the runs of several seeds")
    _add_devices(parser, "as many as before; others give the same run up to rounding")
    _add_log(parser)
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    options = parser.parse_args(arguments)
    sinks.check(options.log)
    from .runs.group import settings_at

    devices = _with_devices(settings_at(options.run), options).train.devices
    from .runs import session

    def start(progress: Progress) -> list[Run]:
        return session.resume_seeds(options.run, progress, devices, options.log)

    return _finish(start, options.run, options.quiet)


def _add_log(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--log",
        action="append",
        default=[],
        metavar="SINK",
        help="copy the figures to tensorboard or wandb as well; can be given twice",
    )


def _add_devices(parser: argparse.ArgumentParser, default: str) -> None:
    parser.add_argument(
        "--devices",
        help=f"devices that share the levels of a batch (default: {default}), or {AUTO} for as many as there are and "
        "fit; a CPU can be several",
    )
    parser.add_argument("--coordinator", default="", help="for several processes: host:port of the first of them")
    parser.add_argument("--processes", type=int, default=1, help="how many processes train this run (default 1)")
    parser.add_argument("--process-id", type=int, default=0, help="which of them this is, from 0 (default 0)")


def _group(options: argparse.Namespace) -> Group:
    return Group(options.coordinator, options.process_id, options.processes)


def _finish(start: Callable[[Progress], list[Run]], path: str, quiet: bool) -> int:
    from .runs.processes import is_main_process
    from .runs.progress import ProgressLine
    from .runs.session import Silent

    if quiet or not is_main_process():
        runs = start(Silent())
    else:
        with ProgressLine() as progress:
            runs = start(progress)
    run = runs[0]
    if is_main_process():
        what, one = ("run is", "it") if len(runs) == 1 else (f"runs of {len(runs)} seeds are", "one")
        print(
            f"Finished. The {what} in {path}; see {one} with: tutelage show {run.directory.path}"
            if run.finished
            else f"Stopped at iteration {run.iteration} of {run.trainer.iterations}. Go on with: tutelage resume {path}"
        )
    return 0 if run.finished else 130


def _study(arguments: list[str]) -> int:
    parser = _parser("study")
    parser.add_argument("study", help="a TOML file that names methods, seeds and settings (docs/studies.md)")
    parser.add_argument("--out", help="directory for all runs, new or of this study (default runs/NAME of the file)")
    parser.add_argument("--engine", default="local", help="local (default) for this machine, or ray")
    parser.add_argument("--jobs", type=int, help="runs at once (default: one for each core)")
    _add_log(parser)
    options = parser.parse_args(arguments)
    sinks.check(options.log)
    from .runs import engines, grid, study
    from .runs.overview import Overview
    from .runs.study import State

    engines.check(options.engine, options.jobs)
    chosen = grid.read(options.study)
    path = Path(options.out or Path("runs") / Path(options.study).stem)
    with study.opened(chosen, path) as runs:
        works = engines.engine(options.engine, options.jobs, options.log)
        try:
            with Overview(runs) as view:
                states = study.run_all(path, runs, works, view)
        finally:
            works.close()
        study.finish(path, runs)
        _conclude(path, [str(run.path) for run in runs if run.finished and run.held_out()])
    failed = [run for run in runs if states[run] is State.FAILED]
    for run in failed:
        print(f"tutelage: {run.plan.name} failed; its log is {run.log}", file=sys.stderr)
    left = sum(state is not State.FINISHED for state in states.values()) - len(failed)
    if left:
        again = shlex.join(["tutelage", "study", *arguments])
        print(f"{left} of {len(runs)} runs are not finished. Go on with: {again}")
        return 130
    return 1 if failed else 0


def _conclude(study: Path, runs: list[str]) -> None:
    """A study's report, as far as it got. Without pictures: those take longer, and one may want them of some runs."""
    if not runs:
        return
    from .report.write import write_report

    try:
        files = write_report(runs, study / "report.html", top=0, warn=_warn)
    except UserError as problem:
        print(f"There is no report: {problem}")
        return
    print(f"Wrote {files.page} and {files.tables}. With levels and episodes: tutelage report {shlex.join(runs)}")


# --- looking


def _eval(arguments: list[str]) -> int:
    parser = _parser("eval")
    parser.add_argument("run", help="the directory of the run")
    parser.add_argument("--suite", default="", help="a suite or a single task (default: the run's own suite)")
    parser.add_argument("--episodes", type=int, help="episodes on each task (default 100)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the test episodes (default 0)")
    parser.add_argument("--greedy", action="store_true", help="take the likeliest action instead of drawing one")
    parser.add_argument("--student", type=int, default=0, help="which student (default 0, the run's product)")
    parser.add_argument(
        "--worst-of",
        type=int,
        metavar="LEVELS",
        help="play so many new levels instead, --episodes times each (default 10), and tell how bad the worst are",
    )
    options = parser.parse_args(arguments)
    _use_jax()
    from .evaluation import tables
    from .runs import session
    from .runs.directory import EVALUATIONS

    run = session.load(options.run, _warn)
    if options.worst_of is not None:
        episodes, suite = 10 if options.episodes is None else options.episodes, options.suite or "fresh"
        played = run.attempt(suite, options.worst_of, episodes, options.seed, options.greedy, options.student)
        print(tables.attempts(played, suite, options.seed))
        return 0
    episodes = 100 if options.episodes is None else options.episodes
    result = run.evaluate(options.suite, episodes, options.seed, options.greedy, options.student)
    print(tables.evaluation(result))
    record = session.evaluation_record(run.iteration, run.trainer, result, options.student, options.greedy)
    run.directory.append(EVALUATIONS, [record])
    return 0


def _show(arguments: list[str]) -> int:
    parser = _parser("show")
    parser.add_argument("run", help="the directory of the run")
    options = parser.parse_args(arguments)
    _use_jax()
    from .runs import session
    from .runs.directory import EVALUATIONS, METRICS

    run = session.load(options.run, _warn)
    settings, trainer = run.settings, run.trainer
    rows = [
        ("environment", settings.environment),
        ("method", settings.method),
        ("seed", str(settings.train.seed)),
        ("iterations", f"{run.iteration:,} of {trainer.iterations:,}{' (finished)' if run.finished else ''}"),
        ("steps", f"{run.iteration * trainer.steps_per_iteration:,}"),
    ]
    metrics = run.directory.read(METRICS)
    if metrics:
        last = metrics[-1]
        rows.append(("last logged", f"iteration {last['iteration']:,}, {last['steps_per_second']:,.0f} steps a second"))
        rows += [(f"  {name}", f"{last[name]:.3f}") for name in sorted(last) if _worth_showing(name)]
    evaluations = run.directory.read(EVALUATIONS)
    if evaluations:
        last = evaluations[-1]
        rows.append(
            ("last evaluation", f"{last['suite']} at iteration {last['iteration']:,}: {last['solved']:.2f} solved")
        )
        rows += [(f"  {task}", f"{figures['solved']:.2f}") for task, figures in last["tasks"].items()]
    rows.append(("digest", run.digest))
    width = max(len(name) for name, _ in rows)
    print("\n".join(f"{name:<{width}}  {value}" for name, value in rows))
    return 0


def _worth_showing(name: str) -> bool:
    return name in ("return", "solved", "score") or name.startswith(("buffer/", "replayed/level/", "generated/level/"))


def _levels(arguments: list[str]) -> int:
    parser = _parser("levels")
    parser.add_argument("run", help="the directory of the run")
    parser.add_argument("--top", type=int, default=8, help="how many (default 8)")
    parser.add_argument("--png", help="draw them to this file instead of printing them")
    parser.add_argument("--student", type=int, help="whose buffer (default 0, the first student's)")
    parser.add_argument(
        "--generated",
        type=int,
        nargs="?",
        const=0,
        metavar="SEED",
        help="new levels from the generator as it is now, drawn with this seed (default 0), not the buffer's best",
    )
    options = parser.parse_args(arguments)
    if options.top < 1:
        raise UserError(f"--top is {options.top}; give at least 1.")
    if options.generated is not None and options.student is not None:
        raise UserError("Generated levels are the same for all students; leave --student out, or --generated.")
    _use_jax()
    from .runs import session
    from .runs.levels import gallery, generated_levels, top_levels

    run = session.load(options.run, _warn)
    if options.generated is not None:
        levels = generated_levels(run, options.top, options.generated)
    else:
        levels = top_levels(run, options.top, options.student or 0)
    if options.png:
        gallery(run, levels, Path(options.png))
        print(f"Drew {len(levels)} levels to {options.png}.")
        return 0
    for entry in levels:
        print(entry.caption)
        print(run.domain.to_text(entry.level) if run.domain.to_text else entry.level, end="\n\n")
    return 0


def _add_comparison(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", nargs="+", metavar="RUN", help="directories of runs, or of the runs of several seeds")
    parser.add_argument("--suite", default="", help="the suite to compare on (default: the one watched in training)")
    parser.add_argument(
        "--measure", choices=("solved", "return"), default="solved", help="of each task (default solved)"
    )
    parser.add_argument(
        "--against", default="", metavar="METHOD", help="the method others are held against (the first)"
    )
    parser.add_argument(
        "--interval", type=float, metavar="LEVEL", help="insist on intervals of this level, such as 0.95"
    )


def _compare(arguments: list[str]) -> int:
    parser = _parser("compare")
    _add_comparison(parser)
    options = parser.parse_args(arguments)
    from .report.comparison import compare

    print(compare(options.runs, options.suite, options.measure, options.against, options.interval).text())
    return 0


def _report(arguments: list[str]) -> int:
    parser = _parser("report")
    _add_comparison(parser)
    parser.add_argument(
        "--out", default="report.html", help="the page; its tables go beside it, as Markdown (default report.html)"
    )
    parser.add_argument("--top", type=int, default=12, help="how many of a buffer's best levels to draw (default 12)")
    parser.add_argument(
        "--no-pictures", action="store_true", help="draw no levels and no episodes: quick, and without JAX"
    )
    options = parser.parse_args(arguments)
    if options.top < 1:
        raise UserError(f"--top is {options.top}; give at least 1, or --no-pictures for none.")
    if not options.no_pictures:
        _use_jax()
    from .report.write import write_report

    top = 0 if options.no_pictures else options.top
    files = write_report(
        options.runs, options.out, options.suite, options.measure, options.against, options.interval, top, _warn
    )
    print(f"Wrote {files.page} and {files.tables}.")
    return 0


def _methods(arguments: list[str]) -> int:
    _parser("methods").parse_args(arguments)
    width = max(map(len, METHODS))
    print("\n".join(f"{name:<{width}}  {entry.summary}" for name, entry in METHODS.items()))
    return 0


def _envs(arguments: list[str]) -> int:
    _parser("envs").parse_args(arguments)
    for entry in ENVIRONMENTS.values():
        print(f"{entry.name}: {entry.summary}")
        for name, make in entry.presets.items():
            mark = " (default)" if name == entry.default_preset else ""
            print(f"  preset {name}{mark}: {(make.__doc__ or '').strip()}")
        try:
            print(f"  suites: {', '.join(entry.build(preset(entry.name, 'dr').env).suites)}")
        except UserError as problem:  # one that needs what is not installed
            print(f"  {problem}")
    return 0


def _use_jax(group: Group = ALONE, devices: int = 1) -> None:
    from .runs.cache import keep_compiled_programs
    from .runs.processes import start

    keep_compiled_programs()
    start(group, devices)


def _warn(message: str) -> None:
    print(f"tutelage: {message}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
