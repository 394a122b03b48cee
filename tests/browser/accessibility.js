// What tests look at in a page, see accessibility.py: what is wrong with it as it is drawn, and what has the focus.

({
  look() {
    const numbers = (text) => {
      const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = text;
      canvas.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
      return [r, g, b, a / 255];
    };
    const over = (top, under) => [0, 1, 2].map((i) => top[i] * top[3] + under[i] * (1 - top[3])).concat(1);
    const light = (colour) => {
      const linear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
      const [r, g, b] = colour.slice(0, 3).map((c) => linear(c / 255));
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const contrast = (a, b) => {
      const [low, high] = [light(a), light(b)].sort((x, y) => x - y);
      return (high + 0.05) / (low + 0.05);
    };
    const behind = (element) => {
      const layers = [];
      for (let at = element; at; at = at.parentElement) layers.push(numbers(getComputedStyle(at).backgroundColor));
      return layers.reverse().reduce((under, top) => over(top, under), [255, 255, 255, 1]);
    };
    const shown = (element) => {
      const box = element.getBoundingClientRect();
      const visible = element.checkVisibility({opacityProperty: true, visibilityProperty: true});
      return visible && box.width > 1 && box.height > 1;
    };
    const told = (element) => {
      const words = (element.textContent || element.id).trim().slice(0, 40);
      return `${element.tagName.toLowerCase()} "${words}"`;
    };
    const found = [];

    for (const element of document.body.querySelectorAll("*")) {
      const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
      if (!own || !shown(element) || element.closest("script, style, option, :disabled")) continue;
      const style = getComputedStyle(element);
      const size = parseFloat(style.fontSize);
      const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
      const ratio = contrast(over(numbers(style.color), behind(element)), behind(element));
      if (ratio < (large ? 3 : 4.5)) found.push(`${told(element)}: text contrast ${ratio.toFixed(2)}`);
    }
    for (const element of document.querySelectorAll("button, select, textarea, input, .tool")) {
      const plain = "[type=radio], [type=checkbox], [type=range], [type=file]"; // drawn by the browser itself
      if (!shown(element) || element.disabled || element.matches(plain)) continue;
      const around = behind(element.parentElement);
      const style = getComputedStyle(element);
      const edge = parseFloat(style.borderTopWidth) ? contrast(over(numbers(style.borderTopColor), around), around) : 1;
      const filled = contrast(behind(element), around);
      const most = Math.max(edge, filled);
      if (most < 3) found.push(`${told(element)}: edge contrast ${most.toFixed(2)}`);
      const box = element.getBoundingClientRect();
      if (Math.min(box.width, box.height) < 24) found.push(`${told(element)}: smaller than 24 pixels`);
    }
    const read = (name) => numbers(getComputedStyle(document.documentElement).getPropertyValue(name));
    const floor = read("--cell-floor");
    for (const name of ["wall", "goal", "agent", "path", "trail", "lava", "water", "door", "fruit"]) {
      const ratio = contrast(read(`--cell-${name}`), floor);
      if (ratio < 3) found.push(`--cell-${name}: contrast ${ratio.toFixed(2)} with the floor`);
    }
    const letters = contrast(read("--cell-text"), floor);
    if (letters < 4.5) found.push(`--cell-text: contrast ${letters.toFixed(2)} with the floor`);

    const titles = [...document.querySelectorAll("h1, h2, h3, h4")].filter(shown);
    const headings = titles.map((title) => Number(title.tagName[1]));
    const first = headings.filter((level) => level === 1).length;
    if (first !== 1) found.push(`${first} headings of level 1`);
    headings.forEach((level, i) => {
      if (i && level > headings[i - 1] + 1) found.push(`a heading of level ${level} follows one of ${headings[i - 1]}`);
    });
    if (!document.documentElement.lang) found.push("the page has no language");
    if (!document.title) found.push("the page has no title");
    if (document.querySelectorAll("main").length !== 1) found.push("there is not exactly one main part");
    for (const element of document.querySelectorAll("[tabindex]")) {
      if (Number(element.getAttribute("tabindex")) <= 0) continue;
      found.push(`${told(element)}: its place in the focus order is not that on the page`);
    }
    const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
    for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) found.push(`two elements have the id ${id}`);
    for (const name of ["aria-labelledby", "aria-describedby", "for"]) {
      for (const element of document.querySelectorAll(`[${name}]`)) {
        for (const id of element.getAttribute(name).split(" ")) {
          if (!ids.includes(id)) found.push(`${name}=${id} leads nowhere`);
        }
      }
    }
    return found;
  },

  focused() {
    const element = document.activeElement;
    if (element === document.body) return null;
    const marked = [element, element.closest("label")].some((one) => {
      const style = one && getComputedStyle(one);
      return style && style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
    });
    const all = [...document.querySelectorAll("*")];
    const words = element.id || element.textContent.trim().slice(0, 30);
    return {place: all.indexOf(element), marked, told: `${element.tagName.toLowerCase()} ${words}`};
  },
})
