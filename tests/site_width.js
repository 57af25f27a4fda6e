// Returns sentences about things that are wider than the page and cannot be scrolled by themselves.
() => {
  const found = [];
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) {
    found.push(`the page scrolls sideways: ${root.scrollWidth} > ${root.clientWidth} pixels`);
  }
  // Hiding what is too wide would only hide the fault.
  for (const element of [root, document.body]) {
    if (["hidden", "clip"].includes(getComputedStyle(element).overflowX)) {
      found.push(`${element.tagName.toLowerCase()} hides what is too wide`);
    }
  }
  const scrolls = (element) => {
    for (let at = element; at && at !== document.body; at = at.parentElement) {
      if (["auto", "scroll"].includes(getComputedStyle(at).overflowX)) return true;
    }
    return false;
  };
  for (const element of document.querySelectorAll("article *")) {
    if (!element.checkVisibility() || element.closest("mjx-assistive-mml")) continue;
    const place = element.getBoundingClientRect();
    if (place.width > 1 && place.right > root.clientWidth + 1 && !scrolls(element)) {
      found.push(`<${element.tagName.toLowerCase()} class="${element.className.baseVal ?? element.className}"> ends ${Math.round(place.right - root.clientWidth)} pixels outside`);
      break;
    }
  }
  return found;
};
