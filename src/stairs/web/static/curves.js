// The learning curves of a run, redrawn while it is in training.

import { svgElement } from "./drawing.js";
import { label, make, recall, remember, request, saveBlob, saveButtons, showError, state } from "./shared.js";

const REFRESH = 2000; // milliseconds

export function curvesPage() {
  const run = make("select", { id: "run", name: "run", onchange: () => { drawnState = ""; refreshCurves(); } });
  const requested = new URLSearchParams(location.search).get("run") ?? recall("run");
  const status = make("p", { class: "status", role: "status" });
  const picture = make("div", { class: "picture", tabindex: "0", "aria-label": label("curves") });
  run.replaceChildren(...state.runs.map(({ name }) => make("option", { value: name, selected: name === requested }, name)));
  let drawnState = ""; // what the picture shows
  let timer = null;
  let hasLeft = false;

  const address = (format) => `/api/curves/${encodeURIComponent(run.value)}?format=${format}`;

  async function refreshCurves() {
    clearTimeout(timer);
    if (!run.value) return;
    const chosen = run.value;
    remember("run", chosen);
    try {
      const curves = await (await request(address("json"))).json();
      if (hasLeft || chosen !== run.value) return;
      status.className = "status";
      status.textContent = [label(curves.state), curves.step == null ? "" : `${label("step")} ${curves.step}`, curves.problem].filter(Boolean).join(" · ");
      const current = JSON.stringify([chosen, curves.training.length, curves.held_out.length, curves.step]);
      if (current !== drawnState) {
        drawnState = current;
        await redraw(curves);
      }
      if (curves.state === "training" && !hasLeft) timer = setTimeout(refreshCurves, REFRESH);
    } catch (error) {
      showError(status, error);
    }
  }

  async function redraw(curves) {
    if (!curves.training.length && !curves.held_out.length) return picture.replaceChildren(make("p", { class: "quiet" }, label("no_curve")));
    picture.replaceChildren(svgElement(await (await request(address("svg"))).text()));
  }

  async function save(format) {
    try {
      saveBlob(await (await request(address(format))).blob(), `curves.${format}`);
    } catch (error) {
      showError(status, error);
    }
  }

  queueMicrotask(refreshCurves);
  const row = make("form", { onsubmit: (event) => event.preventDefault() }, make("label", {}, label("run"), run));
  const description = make("p", { class: "description" }, label("curves_about"));
  const element = make("section", {}, make("h1", {}, label("curves")), description, row, status, picture, saveButtons(save));
  return { title: label("curves"), element, leave: () => { hasLeft = true; clearTimeout(timer); } };
}
