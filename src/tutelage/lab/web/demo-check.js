// Plays every embedded maze by the likeliest actions, and compares them with those that Python took.

import {observe, parseMaze, play, startOf} from "./maze.js";
import {likeliest} from "./student.js";

// The actions of a student in a maze, as digits.
export function greedyActions({mind, network, reward}, {text, maxSteps, seeThrough}) {
  const level = parseMaze(text), rules = {maxSteps, seeThrough, reward};
  let state = startOf(level), memory = mind.memory(), actions = "";
  while (!state.done) {
    const decision = mind.act(memory, observe(level, rules, network.view, state), state.direction);
    const action = likeliest(decision.logits);
    memory = decision.memory;
    state = play(level, rules, state, action);
    actions += action;
  }
  return actions;
}

export function differences(students, mazes) {
  const different = [];
  let actions = 0;
  for (const student of students) {
    for (const maze of mazes) {
      const ours = greedyActions(student, maze), theirs = student.actions[maze.name];
      actions += theirs.length;
      if (ours === theirs) continue;
      const step = [...theirs].findIndex((action, i) => action !== ours[i]);
      different.push(`${student.label} in ${maze.name}, from step ${(step < 0 ? theirs.length : step) + 1} on`);
    }
  }
  return {mazes: students.length * mazes.length, actions, different};
}
