// New mazes: random, empty, and perfect ones, drawn as tutelage/envs/maze draws them.

import {GOAL, WALL} from "./maze.js";

// Numbers from 0 to 1 that follow from a seed (mulberry32), so that a level or an episode can be drawn again.
export function randomFrom(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const below = (random, limit) => Math.floor(random() * limit);

function walled(width, height, isWall) {
  const cells = new Uint8Array(width * height);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const edge = x === 0 || y === 0 || x === width - 1 || y === height - 1;
      if (edge || isWall(x - 1, y - 1)) cells[y * width + x] = WALL;
    }
  }
  return {width, height, cells};
}

function finished(grid, start, direction, goal) {
  grid.cells[goal[1] * grid.width + goal[0]] = GOAL;
  return {...grid, start, direction, goal};
}

// Goal and agent on free cells, the agent facing anywhere.
function placed(random, grid) {
  const free = [];
  grid.cells.forEach((cell, i) => {
    if (cell !== WALL) free.push([i % grid.width, Math.floor(i / grid.width)]);
  });
  const [goal] = free.splice(below(random, free.length), 1);
  const start = free[below(random, free.length)];
  return finished(grid, start, below(random, 4), goal);
}

// Spends a budget of blocks on random cells, where a taken cell is a no-op. The budget is drawn from 0 to `blocks`,
// or all of it is spent.
export function randomMaze(random, size, blocks, uniform = true) {
  const budget = uniform ? below(random, blocks + 1) : blocks;
  const taken = new Set(Array.from({length: budget}, () => below(random, size * size)));
  return placed(random, walled(size + 2, size + 2, (x, y) => taken.has(y * size + x)));
}

export function emptyMaze(random, size) {
  return placed(random, walled(size + 2, size + 2, () => false));
}

// One way between any two cells: Kruskal's spanning tree over every other cell. `size` is odd and counts the border.
export function perfectMaze(random, size) {
  const rooms = size >> 1;
  const tree = Array.from({length: rooms * rooms}, (_, i) => i);
  const root = (i) => {
    while (tree[i] !== i) i = tree[i] = tree[tree[i]];
    return i;
  };
  const edges = [];
  for (let y = 0; y < rooms; y++) {
    for (let x = 0; x < rooms; x++) {
      if (x + 1 < rooms) edges.push([y * rooms + x, y * rooms + x + 1]);
      if (y + 1 < rooms) edges.push([y * rooms + x, (y + 1) * rooms + x]);
    }
  }
  for (let i = edges.length - 1; i > 0; i--) {
    const j = below(random, i + 1);
    [edges[i], edges[j]] = [edges[j], edges[i]];
  }
  const open = new Set();
  for (const [a, b] of edges) {
    if (root(a) === root(b)) continue;
    tree[root(a)] = root(b);
    // The cell between two rooms is half way: its coordinates are the sums of theirs.
    const x = (a % rooms) + (b % rooms), y = Math.floor(a / rooms) + Math.floor(b / rooms);
    open.add(y * size + x);
  }
  const grid = walled(size, size, (x, y) => (x % 2 || y % 2) && !open.has(y * size + x));
  const far = size - 2;
  const corners = [[1, 1], [far, 1], [1, far], [far, far]];
  const [start] = corners.splice(below(random, 4), 1);
  return finished(grid, start, 0, corners[below(random, 3)]);
}
