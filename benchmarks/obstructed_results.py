"""What the study of MiniGrid's obstructed mazes came to: returns, curves and emergent curricula, as a page.

usage: python obstructed_results.py [--runs runs/minigrid-omg-fast] [--out docs/results]

Adds the finished runs of the study `minigrid-omg-fast` to obstructed.json and writes the page anew. Tests that a run's
last student has not taken yet are played first.
"""

from functools import partial

from minigrid_results import EPISODES, draw, summary, table
from studied import Page

MARKS = (0.1, 0.3, 0.5, 0.7)
EXPLAINED = f"""*Return*: of the last student on {EPISODES} new levels. *Reaches*: millions of steps until the mean
return on new levels is first so high. The thesis's students, after 86M steps: uniform 0.53 ± 0.04, PLR 0.85 ± 0.04.
[MiniGrid](../minigrid.md#results) says what this shows and what it does not."""

PAGE = Page(
    name="obstructed",
    title="ObstructedMazeGamut-Easy with a small student",
    study="minigrid-omg-fast",
    program="obstructed_results",
    groups=("dr", "plr", "plr-flat"),
    summary=partial(summary, marks=MARKS),
    table=partial(table, marks=MARKS),
    draw=draw,
    explained=EXPLAINED,
    caption="Returns over training, and replayed levels by difficulty",
)


if __name__ == "__main__":
    PAGE.main()
