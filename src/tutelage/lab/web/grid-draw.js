// Draws grids of cells on a canvas: the cells of a palette, an agent, a path, a trail, and what an agent sees.
//
// Positions are [column, row] of a text, its border included. Directions are 0 right, 1 down, 2 left, 3 up.

export const STEPS = [[1, 0], [0, 1], [-1, 0], [0, -1]];

// Every way in which an entry of a palette can stand in a cell: {char, name, colour, shape, direction, entry}.
// The first entry is the floor. `directions` are the characters of an agent that looks right, down, left and up;
// `variants` are other forms of an entry, such as the colours of a key.
export function formsOf(palette) {
  const forms = [];
  palette.forEach((entry, index) => {
    const shape = entry.shape ?? (index === 0 ? "floor" : entry.unique ? "tile" : "block");
    const base = {name: entry.name, colour: entry.colour, letter: entry.letter, shape, entry: index};
    if (entry.directions) {
      const facing = ["right", "down", "left", "up"];
      entry.directions.forEach((char, direction) =>
        forms.push({...base, shape: "arrow", char, direction, name: `${entry.name} facing ${facing[direction]}`}));
    } else if (entry.variants) {
      for (const variant of entry.variants) forms.push({...base, ...variant, entry: index});
    } else {
      forms.push({...base, char: entry.char});
    }
  });
  return forms;
}

// A colour as a canvas takes it. A palette may name a custom property of the page's style sheet, such as --cell-wall,
// which then follows the light or dark theme.
export function colourOf(element, colour) {
  return colour.startsWith("--") ? getComputedStyle(element).getPropertyValue(colour).trim() || "#888" : colour;
}

// Gives a canvas as many pixels as the screen has for its width, and returns its context and the side of a cell,
// in CSS pixels.
export function fit(canvas, columns, rows, width) {
  const unit = width / columns;
  const density = window.devicePixelRatio || 1;
  canvas.style.aspectRatio = `${columns} / ${rows}`;
  canvas.width = Math.max(1, Math.round(width * density));
  canvas.height = Math.max(1, Math.round(unit * rows * density));
  const pen = canvas.getContext("2d");
  pen.setTransform(canvas.width / width, 0, 0, canvas.height / (unit * rows), 0, 0);
  return {pen, unit};
}

// `cells` are rows of characters. Unknown ones are drawn as letters on the floor.
export function drawCells(pen, unit, cells, forms, colour) {
  const known = new Map(forms.map((form) => [form.char, form]));
  const density = pen.getTransform().a;
  const edge = (i) => Math.round(i * unit * density) / density; // on whole pixels, or there are seams between cells
  const gap = unit >= 9 ? 1 / density : 0;
  pen.fillStyle = colour("--cell-line");
  pen.fillRect(0, 0, edge(cells[0].length), edge(cells.length));
  cells.forEach((row, y) => row.forEach((char, x) => {
    const form = known.get(char);
    const block = form?.shape === "block";
    pen.fillStyle = colour(block ? form.colour : forms[0].colour);
    const inset = block ? 0 : gap;
    pen.fillRect(edge(x) + inset, edge(y) + inset, edge(x + 1) - edge(x) - inset, edge(y + 1) - edge(y) - inset);
    if (form && form.shape !== "block" && form.shape !== "floor") drawForm(pen, unit, x, y, form, colour);
    if (!form) drawLetter(pen, unit, x, y, char, colour("--cell-text"));
    else if (form.letter) drawLetter(pen, unit, x, y, form.letter, colour(form.letterColour ?? "--cell-text"));
  }));
}

function drawForm(pen, unit, x, y, form, colour) {
  pen.fillStyle = colour(form.colour);
  if (form.shape === "arrow") return drawAgent(pen, unit, x, y, form.direction, colour(form.colour));
  pen.beginPath();
  if (form.shape === "disc") pen.arc((x + 0.5) * unit, (y + 0.5) * unit, 0.34 * unit, 0, 2 * Math.PI);
  else pen.roundRect((x + 0.1) * unit, (y + 0.1) * unit, 0.8 * unit, 0.8 * unit, 0.16 * unit);
  pen.fill();
}

function drawLetter(pen, unit, x, y, text, fill) {
  pen.fillStyle = fill;
  pen.font = `600 ${Math.round(unit * (text.length > 1 ? 0.42 : 0.6))}px ui-monospace, monospace`;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.fillText(text, (x + 0.5) * unit, (y + 0.54) * unit);
}

// An agent as a triangle that points where it looks.
export function drawAgent(pen, unit, x, y, direction, fill, outline = "") {
  const [ahead, across] = STEPS[direction];
  const corner = (forward, side) => [
    (x + 0.5 + forward * ahead - side * across) * unit,
    (y + 0.5 + forward * across + side * ahead) * unit,
  ];
  pen.beginPath();
  pen.moveTo(...corner(0.4, 0));
  pen.lineTo(...corner(-0.33, 0.35));
  pen.lineTo(...corner(-0.33, -0.35));
  pen.closePath();
  pen.fillStyle = fill;
  pen.fill();
  if (outline) {
    pen.strokeStyle = outline;
    pen.lineWidth = Math.max(1, unit * 0.07);
    pen.lineJoin = "round";
    pen.stroke();
  }
}

// A line through the middles of cells.
export function drawPath(pen, unit, path, stroke, {dashed = false, width = 0.16} = {}) {
  if (!path || path.length < 2) return;
  pen.save();
  pen.strokeStyle = stroke;
  pen.lineWidth = Math.max(1.5, unit * width);
  pen.lineJoin = pen.lineCap = "round";
  if (dashed) pen.setLineDash([unit * 0.05, unit * 0.4]);
  pen.beginPath();
  path.forEach(([x, y], i) => pen[i ? "lineTo" : "moveTo"]((x + 0.5) * unit, (y + 0.5) * unit));
  pen.stroke();
  pen.restore();
}

// A veil over some cells, such as those that an agent sees.
export function drawVeil(pen, unit, cells, fill) {
  pen.fillStyle = fill;
  for (const [x, y] of cells) pen.fillRect(x * unit, y * unit, unit, unit);
}
