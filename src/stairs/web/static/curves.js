// The curves of a training, drawn anew while it goes on.

import { drawn } from "./drawing.js";
import { ask, complain, known, make, Refused, remember, remembered, save, saves, say } from "./shared.js";

const AGAIN = 2000; // milliseconds

export function curvesPage() {
  const run = make("select", { id: "run", name: "run", onchange: () => { seen = ""; look(); } });
  const wanted = new URLSearchParams(location.search).get("run") ?? remembered("run");
  const status = make("p", { class: "status", role: "status" });
  const picture = make("div", { class: "picture", tabindex: "0", "aria-label": say("curves") });
  run.replaceChildren(...known.runs.map(({ name }) => make("option", { value: name, selected: name === wanted }, name)));
  let seen = ""; // what is drawn already
  let timer = null;
  let left = false;

  const address = (format) => `/api/curves/${encodeURIComponent(run.value)}?format=${format}`;

  async function look() {
    clearTimeout(timer);
    if (!run.value) return;
    const chosen = run.value;
    remember("run", chosen);
    try {
      const found = await (await ask(address("json"))).json();
      if (left || chosen !== run.value) return;
      status.className = "status";
      status.textContent = [say(found.state), found.at == null ? "" : `${say("at")} ${found.at}`, found.problem].filter(Boolean).join(" · ");
      const now = JSON.stringify([chosen, found.training.length, found.held_out.length, found.at]);
      if (now !== seen) {
        seen = now;
        await redraw(found);
      }
      if (found.state === "training" && !left) timer = setTimeout(look, AGAIN);
    } catch (error) {
      complain(status, error);
    }
  }

  async function redraw(found) {
    if (!found.training.length && !found.held_out.length) return picture.replaceChildren(make("p", { class: "quiet" }, say("no_curve")));
    picture.replaceChildren(drawn(await (await ask(address("svg"))).text()));
  }

  async function keep(format) {
    try {
      save(await (await ask(address(format))).blob(), `curves.${format}`);
    } catch (error) {
      complain(status, error instanceof Refused ? error : new Refused({ message: String(error) }));
    }
  }

  queueMicrotask(look);
  const row = make("form", { onsubmit: (event) => event.preventDefault() }, make("label", {}, say("run"), run));
  const told = make("p", { class: "see" }, say("curves_about"));
  const element = make("section", {}, make("h1", {}, say("curves")), told, row, status, picture, saves(keep));
  return { title: say("curves"), element, leave: () => { left = true; clearTimeout(timer); } };
}
