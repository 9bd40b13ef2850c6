// A climb: the recommended model, the staircase, the score and cost of each model, and score against cost; refreshed while the climb goes on.

import { svgElement } from "./drawing.js";
import { fetchRuns, formatCount, label, localized, make, request, saveBlob, saveButtons, showError, state } from "./shared.js";

const REFRESH = 2000; // milliseconds
const COLUMNS = ["model", "score", "interval", "bits", "cpu", "seconds", "per_text", "training_mb", "answering_mb", "parameters", "megabytes"];

export function staircasePage() {
  const title = label("climb_title");
  if (!state.climbs.length) {
    return { title, element: make("section", {}, make("h1", {}, title), make("p", { class: "description" }, label("no_climb"))) };
  }
  const climb = make("select", { id: "climb", name: "climb", onchange: () => { shownSource = ""; refreshClimb(); } });
  climb.replaceChildren(...state.climbs.map((name) => make("option", { value: name }, name)));
  const choice = make("form", { onsubmit: (event) => event.preventDefault() }, make("label", {}, label("climb"), climb));
  choice.hidden = state.climbs.length < 2;
  const status = make("p", { id: "wrong", class: "status", role: "status" });
  const advice = make("div");
  const body = make("tbody");
  const head = make("tr", {}, ...COLUMNS.map((name) => make("th", { scope: "col" }, label(`climb_${name}`))));
  const table = make("div", { class: "card wide" }, make("table", { class: "costs" }, make("thead", {}, head), body));
  const pictures = ["staircase", "frontier"].map(pictureSection);
  let shownSource = ""; // the JSON that is shown
  let report = { rows: [], recommended: [] };
  let timer = null;
  let hasLeft = false;

  const address = (name, format) => `/api/climb/${encodeURIComponent(climb.value)}/${name}?format=${format}&language=${state.language}`;

  function pictureSection(name) {
    const picture = make("div", { class: "picture fit", tabindex: "0", "aria-label": label(`climb_${name}`) });
    const description = make("p", { class: "description" }, label(`climb_${name}_see`));
    const section = make("section", {}, make("h2", {}, label(`climb_${name}`)), description, picture, saveButtons((format) => save(name, format)));
    section.hidden = true;
    return { name, picture, section };
  }

  async function save(name, format) {
    try {
      saveBlob(await (await request(address(name, format))).blob(), `${name}.${format}`);
    } catch (error) {
      showError(status, error);
    }
  }

  async function refreshClimb() {
    clearTimeout(timer);
    const chosen = climb.value;
    try {
      const source = await (await request(`/api/climb/${encodeURIComponent(chosen)}`)).text();
      if (hasLeft || chosen !== climb.value) return;
      if (source !== shownSource) {
        shownSource = source;
        await fetchRuns(); // there may be new ones
        await show(JSON.parse(source), () => !hasLeft && source === shownSource);
      }
    } catch (error) {
      showError(status, error);
    }
    if (!hasLeft) timer = setTimeout(refreshClimb, REFRESH);
  }

  const fill = () => body.replaceChildren(...report.rows.map((row) => tableRow(row, report.recommended.includes(row.model))));

  async function show(current, isCurrent) {
    report = current;
    status.className = report.problem ? "status wrong" : "status";
    status.textContent = report.problem ?? "";
    advice.replaceChildren(...adviceElements(report));
    fill();
    table.hidden = !report.rows.length;
    const hasScore = report.rows.some((row) => row.score);
    for (const { name, picture, section } of pictures) {
      section.hidden = !hasScore;
      if (!hasScore) continue;
      const source = await (await request(address(name, "svg"))).text();
      if (isCurrent()) picture.replaceChildren(svgElement(source));
    }
  }

  queueMicrotask(refreshClimb);
  const costs = make("section", {}, make("h2", {}, label("climb_table")), table);
  const element = make("section", {}, make("h1", {}, title), choice, status, advice, pictures[0].section, costs, pictures[1].section);
  return { title, element, refresh: fill, leave: () => { hasLeft = true; clearTimeout(timer); } };
}

function adviceElements(report) {
  const parts = [];
  if (report.advice) {
    const heading = report.names ? [make("b", {}, `${label("climb_recommended")}: ${localized(report.names)}`), " · "] : [];
    parts.push(make("p", { class: "advice" }, ...heading, localized(report.advice)));
  }
  if (report.data) parts.push(make("p", { class: "description" }, localized(report.data)));
  return parts;
}

function tableRow(row, isRecommended) {
  const cell = (text) => make("td", { class: "number" }, text ?? "");
  const remark = row.beside_words ? [make("div", { class: "quiet remark" }, localized(row.beside_words))] : [];
  const name = make("td", { class: "name" }, row.model, ...row.runs.map(runLink), ...remark);
  const reason = ["not_tried", "failed"].find((one) => one in row);
  if (reason) return make("tr", {}, name, make("td", { class: "quiet", colspan: COLUMNS.length - 1 }, `${label(`climb_${reason}`)}: ${row[reason]}`));
  const { score } = row;
  return make("tr", { class: isRecommended ? "recommended" : null }, name,
    cell(score?.value.toFixed(4)),
    cell(score && `${score.low.toFixed(4)} – ${score.high.toFixed(4)}`),
    cell(row.bits?.toFixed(4)),
    cell(row.cpu_seconds.toFixed(1) + (row.is_adopted ? ` ${label("climb_elsewhere")}` : "")),
    cell(row.seconds.toFixed(1)),
    cell(row.ms_per_text?.toFixed(2)),
    cell(row.training_mb?.toFixed(0)),
    cell(row.answering_mb?.toFixed(0)),
    cell(state.language === "zh" ? formatCount(row.parameters) : row.parameters.toLocaleString("en")),
    cell(row.megabytes.toFixed(1)));
}

// A link to the picture that shows most about a run.
function runLink(name) {
  const pictures = Object.keys(state.runs.find((run) => run.name === name)?.pictures ?? {});
  const picture = ["reasons", "surprise", "neighbours"].find((one) => pictures.includes(one)) ?? "tokens";
  return make("div", { class: "run" }, make("a", { href: `/picture/${picture}?run=${encodeURIComponent(name)}` }, name));
}
