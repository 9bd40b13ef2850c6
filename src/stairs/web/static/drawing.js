// A picture that came as SVG, copied element by element into the page: only shapes and writing, no script, no link, no style.

const SVG = "http://www.w3.org/2000/svg";
const LINKS = "http://www.w3.org/1999/xlink";
const ELEMENTS = words("svg g path rect circle line text tspan defs clipPath linearGradient stop title desc image");
const ATTRIBUTES = words(`
  width height viewBox preserveAspectRatio version class id role aria-label aria-hidden transform d x y x1 y1 x2 y2 dx dy cx cy r rx ry opacity
  fill fill-opacity stroke stroke-width stroke-opacity stroke-dasharray stroke-dashoffset stroke-linecap stroke-linejoin stroke-miterlimit
  clip-path gradientUnits offset stop-color stop-opacity text-anchor dominant-baseline font-family font-size font-weight font-style`);

const ELSEWHERE = /url\((?!['"]?#)|:\/\//; // only what stands in the picture itself may be referred to

function words(text) {
  return new Set(text.trim().split(/\s+/));
}

export function drawn(source) {
  const plain = source.replace(/<[^>]+>/g, (tag) => tag.replace(/ style="[^"]*"/g, "")); // styles would be refused, and complained of
  const parsed = new DOMParser().parseFromString(plain, "image/svg+xml").documentElement;
  const picture = parsed.localName === "svg" ? copied(parsed) : document.createElementNS(SVG, "svg");
  picture.setAttribute("role", "img");
  const paper = picture.firstElementChild;
  if (paper?.localName === "rect") paper.remove(); // the page has a ground of its own
  picture.addEventListener("pointermove", showHint);
  picture.addEventListener("pointerleave", hideHint);
  return picture;
}

function copied(node) {
  const copy = document.createElementNS(SVG, node.localName);
  for (const { name, value } of node.attributes) {
    if (ATTRIBUTES.has(name) && (name === "aria-label" || !ELSEWHERE.test(value))) copy.setAttribute(name, value);
  }
  const pixels = node.localName === "image" ? (node.getAttribute("href") ?? node.getAttributeNS(LINKS, "href")) : null;
  if (pixels?.startsWith("data:image/png;base64,")) copy.setAttribute("href", pixels);
  for (const child of node.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) copy.append(child.data);
    else if (child.nodeType === Node.ELEMENT_NODE && ELEMENTS.has(child.localName)) copy.append(copied(child));
  }
  return copy;
}

// What a mark stands for is written on it for those who cannot see it; the others read it when they point at it.
function showHint(event) {
  const hint = document.getElementById("hint");
  const mark = event.target.closest("[aria-label]");
  const text = mark && mark.localName !== "g" && mark.localName !== "svg" ? mark.getAttribute("aria-label") : "";
  hint.hidden = !text;
  if (!text) return;
  hint.textContent = text;
  hint.style.left = `${Math.min(event.clientX + 14, window.innerWidth - hint.offsetWidth - 8)}px`;
  hint.style.top = `${Math.min(event.clientY + 16, window.innerHeight - hint.offsetHeight - 8)}px`;
}

function hideHint() {
  document.getElementById("hint").hidden = true;
}
