"""`tutelage show`. It reads a run as data: no code of the run's environment or method is needed, and none is run."""

from __future__ import annotations

from ..visible import one_line
from .parser import parser_of
from .terminal import warn


def run(arguments: list[str]) -> int:
    """Print where a run stands."""
    parser = parser_of("show")
    parser.add_argument("run", help="the directory of the run")
    options = parser.parse_args(arguments)
    from ..glossary import unit
    from ..runs.directory import EVALUATIONS, METRICS, RunDirectory

    directory = RunDirectory.open(options.run)
    settings, state = directory.outline(), directory.inspect_latest(warn)
    iteration = state.iteration if state else 0
    rows = [
        ("environment", settings.environment),
        ("method", settings.method),
        ("seed", str(settings.train.seed)),
        ("iterations", f"{iteration:,} of {settings.iterations:,}{_finished(iteration >= settings.iterations)}"),
        ("steps", f"{iteration * settings.steps_per_iteration:,}{_of_each(state.students if state else 1)}"),
    ]
    metrics = directory.read(METRICS, warn)
    if metrics:
        last = metrics[-1]
        speed = f", {last['steps_per_second']:,.0f} steps a second" if "steps_per_second" in last else ""
        rows.append(("last logged", f"iteration {last['iteration']:,}{speed}"))
        rows += [
            (f"  {name}", f"{_short(last[name])} {unit(name)}".rstrip())
            for name in sorted(last)
            if _worth_showing(name)
        ]
    evaluations = directory.read(EVALUATIONS, warn)
    if evaluations:
        last = evaluations[-1]
        rows.append(
            ("last evaluation", f"{last['suite']} at iteration {last['iteration']:,}: {last['solved']:.2f} solved")
        )
        rows += [(f"  {task}", f"{figures['solved']:.2f}") for task, figures in last["tasks"].items()]
    rows.append(("digest", state.digest if state else "none yet: there is no whole checkpoint"))
    width = min(max(len(name) for name, _ in rows), 60)
    print("\n".join(f"{one_line(name):<{width}}  {one_line(value)}" for name, value in rows))
    return 0


def _finished(finished: bool) -> str:
    return " (finished)" if finished else ""


def _short(value: float) -> str:
    """As many digits as say something."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3f}"


def _worth_showing(name: str) -> bool:
    return name in ("return", "solved", "score") or name.startswith(("buffer/", "replayed/level/", "generated/level/"))


def _of_each(students: int) -> str:
    return "" if students == 1 else f" of each of {students} students"
