"""`tutelage resume`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..runs import sinks
from ..runs.launch import Policy, launch
from .parser import add_devices, add_log, device_request, parser_of
from .terminal import watch

if TYPE_CHECKING:
    from ..runs.session import Progress, Run


def run(arguments: list[str]) -> int:
    """Go on with a run, or with all runs of a program."""
    parser = parser_of("resume")
    parser.add_argument("run", help="the directory of the run, or of the runs of several seeds")
    parser.add_argument(
        "--steps", default="", help="train to so many steps in all, such as 500M, also if the run is finished"
    )
    add_devices(parser, "as many as before; others give the same run up to rounding")
    add_log(parser)
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    options = parser.parse_args(arguments)
    sinks.check(options.log)
    from ..runs.group import settings_at

    ready = launch(settings_at(options.run), device_request(options, Policy.SETTINGS))
    from ..runs import session

    def start(progress: Progress) -> list[Run]:
        return session.resume_seeds(
            options.run, progress, ready.settings.train.devices, options.log, ready.domain, options.steps
        )

    return watch(start, options.run, options.quiet)
