"""`tutelage eval`."""

from __future__ import annotations

from ..errors import require
from ..runs.launch import start_jax
from ..settings import LARGEST
from .parser import MANY, parser_of, whole_number
from .terminal import warn


def run(arguments: list[str]) -> int:
    """Play a student and print the result; a run's is kept with the run."""
    parser = parser_of("eval")
    parser.add_argument("run", help="the directory of a run, a file of `tutelage export`, or pretrained:NAME")
    parser.add_argument(
        "--suite",
        default="",
        help="a suite, a single task, or a file of levels such as mine.txt (default: the run's own suite)",
    )
    parser.add_argument("--episodes", type=whole_number(1_000_000), help="episodes on each task (default 100)")
    parser.add_argument("--seed", type=whole_number(LARGEST), default=0, help="seed of the test episodes (default 0)")
    parser.add_argument("--greedy", action="store_true", help="take the likeliest action instead of sampling")
    parser.add_argument("--student", type=whole_number(MANY), default=0, help="which student (default 0)")
    parser.add_argument(
        "--worst-of",
        type=whole_number(10_000_000),
        metavar="LEVELS",
        help="play so many new levels instead, and tell how the student does on the worst of them: --episodes each "
        "(default 10) to find those, and as many to score them",
    )
    options = parser.parse_args(arguments)
    start_jax()
    from ..evaluation import tables
    from ..runs import records, session
    from ..runs.directory import EVALUATIONS
    from ..runs.students import find_student, is_student

    run = None if is_student(options.run) else session.load(options.run, warn)
    require(run is not None or options.student == 0, "--student is for runs; a file holds one student.")
    student = run.product(options.student) if run else find_student(options.run)
    if options.worst_of is not None:
        episodes, suite = 10 if options.episodes is None else options.episodes, options.suite or "fresh"
        played = student.worst_case(suite, options.worst_of, episodes, options.seed, options.greedy)
        print(tables.worst_case(played, suite, options.seed))
        return 0
    episodes = 100 if options.episodes is None else options.episodes
    result = student.evaluate(options.suite, episodes, options.seed, options.greedy)
    print(tables.evaluation(result))
    if run is None:
        return 0
    record = records.evaluation_record(run.iteration, run.trainer, result, options.student, options.greedy)
    if not run.directory.append_unless_trained(EVALUATIONS, [record]):
        warn(
            f"The run {options.run} is being trained, so this result was not kept; evaluate again once it has stopped."
        )
    return 0
