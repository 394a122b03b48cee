// The page of `tutelage page`: the editor on one side, the students in step on the other, mazes to choose from below.

import {createWatch} from "./demo-watch.js";
import {colourOf, drawCells, fit, formsOf} from "./grid-draw.js";
import {createGridEditor} from "./grid-editor.js";
import {levelInHash} from "./level-link.js";
import {blockCount, fewestActions, mazeText, parseMaze, payment, shortestPath} from "./maze.js";
import {emptyMaze, perfectMaze, randomFrom, randomMaze} from "./maze-levels.js";
import {MAZE} from "./palettes.js";
import {createStudent, unpack} from "./student.js";
import {createThemeToggle} from "./theme.js";
import {differences} from "./demo-check.js";

const content = JSON.parse(document.getElementById("content").textContent);
const find = (id) => document.getElementById(id);
const random = randomFrom(Date.now());
const {training} = content;

document.title = content.title;
document.querySelector("h1").textContent = content.title;
createThemeToggle(find("theme"));

const students = content.students.map((told) => ({...told, mind: createStudent(told.network, unpack(told.weights))}));
const watch = createWatch(students, find);

// --- the maze

let rules = {};
const editor = createGridEditor(find("editor"), {...MAZE, text: content.mazes[0].text, onchange: show});

function show(text) {
  let level;
  try {
    level = parseMaze(text);
  } catch (problem) {
    find("facts").textContent = problem.message;
    watch.clear();
    return;
  }
  const path = shortestPath(level), actions = fewestActions(level);
  find("facts").textContent = path
    ? `Solvable. The shortest path has ${count(path.length - 1, "move")}; with turns it takes ${count(actions, "action")}. ` +
      (actions <= rules.maxSteps
        ? `The best return is ${payment({...rules, reward: training.reward}, actions).toFixed(2)}. `
        : "That is more than the step limit. ") + `${count(blockCount(level), "block")}.`
    : `Not solvable: walls are between the agent and the goal. ${count(blockCount(level), "block")}.`;
  find("facts").classList.toggle("bad", !path);
  editor.setOverlay({path: find("way").checked ? path : null});
  watch.show(level, rules, find("way").checked ? path : null);
}

function count(number, noun) {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

function setRules(next) {
  rules = next;
  find("limit").value = String(rules.maxSteps);
  find("through").checked = rules.seeThrough;
}

function open(text, next) {
  setRules(next);
  editor.setText(text);
}

for (const id of ["limit", "through"]) {
  find(id).addEventListener("change", () => {
    const limit = Math.round(Number(find("limit").value));
    setRules({maxSteps: limit >= 1 && limit <= 100000 ? limit : rules.maxSteps, seeThrough: find("through").checked});
    show(editor.getText());
  });
}
find("way").addEventListener("change", () => show(editor.getText()));

// --- new mazes

const sizes = [...new Set([7, 9, 13, 19, 31, 49, training.size])].sort((a, b) => a - b);
for (const size of sizes) find("size").append(new Option(`${size} × ${size}`, String(size)));
find("size").value = String(training.size);
const chosenSize = () => Number(find("size").value);

// As many steps as in training for a maze of that size; for others as many as for the tests, two for each cell.
const rulesFor = (size) => ({
  maxSteps: size === training.size ? training.maxSteps : 2 * (size + 2) ** 2,
  seeThrough: training.seeThrough,
});
const MAKERS = {
  random: (size) => {
    const blocks = Math.round((training.blocks * size * size) / training.size ** 2);
    return randomMaze(random, size, blocks, training.uniform);
  },
  empty: (size) => emptyMaze(random, size),
  perfect: (size) => perfectMaze(random, size + 2 - ((size + 1) % 2)),
};
for (const [id, make] of Object.entries(MAKERS)) {
  find(id).addEventListener("click", () => open(mazeText(make(chosenSize())), rulesFor(chosenSize())));
}

// --- mazes to choose from

const byName = new Map(content.mazes.map((maze) => [maze.name, maze]));
const shelves = [
  ...Object.entries(content.suites).map(([name, names]) => ({
    title: `held out: ${name}`,
    mazes: names.map((one) => byName.get(one)),
  })),
  ...content.buffers.map(({label, levels}) => ({title: `best levels of ${label}`, mazes: levels})),
];
shelves.forEach(({title}, i) => find("shelf").append(new Option(title, String(i))));
find("shelf").addEventListener("change", fill);

function fill() {
  const {mazes} = shelves[Number(find("shelf").value)];
  find("thumbs").replaceChildren(...mazes.map((maze) => {
    const button = document.createElement("button");
    const picture = document.createElement("canvas");
    picture.setAttribute("aria-hidden", "true");
    const name = document.createElement("span");
    name.textContent = maze.name;
    button.type = "button";
    button.append(picture, name);
    if (maze.caption) {
      const caption = document.createElement("small");
      caption.textContent = maze.caption;
      button.append(caption);
    }
    button.addEventListener("click", () => {
      open(maze.text, {maxSteps: maze.maxSteps, seeThrough: maze.seeThrough});
      find("draw-title").scrollIntoView({block: "start"});
    });
    picture.text = maze.text;
    return button;
  }));
  drawThumbs();
}

function drawThumbs() {
  const forms = formsOf(MAZE.palette);
  for (const picture of find("thumbs").querySelectorAll("canvas")) {
    const cells = picture.text.split("\n").map((row) => [...row]);
    const {pen, unit} = fit(picture, cells[0].length, cells.length, picture.clientWidth || 136);
    const colours = new Map();
    drawCells(pen, unit, cells, forms, (colour) => {
      if (!colours.has(colour)) colours.set(colour, colourOf(picture, colour));
      return colours.get(colour);
    });
  }
}

// --- the rest

find("about").textContent = content.about;
find("check").addEventListener("click", () => {
  const {mazes, actions, different} = differences(students, content.mazes);
  find("checked").textContent = different.length
    ? `Not the same: ${different.join("; ")}.`
    : `${mazes} episodes, ${actions.toLocaleString("en")} actions: each is the one that Python takes.`;
});

const recolour = () => {
  drawThumbs();
  watch.draw();
};
new MutationObserver(recolour).observe(document.documentElement, {attributeFilter: ["data-theme"]});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
window.addEventListener("resize", recolour);

fill();
const linked = levelInHash(location.hash) !== null;
const {maxSteps, seeThrough} = content.mazes[0];
setRules(linked ? rulesFor(editor.getText().split("\n").length - 2) : {maxSteps, seeThrough});
show(editor.getText());
