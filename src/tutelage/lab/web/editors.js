// The editor that fits an environment's levels. All have the same face:
//
//   createEditor(root, lab, onchange) -> {show(about), level()}
//
// `show` takes what /api/level says of a level; `level` is what to send back: {text} or {fields}. It throws an Error
// with a sentence if what was filled in is no level at all; what was filled in then stays.
// `onchange` is called after every change, with whether it is complete.

import {h} from "./dom.js";
import {createGridEditor} from "./grid-editor.js";
import {copyText} from "./level-link.js";
import {createTrackEditor} from "./track-editor.js";

export function createEditor(root, lab, onchange) {
  const makers = {grid: gridEditor, track: trackEditor, sliders: sliderEditor, fields: fieldEditor};
  return makers[lab.editor.kind](root, lab, onchange);
}

function gridEditor(root, lab, onchange) {
  const {palette, border, words, smallest, largest, together} = lab.editor;
  let editor = null;
  const note = h("p", {class: "small muted"});
  const place = h("div");
  const size = h("input", {type: "number", min: smallest, max: largest, "aria-label": "Cells a side, with the border"});
  const resize = h("button", {type: "button"}, "Resize");
  resize.addEventListener("click", () => {
    const side = Math.max(smallest, Math.min(largest, Math.round(Number(size.value)) || smallest));
    editor.setText(resized(editor.getText(), side, palette, border));
  });
  root.replaceChildren(place, ...(smallest ? [h("div", {class: "row"}, h("label", {}, "Side", size), resize)] : []), note);
  return {
    show(about) {
      if (!about.text) return;
      if (!editor) {
        editor = createGridEditor(place, {
          palette, border, words, together, text: about.text, name: lab.environment, onchange: (text, done) => onchange(done),
        });
      } else {
        editor.setText(about.text);
      }
      size.value = about.text.split("\n").length;
    },
    level: () => ({text: editor.getText()}),
    sized() {
      if (smallest) size.value = editor.getText().split("\n").length;
    },
  };
}

// A text of another size: what fits is kept, and what there has to be exactly one of is put back.
export function resized(text, side, palette, border) {
  const old = text.split("\n").map((line) => [...line]);
  const floor = palette[0].char;
  const rows = Array.from({length: side}, (_, y) => Array.from({length: side}, (_, x) => {
    if (x === 0 || y === 0 || x === side - 1 || y === side - 1) return border || (old[y]?.[x] ?? floor);
    const inner = y < old.length - 1 && x < old[0].length - 1 ? old[y][x] : floor;
    return inner;
  }));
  for (const entry of palette.filter((one) => one.unique)) {
    const forms = entry.directions ?? [entry.char];
    if (rows.some((row) => row.some((cell) => forms.includes(cell)))) continue;
    const start = entry.directions ? [1, 1] : [side - 2, side - 2];
    const taken = (cell) => palette.some((one) => one.unique && (one.directions ?? [one.char]).includes(cell));
    let [x, y] = start;
    while (taken(rows[y][x])) {
      x = 1 + (x % (side - 2));
      if (x === start[0]) y = 1 + (y % (side - 2));
    }
    rows[y][x] = forms[0];
  }
  return rows.map((row) => row.join("")).join("\n");
}

// Undo, and copying as text and as link, for editors that do not draw grids.
function withHistory(root, body, onchange) {
  const past = [], future = [];
  let now = null;
  const button = (text, act) => h("button", {type: "button", onclick: act}, text);
  const undo = button("Undo", () => travel(past, future)), redo = button("Redo", () => travel(future, past));
  const text = h("textarea", {rows: 3, "aria-label": "The level as text", spellcheck: "false"});
  const said = h("p", {class: "grid-status", role: "status"});
  const use = button("Use this text", () => onchange(true, {text: text.value}));
  const copy = button("Copy", async () => {
    said.textContent = (await copyText(text.value)) ? "Copied as text." : "Copy it from below.";
  });
  const paste = button("Paste", async () => {
    try {
      onchange(true, {text: await navigator.clipboard.readText()});
    } catch { // the browser does not let pages read the clipboard
      details.open = true;
      text.focus();
      text.select();
      said.textContent = "Paste the text below, then choose “Use this text”.";
    }
  });
  const link = button("Link", async () => {
    const address = new URL(location.href);
    address.hash = `text=${encodeURIComponent(text.value)}`;
    history.replaceState(null, "", address);
    said.textContent = (await copyText(address.href)) ? "Copied a link to this level." : "The address now holds this level.";
  });
  function travel(from, to) {
    if (!from.length) return;
    to.push(now);
    onchange(true, from.pop(), true);
  }
  const details = h("details", {class: "grid-text"}, h("summary", {}, "As text"), text, use);
  root.classList.add("stack");
  root.replaceChildren(h("div", {class: "row"}, undo, redo, copy, paste, link), body, said, details);
  root.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.target === text) return;
    const key = event.key.toLowerCase();
    if (key !== "z" && key !== "y") return;
    event.preventDefault();
    if (key === "y" || event.shiftKey) travel(future, past);
    else travel(past, future);
  });
  return {
    shown(about, travelled) {
      if (now && !travelled && now.text !== about.text) {
        past.push(now);
        future.length = 0;
      }
      now = {text: about.text};
      text.value = about.text ?? "";
      undo.disabled = !past.length;
      redo.disabled = !future.length;
      said.textContent = "";
    },
  };
}

function trackEditor(root, lab, onchange) {
  const body = h("div", {class: "stack"});
  const past = withHistory(root, body, onchange);
  const track = createTrackEditor(body, lab.editor.reach, (done) => onchange(done));
  return {
    show(about, travelled) {
      past.shown(about, travelled);
      track.show(about.outline);
    },
    level: () => ({text: track.text()}),
  };
}

function sliderEditor(root, lab, onchange) {
  const {vector, sliders, pairs, seed, switch: flip} = lab.editor;
  let fields = null;
  const body = h("div", {class: "stack"});
  const past = withHistory(root, body, onchange);
  const picture = h("img", {class: "terrain", alt: ""});
  const inputs = sliders.map((one, index) => {
    const output = h("output", {class: "figures"});
    const input = h("input", {type: "range", min: one.low, max: one.high, step: one.step});
    input.addEventListener("input", () => {
      const values = fields[vector];
      values[index] = Number(input.value);
      for (const [low, high] of pairs) {
        if (values[low] > values[high]) values[index === low ? high : low] = values[index];
      }
      refresh();
      onchange(false);
    });
    input.addEventListener("change", () => onchange(true));
    return {input, output, label: h("label", {}, one.name, input, output)};
  });
  const number = h("input", {type: "number", min: 0, max: 2147483647, "aria-label": "Seed of the terrain"});
  number.addEventListener("change", () => {
    fields[seed] = Math.max(0, Math.min(2147483647, Math.round(Number(number.value)) || 0));
    onchange(true);
  });
  const another = h("button", {type: "button"}, "Another seed");
  another.addEventListener("click", () => {
    fields[seed] = Math.floor(Math.random() * 2147483647);
    onchange(true);
  });
  const check = h("input", {type: "checkbox"});
  check.addEventListener("change", () => {
    fields[flip] = check.checked;
    onchange(true);
  });
  body.replaceChildren(
    picture, h("div", {class: "sliders"}, ...inputs.map((one) => one.label)),
    h("div", {class: "row"}, ...(seed ? [h("label", {}, "Seed", number), another] : []),
      ...(flip ? [h("label", {}, check, flip)] : [])));
  function refresh() {
    inputs.forEach(({input, output}, i) => {
      input.value = fields[vector][i];
      output.textContent = String(Math.round(fields[vector][i] * 100) / 100);
    });
    if (seed) number.value = fields[seed];
    if (flip) check.checked = fields[flip];
  }
  return {
    show(about, travelled) {
      past.shown(about, travelled);
      fields = structuredClone(about.fields);
      refresh();
      if (about.picture) picture.src = about.picture;
      picture.alt = about.text;
    },
    level: () => ({fields}),
  };
}

// A form with the level's arrays, each as JSON.
function fieldEditor(root, lab, onchange) {
  const body = h("div", {class: "fields"});
  const past = withHistory(root, body, onchange);
  const inputs = Object.entries(lab.fields).map(([name, {shape, dtype}]) => {
    const flag = dtype === "bool" && !shape.length;
    const input = flag ? h("input", {type: "checkbox"})
      : shape.length ? h("textarea", {rows: 3, spellcheck: "false"})
      : h("input", {type: "text", inputmode: "decimal", autocomplete: "off"});
    // What somebody is about to fill in is not written over by an answer to an earlier change.
    input.addEventListener("input", () => { input.dataset.edited = "yes"; });
    input.addEventListener("change", () => {
      delete input.dataset.edited;
      onchange(true);
    });
    return {name, input, label: h("label", {}, `${name} (${dtype}${shape.length ? `, ${shape.join(" × ")}` : ""})`, input)};
  });
  body.replaceChildren(...inputs.map((one) => one.label));
  function valueOf({name, input}) {
    if (input.type === "checkbox") return input.checked;
    try {
      return JSON.parse(input.value);
    } catch {
      throw new Error(`The field '${name}' is not JSON; write a number, or a list of numbers in square brackets.`);
    }
  }
  return {
    show(about, travelled) {
      past.shown(about, travelled);
      for (const {name, input} of inputs.filter((one) => !one.input.dataset.edited)) {
        if (input.type === "checkbox") input.checked = about.fields[name];
        else input.value = JSON.stringify(about.fields[name]);
      }
    },
    level: () => ({fields: Object.fromEntries(inputs.map((one) => [one.name, valueOf(one)]))}),
  };
}
