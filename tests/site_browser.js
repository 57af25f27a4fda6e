// Looks at the page that is open and returns sentences about what a reader could not read.
(dark) => {
  const found = [];
  const paint = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const seen = new Map();
  // Any CSS colour, as red, green, blue and opacity: the browser itself reads it.
  const rgba = (colour) => {
    if (!seen.has(colour)) {
      paint.clearRect(0, 0, 1, 1);
      paint.fillStyle = colour;
      paint.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = paint.getImageData(0, 0, 1, 1).data;
      seen.set(colour, [r, g, b, a / 255]);
    }
    return seen.get(colour);
  };
  const over = (top, below) => {
    const a = top[3] + below[3] * (1 - top[3]);
    if (a === 0) return [0, 0, 0, 0];
    return [0, 1, 2]
      .map((i) => (top[i] * top[3] + below[i] * below[3] * (1 - top[3])) / a)
      .concat([a]);
  };
  const light = (colour) => {
    const part = (value) => {
      const v = value / 255;
      return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    };
    return 0.2126 * part(colour[0]) + 0.7152 * part(colour[1]) + 0.0722 * part(colour[2]);
  };
  const ratio = (one, two) => {
    const [low, high] = [light(one), light(two)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const behind = (element) => {
    let colour = [0, 0, 0, 0];
    for (let at = element; at && colour[3] < 1; at = at.parentElement) {
      colour = over(colour, rgba(getComputedStyle(at).backgroundColor));
    }
    return over(colour, [255, 255, 255, 1]);
  };
  // In a drawing, the box that lies behind a text is the last one that holds its middle.
  const box = (text) => {
    const place = text.getBoundingClientRect();
    const x = place.x + place.width / 2, y = place.y + place.height / 2;
    let holder = null;
    for (const rect of text.ownerSVGElement.querySelectorAll("rect")) {
      const r = rect.getBoundingClientRect();
      if (r.left <= x && x <= r.right && r.top <= y && y <= r.bottom) holder = rect;
    }
    return holder;
  };
  const said = new Set();
  const say = (sentence, kind) => {
    if (!said.has(kind)) found.push(sentence);
    said.add(kind);
  };

  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const words = walker.currentNode.textContent.trim();
    const element = walker.currentNode.parentElement;
    if (!words || !element || ["SCRIPT", "STYLE", "NOSCRIPT", "TITLE", "TEMPLATE"].includes(element.tagName.toUpperCase())) continue;
    if (!element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
    const place = element.getBoundingClientRect();
    if (place.width < 2 || place.height < 2) continue;
    const style = getComputedStyle(element);
    let ink = rgba(style.color), paper;
    if (element.closest("mjx-assistive-mml")) continue;
    if (element.ownerSVGElement && element.closest("text")) {
      const text = element.closest("text");
      ink = rgba(getComputedStyle(element).fill);
      const holder = box(text);
      paper = holder ? over(rgba(getComputedStyle(holder).fill), behind(text.ownerSVGElement.parentElement)) : behind(text.ownerSVGElement.parentElement);
      if (holder) {
        const inner = text.getBoundingClientRect(), outer = holder.getBoundingClientRect();
        if (inner.right > outer.right + 1) say(`the text "${words}" runs out of its box`, `box ${words}`);
      }
    } else {
      paper = behind(element);
    }
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && parseInt(style.fontWeight) >= 700);
    const contrast = ratio(over(ink, paper), paper);
    if (contrast < (large ? 3 : 4.5)) {
      say(
        `"${words.slice(0, 40)}" (${element.tagName.toLowerCase()}.${element.className.baseVal ?? element.className}) has a contrast of only ${contrast.toFixed(2)}`,
        `${ink} ${paper}`
      );
    }
  }

  for (const image of document.images) {
    const name = image.getAttribute("src").slice(0, 80);
    // A hidden twin for the other mode is not drawn.
    if (!image.checkVisibility()) continue;
    if (image.complete && image.naturalWidth === 0) say(`the picture ${name} is empty`, name);
    if (dark && image.closest("article") && !image.matches(".only-dark, .dark-light")) {
      // Plots are drawn in dark ink, perhaps on nothing: they need light paper of their own.
      if (light(behind(image)) < 0.5) say(`the picture ${name} has no light ground`, `ground ${name}`);
    }
  }
  return found;
};
