// A climb: which step is worth it, the staircase, what each step is worth and costs, and quality against cost; read anew while it goes on.

import { drawn } from "./drawing.js";
import { ask, complain, known, make, readRuns, save, saves, say, spoken } from "./shared.js";

const AGAIN = 2000; // milliseconds
const COLUMNS = ["model", "score", "interval", "bits", "cpu", "seconds", "per_text", "training_mb", "answering_mb", "parameters", "megabytes"];

export function staircasePage() {
  const title = say("climb_title");
  if (!known.climbs.length) {
    return { title, element: make("section", {}, make("h1", {}, title), make("p", { class: "see" }, say("no_climb"))) };
  }
  const climb = make("select", { id: "climb", name: "climb", onchange: () => { seen = ""; look(); } });
  climb.replaceChildren(...known.climbs.map((name) => make("option", { value: name }, name)));
  const choice = make("form", { onsubmit: (event) => event.preventDefault() }, make("label", {}, say("climb"), climb));
  choice.hidden = known.climbs.length < 2;
  const status = make("p", { id: "wrong", class: "status", role: "status" });
  const advice = make("div");
  const body = make("tbody");
  const head = make("tr", {}, ...COLUMNS.map((name) => make("th", { scope: "col" }, say(`climb_${name}`))));
  const table = make("div", { class: "card wide" }, make("table", { class: "worth" }, make("thead", {}, head), body));
  const pictures = ["staircase", "frontier"].map(figureOf);
  let seen = ""; // what is shown already, as it came
  let shown = { rows: [], chosen: [] };
  let timer = null;
  let left = false;

  const address = (name, format) => `/api/climb/${encodeURIComponent(climb.value)}/${name}?format=${format}&language=${known.language}`;

  function figureOf(name) {
    const place = make("div", { class: "picture whole", tabindex: "0", "aria-label": say(`climb_${name}`) });
    const told = make("p", { class: "see" }, say(`climb_${name}_see`));
    const section = make("section", {}, make("h2", {}, say(`climb_${name}`)), told, place, saves((format) => keep(name, format)));
    section.hidden = true;
    return { name, place, section };
  }

  async function keep(name, format) {
    try {
      save(await (await ask(address(name, format))).blob(), `${name}.${format}`);
    } catch (error) {
      complain(status, error);
    }
  }

  async function look() {
    clearTimeout(timer);
    const chosen = climb.value;
    try {
      const source = await (await ask(`/api/climb/${encodeURIComponent(chosen)}`)).text();
      if (left || chosen !== climb.value) return;
      if (source !== seen) {
        seen = source;
        await readRuns(); // there may be new ones
        await show(JSON.parse(source), () => !left && source === seen);
      }
    } catch (error) {
      complain(status, error);
    }
    if (!left) timer = setTimeout(look, AGAIN);
  }

  const fill = () => body.replaceChildren(...shown.rows.map((row) => line(row, shown.chosen.includes(row.model))));

  async function show(found, current) {
    shown = found;
    status.className = found.problem ? "status wrong" : "status";
    status.textContent = found.problem ?? "";
    advice.replaceChildren(...advised(found));
    fill();
    table.hidden = !found.rows.length;
    const scored = found.rows.some((row) => row.score);
    for (const { name, place, section } of pictures) {
      section.hidden = !scored;
      if (!scored) continue;
      const source = await (await ask(address(name, "svg"))).text();
      if (current()) place.replaceChildren(drawn(source));
    }
  }

  queueMicrotask(look);
  const worth = make("section", {}, make("h2", {}, say("climb_table")), table);
  const element = make("section", {}, make("h1", {}, title), choice, status, advice, pictures[0].section, worth, pictures[1].section);
  return { title, element, refresh: fill, leave: () => { left = true; clearTimeout(timer); } };
}

function advised(found) {
  const parts = [];
  if (found.recommended) {
    const step = found.names ? [make("b", {}, `${say("climb_recommended")}: ${spoken(found.names)}`), " · "] : [];
    parts.push(make("p", { class: "box" }, ...step, spoken(found.recommended)));
  }
  if (found.data) parts.push(make("p", { class: "see" }, spoken(found.data)));
  return parts;
}

function line(row, chosen) {
  const cell = (text) => make("td", { class: "number" }, text ?? "");
  const name = make("td", { class: "name" }, row.model, ...row.runs.map(link));
  const reason = ["not_tried", "failed"].find((one) => one in row);
  if (reason) return make("tr", {}, name, make("td", { class: "quiet", colspan: COLUMNS.length - 1 }, `${say(`climb_${reason}`)}: ${row[reason]}`));
  const { score } = row;
  return make("tr", { class: chosen ? "chosen" : null }, name,
    cell(score?.value.toFixed(4)),
    cell(score && `${score.low.toFixed(4)} – ${score.high.toFixed(4)}`),
    cell(row.bits?.toFixed(4)),
    cell(row.cpu_seconds.toFixed(1) + (row.adopted ? ` ${say("climb_elsewhere")}` : "")),
    cell(row.seconds.toFixed(1)),
    cell(row.ms_per_text?.toFixed(2)),
    cell(row.training_mb?.toFixed(0)),
    cell(row.answering_mb?.toFixed(0)),
    cell(row.parameters.toLocaleString("en")),
    cell(row.megabytes.toFixed(1)));
}

// To the picture of a run that tells most of it.
function link(name) {
  const offered = Object.keys(known.runs.find((run) => run.name === name)?.pictures ?? {});
  const picture = ["reasons", "surprise", "neighbours"].find((one) => offered.includes(one)) ?? "tokens";
  return make("div", { class: "run" }, make("a", { href: `/picture/${picture}?run=${encodeURIComponent(name)}` }, name));
}
