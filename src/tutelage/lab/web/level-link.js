// Levels as links, and texts to and from the clipboard.
//
// A link holds a level whole, and needs no server: the characters that occur, columns and rows, and a number for each
// cell, packed into as few bits as will do, as in #level=%23.%3EG,15x15,AAAB...

// From rows of cells (characters or short words) to what follows "level=" in a link.
export function encodeLevel(rows) {
  const cells = rows.flat();
  const alphabet = [...new Set(cells)];
  const bits = bitsFor(alphabet.length);
  const bytes = new Uint8Array(Math.ceil((cells.length * bits) / 8));
  cells.forEach((cell, i) => {
    const number = alphabet.indexOf(cell);
    for (let b = 0; b < bits; b++) {
      if ((number >> b) & 1) bytes[(i * bits + b) >> 3] |= 1 << ((i * bits + b) & 7);
    }
  });
  const packed = btoa(String.fromCharCode(...bytes)).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
  // Words of several characters are separated by line breaks, which no cell contains.
  const words = alphabet.every((cell) => cell.length === 1) ? alphabet.join("") : `\n${alphabet.join("\n")}`;
  return `${encodeURIComponent(words)},${rows[0].length}x${rows.length},${packed}`;
}

// The rows of a link, or an Error that says what is wrong with it.
export function decodeLevel(link) {
  const broken = new Error("The link does not hold a whole level; it may have been cut off. Copy it again.");
  const [words, size, packed] = link.split(",");
  const [columns, count] = /^(\d{1,3})x(\d{1,3})$/.exec(size ?? "")?.slice(1).map(Number) ?? [0, 0];
  if (!packed || !columns || !count) throw broken;
  let alphabet, bytes;
  try {
    const text = decodeURIComponent(words);
    alphabet = text.startsWith("\n") ? text.slice(1).split("\n") : [...text];
    bytes = Uint8Array.from(atob(packed.replace(/-/g, "+").replace(/_/g, "/")), (char) => char.charCodeAt(0));
  } catch {
    throw broken;
  }
  const bits = bitsFor(alphabet.length);
  if (bytes.length !== Math.ceil((columns * count * bits) / 8)) throw broken;
  const rows = Array.from({length: count}, () => []);
  for (let i = 0; i < columns * count; i++) {
    let number = 0;
    for (let b = 0; b < bits; b++) number |= ((bytes[(i * bits + b) >> 3] >> ((i * bits + b) & 7)) & 1) << b;
    if (number >= alphabet.length) throw broken;
    rows[Math.floor(i / columns)].push(alphabet[number]);
  }
  return rows;
}

function bitsFor(symbols) {
  return Math.max(1, Math.ceil(Math.log2(symbols)));
}

// What a page's address says of a level, or null.
export function levelInHash(hash) {
  return /(?:^#|&)level=([^&]*)/.exec(hash)?.[1] ?? null;
}

// The page's address with this level in it; other parts of the hash are kept.
export function linkTo(rows) {
  const kept = location.hash.slice(1).split("&").filter((part) => part && !part.startsWith("level="));
  const url = new URL(location.href);
  url.hash = [...kept, `level=${encodeLevel(rows)}`].join("&");
  return url.href;
}

// Whether the text is in the clipboard now. Browsers without permission for the new way still have the old one.
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea");
    const before = document.activeElement;
    area.value = text;
    area.style.position = "fixed";
    area.style.opacity = "0";
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    before?.focus?.();
    return done;
  }
}
