// What every page needs: elements whose content is text only, the interface texts, and requests to the server.

const RETRY = 1000; // milliseconds until a model that is still loading is asked for again

export const state = { strings: {}, pages: {}, language: "en", runs: [], climbs: [] };

export function label(key) {
  return state.strings[state.language]?.[key] ?? key.replaceAll("_", " ");
}

export function localized(texts) {
  return texts[state.language] ?? texts.en;
}

// An element; strings become text nodes, so that nothing typed or read from a file is ever taken for HTML.
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child != null));
  return element;
}

export class RequestError extends Error {
  constructor(error) {
    super(error.message);
    this.field = error.field;
    this.code = error.code;
  }
}

// The response. While a model is loading, the request is repeated and `onLoading` is called each time.
export async function request(path, body, onLoading = () => {}) {
  const options = body && { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  for (;;) {
    let response;
    try {
      response = await fetch(path, options);
    } catch {
      throw new RequestError({ message: label("no_server") });
    }
    if (response.status !== 503) return checkResponse(response);
    onLoading();
    await new Promise((resolve) => setTimeout(resolve, RETRY));
  }
}

async function checkResponse(response) {
  if (response.ok) return response;
  const content = await response.json().catch(() => ({ error: { message: response.statusText } }));
  throw new RequestError(content.error);
}

export async function fetchRuns() {
  const { runs, climbs, more_pages: morePages } = await (await request("/api/runs")).json();
  Object.assign(state, { runs, climbs });
  Object.assign(state.pages, morePages); // of pictures that have no texts of their own
  return state.runs;
}

export function showError(element, error) {
  element.className = "status wrong";
  element.textContent = error.message;
  if (!(error instanceof RequestError)) throw error;
}

export function remember(key, value) {
  try {
    sessionStorage.setItem(key, value);
  } catch { /* a browser may forbid it; then nothing is remembered */ }
}

export function recall(key) {
  try {
    return sessionStorage.getItem(key);
  } catch {
    return null;
  }
}

export function saveBlob(blob, name) {
  const link = make("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), RETRY);
}

// The buttons below a picture.
export function saveButtons(save) {
  const buttons = ["svg", "png", "json"].map((format) => make("button", { type: "button", onclick: () => save(format) }, format.toUpperCase()));
  return make("div", { class: "save-buttons" }, label("save"), ...buttons);
}

export function formatNumber(value, digits = 4) {
  return typeof value === "number" ? String(Number(value.toPrecision(digits))) : "";
}

// A large number with its unit, and what stands before the thing counted: 818 k parameters, 81.8 万参数.
export function formatCount(value) {
  const units = state.language === "zh" ? [[1e8, " 亿"], [1e4, " 万"], [0, " 个"]] : [[1e6, " M "], [1e3, " k "], [0, " "]];
  const [unit, name] = units.find(([least]) => value >= least);
  return formatNumber(value / (unit || 1), 3) + name;
}

// Enter submits; Shift-Enter starts a new line, and an Enter that ends the composition of a Chinese word does neither.
export function submitOnEnter(submit) {
  return (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    submit();
  };
}
