// Names, captions, headings, landmarks, and the contrast of every text that can be seen.
const faults = [];
const name = (e) => (e.getAttribute("aria-label") || e.textContent || "").trim()
  || [...(e.labels || [])].map((label) => label.textContent.trim()).join(" ");
for (const e of document.querySelectorAll("a[href], button, input, select, summary, [role=region]"))
  if (!name(e)) faults.push(`no name: ${e.outerHTML.slice(0, 80)}`);

const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
for (const id of new Set(ids.filter((id, i) => ids.indexOf(id) !== i))) faults.push(`id twice: ${id}`);
for (const e of document.querySelectorAll("[aria-labelledby], [aria-controls]"))
  for (const id of (e.getAttribute("aria-labelledby") || e.getAttribute("aria-controls")).split(" "))
    if (!document.getElementById(id)) faults.push(`nothing called ${id}`);

for (const table of document.querySelectorAll("table")) {
  if (!table.caption?.textContent.trim()) faults.push(`no caption: ${table.id}`);
  if ([...table.querySelectorAll("th")].some((th) => !th.scope)) faults.push(`no scope: ${table.id}`);
}
for (const svg of document.querySelectorAll("svg"))
  if (!svg.closest("[aria-label]")) faults.push("a picture without a name");

let level = 0;
for (const h of document.querySelectorAll("h1, h2, h3, h4, h5")) {
  if (+h.tagName[1] > level + 1) faults.push(`level skipped before ${h.textContent.slice(0, 40)}`);
  level = +h.tagName[1];
}
if (document.querySelectorAll("h1").length !== 1) faults.push("not one h1");
for (const landmark of ["header", "nav", "main", "footer"])
  if (document.querySelectorAll(landmark).length !== 1) faults.push(`not one ${landmark}`);
if (!document.documentElement.lang || !document.title) faults.push("no language or no title");

const rgb = (text) => {
  const parts = (text.match(/[\d.]+/g) || [0, 0, 0, 0]).map(Number);
  return parts.length < 4 ? [...parts, 1] : parts;
};
const linear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
const luminance = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
const ground = (e) => {
  for (; e; e = e.parentElement) {
    const colour = rgb(getComputedStyle(e).backgroundColor);
    if (colour[3] > 0.5) return colour;
  }
  return [255, 255, 255, 1];
};
const low = new Set();
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
for (let node; (node = walker.nextNode());) {
  const e = node.parentElement;
  if (!node.data.trim() || ["SCRIPT", "STYLE", "NOSCRIPT"].includes(e.tagName) || !e.getClientRects().length) continue;
  const style = getComputedStyle(e);
  const [a, b] = [luminance(rgb(e.closest("svg") ? style.fill : style.color)), luminance(ground(e))];
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (ratio < 4.5) low.add(`contrast ${ratio.toFixed(2)}: ${e.tagName} "${node.data.trim().slice(0, 30)}"`);
}
return [...faults, ...low];
