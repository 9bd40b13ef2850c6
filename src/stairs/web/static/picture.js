// The page of one picture: a run, a text and options; the picture itself; what to look for; and the picture as a file.

import { svgElement } from "./drawing.js";
import { label, localized, make, recall, remember, request, saveBlob, saveButtons, showError, state, submitOnEnter } from "./shared.js";

const TEXT_OPTIONS = new Set(["word", "second", "dimensions"]); // the others are whole numbers
const SIDE_BY_SIDE = new Set(["tokens"]); // pictures that can show several runs
const DEFAULTS = { layer: 0, head: 0, seed: 0 };
const NO_PICTURE = { options: [], needs_text: true };

export function picturePage(name) {
  const page = state.pages[name];
  const run = make("select", { id: "run", name: "run", onchange: changeRun });
  const text = make("textarea", { id: "text", name: "text", spellcheck: "false", onkeydown: submitOnEnter(draw) });
  const textField = make("label", {}, label("text"), text);
  const examples = make("select", { id: "examples", "aria-label": label("examples"), onchange: chooseExample });
  const options = make("div", { class: "row" });
  const status = make("p", { class: "status", role: "status" });
  const picture = make("div", { class: "picture", tabindex: "0", "aria-label": localized(page.title) });
  const buttons = saveButtons(save);
  const allRuns = make("input", { id: "all", type: "checkbox", onchange: () => draw() });
  const allRunsField = make("label", { class: "check" }, allRuns, label("all_runs"));
  const submit = make("button", { class: "main", type: "submit" }, label("draw"));
  const row = make("div", { class: "row" }, make("label", {}, label("run"), run), options, allRunsField, submit, status);
  const form = make("form", { onsubmit: (event) => { event.preventDefault(); draw(); } }, textField, examples, row);
  let turn = 0; // of two requests the later one is shown, whichever is answered first
  const lastText = recall(`text ${name}`);
  text.value = lastText == null || Object.values(page.example).includes(lastText) ? localized(page.example) : lastText;

  function showExamples() {
    const texts = [...localized(page.presets), ...Object.values(page.presets).flat()];
    const options = [...new Set(texts)].map((one) => make("option", { value: one }, one.split("\n")[0]));
    examples.replaceChildren(make("option", { value: "" }, label("examples")), ...options);
    examples.hidden = textField.hidden || options.length < 2;
  }

  function chooseExample() {
    text.value = examples.value;
    examples.selectedIndex = 0; // so that the same one can be chosen again
    draw();
  }

  function changeRun() {
    history.replaceState(null, "", location.pathname); // the address no longer names the run
    showOptions();
    draw();
  }

  function suitableRuns() {
    return state.runs.filter((one) => one.pictures && name in one.pictures).map((one) => one.name);
  }

  // Whether the list of runs has changed.
  function updateRuns() {
    const requested = new URLSearchParams(location.search).get("run") ?? (run.value || recall("run"));
    const names = suitableRuns();
    allRunsField.hidden = !SIDE_BY_SIDE.has(name) || names.length < 2;
    if (names.join("\n") === [...run.options].map((option) => option.value).join("\n")) return false;
    run.replaceChildren(...names.map((one) => make("option", { value: one, selected: one === requested }, one)));
    showOptions();
    return true;
  }

  function showOptions() {
    const available = state.runs.find((one) => one.name === run.value)?.pictures?.[name] ?? NO_PICTURE;
    textField.hidden = !available.needs_text;
    showExamples();
    const previous = optionValues();
    options.replaceChildren(...available.options.map((option) => {
      const kind = TEXT_OPTIONS.has(option) ? { type: "text" } : { type: "number", step: "1", min: DEFAULTS[option] ?? 1, onchange: draw };
      const value = previous[option] ?? (page.options[option] ? localized(page.options[option]) : DEFAULTS[option] ?? "");
      return make("label", {}, label(option), make("input", { ...kind, name: option, value }));
    }));
  }

  function optionValues() {
    const filled = [...options.querySelectorAll("input")].filter((input) => input.value !== "");
    return Object.fromEntries(filled.map((input) => [input.name, input.type === "number" ? Number(input.value) : input.value]));
  }

  const otherRuns = () => (allRuns.checked ? suitableRuns().filter((one) => one !== run.value) : []);
  const body = (format) => ({ run: run.value, text: text.value, options: optionValues(), format, side_by_side: otherRuns() });
  const showStatus = (sentence) => { status.className = "status"; status.textContent = sentence; };
  const fetchPicture = (format) => request(`/api/picture/${name}`, body(format), () => showStatus(label("loading")));

  async function draw() {
    if (!run.value) return;
    const mine = ++turn;
    remember(`text ${name}`, text.value);
    remember("run", run.value);
    showStatus(label("drawing"));
    try {
      const response = await fetchPicture("svg");
      const source = await response.text();
      if (mine !== turn) return;
      picture.replaceChildren(svgElement(source));
      showStatus(decodeURIComponent(response.headers.get("x-note") ?? ""));
      buttons.hidden = false;
    } catch (error) {
      if (mine === turn) showError(status, error);
    }
  }

  async function save(format) {
    try {
      saveBlob(await (await fetchPicture(format)).blob(), `${name}.${format}`);
      showStatus("");
    } catch (error) {
      showError(status, error);
    }
  }

  function refresh() {
    const before = run.value;
    if (updateRuns() && run.value !== before) draw();
    if (!run.value) showStatus(label(state.runs.some((one) => one.can_answer && !one.pictures) ? "still_loading" : "no_run"));
  }

  const description = make("p", { class: "description" }, localized(page.description));
  const element = make("section", {}, make("h1", {}, localized(page.title)), description, form, picture, buttons);
  buttons.hidden = true;
  queueMicrotask(refresh);
  return { title: localized(page.title), element, refresh };
}
