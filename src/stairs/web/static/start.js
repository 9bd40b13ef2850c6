// The frame of every page: the menu, the switches for language and theme, and which page the address names.

import { comparePage } from "./compare.js";
import { curvesPage } from "./curves.js";
import { picturePage } from "./picture.js";
import { runsPage } from "./runs.js";
import { fetchRuns, label, localized, make, request, showError, state } from "./shared.js";
import { staircasePage } from "./staircase.js";

const PAGES = { staircase: staircasePage, compare: comparePage, curves: curvesPage, picture: picturePage };
const GROUPS = ["reading", "attention", "vectors", "translation", "labels", "more"];
const POLL = 1500; // milliseconds until the page asks again which models have been loaded

const settings = {
  get: (key) => { try { return localStorage.getItem(key); } catch { return null; } },
  set: (key, value) => { try { localStorage.setItem(key, value); } catch { /* then it holds for this page only */ } },
};

let theme = settings.get("theme");
let page = null; // the page that is shown: { title, element, refresh, leave }

function showSwitches() {
  const isDark = theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const otherLanguage = state.language === "en" ? "zh" : "en";
  document.getElementById("switches").replaceChildren(
    switchButton("theme", label(isDark ? "light" : "dark"), () => setTheme(isDark ? "light" : "dark")),
    switchButton("language", state.strings[otherLanguage].name, () => setLanguage(otherLanguage)),
  );
}

function switchButton(setting, value, onclick) {
  return make("button", { type: "button", id: setting, "aria-label": `${label(setting)}: ${value}`, onclick }, value);
}

function setTheme(chosen) {
  theme = chosen;
  settings.set("theme", chosen);
  document.documentElement.dataset.theme = chosen;
  showSwitches();
}

function setLanguage(language) {
  settings.set("language", language);
  state.language = language;
  showPage();
}

function menuLink(address, text, isIdle = false) {
  const isHere = location.pathname === address;
  return make("a", { href: address, "aria-current": isHere && "page", class: isIdle && !isHere ? "idle" : null }, text);
}

function showMenu() {
  const available = new Set(state.runs.flatMap((run) => Object.keys(run.pictures ?? {})));
  const allLoaded = state.runs.every((run) => run.pictures || !run.can_answer);
  const climbs = state.climbs.length ? [menuLink("/staircase", label("climb_staircase"))] : [];
  const parts = [...climbs, menuLink("/", label("runs")), menuLink("/compare", label("compare")), menuLink("/curves", label("curves"))];
  for (const group of GROUPS) {
    const isListed = (name) => !allLoaded || available.has(name) || location.pathname === `/picture/${name}`;
    const names = Object.keys(state.pages).filter((name) => state.pages[name].group === group && isListed(name));
    if (!names.length) continue;
    parts.push(make("h2", {}, label(group)));
    parts.push(...names.map((name) => menuLink(`/picture/${name}`, localized(state.pages[name].title), !available.has(name))));
  }
  document.getElementById("menu").replaceChildren(...parts);
}

function showPage() {
  document.documentElement.lang = state.language;
  document.getElementById("skip").textContent = label("skip");
  document.getElementById("menu").setAttribute("aria-label", label("menu"));
  showSwitches();
  showMenu();
  page?.leave?.();
  const [, kind, name] = location.pathname.split("/");
  page = (PAGES[kind] ?? runsPage)(name);
  document.title = `${page.title} · Stairs`;
  document.getElementById("content").replaceChildren(page.element);
}

// Models are loaded in the background; what they offer is added when it is known, without disturbing what is being typed.
async function watchRuns() {
  for (;;) {
    const before = JSON.stringify(state.runs);
    await fetchRuns();
    if (JSON.stringify(state.runs) !== before) {
      showMenu();
      page.refresh?.();
    }
    if (state.runs.every((run) => (run.pictures || !run.can_answer) && run.state !== "training")) return;
    await new Promise((resolve) => setTimeout(resolve, POLL));
  }
}

async function start() {
  const { strings, pages } = await (await request("/api/strings")).json();
  Object.assign(state, { strings, pages });
  const preferred = settings.get("language") ?? (navigator.language.startsWith("zh") ? "zh" : "en");
  state.language = preferred in strings ? preferred : "en";
  if (theme) document.documentElement.dataset.theme = theme;
  await fetchRuns();
  showPage();
  await watchRuns();
}

start().catch((error) => {
  const message = make("p", {});
  document.getElementById("content").append(message);
  showError(message, error);
});
