// An editor for levels that are grids: draw and erase with mouse, touch or keyboard.
//
//   const editor = createGridEditor(root, {rows, cols, palette, text, onchange, border, words, link, name});
//   editor.getText(); editor.setText(text); editor.undo(); editor.redo(); editor.setOverlay({path, agent}); editor.destroy();
//
// The text is the domain's own: a line for each row and a character for each cell or, with `words`, a word for each cell
// with spaces between. Without a text the grid is empty, of so many rows and columns, all of it counted.
//
// palette   [{char, name, colour, unique, directions, variants, shape}], see formsOf in grid-draw.js. The first is the
//           floor, which is what erasing leaves. A unique entry (the goal, the agent) is there at most once: placing it
//           moves it, and it cannot be drawn over or erased.
// onchange  called with the text after every change, and whether the change is complete (false within a stroke). Not
//           called for the first level, which may be one that the page's address holds: getText() has it.
// border    the character of an outer ring that cannot be changed, if there is one.
// together  pairs of characters that occur together, of two entries: drawing one turns the other entry to its partner.
// link      whether a level in the page's address is opened, and a button makes such an address (default true).
// name      what is drawn, for screen readers ("maze").
//
// Overlay: path is a list of [column, row], agent is {x, y, direction}.

import {colourOf, drawAgent, drawCells, drawPath, fit, formsOf} from "./grid-draw.js";
import {copyText, decodeLevel, levelInHash, linkTo} from "./level-link.js";

const MOST_UNDONE = 500;
let editors = 0;

export function createGridEditor(root, options) {
  const {palette, onchange = () => {}, border = "", words = false, link = true, name = "level", together = []} = options;
  const forms = formsOf(palette);
  const known = new Map(forms.map((form) => [form.char, form]));
  const floor = forms[0].char;
  const number = ++editors;
  const listening = new AbortController();
  const listen = (target, type, act, more = {}) =>
    target.addEventListener(type, act, {signal: listening.signal, ...more});

  let cells = options.text ? parse(options.text) : blank(options.rows, options.cols);
  let past = [], future = [];
  const chosenForms = palette.map((_, entry) => forms.find((form) => form.entry === entry)); // the last of each entry
  let tool = chosenForms[Math.min(1, palette.length - 1)];
  let cursor = [border ? 1 : 0, border ? 1 : 0];
  let overlay = {};
  let stroke = null;

  const view = build(root, {palette, forms, link, name, number});
  const colour = (text) => colourOf(view.canvas, text);

  // --- text

  function blank(rows, columns) {
    const edge = (x, y) => border && (x === 0 || y === 0 || x === columns - 1 || y === rows - 1);
    return Array.from({length: rows}, (_, y) => Array.from({length: columns}, (_, x) => (edge(x, y) ? border : floor)));
  }

  function parse(text) {
    const lines = text.replace(/^\s*\n|\s+$/g, "").split("\n").map((line) => line.trim());
    return checked(lines.map((line) => (words ? line.split(/\s+/) : [...line])));
  }

  function checked(rows) {
    const wide = rows[0].length;
    if (!wide) throw new Error("Row 1 has 0 cells; draw at least one.");
    const seen = new Map();
    rows.forEach((row, y) => {
      if (row.length !== wide) {
        throw new Error(`Row ${y + 1} has ${row.length} cells and row 1 has ${wide}; make all rows equally long.`);
      }
      row.forEach((char, x) => {
        const form = known.get(char);
        if (!form) {
          const all = forms.map((one) => `'${one.char}'`).join(", ");
          throw new Error(`Row ${y + 1}, column ${x + 1} is '${char}'; allowed are ${all}.`);
        }
        if (isEdge(rows, x, y) && char !== border) {
          throw new Error(`Row ${y + 1}, column ${x + 1} is '${char}', but the outer ring is all '${border}'.`);
        }
        if (!palette[form.entry].unique) return;
        if (seen.has(form.entry)) {
          throw new Error(`There is a second ${palette[form.entry].name} in row ${y + 1}, column ${x + 1}; keep one.`);
        }
        seen.set(form.entry, true);
      });
    });
    return rows;
  }

  function isEdge(rows, x, y) {
    return Boolean(border) && (x === 0 || y === 0 || x === rows[0].length - 1 || y === rows.length - 1);
  }

  function toText() {
    if (!words) return cells.map((row) => row.join("")).join("\n");
    const widest = Math.max(...forms.map((form) => form.char.length));
    return cells.map((row) => row.map((word) => word.padEnd(widest)).join(" ").trimEnd()).join("\n");
  }

  // --- changes

  const copyOf = (rows) => rows.map((row) => [...row]);
  const isUnique = (char) => Boolean(palette[known.get(char).entry].unique);
  const nameOf = (char) => known.get(char).name;

  function remember(before) {
    past = [...past, before].slice(-MOST_UNDONE);
    future = [];
  }

  function changed(done = true) {
    refresh();
    onchange(toText(), done);
  }

  function refresh() {
    view.undo.disabled = !past.length;
    view.redo.disabled = !future.length;
    if (document.activeElement !== view.text) view.text.value = toText();
    cursor = [Math.min(cursor[0], cells[0].length - 1), Math.min(cursor[1], cells.length - 1)];
    view.canvas.setAttribute("aria-label", `The ${name}: ${cells[0].length} columns, ${cells.length} rows`);
    draw();
  }

  function replaceAll(rows) {
    remember(cells);
    cells = rows;
    overlay = {};
  }

  function travel(from, to) {
    if (!from.length) return;
    to.push(cells);
    cells = from.pop();
    changed();
  }
  const undo = () => travel(past, future);
  const redo = () => travel(future, past);

  function replaceForms(rows, entry, char) {
    rows.forEach((row, y) => row.forEach((other, x) => {
      if (known.get(other).entry === entry) rows[y][x] = char;
    }));
  }

  // Puts a form on a cell of `rows`, or says why that cannot be.
  function put(rows, x, y, char) {
    if (isEdge(rows, x, y)) return "The outer ring cannot be changed.";
    const there = rows[y][x];
    const entry = known.get(char).entry;
    if (isUnique(there) && known.get(there).entry !== entry) {
      return `The ${palette[known.get(there).entry].name} is here; move it away first.`;
    }
    if (isUnique(char)) replaceForms(rows, entry, floor);
    rows[y][x] = char;
    for (const pair of together.filter((one) => one.includes(char))) {
      const partner = pair.find((other) => other !== char);
      replaceForms(rows, known.get(partner).entry, partner);
    }
    return "";
  }

  function nextForm(char) {
    const same = forms.filter((form) => form.entry === known.get(char).entry);
    return same[(same.findIndex((form) => form.char === char) + 1) % same.length].char;
  }

  function place(x, y, char) {
    const before = cells;
    cells = copyOf(cells);
    const problem = put(cells, x, y, char);
    if (problem) {
      cells = before;
      return say(problem);
    }
    remember(before);
    changed();
    describe();
  }

  // Turns what stands on a cell, or else the tool itself.
  function turn() {
    const [x, y] = cursor;
    const own = forms.filter((form) => form.entry === tool.entry).map((form) => form.char);
    let at = nextForm(cells[y][x]) !== cells[y][x] ? [x, y] : null;
    if (!at && isUnique(tool.char)) {
      cells.forEach((row, b) => row.forEach((char, a) => { if (own.includes(char)) at = [a, b]; }));
    }
    const char = nextForm(at ? cells[at[1]][at[0]] : tool.char);
    if (at) place(...at, char);
    chosenForms[known.get(char).entry] = known.get(char);
    choose(own.includes(char) ? known.get(char) : tool);
  }

  function choose(form) {
    tool = chosenForms[form.entry] = form;
    view.chosen(form, chosenForms);
  }

  // --- pointer

  function cellAt(event) {
    const box = view.canvas.getBoundingClientRect();
    const x = Math.floor(((event.clientX - box.left) / box.width) * cells[0].length);
    const y = Math.floor(((event.clientY - box.top) / box.height) * cells.length);
    return [Math.max(0, Math.min(cells[0].length - 1, x)), Math.max(0, Math.min(cells.length - 1, y))];
  }

  listen(view.canvas, "pointerdown", (event) => {
    if (stroke || (event.button !== 0 && event.button !== 2)) return;
    const [x, y] = cellAt(event);
    const there = cells[y][x];
    view.canvas.setPointerCapture(event.pointerId);
    view.canvas.focus({preventScroll: true});
    event.preventDefault();
    const erase = event.button === 2 || event.shiftKey || there === tool.char;
    stroke = {id: event.pointerId, before: cells, last: [x, y], char: erase ? floor : tool.char, held: "", moved: false};
    if (isUnique(there)) stroke.held = there;
    else if (isUnique(tool.char)) Object.assign(stroke, {held: tool.char, moved: true});
    cells = copyOf(cells);
    follow(x, y);
  });

  listen(view.canvas, "pointermove", (event) => {
    if (event.pointerId !== stroke?.id) return;
    const [x, y] = cellAt(event);
    if (x === stroke.last[0] && y === stroke.last[1]) return;
    stroke.moved = true;
    follow(x, y);
  });

  // The stroke goes on to a cell. All cells between are drawn too: a quick finger skips some.
  function follow(x, y) {
    const [fromX, fromY] = stroke.last;
    stroke.last = cursor = [x, y];
    if (stroke.held) {
      const rows = copyOf(stroke.before);
      if (!put(rows, x, y, stroke.held)) cells = rows;
    } else {
      const steps = Math.max(1, Math.abs(x - fromX), Math.abs(y - fromY));
      for (let i = 0; i <= steps; i++) {
        const a = Math.round(fromX + ((x - fromX) * i) / steps), b = Math.round(fromY + ((y - fromY) * i) / steps);
        if (!isUnique(cells[b][a])) put(cells, a, b, stroke.char);
      }
    }
    changed(false);
  }

  listen(view.canvas, "pointerup", (event) => {
    if (event.pointerId !== stroke?.id) return;
    const {before, held, moved, last} = stroke;
    stroke = null;
    if (held && !moved) put(cells, ...last, nextForm(held)); // a click on the agent turns it
    if (toString(before) !== toString(cells)) {
      remember(before);
      changed();
    }
  });
  const toString = (rows) => rows.map((row) => row.join(" ")).join("\n");

  for (const type of ["pointercancel", "lostpointercapture"]) {
    listen(view.canvas, type, (event) => {
      if (event.pointerId !== stroke?.id) return;
      cells = stroke.before;
      stroke = null;
      changed();
    });
  }
  listen(view.canvas, "contextmenu", (event) => event.preventDefault());

  // --- keyboard and clipboard

  const MOVES = {ArrowRight: [1, 0], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowUp: [0, -1]};

  listen(view.canvas, "keydown", (event) => {
    if (event.ctrlKey || event.metaKey) {
      const key = event.key.toLowerCase();
      if (key !== "z" && key !== "y") return;
      event.preventDefault();
      return key === "y" || event.shiftKey ? redo() : undo();
    }
    if (event.altKey) return;
    const [x, y] = cursor;
    if (MOVES[event.key]) {
      const low = border ? 1 : 0;
      const within = (value, length) => Math.max(low, Math.min(length - 1 - low, value));
      const [dx, dy] = MOVES[event.key];
      cursor = [within(x + dx, cells[0].length), within(y + dy, cells.length)];
      if (event.shiftKey && !isUnique(tool.char) && !isUnique(cells[cursor[1]][cursor[0]])) place(...cursor, tool.char);
      else describe();
    } else if (event.key === " " || event.key === "Enter") {
      place(x, y, cells[y][x] === tool.char && !isUnique(tool.char) ? floor : tool.char);
    } else if (event.key === "Backspace" || event.key === "Delete") {
      place(x, y, floor);
    } else if (event.key.toLowerCase() === "r") {
      turn();
    } else if (/^[1-9]$/.test(event.key) && palette[event.key - 1]) {
      choose(chosenForms[event.key - 1]);
      say(`Draws ${tool.name}`);
    } else {
      const form = known.get(event.key) ?? known.get(event.key.toUpperCase());
      if (!form) return;
      place(x, y, form.char);
    }
    event.preventDefault();
  });

  function describe() {
    draw();
    say(`Row ${cursor[1] + 1}, column ${cursor[0] + 1}: ${nameOf(cells[cursor[1]][cursor[0]])}`);
  }

  function say(sentence, wrong = false) {
    view.status.textContent = sentence;
    view.status.classList.toggle("wrong", wrong);
  }

  function take(text) {
    try {
      replaceAll(parse(text));
      changed();
      say("");
    } catch (problem) {
      say(problem.message, true);
    }
  }

  const askForText = () => {
    view.details.open = true;
    view.text.focus();
    view.text.select();
    say("Paste the text below, then choose “Use this text”.");
  };

  listen(view.canvas, "copy", (event) => {
    event.clipboardData.setData("text/plain", toText());
    event.preventDefault();
    say("Copied as text.");
  });
  listen(view.canvas, "paste", (event) => {
    event.preventDefault();
    take(event.clipboardData.getData("text/plain"));
  });
  listen(view.copy, "click", async () => say((await copyText(toText())) ? "Copied as text." : "Copy it from below."));
  listen(view.paste, "click", async () => {
    try {
      take(await navigator.clipboard.readText());
    } catch {
      askForText(); // the browser does not let pages read the clipboard
    }
  });
  listen(view.use, "click", () => take(view.text.value));
  listen(view.undo, "click", undo);
  listen(view.redo, "click", redo);
  listen(view.turn, "click", turn);
  view.radios.forEach((radio, entry) => listen(radio, "change", () => choose(chosenForms[entry])));

  // --- link

  function openLink() {
    const held = levelInHash(location.hash);
    if (held === null) return false;
    try {
      replaceAll(checked(decodeLevel(held)));
      return true;
    } catch (problem) {
      say(problem.message, true);
      return false;
    }
  }
  if (link) {
    listen(window, "hashchange", () => openLink() && changed());
    listen(view.link, "click", async () => {
      const address = linkTo(cells);
      history.replaceState(null, "", address);
      say((await copyText(address)) ? "Copied a link to this level." : "The page's address now holds this level.");
    });
  }

  // --- drawing

  function draw() {
    const width = view.canvas.clientWidth;
    if (!width) return;
    const {pen, unit} = fit(view.canvas, cells[0].length, cells.length, width);
    drawCells(pen, unit, cells, forms, colour);
    drawPath(pen, unit, overlay.path, colour("--cell-path"), {dashed: true});
    if (overlay.agent) {
      const {x, y, direction} = overlay.agent;
      drawAgent(pen, unit, x, y, direction, colour("--cell-agent"), colour("--cell-floor"));
    }
    if (document.activeElement === view.canvas) {
      pen.strokeStyle = colour("--focus");
      pen.lineWidth = Math.max(2, unit * 0.1);
      pen.strokeRect(cursor[0] * unit + 1, cursor[1] * unit + 1, unit - 2, unit - 2);
    }
  }
  const resized = new ResizeObserver(draw);
  resized.observe(view.canvas);
  const recolour = () => {
    view.chosen(tool, chosenForms);
    draw();
  };
  const themed = new MutationObserver(recolour);
  themed.observe(document.documentElement, {attributeFilter: ["data-theme"]});
  listen(matchMedia("(prefers-color-scheme: dark)"), "change", recolour);
  listen(view.canvas, "focus", draw);
  listen(view.canvas, "blur", draw);

  choose(tool);
  if (link) openLink();
  past = [];
  refresh();

  return {
    getText: toText,
    // Throws an Error whose message says what is wrong, and then leaves everything as it was.
    setText(text) {
      replaceAll(parse(text));
      changed();
    },
    undo,
    redo,
    setOverlay(next) {
      overlay = next ?? {};
      draw();
    },
    destroy() {
      listening.abort();
      resized.disconnect();
      themed.disconnect();
      root.replaceChildren();
    },
  };
}

// The editor's elements. Names come from outside, and are put in as text.
function build(root, {palette, forms, link, name, number}) {
  const make = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  };
  const button = (text, title) => make("button", {type: "button", title}, text);
  const radios = palette.map((_, i) => make("input", {type: "radio", name: `tool-${number}`, value: String(i)}));
  const swatches = palette.map(() => make("canvas", {class: "swatch", width: "36", height: "36", "aria-hidden": "true"}));
  const tools = make("fieldset", {class: "tools"}, make("legend", {class: "hidden"}, "Draw"));
  palette.forEach((entry, i) => tools.append(
    make("label", {class: "tool", title: `${entry.name} (key ${i + 1})`}, radios[i], swatches[i], entry.name[0].toUpperCase() + entry.name.slice(1))));
  const turn = button("Turn", "Turn the agent, or take the next form of what is drawn (R)");
  turn.hidden = forms.length === palette.length;
  const undo = button("Undo", "Undo (Ctrl+Z)"), redo = button("Redo", "Redo (Ctrl+Y)");
  const copy = button("Copy", "Copy as text (Ctrl+C)"), paste = button("Paste", "Paste a text (Ctrl+V)");
  const share = button("Link", "Copy an address that holds this level");
  share.hidden = !link;
  const canvas = make("canvas", {
    class: "grid-canvas", tabindex: "0", role: "application", "aria-describedby": `grid-help-${number}`,
  });
  const help = make("p", {class: "hidden", id: `grid-help-${number}`},
    "Arrow keys move the cursor. Space places what is chosen, or removes it. Number keys choose what to draw. ",
    "R turns the agent. Delete erases. Control Z undoes. Control C and Control V copy and paste the level as text.");
  const status = make("p", {class: "grid-status", role: "status"});
  const text = make("textarea", {"aria-label": `The ${name} as text`, rows: "8", spellcheck: "false", wrap: "off"});
  const use = button("Use this text", "Replace the level by this text");
  const details = make("details", {class: "grid-text"}, make("summary", {}, "As text"), text, use);
  const actions = make("div", {class: "actions"}, turn, undo, redo, copy, paste, share);
  root.replaceChildren(make("div", {class: "grid-editor"}, tools, actions, canvas, help, status, details));

  function chosen(tool, shown) {
    radios[tool.entry].checked = true;
    shown.forEach((form, i) => {
      const {pen, unit} = fit(swatches[i], 1, 1, 18);
      drawCells(pen, unit, [[form.char]], forms, (colour) => colourOf(canvas, colour));
    });
  }
  return {canvas, chosen, copy, details, link: share, paste, radios, redo, status, text, turn, undo, use};
}
