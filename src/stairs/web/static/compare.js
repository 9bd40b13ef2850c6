// The same text answered by every run, side by side; a click on a word masks it.

import { formatNumber, label, make, recall, remember, request, showError, state, submitOnEnter } from "./shared.js";

const BLANK = "___";
const PIECES = /___|[\p{Script=Han}]|[\p{L}\p{N}'’]+|\s+|[^\s]/gu;
const MAX_WORDS = 600; // that can be clicked
const EXAMPLE = { en: "The cat sat on the mat.", zh: "我在北京大学研究语言模型。" };
const BARS = 8;

export function comparePage() {
  const text = make("textarea", {
    id: "text", name: "text", spellcheck: "false", oninput: () => { masked.clear(); showWords(); }, onkeydown: submitOnEnter(askAll),
  });
  const second = make("input", { id: "second", name: "second", type: "text" });
  const words = make("div", { class: "words", role: "group", "aria-label": label("mask_a_word") });
  const cards = make("div", { class: "cards" });
  const masked = new Map(); // index of a masked piece -> its text
  const form = make("form", { onsubmit: (event) => { event.preventDefault(); askAll(); } },
    make("label", {}, label("text"), text),
    make("div", { class: "row" },
      make("label", { class: "wide" }, label("second_text"), second),
      make("button", { class: "main", type: "submit" }, label("ask"))));
  let turn = 0;

  function showWords() {
    const pieces = text.value.match(PIECES) ?? [];
    const buttons = [];
    pieces.slice(0, MAX_WORDS).forEach((piece, index) => {
      if (!piece.trim()) return;
      const isBlank = masked.has(index) || piece === BLANK;
      const attributes = { type: "button", "aria-pressed": String(isBlank), onclick: () => toggleMask(pieces, index) };
      buttons.push(make("button", attributes, masked.get(index) ?? piece));
    });
    words.replaceChildren(...buttons);
  }

  function toggleMask(pieces, index) {
    if (masked.has(index)) {
      pieces[index] = masked.get(index);
      masked.delete(index);
    } else if (pieces[index] !== BLANK) {
      masked.set(index, pieces[index]);
      pieces[index] = BLANK;
    }
    text.value = pieces.join("");
    showWords();
    words.querySelectorAll("button")[pieces.slice(0, index).filter((piece) => piece.trim()).length]?.focus();
    askAll();
  }

  function askAll() {
    const mine = ++turn;
    remember("text compare", text.value);
    const question = { text: text.value, second: second.value };
    cards.replaceChildren(...state.runs.filter((run) => run.can_answer).map((run) => card(run, question, () => mine === turn)));
  }

  function begin() {
    text.value = recall("text compare") ?? EXAMPLE[state.language];
    if (recall("text compare") == null) {
      const pieces = text.value.match(PIECES);
      const last = pieces.length - 2; // the word before the full stop
      masked.set(last, pieces[last]);
      text.value = pieces.with(last, BLANK).join("");
    }
    showWords();
    askAll();
  }

  queueMicrotask(begin);
  const element = make("section", {}, make("h1", {}, label("compare")), make("p", { class: "description" }, label("compare_about")), form, words, cards);
  return { title: label("compare"), element };
}

function card(run, question, isCurrent) {
  const status = make("div", { class: "status" }, label("asking"));
  const kind = [run.model, run.task].filter(Boolean).join(", ");
  const element = make("article", { class: "card" }, make("h2", {}, run.name), make("p", { class: "quiet" }, kind), status);
  request("/api/answer", { run: run.name, ...question }, () => { status.textContent = label("loading"); })
    .then((response) => response.json())
    .then(({ answer }) => { if (isCurrent()) status.replaceWith(...answerElements(answer)); })
    .catch((error) => { if (isCurrent()) showError(status, error); });
  return element;
}

// The answer itself, then the alternatives with their probabilities or cosines.
function answerElements(answer) {
  const parts = [];
  const main = answer.filled ?? answer.translation ?? answer.continuation ?? answer.verdict ?? answer.answer ?? answer.label ?? answer.labels?.join(", ") ?? answer.value;
  if (main != null) parts.push(make("p", { class: "answer" }, String(main)));
  for (const blank of answer.blanks ?? []) parts.push(bars(blank.words.map(({ word, probability }) => [word, probability])));
  if (answer.next) parts.push(bars(answer.next.map((entry) => [entry.readable, entry.probability])));
  if (answer.probabilities) parts.push(bars(Object.entries(answer.probabilities).sort(([, first], [, second]) => second - first).slice(0, BARS)));
  if (answer.near) parts.push(bars(answer.near.map((entry) => [entry.word ?? entry.text, entry.cosine])));
  if (answer.senses) parts.push(bars(answer.senses.slice(0, BARS).map(({ sense, cosine }) => [sense, cosine])));
  if (answer.tags) parts.push(make("p", {}, answer.words.map((word, index) => tagWord(word, answer.tags[index])).join(" ")));
  for (const name of ["score", "cosine", "next_sentence_probability"]) {
    if (answer[name] != null) parts.push(make("p", {}, `${name.replaceAll("_", " ")}: ${formatNumber(answer[name])}`));
  }
  if (answer.vector) parts.push(make("p", { class: "quiet" }, `(${answer.vector.slice(0, 6).map((number) => formatNumber(number, 3)).join(", ")}, …)`));
  if (answer.truncation) parts.push(make("p", { class: "quiet" }, String(answer.truncation)));
  return parts.length ? parts : [make("p", {}, JSON.stringify(answer).slice(0, 2000))];
}

function tagWord(word, tag) {
  return tag === "O" ? word : `${word}/${tag}`;
}

// Spaces and line ends, which would be invisible, are shown as signs.
function displayToken(name) {
  return String(name).replace(/^[ ▁]/, "␣").replaceAll("\n", "⏎");
}

function bars(rows) {
  const cells = rows.flatMap(([name, value]) => [
    make("span", { class: "name" }, displayToken(name)),
    make("meter", { min: 0, max: 1, value: Math.min(1, Math.max(0, value ?? 0)), "aria-label": String(name) }),
    make("span", { class: "value" }, (value ?? 0).toFixed(3)),
  ]);
  return make("div", { class: "bars" }, ...cells);
}
