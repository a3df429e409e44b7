"use strict";
// Sorting and filtering of all runs. Without this script the page is complete: every row is in it.
const most = 80;
const tables = [...document.querySelectorAll(".runs table")].map((table) => ({
  table,
  body: table.tBodies[0],
  rows: [...table.tBodies[0].rows].map((row) => ({
    row,
    text: [...row.cells].slice(0, 3).map((cell) => cell.textContent.toLowerCase()).join(" "),
  })),
}));
const count = document.getElementById("count");
const filter = document.getElementById("filter");
const columns = document.getElementById("columns");

const number = (text) => Number.parseFloat(text.replaceAll(",", "").replace("−", "-"));

function show() {
  const wanted = filter.value.trim().toLowerCase().split(/\s+/);
  let matching = 0, all = 0;
  for (const { rows } of tables) {
    let shown = 0;
    for (const { row, text } of rows) {
      const isIn = wanted.every((word) => text.includes(word));
      const name = isIn ? (shown++ < most ? "" : "beyond") : "out";
      if (row.className !== name) row.className = name;
    }
    matching += shown;
    all += rows.length;
  }
  count.textContent = `${matching.toLocaleString("en")} of ${all.toLocaleString("en")} runs`
    + (tables.some(({ rows }) => rows.length > most) ? `; at most ${most} of a family are shown` : "");
}

function choose() {
  const wanted = columns.value.trim().toLowerCase();
  for (const { table } of tables) {
    const heads = [...table.tHead.rows[0].cells];
    const out = heads.map((head, place) => place > 2 && !head.textContent.toLowerCase().includes(wanted));
    for (const row of table.rows) out.forEach((isOut, place) => row.cells[place].classList.toggle("out", isOut));
  }
}

function sort(entry, place) {
  const heads = [...entry.table.tHead.rows[0].cells];
  const keyed = entry.rows.map((each) => {
    const text = each.row.cells[place].textContent;
    return { each, text, value: number(text) };
  });
  const numeric = keyed.every(({ text, value }) => !Number.isNaN(value) || !/[a-z]/i.test(text) || text === "NaN");
  // Of numbers the large come first, of names those at the beginning of the alphabet.
  const [first, second] = numeric ? ["descending", "ascending"] : ["ascending", "descending"];
  const order = heads[place].ariaSort === first ? second : first;
  heads.forEach((head, i) => { head.ariaSort = i === place ? order : "none"; });
  const sign = order === "descending" ? -1 : 1;
  keyed.sort((one, other) => {
    if (!numeric) return sign * one.text.localeCompare(other.text, "en", { numeric: true });
    if (Number.isNaN(one.value) || Number.isNaN(other.value)) return Number.isNaN(one.value) - Number.isNaN(other.value);
    return sign * (one.value - other.value);
  });
  entry.rows = keyed.map(({ each }) => each);
  entry.body.append(...entry.rows.map(({ row }) => row));
  show();
}

for (const entry of tables) {
  [...entry.table.tHead.rows[0].cells].forEach((head, place) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    head.ariaSort = "none";
    button.addEventListener("click", () => sort(entry, place));
  });
}
for (const table of document.querySelectorAll("table")) {
  const [head, first] = [table.tHead.rows[0], table.tBodies[0].rows[0]];
  if (!first) continue;
  const isText = [...first.cells].map((cell, place) => place === 0
    || [...table.tBodies[0].rows].some((row) => Number.isNaN(number(row.cells[place].textContent)) && /[a-z]{4}/i.test(row.cells[place].textContent)));
  const heads = [...head.cells].map((cell) => cell.textContent);
  for (const row of table.rows) {
    isText.forEach((is, place) => is && row.cells[place].classList.add("text"));
    heads.forEach((name, place) => { row.cells[place].dataset.head = name; });
  }
}
filter.addEventListener("input", show);
columns.addEventListener("input", choose);
show();
