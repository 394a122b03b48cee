// Levels to choose from: buffers, families of levels, suites, levels on which students differ, and kept ones.

import {ask, get} from "./api.js";
import {h, number, percent} from "./dom.js";

// A picture of a level to click on.
export function levelCard(card, lines, open, kind = "") {
  return h("button", {type: "button", class: `level-card ${kind}`, onclick: open},
    card.picture ? h("img", {src: card.picture, alt: card.text ?? "A level"}) : null,
    ...lines.map((line) => h("span", {class: "small"}, line)));
}

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
  let shown = 0;
  const showSuite = guarded(async () => {
    const mine = ++shown;
    const found = await get("/api/suite", {name: suite.value});
    tests.replaceChildren(...found.tasks.map((task) => h("li", {}, h("span", {class: "small"}, task))));
    for (const [i, task] of found.tasks.entries()) {
      const card = {task, ...(await ask("/api/level", {level: {task}}))};
      if (mine !== shown) return;
      tests.children[i].replaceChildren(
        levelCard(card, [task], open(card)),
        h("button", {type: "button", class: "small", onclick: () => bench.open({task})}, "Under its own rules"));
    }
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
    const methods = [...new Set(tasks.flatMap((row) => Object.keys(row.solved)))];
    differ.replaceChildren(h("div", {class: "scroll"}, h("table", {},
      h("thead", {}, h("tr", {}, ...["Test", "Suite", ...methods, ""].map((name) => h("th", {scope: "col"}, name)))),
      h("tbody", {}, ...tasks.map((row) => h("tr", {}, h("td", {}, row.task), h("td", {}, row.suite),
        ...methods.map((method) => h("td", {class: "figures"}, percent(row.solved[method]))),
        h("td", {}, h("button", {type: "button", onclick: () => bench.open({task: row.task})}, "Open"))))))));
  }));

  // --- kept

  const kept = h("ul", {class: "gallery", id: "kept"});
  const showKept = guarded(async () => {
    const found = await get("/api/kept");
    const cards = found.levels.map((entry) => h("li", {}, h("button", {type: "button", class: "level-card", onclick: () => bench.open({text: entry.text})},
      h("strong", {}, entry.name), h("span", {class: "small"}, entry.comment))));
    kept.replaceChildren(...(cards.length ? cards : [h("li", {class: "muted"}, "Nothing was kept yet.")]));
  });

  root.replaceChildren(said,
    panel("What a buffer holds", [run, order, h("button", {type: "button", onclick: showBuffer}, "Show")], h("div", {class: "stack"}, held, buffer, family)),
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
