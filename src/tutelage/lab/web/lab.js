// The lab's page: the level in the middle, and around it what is known of it, the students, and what they do.

import {ask, get} from "./api.js";
import {createBrowser} from "./browse.js";
import {byId, capital, h, later, number, percent} from "./dom.js";
import {createEditor} from "./editors.js";
import {createLive} from "./live.js";
import {createThemeToggle} from "./theme.js";
import {createWatch} from "./watch.js";

const FEW = 4; // students that are chosen at first
const DEAR = 1500; // milliseconds of scoring after which it waits to be asked
const KINDS = {random: "Random", easy: "Simplest", empty: "Empty", perfect: "Perfect", edited: "Change a little"};

const FACTS = {actions: "Fewest actions", path_of_four: "Path of four directions"};

const seedOf = () => Math.floor(Math.random() * 2 ** 31);

async function start() {
  createThemeToggle(byId("theme"));
  tabs();
  let lab;
  try {
    lab = await get("/api/lab");
  } catch (problem) {
    return tell(problem);
  }
  const count = lab.runs.length;
  byId("subtitle").textContent = `${lab.environment}, ${count} run${count === 1 ? "" : "s"}: ${lab.runs.map((run) => run.name).join(" · ")}`;
  byId("keep-said").textContent = `Kept levels go to ${lab.keep}, which is a suite: tutelage eval RUN --suite ${lab.keep}`;

  const bench = createBench(lab);
  createBrowser(byId("browse"), lab, bench);
  createLive(byId("live"), lab, bench);
  await bench.begin();
}

function tell(problem) {
  byId("problem").hidden = !problem;
  byId("problem").textContent = problem ? problem.message : "";
}

function tabs() {
  const all = [...document.querySelectorAll("[role=tab]")];
  const choose = (tab, focus) => {
    for (const one of all) {
      const chosen = one === tab;
      one.setAttribute("aria-selected", chosen);
      one.tabIndex = chosen ? 0 : -1;
      byId(one.getAttribute("aria-controls")).hidden = !chosen;
    }
    if (focus) tab.focus();
    document.dispatchEvent(new CustomEvent("tab", {detail: tab.getAttribute("aria-controls")}));
  };
  all.forEach((tab, i) => {
    tab.addEventListener("click", () => choose(tab));
    tab.addEventListener("keydown", (event) => {
      const move = {ArrowRight: 1, ArrowLeft: -1}[event.key];
      if (move) choose(all[(i + move + all.length) % all.length], true);
    });
  });
}

// The level, and all that hangs on it.
function createBench(lab) {
  let level = null; // what is sent: {text}, {fields}, or {task}
  let about = null;
  let asked = 0;
  let waiting = null;
  let automatic = true;
  const students = createStudents(lab, () => score(false));
  const editor = createEditor(byId("editor"), lab, changed);
  const watch = createWatch(lab, {level: () => level, students: () => students.chosen(), tell});

  // --- what is drawn

  const soon = later((given, done) => judge(given, {show: lab.editor.kind !== "grid", quick: !done}), 60);

  function changed(done, given = null, travelled = false) {
    if (given) return judge(given, {show: true, travelled});
    try {
      level = editor.level();
    } catch (problem) {
      asked++;
      return refuse(problem.message);
    }
    watch.levelChanged();
    soon(level, done);
  }

  // Asks what a level is; the last one asked for counts.
  async function judge(given, {show = false, travelled = false, quick = false} = {}) {
    const mine = ++asked;
    if (show || given.task) watch.levelChanged();
    waiting?.abort();
    waiting = new AbortController();
    try {
      const found = await ask("/api/level", {level: given}, waiting.signal);
      if (mine !== asked) return;
      tell(null);
      if (found.problem) return refuse(found.problem);
      about = found;
      level = given.task ? given : {text: found.text};
      if (show) editor.show(found, travelled);
      facts(given);
      if (!quick) score(false);
    } catch (problem) {
      if (problem.name !== "AbortError" && mine === asked) tell(problem);
    }
  }

  function refuse(sentence) {
    level = null;
    byId("facts").replaceChildren(fact("This level cannot be played", sentence, "wide bad"));
    students.clear();
    watch.levelChanged();
  }

  function fact(name, value, kind = "") {
    return h("div", {class: kind}, h("dt", {}, name), h("dd", {}, value));
  }

  function facts(given) {
    const {metrics, optimum, limit} = about;
    const rows = [];
    if (given.task) rows.push(fact("Held-out test", given.task, "wide"));
    if ("solvable" in metrics) rows.push(fact("Solvable", metrics.solvable ? "yes" : "no", metrics.solvable ? "good" : "bad"));
    if ("path" in metrics) rows.push(fact("Shortest path", metrics.solvable === 0 ? "none" : `${number(metrics.path)} step${metrics.path === 1 ? "" : "s"}`));
    if (lab.optimum) rows.push(fact("Optimal return", number(optimum, 3)));
    const set = (lab.editor.sliders ?? []).map((slider) => slider.name); // the sliders say it already
    for (const [name, value] of Object.entries(metrics)) {
      const words = name.replaceAll(/[-_]/g, " ");
      if (!["solvable", "path"].includes(name) && !set.includes(words)) rows.push(fact(FACTS[name] ?? capital(words), typeof value === "string" ? value : number(value, 2)));
    }
    rows.push(fact("Time limit", `${number(limit)} steps`));
    byId("facts").replaceChildren(...rows);
  }

  // --- expected scores

  let scoring = 0;
  async function score(wanted, episodes = undefined) {
    const mine = ++scoring;
    students.clear(!wanted && !automatic);
    if (!level || (!wanted && !automatic)) return;
    const given = level;
    for (const student of students.chosen()) {
      const began = performance.now();
      try {
        const found = await ask("/api/score", {student: student.id, level: given, episodes, seed: wanted ? seedOf() : 0});
        if (mine !== scoring) return;
        students.show(found);
      } catch (problem) {
        if (mine === scoring) tell(problem);
        return;
      }
      if (!wanted && performance.now() - began > DEAR) automatic = false;
    }
  }
  byId("repeat").addEventListener("click", () => {
    score(true, Math.max(1, Math.min(512, Math.round(Number(byId("repeats").value)) || 32)));
  });

  // --- where levels come from

  async function make(kind) {
    try {
      const found = await ask("/api/new", {kind, seed: seedOf(), ...(kind === "edited" ? {level} : {})});
      await judge({text: found.text}, {show: true});
    } catch (problem) {
      tell(problem);
    }
  }
  byId("makers").append(...lab.kinds.map((kind) =>
    h("button", {type: "button", onclick: () => make(kind), "data-kind": kind}, KINDS[kind] ?? kind)));

  // Held-out levels, to begin with one of them: in the editor where it can be drawn, otherwise as it is.
  async function offerSuite() {
    const name = lab.suites.includes("all") ? "all" : lab.suites[0];
    if (!name) return;
    const {tasks} = await get("/api/suite", {name});
    const select = h("select", {"aria-label": "Held-out level", id: "held-out"}, h("option", {value: ""}, "Held-out …"),
      ...tasks.map((task) => h("option", {}, task)));
    select.addEventListener("change", async () => {
      const task = select.value;
      select.value = "";
      if (!task) return;
      try {
        const found = await ask("/api/level", {level: {task}});
        await judge(found.text ? {text: found.text} : {task}, {show: Boolean(found.text)});
      } catch (problem) {
        tell(problem);
      }
    });
    byId("makers").append(select);
  }
  offerSuite().catch(tell);

  byId("keep").addEventListener("submit", async (event) => {
    event.preventDefault();
    const said = byId("keep-said");
    try {
      const name = byId("keep-name").value, comment = byId("keep-comment").value;
      const kept = await ask("/api/keep", {level, name, comment});
      said.textContent = `Kept. ${kept.file} has ${kept.levels} level${kept.levels === 1 ? "" : "s"} now.`;
      byId("keep-name").value = byId("keep-comment").value = "";
    } catch (problem) {
      said.textContent = problem.message;
    }
  });

  return {
    async begin() {
      const held = /^#text=(.+)$/.exec(location.hash)?.[1];
      let text = null;
      try {
        text = held && decodeURIComponent(held);
      } catch {
        text = null; // a link that was cut off
      }
      try {
        const first = text ? await ask("/api/level", {level: {text}}) : await ask("/api/new", {kind: "random", seed: seedOf()});
        if (first.problem) return refuse(first.problem);
        editor.show(first);
        await judge(editor.level(), {show: lab.editor.kind !== "grid"});
      } catch (problem) {
        tell(problem);
      }
    },
    // Opens a level of somewhere else: a text in the editor, or a test as it is.
    async open(given) {
      byId("tab-bench").click();
      await judge(given, {show: Boolean(given.text)});
      byId("level-panel").focus({preventScroll: true});
      byId("level-panel").scrollIntoView({block: "nearest"});
    },
    watch: () => watch.start(),
    students,
    tell,
  };
}

// The table of students: who is watched, and how each is expected to do.
function createStudents(lab, onchange) {
  const rows = new Map();
  const body = h("tbody");
  for (const run of lab.runs) {
    for (const student of run.students) {
      const check = h("input", {type: "checkbox", onchange});
      check.checked = student.newest && student.product && [...rows.values()].filter((row) => row.check.checked).length < FEW;
      const interval = h("span", {class: "interval", hidden: true});
      const bar = h("div", {class: "share", "--share": "0"}, interval);
      const solved = h("td", {class: "figures"}, "–"), mean = h("td", {class: "figures"}, "–");
      const row = h("tr", {}, h("td", {}, h("label", {}, check, h("span", {}, student.name))), h("td", {}, bar), solved, mean);
      rows.set(student.id, {student, check, bar, interval, solved, mean});
      body.append(row);
    }
  }
  byId("students").replaceChildren(h("table", {},
    h("thead", {}, h("tr", {}, ...["Student", "", "Solved", "Return"].map((name) => h("th", {scope: "col"}, name)))), body));
  const chosen = () => [...rows.values()].filter((row) => row.check.checked).map((row) => row.student);
  return {
    chosen,
    name: (id) => rows.get(id)?.student.name ?? id,
    clear(ask = false) {
      for (const row of rows.values()) {
        row.bar.style.setProperty("--share", "0");
        row.interval.hidden = true;
        row.mean.textContent = "–";
        delete row.solved.dataset.episodes;
        row.solved.textContent = ask && row.check.checked ? "not scored yet" : "–";
      }
    },
    show(found) {
      const row = rows.get(found.student);
      row.bar.style.setProperty("--share", found.solved);
      row.interval.hidden = false;
      row.interval.style.setProperty("--low", found.low);
      row.interval.style.setProperty("--high", found.high);
      row.solved.textContent = `${percent(found.solved)} (${Math.round(found.low * 100)}–${percent(found.high)})`;
      row.solved.title = `${found.episodes} episodes, with a 95% interval`;
      row.solved.dataset.episodes = found.episodes;
      row.mean.textContent = number(found.return, 3);
    },
  };
}

start();
