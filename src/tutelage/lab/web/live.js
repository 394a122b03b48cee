// Runs in training: curves from their own records, and the newest levels of their buffers.

import {get} from "./api.js";
import {levelCard} from "./browse.js";
import {h, number, percent, svg} from "./dom.js";

const CHARTS = [
  {name: "Held-out solved", of: "evaluations", key: "solved", most: 1},
  {name: "Training solved", of: "metrics", key: "solved", most: 1},
  {name: "Training return", of: "metrics", key: "return"},
  {name: "Regret", of: "metrics", key: "regret"},
  {name: "Buffer score", of: "metrics", key: "buffer/score"},
];
const WIDE = 420, HIGH = 210, LEFT = 44, BOTTOM = 26, TOP = 10, RIGHT = 10;

const short = (steps) => (steps >= 1e6 ? `${number(steps / 1e6, 2)}M` : steps >= 1e4 ? `${number(steps / 1e3, 0)}k` : number(steps, 0));

export function createLive(root, lab, bench) {
  const runs = lab.runs.map(() => ({metrics: [], evaluations: [], checkpoint: 0, training: false}));
  const state = h("p", {class: "muted", role: "status"}, "Not looking.");
  const table = h("tbody"), charts = h("div", {class: "charts"}), newest = h("div", {class: "stack", id: "newest"});
  if (!lab.runs.some((run) => run.keeps)) newest.append(h("p", {class: "small muted"}, "None of these runs keeps levels: their methods have no buffer."));
  const legend = h("div", {class: "legend small"}, ...lab.runs.map((run, i) => h("span", {class: `line-${i % 6}`}, h("i"), run.name)));
  root.replaceChildren(
    h("section", {class: "panel stack", "aria-label": "Runs"}, h("div", {class: "bar"}, h("h2", {}, "Runs"), state),
      h("div", {class: "scroll"}, h("table", {}, h("thead", {}, h("tr", {},
        ...["Run", "State", "Steps", "Steps a second", "Held-out solved", "Checkpoint"].map((name) => h("th", {scope: "col"}, name)))), table))),
    h("section", {class: "panel stack", "aria-label": "Curves"}, h("div", {class: "bar"}, h("h2", {}, "Curves"), legend), charts),
    h("section", {class: "panel stack", "aria-label": "Newest levels"}, h("h2", {}, "Newest levels"), newest));

  let source = null, drawing = 0;
  document.addEventListener("tab", (event) => (event.detail === "live" ? follow() : leave()));

  function leave() {
    source?.close();
    source = null;
    state.textContent = "Not looking.";
  }

  function follow() {
    if (source) return;
    for (const run of runs) Object.assign(run, {metrics: [], evaluations: []});
    source = new EventSource("/api/live");
    state.textContent = "Connecting …";
    source.onopen = () => { state.textContent = "Following the runs’ records."; };
    source.onerror = () => { state.textContent = "Connection lost; trying again …"; };
    source.onmessage = (event) => {
      const news = JSON.parse(event.data);
      const run = runs[news.run];
      run.metrics.push(...news.metrics);
      run.evaluations.push(...news.evaluations);
      if (run.metrics.length > 4000) run.metrics = run.metrics.filter((_, i) => i % 2);
      const moved = news.checkpoint !== run.checkpoint;
      Object.assign(run, {checkpoint: news.checkpoint, training: news.training});
      if (moved) showNewest(news.run);
      cancelAnimationFrame(drawing);
      drawing = requestAnimationFrame(draw);
    };
  }

  async function showNewest(index) {
    if (!lab.runs[index].keeps) return;
    const id = `newest-${index}`;
    const place = newest.querySelector(`[data-run="${index}"]`) ?? newest.appendChild(h("div", {"data-run": index, class: "stack", id}));
    try {
      const found = await get("/api/buffer", {run: index, student: 0, order: "newest", number: 6});
      place.replaceChildren(h("h3", {}, lab.runs[index].name), h("ul", {class: "gallery"}, ...found.levels.map((card) => h("li", {},
        levelCard(card, [`score ${number(card.score, 3)}, edit ${card.generation}`], () => bench.open({text: card.text}))))));
    } catch (problem) {
      place.replaceChildren(h("p", {class: "small muted"}, `${lab.runs[index].name}: ${problem.message}`));
    }
  }

  function draw() {
    table.replaceChildren(...runs.map((run, i) => {
      const last = run.metrics.at(-1) ?? {}, test = run.evaluations.at(-1);
      const done = (last.iteration ?? 0) >= lab.runs[i].iterations;
      const cells = [lab.runs[i].name, done ? "finished" : run.training ? "training" : "stopped", number(last.steps ?? 0),
        number(last.steps_per_second, 0), test ? `${percent(test.solved)} of ${test.suite}` : "–", number(run.checkpoint)];
      return h("tr", {"data-run": i}, ...cells.map((cell) => h("td", {class: "figures"}, cell)));
    }));
    charts.replaceChildren(...CHARTS.map(chartOf).filter(Boolean));
  }

  function chartOf({name, of, key, most}) {
    const lines = runs.map((run) => run[of].filter((one) => one[key] != null).map((one) => [one.steps, one[key]]));
    const all = lines.flat();
    if (!all.length) return null;
    const right = Math.max(...all.map(([x]) => x), 1);
    const low = Math.min(0, ...all.map(([, y]) => y)), high = most ?? Math.max(1e-9, ...all.map(([, y]) => y));
    const x = (value) => LEFT + (value / right) * (WIDE - LEFT - RIGHT);
    const y = (value) => TOP + (1 - (value - low) / (high - low || 1)) * (HIGH - TOP - BOTTOM);
    const marks = [low, (low + high) / 2, high];
    const drawn = svg("svg", {viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": `${name} over steps`},
      ...marks.map((value) => svg("line", {class: "rule", x1: LEFT, x2: WIDE - RIGHT, y1: y(value), y2: y(value)})),
      ...marks.map((value) => svg("text", {x: LEFT - 6, y: y(value) + 4, "text-anchor": "end"}, number(value, 3))),
      svg("line", {class: "axis", x1: LEFT, x2: WIDE - RIGHT, y1: HIGH - BOTTOM, y2: HIGH - BOTTOM}),
      svg("text", {x: WIDE - RIGHT, y: HIGH - 8, "text-anchor": "end"}, `${short(right)} steps`),
      ...lines.map((line, i) => svg("path", {class: `line line-${i % 6}`,
        d: line.length ? `M${line.map(([a, b]) => `${x(a).toFixed(1)} ${y(b).toFixed(1)}`).join("L")}${line.length === 1 ? "h0.01" : ""}` : ""})));
    const last = lines.map((line, i) => (line.length ? `${lab.runs[i].name} ${number(line.at(-1)[1], 3)}` : "")).filter(Boolean).join(", ");
    return h("figure", {class: "chart"}, h("figcaption", {}, h("strong", {}, name), h("span", {class: "small muted"}, ` ${last}`)), drawn);
  }
}
