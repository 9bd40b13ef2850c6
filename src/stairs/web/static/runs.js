// The list of runs: what each is, how far it is, how good, how large, and what is wrong with it.

import { figure, known, make, say, spoken } from "./shared.js";

const COLUMNS = ["run", "model", "state", "at", "quality", "size", "look"];

export function runsPage() {
  const body = make("tbody");
  const head = make("tr", {}, ...COLUMNS.map((name) => make("th", { scope: "col" }, say(name))));
  const table = make("div", { class: "card wide" }, make("table", {}, make("thead", {}, head), body));
  const fill = () => body.replaceChildren(...known.runs.flatMap(rows));
  fill();
  const element = make("section", {}, make("h1", {}, say("runs")), make("p", { class: "see" }, say("about")), table);
  return { title: say("runs"), element, refresh: fill };
}

function rows(run) {
  const offers = Object.keys(run.pictures ?? {}).filter((name) => name in known.pages);
  const link = (name) => make("a", { href: address(`/picture/${name}`, run) }, spoken(known.pages[name].title));
  const links = offers.slice(0, 4).flatMap((name) => [link(name), " · "]);
  const wrong = run.problem ? [make("tr", { class: "more" }, make("td", { class: "wrong", colspan: COLUMNS.length }, run.problem))] : [];
  const about = make("tr", { class: wrong.length ? "one" : null },
    make("td", { class: "name" }, run.name),
    make("td", {}, run.model, make("div", { class: "quiet" }, run.task)),
    make("td", {}, make("span", { class: `badge ${run.state}` }, say(run.state))),
    make("td", { class: "number" }, run.at == null ? "" : String(run.at)),
    make("td", { class: "kept" }, ...quality(run.quality)),
    make("td", { class: "kept" }, ...size(run)),
    make("td", {}, ...links, run.at == null ? "" : make("a", { href: address("/curves", run) }, say("curves"))),
  );
  return [about, ...wrong];
}

function address(path, run) {
  return `${path}?run=${encodeURIComponent(run.name)}`;
}

function quality(measured) {
  if (!measured) return [];
  const around = measured.low == null ? "" : ` (${figure(measured.low, 3)}–${figure(measured.high, 3)})`;
  return [`${figure(measured.value, 3)} ${around}`, make("div", { class: "quiet" }, measured.name.replaceAll("_", " "))];
}

function size(run) {
  if (run.bytes == null) return [];
  const [unit, letter] = run.parameters >= 1e6 ? [1e6, " M"] : run.parameters >= 1e3 ? [1e3, " k"] : [1, ""];
  const short = figure(run.parameters / unit, 3) + letter;
  return [`${figure(run.bytes / 1e6, 3)} MB`, make("div", { class: "quiet" }, `${short} ${say("parameters")}`)];
}
