// The list of runs: model, state, step, score and size of each, and what is wrong with it.

import { formatCount, formatNumber, label, localized, make, state } from "./shared.js";

const COLUMNS = ["run", "model", "state", "step", "score", "size", "pictures"];
const LINKS = 4; // pictures that a row links to

export function runsPage() {
  const body = make("tbody");
  const head = make("tr", {}, ...COLUMNS.map((name) => make("th", { scope: "col" }, label(name))));
  const table = make("div", { class: "card wide" }, make("table", {}, make("thead", {}, head), body));
  const fill = () => body.replaceChildren(...state.runs.flatMap(rows));
  fill();
  const element = make("section", {}, make("h1", {}, label("runs")), make("p", { class: "description" }, label("runs_about")), table);
  return { title: label("runs"), element, refresh: fill };
}

function rows(run) {
  const pictures = Object.keys(run.pictures ?? {}).filter((name) => name in state.pages);
  const link = (name) => make("a", { href: address(`/picture/${name}`, run) }, localized(state.pages[name].title));
  const links = pictures.slice(0, LINKS).flatMap((name) => [link(name), " · "]);
  const problem = run.problem ? [make("tr", { class: "problem" }, make("td", { class: "wrong", colspan: COLUMNS.length }, run.problem))] : [];
  const row = make("tr", { class: problem.length ? "with-problem" : null },
    make("td", { class: "name" }, run.name),
    make("td", {}, run.model, make("div", { class: "quiet" }, run.task)),
    make("td", {}, make("span", { class: `badge ${run.state}` }, label(run.state))),
    make("td", { class: "number" }, run.step == null ? "" : String(run.step)),
    make("td", { class: "nowrap" }, ...score(run.score)),
    make("td", { class: "nowrap" }, ...size(run)),
    make("td", {}, ...links, run.step == null ? "" : make("a", { href: address("/curves", run) }, label("curves"))),
  );
  return [row, ...problem];
}

function address(path, run) {
  return `${path}?run=${encodeURIComponent(run.name)}`;
}

function score(measured) {
  if (!measured) return [];
  const interval = measured.low == null ? "" : ` (${formatNumber(measured.low, 3)}–${formatNumber(measured.high, 3)})`;
  return [`${formatNumber(measured.value, 3)} ${interval}`, make("div", { class: "quiet" }, localized(measured.title))];
}

function size(run) {
  if (run.bytes == null) return [];
  return [`${formatNumber(run.bytes / 1e6, 3)} MB`, make("div", { class: "quiet" }, formatCount(run.parameters) + label("parameters"))];
}
