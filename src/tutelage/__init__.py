"""Tutelage trains agents that stay good on levels nobody showed them, by letting teachers choose what they train on.

Everything the command line does is one of these calls. Names are imported when first used: JAX takes a second to load.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .compose import preset as preset
    from .config import override as override
    from .curricula.buffer import LevelBuffer as LevelBuffer
    from .curricula.curator import Curator as Curator
    from .curricula.numpy_scores import maxmc as maxmc
    from .curricula.numpy_scores import pvl as pvl
    from .envs.custom.definition import Gymnasium as Gymnasium
    from .envs.custom.definition import Jax as Jax
    from .envs.presets import Preset as Preset
    from .envs.registry import DomainEntry as DomainEntry
    from .errors import UserError as UserError
    from .evaluation.evaluate import evaluate as evaluate
    from .evaluation.record import Episode as Episode
    from .evaluation.record import record as record
    from .experiment import build as build
    from .experiment import build_agent as build_agent
    from .experiment import build_domain as build_domain
    from .glossary import metrics as metrics
    from .lab.page.write import write_page as write_page
    from .methods.base import Method as Method
    from .methods.base import Parts as Parts
    from .report.comparison import Comparison as Comparison
    from .report.comparison import compare as compare
    from .report.conduct import study as study
    from .report.plot import plot as plot
    from .report.write import write_report as write_report
    from .rl.encoder_settings import GridEncoder as GridEncoder
    from .rl.encoder_settings import ImageEncoder as ImageEncoder
    from .rl.encoder_settings import VectorEncoder as VectorEncoder
    from .runs.directory import read_settings as read_settings
    from .runs.estimate import estimate as estimate
    from .runs.export import export as export
    from .runs.play import play as play
    from .runs.progress import ProgressLine as ProgressLine
    from .runs.session import Run as Run
    from .runs.session import load as load
    from .runs.session import resume as resume
    from .runs.session import resume_seeds as resume_seeds
    from .runs.session import train as train
    from .runs.session import train_seeds as train_seeds
    from .runs.students import Student as Student
    from .runs.students import pretrained as pretrained
    from .runs.students import read_student as read_student
    from .settings import NetworkSettings as NetworkSettings
    from .settings import ReplaySettings as ReplaySettings
    from .settings import Settings as Settings
    from .settings import option as option
    from .settings import section as section
    from .trainer import Trainer as Trainer
    from .trainer import compiled as compiled
    from .trusted import trust as trust
    from .types import Continuous as Continuous

_PUBLIC = {
    "Comparison": "report.comparison",
    "Continuous": "types",
    "Curator": "curricula.curator",
    "DomainEntry": "envs.registry",
    "Episode": "evaluation.record",
    "GridEncoder": "rl.encoder_settings",
    "Gymnasium": "envs.custom.definition",
    "ImageEncoder": "rl.encoder_settings",
    "Jax": "envs.custom.definition",
    "LevelBuffer": "curricula.buffer",
    "Method": "methods.base",
    "NetworkSettings": "settings",
    "Parts": "methods.base",
    "Preset": "envs.presets",
    "ProgressLine": "runs.progress",
    "ReplaySettings": "settings",
    "Run": "runs.session",
    "Settings": "settings",
    "Student": "runs.students",
    "Trainer": "trainer",
    "UserError": "errors",
    "VectorEncoder": "rl.encoder_settings",
    "build": "experiment",
    "build_agent": "experiment",
    "build_domain": "experiment",
    "compare": "report.comparison",
    "compiled": "trainer",
    "estimate": "runs.estimate",
    "evaluate": "evaluation.evaluate",
    "export": "runs.export",
    "load": "runs.session",
    "maxmc": "curricula.numpy_scores",
    "metrics": "glossary",
    "option": "settings",
    "override": "config",
    "play": "runs.play",
    "plot": "report.plot",
    "preset": "compose",
    "pvl": "curricula.numpy_scores",
    "pretrained": "runs.students",
    "read_settings": "runs.directory",
    "read_student": "runs.students",
    "record": "evaluation.record",
    "resume": "runs.session",
    "resume_seeds": "runs.session",
    "section": "settings",
    "study": "report.conduct",
    "train": "runs.session",
    "train_seeds": "runs.session",
    "trust": "trusted",
    "write_page": "lab.page.write",
    "write_report": "report.write",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module(".runs.directory", __name__).package_version()
    if name not in _PUBLIC:
        raise AttributeError(f"module 'tutelage' has no attribute '{name}'")
    return getattr(import_module(f".{_PUBLIC[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted(_PUBLIC)
