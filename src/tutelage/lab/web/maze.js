// The maze's rules and observations, as in tutelage/envs/maze/env.py: MiniGrid's, without the objects that mazes lack.
//
// Positions are [x, y] with the border counted, so the first cell inside it is [1, 1]. Beyond the border is only wall.
// A level is {width, height, cells, start, direction, goal}; rules are {maxSteps, seeThrough, reward}.

import {STEPS} from "./grid-draw.js";

export const FREE = 0, WALL = 1, GOAL = 2, UNSEEN = 3;
export const LEFT = 0, RIGHT = 1, FORWARD = 2;
const HEADINGS = ">v<^";

// The level of a text that the editor or Python has written, or an Error that says what is missing.
export function parseMaze(text) {
  const rows = text.trim().split("\n").map((row) => row.trim());
  const width = rows[0].length, height = rows.length;
  const cells = new Uint8Array(width * height);
  let start = null, goal = null, direction = 0;
  rows.forEach((row, y) => [...row].forEach((char, x) => {
    if (char === "#") cells[y * width + x] = WALL;
    else if (char === "G") goal = [x, y];
    else if (HEADINGS.includes(char)) [start, direction] = [[x, y], HEADINGS.indexOf(char)];
  }));
  if (!start) throw new Error("The maze has no agent; place one.");
  if (!goal) throw new Error("The maze has no goal; place one.");
  cells[goal[1] * width + goal[0]] = GOAL;
  return {width, height, cells, start, direction, goal};
}

export function mazeText(level) {
  const rows = [];
  for (let y = 0; y < level.height; y++) {
    let row = "";
    for (let x = 0; x < level.width; x++) row += ".#G"[level.cells[y * level.width + x]];
    rows.push([...row]);
  }
  rows[level.start[1]][level.start[0]] = HEADINGS[level.direction];
  return rows.map((row) => row.join("")).join("\n");
}

function cellAt(level, x, y) {
  const inside = x >= 0 && y >= 0 && x < level.width && y < level.height;
  return inside ? level.cells[y * level.width + x] : WALL;
}

// The state before the first step.
export function startOf(level) {
  return {x: level.start[0], y: level.start[1], direction: level.direction, time: 0, done: false, solved: false, total: 0};
}

// The state after an action. Four of the seven actions do nothing in a maze, but take their time.
export function play(level, rules, state, action) {
  const [dx, dy] = STEPS[state.direction];
  const ahead = cellAt(level, state.x + dx, state.y + dy);
  const moved = action === FORWARD && ahead !== WALL;
  const turn = action === RIGHT ? 1 : action === LEFT ? 3 : 0;
  const time = state.time + 1;
  const solved = moved && ahead === GOAL;
  return {
    x: state.x + (moved ? dx : 0),
    y: state.y + (moved ? dy : 0),
    direction: (state.direction + turn) % 4,
    time,
    done: solved || time >= rules.maxSteps,
    solved,
    total: solved ? payment(rules, time) : 0,
  };
}

// The return of an episode that reaches the goal at some step.
export function payment(rules, steps) {
  const share = steps / rules.maxSteps;
  return rules.reward === "appendix" ? 1 - share : 1 - 0.9 * share;
}

// The cells of a view, as [x, y], column by column from the left and away to near; the agent looks up from the middle
// of the last row.
export function sight(view, state) {
  const [ax, ay] = STEPS[state.direction];
  const cells = [];
  for (let column = 0; column < view; column++) {
    for (let row = 0; row < view; row++) {
      const ahead = view - 1 - row, right = column - (view >> 1);
      cells.push([state.x + ax * ahead - ay * right, state.y + ay * ahead + ax * right]);
    }
  }
  return cells;
}

// What the student sees: a code for each cell of its view, in the order of `sight`.
export function observe(level, rules, view, state) {
  const codes = Uint8Array.from(sight(view, state), ([x, y]) => cellAt(level, x, y));
  if (!rules.seeThrough) {
    const seen = visible(view, codes);
    for (let i = 0; i < codes.length; i++) if (!seen[i]) codes[i] = UNSEEN;
  }
  codes[(view >> 1) * view + view - 1] = FREE; // MiniGrid shows what the agent carries at its own cell: nothing
  return codes;
}

// MiniGrid's blocked vision. Row by row away from the agent, light spreads sideways through clear cells, and a lit clear
// cell shows the three cells beyond it. A row is one word of bits.
function visible(view, codes) {
  const seen = new Uint8Array(view * view);
  let light = 1 << (view >> 1);
  for (let row = view - 1; row >= 0; row--) {
    let clear = 0;
    for (let column = 0; column < view; column++) if (codes[column * view + row] !== WALL) clear |= 1 << column;
    let lit = light & clear;
    for (let i = 1; i < view; i++) lit = (lit | (lit << 1) | (lit >>> 1)) & clear;
    const beside = lit | (lit << 1) | (lit >>> 1);
    for (let column = 0; column < view; column++) seen[column * view + row] = ((light | beside) >>> column) & 1;
    light = beside;
  }
  return seen;
}

// The cells of a shortest way from start to goal, both included, or null. Turns are not counted.
export function shortestPath(level) {
  const {width, cells} = level;
  const from = new Int32Array(cells.length).fill(-1);
  const first = level.start[1] * width + level.start[0], last = level.goal[1] * width + level.goal[0];
  let edge = [first];
  from[first] = first;
  while (edge.length && from[last] < 0) {
    const next = [];
    for (const cell of edge) {
      for (const [dx, dy] of STEPS) {
        const x = (cell % width) + dx, y = Math.floor(cell / width) + dy, to = y * width + x;
        if (cellAt(level, x, y) !== WALL && from[to] < 0) {
          from[to] = cell;
          next.push(to);
        }
      }
    }
    edge = next;
  }
  if (from[last] < 0) return null;
  const path = [];
  for (let cell = last; ; cell = from[cell]) {
    path.unshift([cell % width, Math.floor(cell / width)]);
    if (cell === first) return path;
  }
}

// Actions of an agent that knows the maze, turns included, or -1 where there is no way.
export function fewestActions(level) {
  const seen = new Uint8Array(level.cells.length * 4);
  let edge = [[level.start[0], level.start[1], level.direction]];
  seen[(level.start[1] * level.width + level.start[0]) * 4 + level.direction] = 1;
  for (let actions = 0; edge.length; actions++) {
    const next = [];
    for (const [x, y, direction] of edge) {
      if (cellAt(level, x, y) === GOAL) return actions;
      const [dx, dy] = STEPS[direction];
      const reached = [[x, y, (direction + 1) % 4], [x, y, (direction + 3) % 4]];
      if (cellAt(level, x + dx, y + dy) !== WALL) reached.push([x + dx, y + dy, direction]);
      for (const to of reached) {
        const index = (to[1] * level.width + to[0]) * 4 + to[2];
        if (!seen[index]) {
          seen[index] = 1;
          next.push(to);
        }
      }
    }
    edge = next;
  }
  return -1;
}

// Walls inside the border.
export function blockCount(level) {
  let count = 0;
  for (let y = 1; y < level.height - 1; y++) {
    for (let x = 1; x < level.width - 1; x++) count += level.cells[y * level.width + x] === WALL;
  }
  return count;
}
