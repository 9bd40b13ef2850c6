// A picture that arrived as SVG, copied element by element into the page: only shapes and text, no script, no link, no style.

const SVG = "http://www.w3.org/2000/svg";
const XLINK = "http://www.w3.org/1999/xlink";
const ELEMENTS = setOf("svg g path rect circle line text tspan defs clipPath linearGradient stop title desc image");
const ATTRIBUTES = setOf(`
  width height viewBox preserveAspectRatio version class id role aria-label aria-hidden transform d x y x1 y1 x2 y2 dx dy cx cy r rx ry opacity
  fill fill-opacity stroke stroke-width stroke-opacity stroke-dasharray stroke-dashoffset stroke-linecap stroke-linejoin stroke-miterlimit
  clip-path gradientUnits offset stop-color stop-opacity text-anchor dominant-baseline font-family font-size font-weight font-style`);

const EXTERNAL = /url\((?!['"]?#)|:\/\//; // a picture may refer only to its own parts

function setOf(names) {
  return new Set(names.trim().split(/\s+/));
}

export function svgElement(source) {
  const unstyled = source.replace(/<[^>]+>/g, (tag) => tag.replace(/ style="[^"]*"/g, "")); // the content security policy forbids inline styles
  const parsed = new DOMParser().parseFromString(unstyled, "image/svg+xml").documentElement;
  const picture = parsed.localName === "svg" ? copySafely(parsed) : document.createElementNS(SVG, "svg");
  picture.setAttribute("role", "img");
  const background = picture.firstElementChild;
  if (background?.localName === "rect") background.remove(); // the page has its own
  picture.addEventListener("pointermove", showHint);
  picture.addEventListener("pointerleave", hideHint);
  return picture;
}

function copySafely(node) {
  const copy = document.createElementNS(SVG, node.localName);
  for (const { name, value } of node.attributes) {
    if (ATTRIBUTES.has(name) && (name === "aria-label" || !EXTERNAL.test(value))) copy.setAttribute(name, value);
  }
  const pixels = node.localName === "image" ? (node.getAttribute("href") ?? node.getAttributeNS(XLINK, "href")) : null;
  if (pixels?.startsWith("data:image/png;base64,")) copy.setAttribute("href", pixels);
  for (const child of node.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) copy.append(child.data);
    else if (child.nodeType === Node.ELEMENT_NODE && ELEMENTS.has(child.localName)) copy.append(copySafely(child));
  }
  return copy;
}

// Each mark describes itself in its aria-label for screen readers; pointing at it shows the same text.
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
