// Students at play on one level, side by side and in step; and a person, by keyboard.

import {ask, get} from "./api.js";
import {byId, h, number} from "./dom.js";
import {createHand} from "./hand.js";

const AHEAD = 12; // frames that are asked for before they are needed

export function createWatch(lab, bench) {
  const stage = byId("stage"), time = byId("time"), play = byId("play");
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  let cards = [], now = 0, timer = 0, playing = false, run = 0;
  const hand = createHand(lab, bench, (episode) => add("You", episode));

  const longest = () => Math.max(0, ...cards.map((card) => card.length));
  const pace = () => Math.max(15, lab.pace / 2 ** Number(byId("speed").value));

  function go(step) {
    now = Math.max(0, Math.min(longest(), step));
    time.max = longest();
    time.value = now;
    byId("clock").textContent = `${now} of ${longest()}`;
    for (const card of cards) card.show(now);
  }

  function set(on) {
    playing = on;
    play.textContent = on ? "Pause" : "Play";
    play.setAttribute("aria-pressed", on);
    clearTimeout(timer);
    if (on) {
      if (now >= longest()) go(0);
      tick();
    }
  }

  // All students are shown the same step: who is not drawn yet is waited for.
  function tick() {
    if (!playing) return;
    if (now >= longest()) return set(false);
    if (cards.every((card) => card.ready(now + 1))) go(now + 1);
    timer = setTimeout(tick, pace());
  }

  function add(name, episode) {
    const card = createCard(lab, name, episode, () => go(now));
    cards = [...cards.filter((one) => one.name !== name), card];
    stage.append(card.root);
    for (const root of [...stage.children]) if (!cards.some((one) => one.root === root)) root.remove();
    byId("transport").hidden = false;
    byId("stage-hint").hidden = true;
    go(now);
  }

  async function start() {
    const level = bench.level(), students = bench.students();
    if (!level) return bench.tell(new Error("This level cannot be played; mend it first."));
    if (!students.length) return bench.tell(new Error("Choose at least one student to watch."));
    bench.tell(null);
    hand.stop();
    const mine = ++run;
    set(false);
    now = 0;
    const seed = Math.max(0, Math.round(Number(byId("seed").value)) || 0), greedy = byId("greedy").checked;
    cards = [];
    stage.replaceChildren();
    for (const student of students) {
      try {
        const episode = await ask("/api/episode", {student: student.id, level, seed, greedy});
        if (mine !== run) return;
        add(student.name, episode);
      } catch (problem) {
        if (mine === run) bench.tell(problem);
        return;
      }
    }
    if (!calm.matches) set(true);
  }

  byId("watch").addEventListener("click", start);
  byId("hand").addEventListener("click", () => {
    set(false);
    hand.start();
  });
  byId("hand").hidden = !lab.controls;
  play.addEventListener("click", () => set(!playing));
  byId("step").addEventListener("click", () => { set(false); go(now + 1); });
  byId("back").addEventListener("click", () => { set(false); go(now - 1); });
  time.addEventListener("input", () => { set(false); go(Number(time.value)); });

  return {
    start,
    // What is on the stage belongs to another level now.
    levelChanged() {
      run++;
      set(false);
      hand.stop();
      cards = [];
      stage.replaceChildren();
      byId("transport").hidden = true;
      byId("stage-hint").hidden = false;
    },
  };
}

// One episode.
function createCard(lab, name, episode, refresh) {
  const {length, bars, values, actions} = episode;
  const frames = [...episode.frames], views = [...episode.views];
  let asking = false;
  const frame = h("img", {class: "frame", alt: `${name} on the level`});
  frame.hidden = !lab.frames;
  const view = h("div", {class: "view"});
  const chart = h("div", {class: "bars", role: "img"});
  const end = h("p", {class: "end small", role: "status"});
  const worth = h("p", {class: "small figures"});
  const root = h("article", {class: "card", "data-student": name}, h("h3", {}, name), frame,
    h("div", {class: "inside"}, h("div", {}, h("p", {class: "small muted"}, "What it sees"), view), h("div", {class: "stack"}, chart, worth)), end);
  const span = Math.max(1e-6, ...values.map((value) => Math.abs(value ?? 0)), Math.abs(episode.return ?? 0));
  const totals = episode.rewards.reduce((sums, reward) => [...sums, sums.at(-1) + (reward ?? 0)], [0]);

  async function fetchFrom(first) {
    if (asking || first > length) return;
    asking = true;
    try {
      const found = await get("/api/frames", {episode: episode.episode, first, count: 16});
      found.frames.forEach((one, i) => { frames[first + i] = one; });
      found.views.forEach((one, i) => { views[first + i] = one; });
      refresh();
    } catch {
      end.textContent = "This episode is not kept any more; watch it again.";
    } finally {
      asking = false;
    }
  }

  function showBars(t) {
    const at = Math.min(t, length - 1);
    if (!bars.length || !bars[at].length) return chart.replaceChildren();
    const cells = bars[at].flatMap((share, i) => {
      const chosen = lab.continuous ? "" : actions[at] === i ? "chosen" : "";
      const bar = lab.continuous
        ? h("div", {class: "signed"}, h("i", {"--value": Math.max(-1, Math.min(1, share))}))
        : h("div", {class: "share", "--share": share});
      return [h("span", {class: chosen}, lab.actions[i] ?? i), bar, h("span", {class: `figures ${chosen}`}, number(share, 2))];
    });
    const value = values[at];
    const wide = value == null ? [] : [h("span", {}, "value"),
      h("div", {class: "signed"}, h("i", {"--value": Math.max(-1, Math.min(1, value / span))})), h("span", {class: "figures"}, number(value, 2))];
    chart.replaceChildren(...cells, ...wide);
    const likely = lab.continuous ? "" : `, takes ${lab.actions[actions[at]]}`;
    chart.setAttribute("aria-label", `Step ${at}${likely}: ${bars[at].map((share, i) => `${lab.actions[i]} ${number(share, 2)}`).join(", ")}`);
  }

  function showView(seen) {
    if (!seen) return;
    if (seen.picture) {
      const picture = view.querySelector("img") ?? h("img", {alt: "What the student sees",
        onload: ({target}) => target.classList.toggle("sharp", target.naturalWidth <= target.clientWidth)}); // few pixels stay squares
      picture.src = seen.picture;
      if (!picture.isConnected) view.replaceChildren(picture);
    } else {
      const most = Math.max(1e-9, ...seen.numbers.map((one) => Math.abs(one ?? 0)));
      view.replaceChildren(h("div", {class: "numbers", role: "img", "aria-label": `Numbers: ${seen.numbers.slice(0, 12).join(", ")}`},
        ...seen.numbers.map((one) => h("i", {"--share": Math.abs(one ?? 0) / most}))));
    }
  }

  return {
    root, name, length,
    ready: (t) => t > length || !lab.frames || frames[Math.min(t, length)] !== undefined || (fetchFrom(frames.length), false),
    show(t) {
      const at = Math.min(t, length);
      if (frames[at]) frame.src = frames[at];
      else if (lab.frames) fetchFrom(frames.length);
      if (lab.frames ? frames.length < Math.min(length + 1, at + AHEAD) : views.length < Math.min(length + 1, at + AHEAD)) {
        fetchFrom(lab.frames ? frames.length : views.length);
      }
      frame.alt = `${name}, step ${at} of ${length}`;
      root.dataset.step = at;
      showView(views[at]);
      showBars(at);
      worth.textContent = `Return so far ${number(totals[at], 3)}`;
      const regret = episode.regret == null ? "" : `, regret ${number(episode.regret, 3)}`;
      end.textContent = at < length ? "" : `${episode.solved ? "Solved" : "Not solved"} after ${length} step${length === 1 ? "" : "s"}: return ${number(episode.return, 3)}${regret}`;
      end.classList.toggle("good", at >= length && episode.solved);
      end.classList.toggle("bad", at >= length && !episode.solved);
    },
  };
}
