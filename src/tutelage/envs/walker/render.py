"""Pictures of a walker's levels, as profiles and by their parameters, and of episodes on them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import cos, pi, sin

import numpy as np
from gymnasium.envs.box2d.bipedal_walker import (
    FPS,
    HULL_POLY,
    LEG_DOWN,
    LEG_H,
    LEG_W,
    SCALE,
    TERRAIN_GRASS,
    TERRAIN_LENGTH,
    TERRAIN_STEP,
    VIEWPORT_H,
    VIEWPORT_W,
)
from PIL import Image, ImageDraw, ImageFont

from ...errors import require
from .level import PARAMETERS, POET, Level, Parameter
from .simulator import RAYS, Walker, ground_of, pose_of, replay, terrain
from .terrain import StairSteps, Terrain

# Each differs in brightness too, so that a grey print can be read.
SKY, GRASS, SOIL, STONE, STONE_EDGE = (236, 242, 250), (58, 110, 50), (150, 178, 112), (92, 96, 104), (52, 55, 61)
HULL, NEAR, FAR, BODY_EDGE, FLAG = (206, 38, 38), (226, 120, 60), (150, 82, 48), (72, 24, 16), (206, 38, 38)
TEXT, FAINT, PAPER, LINE = (40, 40, 40), (205, 205, 205), (255, 255, 255), (0, 114, 178)

FINISH = (TERRAIN_LENGTH - TERRAIN_GRASS) * TERRAIN_STEP
"""Who gets here is done."""

PACE = 1000 // FPS
"""Milliseconds a frame, so that an episode is shown as fast as it was played."""

_FINE = 3
"""Drawn so many times larger and scaled down, for smooth edges."""

_HULL = np.array(HULL_POLY) / SCALE
_LEG = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)]) * np.array([LEG_W, LEG_H]) / 2
_SHAPES = (_HULL, _LEG, _LEG * (0.8, 1), _LEG, _LEG * (0.8, 1))
_COLOURS = (HULL, FAR, FAR, NEAR, NEAR)
_BACK_TO_FRONT = (1, 2, 0, 3, 4)

Window = tuple[float, float, float, float]
"""Left, bottom, right and top of what is shown, in Box2D's units."""


def picture(level: Level, unit: int = 9, stair_steps: StairSteps = "exact") -> np.ndarray:
    """A level as a profile from start to finish, with ``unit`` pixels for one of Box2D's units."""
    ground, start = terrain(level, stair_steps), replay(level, np.empty((0, 4)), stair_steps)[0]
    corners = [y for block in ground.blocks for x, y in block if x <= ground.x[-1]]
    window = (0.0, min(*ground.y, *corners) - 1.5, ground.x[-1], max(start[0, 1] - 1.6, *ground.y, *corners) + 2.8)
    return _scene(ground, window, unit, start)


def frames(
    level: Level, states: Mapping[str, np.ndarray], unit: int = 22, stair_steps: StairSteps = "exact"
) -> Iterator[np.ndarray]:
    """A recorded episode, played again: nobody has seen the simulator's states, so ``states`` has every ``action``
    instead, and one more.
    """
    actions = np.asarray(states["action"])
    require(
        actions.ndim == 2 and len(actions) > 0 and actions.shape[1] == 4,
        f"The actions have the shape {list(actions.shape)}; give [steps + 1, 4].",
    )
    # As the simulator takes them: what lies beyond the bounds is cut off. After the last step there is none.
    poses = replay(level, np.clip(actions[:-1], -1.0, 1.0), stair_steps)
    ground = terrain(level, stair_steps)
    # The camera goes along with the hull, but does not shake with it.
    span = min(25, len(poses))
    padded = np.pad(poses[:, 0, 1], (span // 2, span - 1 - span // 2), mode="edge")
    heights = np.convolve(padded, np.full(span, 1 / span), mode="valid")
    for pose, height in zip(poses, heights, strict=True):
        left, bottom = pose[0, 0] - 4.5, height - 4.5
        yield _scene(ground, (left, bottom, left + 15.0, bottom + 9.0), unit, pose)


def snapshot(level: Level, walker: Walker, unit: int = 22) -> np.ndarray:
    """A walker as it stands."""
    del level
    place = np.array(pose_of(walker))
    left, bottom = place[0, 0] - 4.5, place[0, 1] - 4.5
    return _scene(ground_of(walker), (left, bottom, left + 15.0, bottom + 9.0), unit, place)


def seen(obs: np.ndarray, unit: int = 24) -> np.ndarray:
    """What the student is told, as a picture: its body by the angles of hull and joints, a dark leg where a foot
    touches the ground, a line for the hull's speed, and how far each ray of the lidar gets. The bars are speeds of
    turning: of the hull, then hip and knee of each leg.
    """
    numbers, fine = np.asarray(obs, np.float64), unit * _FINE
    left, top, side = -1.7, 1.7, 7.4
    image = Image.new("RGB", (round(side * fine), round(side * fine)), SKY)
    pen = ImageDraw.Draw(image)

    def place(points: Sequence[Sequence[float]] | np.ndarray) -> list[tuple[float, float]]:
        return [((x - left) * fine, (top - y) * fine) for x, y in points]

    def dot(at: Sequence[float], radius: float, colour: tuple[int, int, int]) -> None:
        pen.ellipse(
            [*place([(at[0] - radius, at[1] + radius)])[0], *place([(at[0] + radius, at[1] - radius)])[0]], colour
        )

    for (right, down), share in zip(RAYS, numbers[14:], strict=True):
        end = (right * share, -down * share)
        pen.line(place([(0, 0), end]), LINE, max(1, fine // 20))
        if share < 1:
            dot(end, 0.14, LINE)
    pose, touches = felt(numbers), {2: numbers[8], 4: numbers[13]}
    for part in _BACK_TO_FRONT:
        colour = TEXT if touches.get(part) else _COLOURS[part]
        pen.polygon(place(_turned(_SHAPES[part], pose[part])), colour, BODY_EDGE, max(1, fine // 24))
    speed = (numbers[2:4] * FPS / (0.3 * np.array([VIEWPORT_W, VIEWPORT_H]) / SCALE) / 5).tolist()
    pen.line(place([(0.0, 0.0), speed]), TEXT, max(2, fine // 10))
    dot(speed, 0.16, TEXT)
    # Behind the walker and below it, where neither its legs nor its rays get to.
    for row, (number, colour) in enumerate(zip((1, 5, 7, 10, 12), (HULL, FAR, FAR, NEAR, NEAR), strict=True)):
        y, end = -3.4 - 0.4 * row, -0.95 + 0.6 * np.clip(numbers[number], -1, 1)
        pen.rectangle([*place([(min(-0.95, end), y + 0.14)])[0], *place([(max(-0.95, end), y - 0.14)])[0]], colour)
    pen.line(place([(-0.95, -3.2), (-0.95, -5.2)]), TEXT, max(1, fine // 24))
    size = round(side * unit)
    return np.asarray(image.resize((size, size), Image.Resampling.LANCZOS))


def felt(obs: np.ndarray) -> np.ndarray:
    """Where the body's parts are, as far as its own angles tell: ``[part, (x, y, angle)]`` from the hull."""
    angle, hips, knees = obs[0], (obs[4], obs[9]), (obs[6] - 1, obs[11] - 1)
    pose = [(0.0, 0.0, angle)]
    for turns in zip(hips, knees, strict=True):
        joint, turned = _turned(np.array([(0.0, LEG_DOWN)]), pose[0])[0], angle
        for turn in turns:
            turned = turned + turn
            along = np.array([sin(turned), -cos(turned)]) * LEG_H
            pose.append((*(joint + along / 2), turned))
            joint = joint + along
    return np.array(pose)


def rose(groups: Mapping[str, Sequence[Level]], stairs: bool = True, size: int = 340) -> np.ndarray:
    """The parameters of levels, a panel for each group: every level is a line around the middle, which is the lowest
    value of each parameter; the rim is its highest.
    """
    require(len(groups) > 0, "There are no levels to draw; give at least one group.")
    shown = PARAMETERS if stairs else PARAMETERS[:POET]
    panels = [_rose(name, levels, shown, size) for name, levels in groups.items()]
    sheet = Image.new("RGB", (sum(panel.width for panel in panels), panels[0].height), PAPER)
    for i, panel in enumerate(panels):
        sheet.paste(panel, (i * panel.width, 0))
    return np.asarray(sheet)


def _scene(ground: Terrain, window: Window, unit: int, pose: np.ndarray) -> np.ndarray:
    left, bottom, right, top = window
    fine = unit * _FINE
    wide, high = round((right - left) * unit), round((top - bottom) * unit)
    image = Image.new("RGB", (wide * _FINE, high * _FINE), SKY)
    pen = ImageDraw.Draw(image)

    def place(points: Sequence[Sequence[float]] | np.ndarray) -> list[tuple[float, float]]:
        return [((x - left) * fine, (top - y) * fine) for x, y in points]

    # A little more on both sides than can be seen: behind a pit, points are up to two cells apart.
    more = 2 * TERRAIN_STEP
    seen = [(x, y) for x, y in zip(ground.x, ground.y, strict=True) if left - more <= x <= right + more]
    if seen:
        pen.polygon(place([*seen, (seen[-1][0], bottom - 1), (seen[0][0], bottom - 1)]), SOIL)
        pen.line(place(seen), GRASS, max(2, fine // 8), joint="curve")
    for block in ground.blocks:
        pen.polygon(place(block), STONE, STONE_EDGE, max(1, fine // 20))
    for x in (3 * TERRAIN_STEP, FINISH):
        foot = float(np.interp(x, ground.x, ground.y))
        tip = 1.9 + max(y for at, y in zip(ground.x, ground.y, strict=True) if abs(at - x) < 5)  # also out of a pit
        pen.line(place([(x, foot), (x, tip)]), TEXT, max(2, fine // 14))
        pen.polygon(place([(x, tip), (x, tip - 0.6), (x + 0.9, tip - 0.3)]), FLAG)
    for part in _BACK_TO_FRONT:
        pen.polygon(place(_turned(_SHAPES[part], pose[part])), _COLOURS[part], BODY_EDGE, max(1, fine // 24))
    return np.asarray(image.resize((wide, high), Image.Resampling.LANCZOS))


def _turned(shape: np.ndarray, pose: Sequence[float] | np.ndarray) -> np.ndarray:
    """The corners of a part that is somewhere, at some angle."""
    x, y, angle = pose
    return shape @ np.array([(cos(angle), sin(angle)), (-sin(angle), cos(angle))]) + (x, y)


def _rose(name: str, levels: Sequence[Level], shown: Sequence[Parameter], size: int) -> Image.Image:
    fine, margin, head = size * _FINE, 80, 2  # labels take more room on the sides than above and below
    turns = [2 * pi * i / len(shown) - pi / 2 for i in range(len(shown))]
    spokes = np.array([(cos(turn), sin(turn)) for turn in turns])
    low, high = np.array([p.low for p in shown]), np.array([p.high for p in shown])
    radius = fine / 2 - margin * _FINE

    ink = Image.new("RGB", (fine, fine), PAPER)
    pen = ImageDraw.Draw(ink)
    for share in (0.25, 0.5, 0.75, 1.0):
        pen.polygon([tuple(point) for point in fine / 2 + spokes * radius * share], outline=FAINT, width=_FINE)
    for spoke in spokes:
        pen.line([(fine / 2, fine / 2), tuple(fine / 2 + spoke * radius)], FAINT, _FINE)
    # Lines are glass: where many lie over each other they are dark.
    pen = ImageDraw.Draw(ink, "RGBA")
    for level in levels:
        shares = (np.asarray(level.parameters)[: len(shown)] - low) / (high - low)
        points = [tuple(point) for point in fine / 2 + spokes * radius * shares[:, None]]
        pen.line([*points, points[0]], (*LINE, max(45, int(255 / len(levels) ** 0.5))), 2 * _FINE)

    panel = Image.new("RGB", (size, size - 26), PAPER)
    panel.paste(ink.resize((size, size), Image.Resampling.LANCZOS), (0, head))
    pen = ImageDraw.Draw(panel)
    title = f"{name} ({len(levels)} level{'s' * (len(levels) != 1)})"
    pen.text((size / 2, 6), title, TEXT, ImageFont.load_default(size=14), anchor="ma")
    small = ImageFont.load_default(size=12)
    for parameter, (x, y) in zip(shown, spokes, strict=True):
        *first, last = parameter.name.split("-")
        label = "\n".join(filter(None, [" ".join(first), last, f"{parameter.low:g} to {parameter.high:g}"]))
        side = "m" if abs(x) < 0.1 else "l" if x > 0 else "r"
        away = radius / _FINE + (24 if side == "m" else 6)
        at = (size / 2 + x * away, head + size / 2 + y * (away + 8 * (side != "m")))
        pen.multiline_text(at, label, TEXT, small, anchor=f"{side}m", align="center", spacing=1)
    return panel
