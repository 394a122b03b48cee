"""Tutelage trains agents that stay good on levels nobody showed them, by letting teachers choose what they train on.

Everything the command line does is one of these calls. Names are imported when first used: JAX takes a second to load.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .config import override as override
    from .curricula.buffer import LevelBuffer as LevelBuffer
    from .curricula.curator import Curator as Curator
    from .envs.custom.definition import Gymnasium as Gymnasium
    from .envs.registry import preset as preset
    from .errors import UserError as UserError
    from .evaluation.evaluate import evaluate as evaluate
    from .evaluation.record import Episode as Episode
    from .evaluation.record import record as record
    from .experiment import build as build
    from .experiment import build_domain as build_domain
    from .experiment import build_student as build_student
    from .report.comparison import Comparison as Comparison
    from .report.comparison import compare as compare
    from .report.write import write_report as write_report
    from .runs.directory import read_settings as read_settings
    from .runs.progress import ProgressLine as ProgressLine
    from .runs.session import Run as Run
    from .runs.session import load as load
    from .runs.session import resume as resume
    from .runs.session import resume_seeds as resume_seeds
    from .runs.session import train as train
    from .runs.session import train_seeds as train_seeds
    from .settings import Settings as Settings
    from .trainer import Trainer as Trainer
    from .trainer import compiled as compiled

_PUBLIC = {
    "Comparison": "report.comparison",
    "Curator": "curricula.curator",
    "Episode": "evaluation.record",
    "Gymnasium": "envs.custom.definition",
    "LevelBuffer": "curricula.buffer",
    "ProgressLine": "runs.progress",
    "Run": "runs.session",
    "Settings": "settings",
    "Trainer": "trainer",
    "UserError": "errors",
    "build": "experiment",
    "build_domain": "experiment",
    "build_student": "experiment",
    "compare": "report.comparison",
    "compiled": "trainer",
    "evaluate": "evaluation.evaluate",
    "load": "runs.session",
    "override": "config",
    "preset": "envs.registry",
    "read_settings": "runs.directory",
    "record": "evaluation.record",
    "resume": "runs.session",
    "resume_seeds": "runs.session",
    "train": "runs.session",
    "train_seeds": "runs.session",
    "write_report": "report.write",
}


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'tutelage' has no attribute '{name}'")
    return getattr(import_module(f".{_PUBLIC[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted(_PUBLIC)
