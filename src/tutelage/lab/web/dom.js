// Elements. Whatever is shown is put in as text, never as markup: names and messages come from files.

export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name.startsWith("--")) element.style.setProperty(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, String(value));
  }
  element.append(...children.filter((child) => child != null));
  return element;
}

export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

export const byId = (id) => document.getElementById(id);

export function number(value, digits = 2) {
  if (value == null) return "–";
  const rounded = Number(Number(value).toFixed(digits)) || 0; // never "-0"
  return rounded.toLocaleString("en", {maximumFractionDigits: digits, minimumFractionDigits: 0});
}

export function percent(value) {
  return value == null ? "–" : `${Math.round(value * 100)}%`;
}

export function capital(text) {
  return text[0].toUpperCase() + text.slice(1);
}

// Calls a function some time after the last of several calls.
export function later(act, milliseconds) {
  let timer = 0;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => act(...given), milliseconds);
  };
}
