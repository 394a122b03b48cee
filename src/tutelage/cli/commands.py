"""The commands by name. A command's module is imported when the command is used."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module


@dataclass(frozen=True)
class Command:
    """A command of the program."""

    summary: str
    module: str
    """In this package, with a function ``run`` from arguments to an exit code."""

    def run(self, arguments: list[str]) -> int:
        """Do what the arguments say; returns the exit code."""
        return import_module(f".{self.module}", __package__).run(arguments)


COMMANDS = {
    "train": Command("start a new run", "train"),
    "resume": Command("continue a run that was stopped", "resume"),
    "study": Command("train a grid of methods and seeds, and compare them", "study"),
    "eval": Command("evaluate a run's student on a held-out suite", "evaluate"),
    "play": Command("record a run's student on a level of your own or of a suite", "play"),
    "export": Command("export a run's student to files that need neither the run nor tutelage", "export"),
    "show": Command("summarise a run", "show"),
    "levels": Command("show the highest-scored levels in a run's buffer", "levels"),
    "compare": Command("compare methods by their runs' evaluations", "compare"),
    "report": Command("write an HTML report of runs: curves, tables, levels, episodes", "report"),
    "reproduce": Command("list the thesis's tables and figures, or reproduce one", "reproduce"),
    "page": Command("write a web page with students and mazes that needs no server", "page"),
    "lab": Command("draw levels in the browser and watch students play them", "lab"),
    "plot": Command("draw figures for a paper: curves, intervals, profiles, roses", "plot"),
    "check": Command("check an environment or method of your own for mistakes", "check"),
    "metrics": Command("explain the logged figures: meaning, unit and which methods log them", "metrics"),
    "methods": Command("list the methods", "methods"),
    "envs": Command("list the environments, their presets and suites", "envs"),
}
