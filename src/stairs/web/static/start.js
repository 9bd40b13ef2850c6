// The frame of every page: the menu, the switches, and which page it is.

import { comparePage } from "./compare.js";
import { curvesPage } from "./curves.js";
import { picturePage } from "./picture.js";
import { runsPage } from "./runs.js";
import { ask, complain, known, make, readRuns, say, spoken } from "./shared.js";
import { staircasePage } from "./staircase.js";

const PAGES = { staircase: staircasePage, compare: comparePage, curves: curvesPage, picture: picturePage };
const GROUPS = ["reading", "attention", "vectors", "translation", "labels"];
const AGAIN = 1500; // milliseconds until it is seen which models have been loaded meanwhile

const settings = {
  get: (key) => { try { return localStorage.getItem(key); } catch { return null; } },
  set: (key, value) => { try { localStorage.setItem(key, value); } catch { /* then it holds for this page only */ } },
};

let theme = settings.get("theme");
let page = null; // what is shown: { element, refresh }

function switches() {
  const dark = theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const other = known.language === "en" ? "zh" : "en";
  document.getElementById("switches").replaceChildren(
    turn("theme", say(dark ? "light" : "dark"), () => paint(dark ? "light" : "dark")),
    turn("language", known.words[other].name, () => speak(other)),
  );
}

function turn(what, to, onclick) {
  return make("button", { type: "button", id: what, "aria-label": `${say(what)}: ${to}`, onclick }, to);
}

function paint(chosen) {
  theme = chosen;
  settings.set("theme", chosen);
  document.documentElement.dataset.theme = chosen;
  switches();
}

function speak(language) {
  settings.set("language", language);
  known.language = language;
  show();
}

function entry(address, text, idle = false) {
  const here = location.pathname === address;
  return make("a", { href: address, "aria-current": here && "page", class: idle && !here ? "idle" : null }, text);
}

function menu() {
  const offered = new Set(known.runs.flatMap((run) => Object.keys(run.pictures ?? {})));
  const settled = known.runs.every((run) => run.pictures || !run.can_answer);
  const climbed = known.climbs.length ? [entry("/staircase", say("climb_staircase"))] : [];
  const parts = [...climbed, entry("/", say("runs")), entry("/compare", say("compare")), entry("/curves", say("curves"))];
  for (const group of GROUPS) {
    const wanted = (name) => !settled || offered.has(name) || location.pathname === `/picture/${name}`;
    const names = Object.keys(known.pages).filter((name) => known.pages[name].group === group && wanted(name));
    if (!names.length) continue;
    parts.push(make("h2", {}, say(group)));
    parts.push(...names.map((name) => entry(`/picture/${name}`, spoken(known.pages[name].title), !offered.has(name))));
  }
  document.getElementById("menu").replaceChildren(...parts);
}

function show() {
  document.documentElement.lang = known.language;
  document.getElementById("skip").textContent = say("skip");
  document.getElementById("menu").setAttribute("aria-label", say("menu"));
  switches();
  menu();
  page?.leave?.();
  const [, kind, name] = location.pathname.split("/");
  page = (PAGES[kind] ?? runsPage)(name);
  document.title = `${page.title} · Stairs`;
  document.getElementById("content").replaceChildren(page.element);
}

// Models are loaded behind the page; what they offer is added as soon as it is known, without disturbing what is being typed.
async function watch() {
  for (;;) {
    const before = JSON.stringify(known.runs);
    await readRuns();
    if (JSON.stringify(known.runs) !== before) {
      menu();
      page.refresh?.();
    }
    if (known.runs.every((run) => (run.pictures || !run.can_answer) && run.state !== "training")) return;
    await new Promise((resolve) => setTimeout(resolve, AGAIN));
  }
}

async function start() {
  const { words, pages } = await (await ask("/api/strings")).json();
  Object.assign(known, { words, pages });
  const wanted = settings.get("language") ?? (navigator.language.startsWith("zh") ? "zh" : "en");
  known.language = wanted in words ? wanted : "en";
  if (theme) document.documentElement.dataset.theme = theme;
  await readRuns();
  show();
  await watch();
}

start().catch((error) => {
  const place = make("p", {});
  document.getElementById("content").append(place);
  complain(place, error);
});
