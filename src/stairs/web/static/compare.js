// The same text asked of every run, side by side; a click on a word makes it a blank.

import { ask, complain, figure, known, make, remember, remembered, say } from "./shared.js";

const BLANK = "___";
const PIECES = /___|[\p{Script=Han}]|[\p{L}\p{N}'’]+|\s+|[^\s]/gu;
const MOST_WORDS = 600; // that can be clicked
const EXAMPLE = { en: "The cat sat on the mat.", zh: "我在北京大学研究语言模型。" };

export function comparePage() {
  const text = make("textarea", { id: "text", name: "text", spellcheck: "false", oninput: () => { masked.clear(); spell(); }, onkeydown: entered });
  const second = make("input", { id: "second", name: "second", type: "text" });
  const words = make("div", { class: "words", role: "group", "aria-label": say("words") });
  const cards = make("div", { class: "cards" });
  const masked = new Map(); // the place of a piece that is a blank now -> what stood there
  const form = make("form", { onsubmit: (event) => { event.preventDefault(); askAll(); } },
    make("label", {}, say("text"), text),
    make("div", { class: "row" },
      make("label", { class: "wide" }, say("beside"), second),
      make("button", { class: "main", type: "submit" }, say("ask"))));
  let turn = 0;

  function entered(event) {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    askAll();
  }

  function spell() {
    const pieces = text.value.match(PIECES) ?? [];
    const buttons = [];
    pieces.slice(0, MOST_WORDS).forEach((piece, place) => {
      if (!piece.trim()) return;
      const blank = masked.has(place) || piece === BLANK;
      const attributes = { type: "button", "aria-pressed": String(blank), onclick: () => toggle(pieces, place) };
      buttons.push(make("button", attributes, masked.get(place) ?? piece));
    });
    words.replaceChildren(...buttons);
  }

  function toggle(pieces, place) {
    if (masked.has(place)) {
      pieces[place] = masked.get(place);
      masked.delete(place);
    } else if (pieces[place] !== BLANK) {
      masked.set(place, pieces[place]);
      pieces[place] = BLANK;
    }
    text.value = pieces.join("");
    spell();
    words.querySelectorAll("button")[pieces.slice(0, place).filter((piece) => piece.trim()).length]?.focus();
    askAll();
  }

  function askAll() {
    const mine = ++turn;
    remember("text compare", text.value);
    const asked = { text: text.value, second: second.value };
    cards.replaceChildren(...known.runs.filter((run) => run.can_answer).map((run) => card(run, asked, () => mine === turn)));
  }

  function begin() {
    text.value = remembered("text compare") ?? EXAMPLE[known.language];
    if (remembered("text compare") == null) {
      const pieces = text.value.match(PIECES);
      masked.set(pieces.length - 2, pieces[pieces.length - 2]);
      text.value = pieces.with(pieces.length - 2, BLANK).join("");
    }
    spell();
    askAll();
  }

  queueMicrotask(begin);
  const element = make("section", {}, make("h1", {}, say("compare")), make("p", { class: "see" }, say("compare_about")), form, words, cards);
  return { title: say("compare"), element };
}

function card(run, asked, current) {
  const place = make("div", { class: "status" }, say("asking"));
  const found = make("article", { class: "card" }, make("h2", {}, run.name), make("p", { class: "quiet" }, [run.model, run.task].filter(Boolean).join(", ")), place);
  ask("/api/answer", { run: run.name, ...asked }, () => { place.textContent = say("loading"); })
    .then((response) => response.json())
    .then(({ answer }) => { if (current()) place.replaceWith(...told(answer)); })
    .catch((error) => { if (current()) complain(place, error); });
  return found;
}

// An answer as people read it: what is said, and what else was likely.
function told(answer) {
  const parts = [];
  const said = answer.filled ?? answer.translation ?? answer.continuation ?? answer.verdict ?? answer.answer ?? answer.label;
  if (said != null) parts.push(make("p", { class: "said" }, String(said)));
  for (const blank of answer.blanks ?? []) parts.push(bars(blank.words.map(({ word, probability }) => [word, probability])));
  if (answer.next) parts.push(bars(answer.next.map((one) => [one.shown, one.probability])));
  if (answer.probabilities) parts.push(bars(Object.entries(answer.probabilities).sort(([, one], [, other]) => other - one).slice(0, 8)));
  if (answer.near) parts.push(bars(answer.near.map((one) => [one.word ?? one.text, one.cosine])));
  if (answer.senses) parts.push(bars(answer.senses.slice(0, 8).map(({ sense, cosine }) => [sense, cosine])));
  if (answer.tags) parts.push(make("p", {}, answer.words.map((word, place) => tagged(word, answer.tags[place])).join(" ")));
  for (const name of ["score", "cosine", "next_sentence_probability"]) {
    if (answer[name] != null) parts.push(make("p", {}, `${name.replaceAll("_", " ")}: ${figure(answer[name])}`));
  }
  if (answer.vector) parts.push(make("p", { class: "quiet" }, `(${answer.vector.slice(0, 6).map((number) => figure(number, 3)).join(", ")}, …)`));
  if (answer.read) parts.push(make("p", { class: "quiet" }, String(answer.read)));
  return parts.length ? parts : [make("p", {}, JSON.stringify(answer).slice(0, 2000))];
}

function tagged(word, tag) {
  return tag === "O" ? word : `${word}/${tag}`;
}

// A space and the end of a line, which nobody would see, as signs of them.
function shown(name) {
  return String(name).replace(/^[ ▁]/, "␣").replaceAll("\n", "⏎");
}

function bars(rows) {
  const cells = rows.flatMap(([name, value]) => [
    make("span", { class: "what" }, shown(name)),
    make("meter", { min: 0, max: 1, value: Math.min(1, Math.max(0, value ?? 0)), "aria-label": String(name) }),
    make("span", { class: "how" }, (value ?? 0).toFixed(3)),
  ]);
  return make("div", { class: "bars" }, ...cells);
}
