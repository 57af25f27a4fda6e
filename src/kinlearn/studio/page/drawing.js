// Elements are made here and nowhere else: every text becomes a text node, never markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

export const make = (tag, attributes, ...children) =>
  fill(document.createElement(tag), attributes, children);

export const draw = (tag, attributes, ...children) =>
  fill(document.createElementNS(SVG, tag), attributes, children);

export const put = (element, ...children) => {
  element.replaceChildren(...children.flat().filter((c) => c !== null && c !== false));
  return element;
};

export const byId = (id) => document.getElementById(id);

export const percent = (share, digits = 0) =>
  share === null || share === undefined ? "–" : `${(100 * share).toFixed(digits)} %`;

export const count = (n) => n.toLocaleString("en").replaceAll(",", "\u202f");

export const several = (n, one, many) => `${count(n)} ${n === 1 ? one : many}`;
