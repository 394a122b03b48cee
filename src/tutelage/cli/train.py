"""`tutelage train`."""

from __future__ import annotations

import argparse
from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING

from .. import config
from ..compose import preset
from ..envs import registry
from ..errors import UserError
from ..methods.registry import names as method_names
from ..plugins import label
from ..runs import sinks
from ..runs.launch import Policy, launch
from ..settings import Settings
from .parser import MANY, Parser, add_devices, add_log, add_trust, device_request, whole_number
from .terminal import warn, watch

if TYPE_CHECKING:
    from ..runs.session import Progress, Run


def run(arguments: list[str]) -> int:
    """Start a new run, or several that differ in the seed."""
    parser = _parser()
    given, arguments = _apart(arguments)
    options, rest = parser.parse_known_args(arguments)
    if options.help and not (options.config or (options.environment and options.method)):
        parser.print_help()
        return 0
    settings = _chosen_settings(options)
    if options.start:
        from ..runs.directory import RunDirectory
        from ..runs.start import like_the_student

        settings = like_the_student(settings, RunDirectory.open(options.start).settings())
    elif options.from_buffer:
        raise UserError("--from-buffer starts with another run's buffer; say which run with --from RUN.")
    if options.help:
        parser.print_help()
        _print_settings(settings)
        return 0
    changes = _overrides(given + rest)
    _refuse_unknown_options(parser, settings, [name for name in changes if "." not in name])
    sinks.check(options.log)
    for name in ("seed", "steps", "grounding"):
        if getattr(options, name) is not None:
            changes[f"train.{name}"] = getattr(options, name)
    settings = config.override(settings, changes)
    if options.seeds < 1:
        raise UserError(f"--seeds is {options.seeds}; give at least 1.")
    # Several seeds as one program run on one device.
    said = options.config or "train.devices" in changes or options.seeds > 1
    first, last = settings.train.seed, settings.train.seed + options.seeds - 1
    which = f"s{first}" if first == last else f"s{first}-{last}"
    path = options.run or f"runs/{label(settings.environment)}-{label(settings.method)}-{which}"
    ready = launch(settings, device_request(options, Policy.SETTINGS if said else Policy.DEFAULT))
    from ..runs import session

    if options.estimate:
        from ..runs.estimate import estimate

        print(estimate(ready.settings, ready.domain))
        return 0
    origin = session.load(options.start, warn) if options.start else None

    def start(progress: Progress) -> list[Run]:
        return session.train_seeds(
            ready.settings, path, options.seeds, progress, options.log, ready.domain, origin, options.from_buffer
        )

    return watch(start, path, options.quiet)


def _parser() -> Parser:
    parser = Parser(
        prog="tutelage train",
        description="Start a new run. Every setting can be given as --section.name value; "
        "`tutelage train ENVIRONMENT METHOD --help` lists them.",
        allow_abbrev=False,
        add_help=False,
    )
    parser.add_argument("environment", nargs="?", help=f"one of: {', '.join(registry.names())}; or a Python file")
    parser.add_argument("method", nargs="?", help=f"one of: {', '.join(method_names())}; or a Python file")
    parser.add_argument("--preset", default="", help="a named set of settings (`tutelage envs` lists them)")
    parser.add_argument("--config", help="settings from a file, such as the config.toml of another run")
    parser.add_argument("--seed", help="seed of all randomness (default 0)")
    parser.add_argument(
        "--seeds",
        type=whole_number(MANY),
        default=1,
        help="number of seeds to train as one program, starting at --seed",
    )
    parser.add_argument("--steps", help="total environment steps, such as 20M")
    parser.add_argument(
        "--from",
        dest="start",
        metavar="RUN",
        help="start from this run's student; its network and encoder settings are taken over",
    )
    parser.add_argument("--from-buffer", action="store_true", help="with --from: start with its level buffer as well")
    parser.add_argument("--grounding", help="grounding of hidden parameters: none, naive or samplr (train.grounding)")
    parser.add_argument(
        "--run",
        help="directory to create (default runs/ENVIRONMENT-METHOD-sSEED); several seeds get one each, inside it",
    )
    add_devices(parser, Policy.DEFAULT.value)
    add_log(parser)
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    add_trust(parser)
    parser.add_argument(
        "--estimate",
        action="store_true",
        help="train nothing: say what the run of one seed would cost here, in time, memory and disk",
    )
    parser.add_argument("-h", "--help", action="store_true", help="show this page")
    return parser


def _print_settings(settings: Settings) -> None:
    print("\nsettings (and their values here):")
    for name, kind, value, text in config.describe(settings, unread=False):
        if "." in name:
            print(f"  --{config.short(name):<28} {value:<14} {text} ({kind})")


def _refuse_unknown_options(parser: Parser, settings: Settings, unknown: list[str]) -> None:
    """A word without a section is no setting: say what it may have been meant to be."""
    for name in unknown:
        options = parser.options()
        sections = [config.short(known) for known, *_ in config.describe(settings, unread=False)]
        near = [known for known in sections if known.endswith(f".{name}")]
        near = near or get_close_matches(name, options, cutoff=0.7)
        raise UserError(
            f"There is no option called '--{name}'. "
            + (f"Did you mean --{' or --'.join(near)}?" if near else f"Options are --{', --'.join(options)}.")
            + " Settings have a section in front, as in --train.levels 64."
        )


def _chosen_settings(options: argparse.Namespace) -> Settings:
    if options.config:
        if options.preset or options.environment:
            raise UserError("--config already gives the environment, the method and the preset; leave those out.")
        from ..runs.directory import read_settings

        return read_settings(options.config)
    if not options.environment or not options.method:
        raise UserError(
            "Name an environment and a method, as in: tutelage train maze accel. See `tutelage train --help`."
        )
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
