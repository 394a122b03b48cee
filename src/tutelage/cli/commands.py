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
    "resume": Command("go on with a run that was stopped", "resume"),
    "study": Command("train a grid of methods and seeds, and compare them", "study"),
    "eval": Command("play a run's student on a held-out suite", "evaluate"),
    "play": Command("watch a run's student on a level, of your own or of a suite", "play"),
    "export": Command("write a run's student to files that need neither the run nor tutelage", "export"),
    "show": Command("summarise a run", "show"),
    "levels": Command("show the levels that a run's buffer values most", "levels"),
    "compare": Command("set methods side by side, by what their runs solve", "compare"),
    "report": Command("put runs on one page: curves, tables, levels, episodes", "report"),
    "reproduce": Command("list the thesis's tables and figures, and make them again", "reproduce"),
    "page": Command("put students and mazes on a page that runs without a server", "page"),
    "lab": Command("draw levels on a page, and watch students in them", "lab"),
    "plot": Command("draw figures for a paper: curves, intervals, profiles, roses", "plot"),
    "check": Command("look whether an environment or a method of your own keeps its promises", "check"),
    "metrics": Command("say what the logged figures mean, their units and who logs them", "metrics"),
    "methods": Command("list the methods", "methods"),
    "envs": Command("list the environments, their presets and suites", "envs"),
}
