"""`tutelage show`."""

from __future__ import annotations

from ..runs.launch import start_jax
from .parser import parser_of
from .terminal import warn


def run(arguments: list[str]) -> int:
    """Print where a run stands."""
    parser = parser_of("show")
    parser.add_argument("run", help="the directory of the run")
    options = parser.parse_args(arguments)
    start_jax()
    from ..figures import unit
    from ..runs import session
    from ..runs.directory import EVALUATIONS, METRICS

    run = session.load(options.run, warn)
    settings, trainer = run.settings, run.trainer
    rows = [
        ("environment", settings.environment),
        ("method", settings.method),
        ("seed", str(settings.train.seed)),
        ("iterations", f"{run.iteration:,} of {trainer.iterations:,}{' (finished)' if run.finished else ''}"),
        ("steps", f"{run.iteration * trainer.steps_per_iteration:,}{_of_each(trainer.students)}"),
    ]
    metrics = run.directory.read(METRICS)
    if metrics:
        last = metrics[-1]
        rows.append(("last logged", f"iteration {last['iteration']:,}, {last['steps_per_second']:,.0f} steps a second"))
        rows += [
            (f"  {name}", f"{last[name]:.3f} {unit(name)}".rstrip()) for name in sorted(last) if _worth_showing(name)
        ]
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


def _of_each(students: int) -> str:
    return "" if students == 1 else f" of each of {students} students"
