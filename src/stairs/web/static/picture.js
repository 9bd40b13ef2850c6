// The page of one picture: a run, a text, options; the picture; what to see in it; and the same as a file.

import { drawn } from "./drawing.js";
import { ask, complain, known, make, remember, remembered, save, saves, say, spoken } from "./shared.js";

const WORDS = new Set(["word", "second"]); // options that are text; the others are whole numbers
const SEVERAL = new Set(["tokens"]); // pictures of which several runs can share one
const FIRST = { layer: 0, head: 0 }; // what they begin with

export function picturePage(name) {
  const page = known.pages[name];
  const run = make("select", { id: "run", name: "run", onchange: chose });
  const text = make("textarea", { id: "text", name: "text", spellcheck: "false", onkeydown: entered });
  const written = make("label", {}, say("text"), text);
  const options = make("div", { class: "row" });
  const status = make("p", { class: "status", role: "status" });
  const picture = make("div", { class: "picture", tabindex: "0", "aria-label": spoken(page.title) });
  const below = saves(keep);
  const all = make("input", { id: "all", type: "checkbox", onchange: () => draw() });
  const together = make("label", { class: "check" }, all, say("beside_all"));
  const submit = make("button", { class: "main", type: "submit" }, say("draw"));
  const row = make("div", { class: "row" }, make("label", {}, say("run"), run), options, together, submit, status);
  const form = make("form", { onsubmit: (event) => { event.preventDefault(); draw(); } }, written, row);
  let turn = 0; // of two questions the later one is shown, whichever is answered first
  const before = remembered(`text ${name}`);
  text.value = before == null || Object.values(page.example).includes(before) ? spoken(page.example) : before;

  function entered(event) {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    draw();
  }

  function chose() {
    history.replaceState(null, "", location.pathname); // the run that the address named is no longer wanted
    choices();
    draw();
  }

  function suited() {
    return known.runs.filter((one) => one.pictures && name in one.pictures).map((one) => one.name);
  }

  function offer() {
    const wanted = new URLSearchParams(location.search).get("run") ?? (run.value || remembered("run"));
    const names = suited();
    together.hidden = !SEVERAL.has(name) || names.length < 2;
    if (names.join("\n") === [...run.options].map((option) => option.value).join("\n")) return false;
    run.replaceChildren(...names.map((one) => make("option", { value: one, selected: one === wanted }, one)));
    choices();
    return true;
  }

  function choices() {
    const { options: takes, needs_text: reads } = known.runs.find((one) => one.name === run.value)?.pictures?.[name] ?? { options: [], needs_text: true };
    written.hidden = !reads;
    const before = chosen();
    options.replaceChildren(...takes.map((option) => {
      const kind = WORDS.has(option) ? { type: "text" } : { type: "number", step: "1", min: FIRST[option] ?? 1, onchange: draw };
      const value = before[option] ?? (page.options[option] ? spoken(page.options[option]) : FIRST[option] ?? "");
      return make("label", {}, say(option), make("input", { ...kind, name: option, value }));
    }));
  }

  function chosen() {
    const filled = [...options.querySelectorAll("input")].filter((input) => input.value !== "");
    return Object.fromEntries(filled.map((input) => [input.name, input.type === "number" ? Number(input.value) : input.value]));
  }

  const others = () => (all.checked ? suited().filter((one) => one !== run.value) : []);
  const asked = (format) => ({ run: run.value, text: text.value, options: chosen(), format, beside: others() });
  const tell = (sentence) => { status.className = "status"; status.textContent = sentence; };

  async function draw() {
    if (!run.value) return;
    const mine = ++turn;
    remember(`text ${name}`, text.value);
    remember("run", run.value);
    tell(say("drawing"));
    try {
      const response = await ask(`/api/picture/${name}`, asked("svg"), () => tell(say("loading")));
      const source = await response.text();
      if (mine !== turn) return;
      picture.replaceChildren(drawn(source));
      tell(decodeURIComponent(response.headers.get("x-note") ?? ""));
      below.hidden = false;
    } catch (error) {
      if (mine === turn) complain(status, error);
    }
  }

  async function keep(format) {
    try {
      const response = await ask(`/api/picture/${name}`, asked(format), () => tell(say("loading")));
      save(await response.blob(), `${name}.${format}`);
      tell("");
    } catch (error) {
      complain(status, error);
    }
  }

  function refresh() {
    const before = run.value;
    if (offer() && run.value !== before) draw();
    if (!run.value) tell(say(known.runs.some((one) => one.can_answer && !one.pictures) ? "waiting" : "none"));
  }

  const element = make("section", {}, make("h1", {}, spoken(page.title)), make("p", { class: "see" }, spoken(page.see)), form, picture, below);
  below.hidden = true;
  queueMicrotask(refresh);
  return { title: spoken(page.title), element, refresh };
}
