// Students in one maze, side by side and in step.

import {colourOf, drawAgent, drawCells, drawPath, drawVeil, fit, formsOf} from "./grid-draw.js";
import {observe, play, sight, startOf, UNSEEN} from "./maze.js";
import {randomFrom} from "./maze-levels.js";
import {MAZE} from "./palettes.js";
import {drawn, likeliest} from "./student.js";

const SPEEDS = [1, 2, 5, 10, 20, 50, 200]; // steps a second
// Four of the seven actions do nothing in a maze; they are shown as one.
const ACTIONS = [["left", [0]], ["right", [1]], ["forward", [2]], ["other", [3, 4, 5, 6]]];

export function createWatch(students, find) {
  const forms = formsOf(MAZE.palette);
  const cards = students.map((student) => createCard(student));
  find("cards").replaceChildren(...cards.map((card) => card.element));
  let level = null, rules = null, path = null, grid = null;
  let timer = 0, episode = 0;

  function restart() {
    pause();
    episode += 1;
    const chance = randomFrom(episode); // the same numbers for all: who acts alike, fares alike
    const shares = [];
    for (const card of cards) {
      card.state = startOf(level);
      card.memory = card.student.mind.memory();
      card.trail = [[card.state.x, card.state.y]];
      card.share = (t) => {
        while (shares.length <= t) shares.push(chance());
        return shares[t];
      };
      think(card);
    }
    draw();
  }

  // What the student is about to do.
  function think(card) {
    const {state, student} = card;
    card.codes = observe(level, rules, student.network.view, state);
    card.decision = student.mind.act(card.memory, card.codes, state.direction);
    card.action = find("acting").value === "drawn"
      ? drawn(card.decision.probabilities, card.share(state.time))
      : likeliest(card.decision.logits);
  }

  function advance() {
    if (!level) return;
    if (cards.every((card) => card.state.done)) return pause();
    for (const card of cards) {
      if (card.state.done) continue;
      card.memory = card.decision.memory;
      card.state = play(level, {...rules, reward: card.student.reward}, card.state, card.action);
      card.trail.push([card.state.x, card.state.y]);
      if (!card.state.done) think(card);
    }
    draw();
    if (cards.every((card) => card.state.done)) {
      pause();
      find("outcome").textContent = cards.map((card) => `${card.student.label}: ${verdict(card.state)}`).join(" ");
    }
  }

  function pause() {
    clearInterval(timer);
    timer = 0;
    find("play").textContent = "Play";
  }

  function start() {
    if (!level) return;
    if (cards.every((card) => card.state.done)) restart();
    clearInterval(timer);
    const speed = SPEEDS[Number(find("speed").value)];
    const turns = Math.max(1, Math.round(speed / 50)); // screens show no more than about 50 steps a second
    timer = setInterval(() => {
      for (let i = 0; i < turns && timer; i++) advance();
    }, (1000 * turns) / speed);
    find("play").textContent = "Pause";
  }

  find("play").addEventListener("click", () => (timer ? pause() : start()));
  find("step").addEventListener("click", () => {
    pause();
    advance();
  });
  find("restart").addEventListener("click", () => level && restart());
  find("speed").addEventListener("input", () => {
    find("speed").setAttribute("aria-valuetext", `${SPEEDS[Number(find("speed").value)]} steps a second`);
    if (timer) start();
  });
  find("acting").addEventListener("change", () => level && restart());
  for (const id of ["trail", "seen"]) find(id).addEventListener("change", () => draw());

  // --- drawing

  function draw() {
    if (!level) return;
    const colours = new Map();
    const colour = (name) => {
      if (!colours.has(name)) colours.set(name, colourOf(find("cards"), name));
      return colours.get(name);
    };
    for (const card of cards) drawCard(card, colour);
    const time = Math.max(...cards.map((card) => card.state.time));
    find("clock").textContent = `Step ${time} of ${rules.maxSteps}`;
  }

  function drawCard(card, colour) {
    const {state, student, decision} = card;
    const {pen, unit} = fit(card.maze, level.width, level.height, card.maze.clientWidth || 240);
    drawCells(pen, unit, grid, forms, colour);
    const {view} = student.network;
    if (find("seen").checked) {
      const cells = sight(view, state).filter(([x, y], i) =>
        card.codes[i] !== UNSEEN && x >= 0 && y >= 0 && x < level.width && y < level.height);
      drawVeil(pen, unit, cells, colour("--cell-seen"));
    }
    drawPath(pen, unit, path, colour("--cell-path"), {dashed: true});
    if (find("trail").checked) drawPath(pen, unit, card.trail, colour("--cell-trail"));
    drawAgent(pen, unit, state.x, state.y, state.direction, colour("--cell-agent"), colour("--cell-floor"));

    const seen = fit(card.view, view, view, 80);
    const chars = [".", "#", "G", "?"];
    const rows = Array.from({length: view}, (_, row) =>
      Array.from({length: view}, (_, column) => chars[card.codes[column * view + row]]));
    drawCells(seen.pen, seen.unit, rows, forms, colour);
    drawAgent(seen.pen, seen.unit, view >> 1, view - 1, 3, colour("--cell-agent"));

    const {probabilities, value} = decision;
    ACTIONS.forEach(([, indices], i) => {
      const share = indices.reduce((sum, index) => sum + probabilities[index], 0);
      card.bars[i].show(share, share.toFixed(2), !state.done && indices.includes(card.action));
    });
    card.bars.at(-1).show(Math.max(0, Math.min(1, value)), value.toFixed(2), false);
    card.verdict.textContent = state.done ? verdict(state) : `Step ${state.time}`;
    card.verdict.className = `verdict figures ${state.solved ? "good" : state.done ? "bad" : ""}`;
  }

  function verdict(state) {
    return state.solved
      ? `Reached the goal in ${state.time} steps: return ${state.total.toFixed(2)}.`
      : `Not there after ${state.time} steps: return 0.`;
  }

  return {
    draw,
    show(nextLevel, nextRules, nextPath) {
      const same = level && rules.maxSteps === nextRules.maxSteps && rules.seeThrough === nextRules.seeThrough &&
        level.width === nextLevel.width && String(level.cells) === String(nextLevel.cells) &&
        String([level.start, level.direction]) === String([nextLevel.start, nextLevel.direction]);
      [level, rules, path] = [nextLevel, nextRules, nextPath];
      grid = Array.from({length: level.height}, (_, y) =>
        Array.from({length: level.width}, (_, x) => ".#G"[level.cells[y * level.width + x]]));
      if (same) draw();
      else restart();
    },
    clear() {
      pause();
      level = null;
    },
  };
}

function createCard(student) {
  const make = (tag, className, ...children) => {
    const element = document.createElement(tag);
    if (className) element.className = className;
    element.append(...children);
    return element;
  };
  const picture = (className, label) => {
    const canvas = make("canvas", className);
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", label);
    return canvas;
  };
  const maze = picture("maze", `${student.label} in the maze`);
  const view = picture("view", `What ${student.label} sees`);
  const table = make("div", "bars");
  const bars = [...ACTIONS.map(([name]) => name), "value"].map((name) => {
    const label = make("span", "", name), bar = make("div", `share ${name}`), number = make("span", "number");
    table.append(label, bar, number);
    return {
      show(share, text, chosen) {
        bar.style.setProperty("--share", String(share));
        number.textContent = text;
        label.className = chosen ? "chosen" : "";
      },
    };
  });
  const verdict = make("p", "verdict figures");
  const title = make("h3", "", make("span", "", student.label), make("small", "muted", student.detail));
  const sees = make("figure", "", view, make("figcaption", "", "its view"));
  const element = make("article", "panel card", title, maze, verdict, make("div", "mind", sees, table));
  element.setAttribute("aria-label", student.label);
  return {student, element, maze, view, bars, verdict};
}
