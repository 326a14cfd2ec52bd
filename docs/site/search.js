// Search in the texts of all pages: every word must occur; hits in headings come first.
"use strict";

const FEWEST_LETTERS = 2;
const MOST_SHOWN = 12;
const AROUND = 70;
const form = document.querySelector(".search");
const field = form.querySelector("input");
const list = form.querySelector("ol");
const root = document.body.dataset.root;

function found(words) {
  const hits = [];
  for (const entry of SEARCH_INDEX) {
    const title = `${entry.title} ${entry.page}`.toLowerCase();
    const text = entry.words.toLowerCase();
    if (!words.every((word) => title.includes(word) || text.includes(word))) continue;
    const inTitle = words.filter((word) => title.includes(word)).length;
    hits.push({ entry, rank: inTitle * 100 - text.length / 1e5 });
  }
  return hits.sort((one, other) => other.rank - one.rank).slice(0, MOST_SHOWN);
}

function passage(entry, words) {
  const at = Math.max(0, entry.words.toLowerCase().indexOf(words[0]));
  const start = Math.max(0, at - AROUND);
  return (start ? "… " : "") + entry.words.slice(start, at + AROUND) + (at + AROUND < entry.words.length ? " …" : "");
}

function element(name, text, attributes = {}) {
  const made = document.createElement(name);
  made.textContent = text;
  Object.assign(made, attributes);
  return made;
}

function show() {
  const words = field.value.toLowerCase().split(/\s+/).filter((word) => word.length >= FEWEST_LETTERS);
  list.replaceChildren();
  list.hidden = words.length === 0;
  if (list.hidden) return;
  const hits = found(words);
  if (!hits.length) list.append(element("li", "Nothing found."));
  for (const { entry } of hits) {
    const item = document.createElement("li");
    const name = entry.title === entry.page ? entry.page : `${entry.page}: ${entry.title}`;
    item.append(element("a", name, { href: `${root}/${entry.place}` }), element("p", passage(entry, words)));
    list.append(item);
  }
}

field.addEventListener("input", show);
form.addEventListener("submit", (event) => {
  event.preventDefault();
  list.querySelector("a")?.click();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== field) {
    event.preventDefault();
    field.focus();
  }
  if (event.key === "Escape") {
    field.value = "";
    show();
  }
});

// on a narrow screen the contents are folded away
const contents = document.querySelector(".contents");
if (window.matchMedia("(max-width: 760px)").matches) contents.open = false;
