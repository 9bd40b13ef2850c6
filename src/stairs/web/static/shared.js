// What all pages need: elements made of text only, the words of a language, and questions to the server.

const WAIT = 1000; // milliseconds until a model that is being loaded is asked again

export const known = { words: {}, pages: {}, language: "en", runs: [], climbs: [] };

export function say(key) {
  return known.words[known.language]?.[key] ?? key.replaceAll("_", " ");
}

export function spoken(texts) {
  return texts[known.language] ?? texts.en;
}

// An element; strings become text nodes, so nothing that was typed or read is ever taken for HTML.
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

export class Refused extends Error {
  constructor(error) {
    super(error.message);
    this.field = error.field;
    this.code = error.code;
  }
}

// The response; while a model is being loaded it is asked for again, and `waiting` is told.
export async function ask(path, body, waiting = () => {}) {
  const sent = body && { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  for (;;) {
    let response;
    try {
      response = await fetch(path, sent);
    } catch {
      throw new Refused({ message: say("gone") });
    }
    if (response.status !== 503) return accepted(response);
    waiting();
    await new Promise((resolve) => setTimeout(resolve, WAIT));
  }
}

async function accepted(response) {
  if (response.ok) return response;
  const found = await response.json().catch(() => ({ error: { message: response.statusText } }));
  throw new Refused(found.error);
}

export async function readRuns() {
  Object.assign(known, await (await ask("/api/runs")).json());
  return known.runs;
}

export function complain(place, error) {
  place.className = "status wrong";
  place.textContent = error.message;
  if (!(error instanceof Refused)) throw error;
}

export function remember(key, value) {
  try {
    sessionStorage.setItem(key, value);
  } catch { /* a browser may forbid it; then nothing is remembered */ }
}

export function remembered(key) {
  try {
    return sessionStorage.getItem(key);
  } catch {
    return null;
  }
}

export function save(blob, name) {
  const link = make("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), WAIT);
}

// The buttons below a picture.
export function saves(keep) {
  const buttons = ["svg", "png", "json"].map((format) => make("button", { type: "button", onclick: () => keep(format) }, format.toUpperCase()));
  return make("div", { class: "saves" }, say("save"), ...buttons);
}

export function figure(value, digits = 4) {
  return typeof value === "number" ? String(Number(value.toPrecision(digits))) : "";
}
