// A person plays: by keyboard, or with buttons, on the whole level or on what a student sees.

import {ask} from "./api.js";
import {byId, h, number} from "./dom.js";

const QUEUE = 2; // key presses that may wait for the server

export function createHand(lab, bench, onend) {
  let game = null, root = null, timer = 0;
  const held = new Set();

  function stop() {
    clearTimeout(timer);
    game = null;
    held.clear();
    root?.remove();
    root = null;
  }

  async function start() {
    const level = bench.level();
    if (!level) return bench.tell(new Error("This level cannot be played; mend it first."));
    stop();
    try {
      const first = await ask("/api/play", {level, seed: Math.max(0, Math.round(Number(byId("seed").value)) || 0)});
      build();
      game = {id: first.hand, total: 0, waiting: [], busy: false};
      show(first);
      root.focus();
      byId("stage-hint").hidden = true;
      if (lab.controls.rest.length) run();
    } catch (problem) {
      bench.tell(problem);
    }
  }

  let frame, view, said, only;
  function build() {
    frame = h("img", {class: "frame", alt: "The level"});
    view = h("img", {class: "frame sharp", alt: "What a student sees", hidden: true});
    said = h("p", {class: "small figures", role: "status"});
    only = h("input", {type: "checkbox", onchange: swap});
    const keys = lab.controls.keys.map((control) => {
      const button = h("button", {type: "button", title: `Keys: ${control.keys.map(keyName).join(", ")}`}, `${control.name} (${keyName(control.keys[0])})`);
      if (lab.controls.rest.length) {
        button.addEventListener("pointerdown", () => held.add(control));
        for (const type of ["pointerup", "pointerleave", "pointercancel"]) button.addEventListener(type, () => held.delete(control));
      } else {
        button.addEventListener("click", () => act(control.action));
      }
      return button;
    });
    root = h("article", {class: "card hand", tabindex: "0", role: "application", "aria-label": `Play yourself: ${lab.controls.keys.map((one) => `${keyName(one.keys[0])} ${one.name}`).join(", ")}`},
      h("h3", {}, "You"), frame, view, h("label", {}, only, "only what a student sees"), h("div", {class: "keys"}, ...keys), said);
    root.addEventListener("keydown", down);
    root.addEventListener("keyup", (event) => {
      const control = controlOf(event.key);
      if (control) held.delete(control);
    });
    root.addEventListener("blur", () => held.clear());
    byId("stage").prepend(root);
  }

  const keyName = (key) => ({ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", " ": "space"}[key] ?? key);
  const controlOf = (key) => lab.controls.keys.find((one) => one.keys.includes(key) || one.keys.includes(key.toLowerCase()));

  function swap() {
    frame.hidden = only.checked && Boolean(view.src);
    view.hidden = !frame.hidden;
  }

  function down(event) {
    if (event.target !== root || event.ctrlKey || event.metaKey || event.altKey) return;
    const control = controlOf(event.key);
    if (!control) return;
    event.preventDefault();
    if (lab.controls.rest.length) held.add(control);
    else act(control.action);
  }

  // Where actions are numbers time goes on by itself, and keys are held.
  async function run() {
    const mine = game;
    if (!mine) return;
    const began = performance.now();
    const sum = lab.controls.rest.map((rest, i) => [...held].reduce((total, one) => total + one.action[i], rest));
    const action = sum.map((value) => Math.max(-1, Math.min(1, value)));
    const times = Math.max(1, Math.min(8, Math.round(60 / lab.pace)));
    await send(mine, Array(times).fill(action));
    if (game === mine) timer = setTimeout(run, Math.max(0, times * lab.pace - (performance.now() - began)));
  }

  async function act(action) {
    const mine = game;
    if (!mine || mine.waiting.length >= QUEUE) return;
    mine.waiting.push(action);
    if (mine.busy) return;
    mine.busy = true;
    while (game === mine && mine.waiting.length) await send(mine, [mine.waiting.shift()]);
    mine.busy = false;
  }

  async function send(mine, actions) {
    try {
      const found = await ask("/api/act", {hand: mine.id, actions});
      if (game !== mine) return;
      mine.total += found.reward;
      show(found);
      if (!found.done) return;
      const whole = found.whole;
      stop();
      onend(whole);
    } catch (problem) {
      if (game === mine) {
        bench.tell(problem);
        stop();
      }
    }
  }

  function show(found) {
    if (found.frame) frame.src = found.frame;
    if (found.view.picture) view.src = found.view.picture;
    if (!found.frame) only.checked = true;
    swap();
    root.dataset.step = found.step;
    said.textContent = `Step ${found.step}, return so far ${number(game?.total ?? 0, 3)}`;
  }

  return {start, stop};
}
