// Levels to choose from: buffers, families of levels, suites, levels on which students differ, and kept ones.

import {ask, get} from "./api.js";
import {h, number, percent} from "./dom.js";

// A picture of a level to click on.
export function levelCard(card, lines, open, kind = "") {
  return h("button", {type: "button", class: `level-card ${kind}`, onclick: open},
    card.picture ? drawn(card) : null,
    ...lines.map((line) => h("span", {class: "small"}, line)));
}

const drawn = (card) => h("img", {src: card.picture, alt: card.text ?? "A level"});

// Asks for levels one after another, as some are dear to draw, and hands each place what was found of its own. Stops
// when the places are gone.
async function eachLevel(places) {
  for (const {place, level, show} of places) {
    if (!place.isConnected) return;
    show(await ask("/api/level", {level}));
  }
}

// Puts the picture of a level, where it can be drawn, into a card that had to do without.
const pictured = (place, level) => ({place, level, show: (about) => { if (about.picture) place.prepend(drawn(about)); }});

export function createBrowser(root, lab, bench) {
  const said = h("p", {class: "bad", role: "alert"});
  const panel = (title, controls, body) => h("section", {class: "panel stack", "aria-label": title},
    h("div", {class: "bar"}, h("h2", {}, title), h("div", {class: "row"}, ...controls)), body);
  const select = (label, options) => h("select", {"aria-label": label}, ...options.map(([value, name]) => h("option", {value}, name)));
  const guarded = (act) => async (...given) => {
    said.textContent = "";
    try {
      await act(...given);
    } catch (problem) {
      said.textContent = problem.message;
    }
  };
  const open = (card) => () => bench.open(card.text ? {text: card.text} : {task: card.task});

  // --- the buffer, and where a level came from

  const keeping = lab.runs.map((one, i) => [i, one]).filter(([, one]) => one.keeps);
  const run = select("Run", keeping.map(([i, one]) => [i, one.name]));
  const order = select("Order", [["best", "highest scores"], ["newest", "newest"]]);
  const buffer = h("ul", {class: "gallery", id: "buffer"}), family = h("div", {class: "stack", id: "family", tabindex: "-1"});
  const held = h("p", {class: "small muted"});
  const showBuffer = guarded(async () => {
    buffer.replaceChildren();
    family.replaceChildren();
    if (!keeping.length) {
      held.textContent = "None of these runs keeps levels: their methods have no buffer.";
      return;
    }
    const found = await get("/api/buffer", {run: run.value, student: 0, order: order.value, number: 24});
    held.textContent = `${found.size} levels after ${number(found.iteration)} iterations.`;
    buffer.replaceChildren(...found.levels.map((card) => h("li", {},
      levelCard(card, [`score ${number(card.score, 3)}, after ${card.generation} edit${card.generation === 1 ? "" : "s"}`], open(card)),
      h("button", {type: "button", class: "small", onclick: () => showFamily(run.value, card.id)}, "Lineage"))));
  });
  const showFamily = guarded(async (index, id) => {
    const found = await get("/api/lineage", {run: index, student: 0, level: id});
    const nodes = new Map(found.nodes.map((node) => [node.id, node]));
    const branch = (node) => h("li", {},
      levelCard(node, [`${node.generation ? `edit ${node.generation}` : "generated"}, score ${number(node.score, 3)}`], open(node), node.id === found.level ? "this" : ""),
      ...children(node.id));
    const children = (id) => {
      const mine = found.nodes.filter((node) => node.parent === id && node.id !== id);
      return mine.length ? [h("ul", {}, ...mine.map(branch))] : [];
    };
    const gone = found.missing ? `${found.missing} earlier ancestor${found.missing === 1 ? " has" : "s have"} left the buffer. ` : "";
    const more = found.left_out > 0 ? `${found.left_out} more relatives are not shown.` : "";
    family.replaceChildren(h("h3", {}, "Lineage"), h("p", {class: "small muted"}, `${gone}${more}` || "The whole family is still in the buffer."),
      h("div", {class: "scroll"}, h("ul", {class: "tree"}, branch(nodes.get(found.root)))));
    family.focus({preventScroll: true});
    family.scrollIntoView({block: "nearest"});
  });
  run.addEventListener("change", showBuffer);
  order.addEventListener("change", showBuffer);

  // --- suites

  const suite = select("Suite", lab.suites.map((name) => [name, name]));
  const tests = h("ul", {class: "gallery", id: "tests"});
  const showSuite = guarded(async () => {
    const found = await get("/api/suite", {name: suite.value});
    const places = found.tasks.map((task) => {
      const place = h("li", {}, h("span", {class: "small"}, task));
      const show = (about) => place.replaceChildren(
        levelCard(about, [task], open({task, ...about})),
        h("button", {type: "button", class: "small", onclick: () => bench.open({task})}, "Under its own rules"));
      return {place, level: {task}, show};
    });
    tests.replaceChildren(...places.map(({place}) => place));
    await eachLevel(places);
  });
  suite.addEventListener("change", showSuite);

  // --- where they differ

  const differ = h("div", {class: "stack", id: "differ"});
  const search = h("button", {type: "button"}, "Search new levels");
  const recorded = h("button", {type: "button"}, "By recorded tests");
  search.addEventListener("click", guarded(async () => {
    const students = bench.students.chosen();
    differ.replaceChildren(h("p", {class: "muted"}, "Playing …"));
    const found = await ask("/api/differing", {students: students.map((one) => one.id), seed: Math.floor(Math.random() * 2 ** 31)});
    differ.replaceChildren(h("ul", {class: "gallery"}, ...found.levels.map((card) => h("li", {},
      levelCard(card, Object.entries(card.returns).map(([id, value]) => `${bench.students.name(id)}: ${number(value, 2)}`), open(card))))));
  }));
  recorded.addEventListener("click", guarded(async () => {
    const {tasks} = await get("/api/differences");
    if (!tasks.length) return differ.replaceChildren(h("p", {class: "muted"}, "The runs have no tests in common that several methods were evaluated on."));
    const cards = tasks.map((row) => {
      const rates = Object.entries(row.solved).map(([method, rate]) => `${method}: ${percent(rate)}`);
      return levelCard({}, [`${row.task} (${row.suite})`, ...rates], () => bench.open({task: row.task}));
    });
    differ.replaceChildren(h("ul", {class: "gallery"}, ...cards.map((card) => h("li", {}, card))));
    await eachLevel(cards.map((card, i) => pictured(card, {task: tasks[i].task})));
  }));

  // --- kept

  const kept = h("ul", {class: "gallery", id: "kept"});
  const showKept = guarded(async () => {
    const found = await get("/api/kept");
    const cards = found.levels.map((entry) => h("button", {type: "button", class: "level-card", onclick: () => bench.open({text: entry.text})},
      h("strong", {}, entry.name), h("span", {class: "small"}, entry.comment)));
    kept.replaceChildren(...(cards.length ? cards.map((card) => h("li", {}, card)) : [h("li", {class: "muted"}, "Nothing was kept yet.")]));
    await eachLevel(cards.map((card, i) => pictured(card, {text: found.levels[i].text})));
  });

  root.replaceChildren(said,
    panel("What a buffer holds", keeping.length ? [run, order, h("button", {type: "button", onclick: showBuffer}, "Show")] : [], h("div", {class: "stack"}, held, buffer, family)),
    panel("Where students differ", [search, recorded], differ),
    panel("Held-out suites", [suite, h("button", {type: "button", onclick: showSuite}, "Show")], tests),
    panel(`Kept in ${lab.keep}`, [h("button", {type: "button", onclick: showKept}, "Show")], kept));
  let opened = false;
  document.addEventListener("tab", (event) => {
    if (event.detail !== "browse") return;
    showKept();
    if (!opened) showBuffer();
    opened = true;
  });
}
