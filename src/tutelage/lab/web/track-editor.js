// An editor for closed tracks: drag the control points, paint ice on the road.
//
//   createTrackEditor(root, reach, onchange) -> {show(outline), text()}
//
// The road's shape is the server's: `show` gets it after every change. Points have coordinates from -reach to reach,
// y up; tiles are numbered along the road.

import {h, svg} from "./dom.js";

const TOOLS = [["points", "Move points"], ["ice", "Paint ice"], ["dry", "Wipe ice"]];

export function createTrackEditor(root, reach, onchange) {
  let points = [], ice = new Set(), line = [], width = 13, tool = "points", held = null;
  const side = reach * 1.35;
  const canvas = svg("svg", {class: "track", viewBox: `${-side} ${-side} ${2 * side} ${2 * side}`, role: "application",
    "aria-label": "The track. Tab reaches its control points, which the arrow keys move."});
  const road = svg("path", {class: "road"}), frozen = svg("path", {class: "ice"}), start = svg("path", {class: "start"});
  const handles = svg("g");
  canvas.append(road, frozen, start, handles);
  const radios = TOOLS.map(([value, name], i) => {
    const input = h("input", {type: "radio", name: "track-tool", value});
    input.checked = i === 0;
    input.addEventListener("change", () => { tool = value; });
    return h("label", {class: "tool"}, input, name);
  });
  const none = h("button", {type: "button"}, "No ice");
  none.addEventListener("click", () => {
    ice = new Set();
    draw();
    onchange(true);
  });
  root.replaceChildren(
    h("div", {class: "row"}, h("fieldset", {class: "row"}, h("legend", {class: "hidden"}, "What the pointer does"), ...radios), none),
    canvas);

  const at = ([x, y]) => `${x.toFixed(2)} ${(-y).toFixed(2)}`;
  function draw() {
    road.setAttribute("d", line.length ? `M${line.map(at).join("L")}Z` : "");
    road.setAttribute("stroke-width", width);
    const pieces = [...ice].filter((i) => i < line.length).map((i) => `M${at(line[(i || line.length) - 1])}L${at(line[i])}`);
    frozen.setAttribute("d", pieces.join(""));
    frozen.setAttribute("stroke-width", width);
    if (line.length > 1) {
      const [a, b] = [line[0], line[1]];
      const length = Math.hypot(b[0] - a[0], b[1] - a[1]) || 1;
      const across = [(-(b[1] - a[1]) / length) * width / 2, ((b[0] - a[0]) / length) * width / 2];
      start.setAttribute("d", `M${at([a[0] + across[0], a[1] + across[1]])}L${at([a[0] - across[0], a[1] - across[1]])}`);
      start.setAttribute("stroke-width", 3);
    }
    if (handles.childElementCount !== points.length) {
      handles.replaceChildren(...points.map((_, i) => {
        const circle = svg("circle", {r: side / 34, "stroke-width": side / 110, tabindex: 0, "data-index": i});
        circle.addEventListener("keydown", (event) => nudge(event, i));
        return circle;
      }));
    }
    points.forEach(([x, y], i) => {
      const circle = handles.children[i];
      circle.setAttribute("cx", x);
      circle.setAttribute("cy", -y);
      circle.setAttribute("aria-label", `Control point ${i + 1} at ${Math.round(x)}, ${Math.round(y)}`);
      circle.setAttribute("role", "slider");
      circle.setAttribute("aria-valuetext", `${Math.round(x)}, ${Math.round(y)}`);
    });
  }

  const within = (value) => Math.max(-reach, Math.min(reach, value));
  function nudge(event, i) {
    const step = event.shiftKey ? 10 : 3;
    const moves = {ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, step], ArrowDown: [0, -step]};
    if (!moves[event.key]) return;
    event.preventDefault();
    points[i] = [within(points[i][0] + moves[event.key][0]), within(points[i][1] + moves[event.key][1])];
    draw();
    onchange(true);
  }

  function place(event) {
    const box = canvas.getBoundingClientRect();
    return [((event.clientX - box.left) / box.width) * 2 * side - side, side - ((event.clientY - box.top) / box.height) * 2 * side];
  }
  function paint([x, y]) {
    let changed = false;
    line.forEach(([a, b], i) => {
      if (Math.hypot(a - x, b - y) > width * 0.75 || ice.has(i) === (tool === "ice")) return;
      changed = true;
      if (tool === "ice") ice.add(i);
      else ice.delete(i);
    });
    if (changed) {
      draw();
      onchange(false);
    }
  }
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    const spot = place(event);
    if (tool === "points") {
      const near = points.map(([x, y], i) => [Math.hypot(x - spot[0], y - spot[1]), i]).sort((a, b) => a[0] - b[0])[0];
      if (!near || near[0] > side / 12) return;
      held = near[1];
      handles.children[held].focus();
    } else {
      held = -1;
      paint(spot);
    }
    canvas.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  canvas.addEventListener("pointermove", (event) => {
    if (held === null) return;
    if (held < 0) return paint(place(event));
    points[held] = place(event).map(within);
    draw();
    onchange(false);
  });
  for (const type of ["pointerup", "pointercancel"]) {
    canvas.addEventListener(type, () => {
      if (held === null) return;
      held = null;
      onchange(true);
    });
  }

  return {
    // While a point is held it stays where the pointer is: the server's order of points may differ.
    show(outline) {
      line = outline.line;
      width = outline.width;
      if (held === null) {
        points = outline.points.map(([x, y]) => [x, y]);
        ice = new Set(outline.ice);
      }
      draw();
    },
    text() {
      const dots = points.map(([x, y]) => `${Number(x.toFixed(3))},${Number(y.toFixed(3))}`).join(" ");
      const tiles = [...ice].sort((a, b) => a - b);
      return `points: ${dots}\nice: ${tiles.length ? tiles.join(" ") : "none"}`;
    },
  };
}
