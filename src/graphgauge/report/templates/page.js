// Sorting, filters, charts, the browser of runs, and downloads. Text from data goes into the page as text, not as HTML.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const say = (text) => { document.getElementById("live").textContent = text; };
  const make = (name, attributes = {}, ...children) => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  };

  // Convert columns, in which texts are indices into a list, to rows.
  const rowsOf = (columns) => {
    const names = Object.keys(columns);
    const read = names.map((name) => {
      const column = columns[name];
      if (column === null) return () => null;
      return Array.isArray(column) ? (i) => column[i] : (i) => column.levels[column.codes[i]];
    });
    const known = Object.values(columns).find((column) => column !== null);
    const length = known ? (known.codes || known).length : 0;
    return Array.from({ length }, (_, i) => Object.fromEntries(names.map((name, k) => [name, read[k](i)])));
  };
  const runs = rowsOf(data.runs);
  const rows = rowsOf(data.rows);

  // ---- tables: sort by a column, show rows and columns that contain a text
  const sortKey = (cell) => {
    if (!cell) return null;
    if (cell.dataset.sort !== undefined) return Number(cell.dataset.sort);
    const text = cell.textContent.trim();
    return text === "–" || text === "" ? null : text;
  };
  const compare = (a, b) =>
    typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
  const sortBy = (button) => {
    const head = button.closest("th");
    const table = head.closest("table");
    const index = [...head.parentNode.children].indexOf(head);
    const ascending = head.getAttribute("aria-sort") === "none" ? !head.classList.contains("numeric")
      : head.getAttribute("aria-sort") !== "ascending";
    for (const other of head.parentNode.children) other.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
    const body = table.tBodies[0];
    const keyed = [...body.rows].map((row) => ({ row, key: sortKey(row.children[index]), last: row.classList.contains("chance") }));
    keyed.sort((a, b) => {
      if (a.last !== b.last) return a.last ? 1 : -1;
      if (a.key === null || b.key === null) return (a.key === null) - (b.key === null);
      return ascending ? compare(a.key, b.key) : compare(b.key, a.key);
    });
    body.append(...keyed.map((item) => item.row));
    say(`sorted by ${button.textContent.trim()}, ${ascending ? "ascending" : "descending"}`);
  };
  const filterTable = (box) => {
    const table = box.querySelector("table");
    const wanted = (kind) => (box.querySelector(`[data-filter=${kind}]`)?.value || "").trim().toLowerCase();
    const inRow = wanted("rows"), inHead = wanted("columns");
    const bodyRows = [...table.tBodies[0].rows];
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, index) => {
      const named = bodyRows[0]?.children[index]?.tagName === "TH";
      const hidden = !named && !head.textContent.toLowerCase().includes(inHead);
      if (head.hidden !== hidden) for (const row of table.rows) row.children[index].hidden = hidden;
    });
    let shown = 0;
    for (const row of bodyRows) {
      row.hidden = !row.textContent.toLowerCase().includes(inRow);
      shown += !row.hidden;
    }
    const visible = heads.filter((head) => !head.hidden).length;
    box.querySelector(".status").textContent =
      inRow || inHead ? `${shown} of ${bodyRows.length} rows, ${visible} of ${heads.length} columns` : "";
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button?.dataset.sort !== undefined) sortBy(button);
    if (button?.dataset.download !== undefined) download(button);
  });
  document.addEventListener("input", (event) => {
    if (event.target.dataset.filter !== undefined) filterTable(event.target.closest("[data-table]"));
  });

  // ---- a table from rows, as many as can be read
  const shownNumber = (value) => (typeof value === "number" && !Number.isInteger(value) ? Number(value.toPrecision(6)) : value);
  const fill = (body, columns, part) => {
    for (const row of part) {
      body.append(make("tr", {}, ...columns.map((name) => {
        const value = row[name];
        const text = value === null || value === undefined || value === "" ? "–" : String(shownNumber(value));
        return make("td", typeof value === "number" ? { class: "numeric", "data-sort": value } : {},
          make("span", { class: text.length <= 24 ? "value short" : "value" }, text));
      })));
    }
  };
  const tableOf = (caption, columns, part, whole = part) => {
    const kind = (name) => (whole.some((row) => typeof row[name] === "number") ? { class: "numeric" } : {});
    const heads = columns.map((name) => make("th", { scope: "col", "aria-sort": "none", ...kind(name) },
      make("button", { type: "button", "data-sort": "" }, name)));
    const body = make("tbody");
    fill(body, columns, part);
    return make("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": caption },
      make("table", { class: "numbers" }, make("caption", {}, caption), make("thead", {}, make("tr", {}, ...heads)), body));
  };

  // ---- charts, drawn when they come near
  const titleOf = (part) => {
    const figure = part.closest("figure");
    return figure.querySelector(".chart-title")?.textContent ?? figure.dataset.title;
  };
  const charts = new Map(data.charts.map((chart) => [chart.id, chart]));
  const chartRows = (chart) => (chart.rows ? rowsOf(chart.rows) : rows.filter((row) => row.family === chart.family));
  const draw = async (place) => {
    const chart = charts.get(place.id);
    const datasets = { ...chart.more, rows: chartRows(chart) };
    if (!chart.rows) datasets.runs = runs.filter((row) => row.family === chart.family);
    const description = `${titleOf(place)}. The data are in a table below the chart.`;
    await vegaEmbed(place, { ...chart.spec, description, datasets },
      // Level 1 are errors; a metric without a chance level or an interval only has an empty layer.
      { mode: "vega-lite", renderer: "svg", logLevel: 1, actions: false, ast: true, bind: `#${place.id}-tools`, tooltip: { theme: "page" } });
    place.dataset.drawn = "true";
  };
  const drawOnce = (place) => (place.dataset.begun ? null : ((place.dataset.begun = "true"), draw(place)));
  const places = [...document.querySelectorAll(".plot")];
  const near = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) { near.unobserve(entry.target); drawOnce(entry.target); }
  }, { rootMargin: "600px" });
  places.forEach((place) => {
    place.style.minHeight = `${charts.get(place.id).spec.height + 40}px`; // the page does not jump when they come
    near.observe(place);
  });
  addEventListener("beforeprint", () => {
    // On paper nothing scrolls: wide tables become lists of named values.
    document.querySelectorAll("table.wide").forEach((table) => {
      const names = [...table.tHead.rows[0].cells].map((head) => head.textContent.trim());
      for (const row of table.tBodies[0].rows) [...row.cells].forEach((cell, i) => { cell.dataset.label = names[i]; });
    });
    document.querySelectorAll("details:not(.noprint, .on-request)").forEach((part) => { part.open = true; });
    places.forEach(drawOnce);
  });
  document.querySelectorAll("details[data-rows-of]").forEach((part) => part.addEventListener("toggle", () => {
    if (!part.open || part.children.length > 1) return;
    const chart = charts.get(part.dataset.rowsOf);
    const all = chartRows(chart);
    const title = titleOf(part);
    part.append(tableOf(all.length > 500 ? `${title}: the first 500 of ${all.length} rows` : title, chart.columns, all.slice(0, 500)));
  }));

  // ---- all runs: choose, read, go on
  const browser = document.getElementById("browser");
  const columns = Object.keys(data.runs);
  const step = 50;
  const picks = ["family", "dataset", "method", "metric"].map((name) => {
    const select = make("select", { "data-pick": name }, make("option", { value: "" }, "all"));
    for (const value of new Set(runs.map((row) => row[name]))) select.append(make("option", { value }, value));
    return select;
  });
  const status = make("span", { role: "status" });
  const more = make("button", { type: "button", class: "more" }, "Show more");
  const listed = tableOf("Every value of every run", columns, [], runs);
  let chosen = [], shown = 0;
  const proceed = () => {
    fill(listed.querySelector("tbody"), columns, chosen.slice(shown, shown + step));
    shown = Math.min(shown + step, chosen.length);
    status.textContent = `${shown} of ${chosen.length} values shown`;
    more.hidden = shown === chosen.length;
  };
  const choose = () => {
    chosen = runs.filter((row) => picks.every((pick) => pick.value === "" || String(row[pick.dataset.pick]) === pick.value));
    listed.querySelector("tbody").replaceChildren();
    shown = 0;
    proceed();
  };
  picks.forEach((pick) => pick.addEventListener("change", choose));
  more.addEventListener("click", proceed);
  browser.append(make("div", { class: "tools" }, ...picks.map((pick) => make("label", {}, `${pick.dataset.pick} `, pick)), status), listed, more);
  choose();

  // ---- downloads, made here
  const csvCell = (value) => {
    let text = value === null || value === undefined ? "" : String(value);
    // A spreadsheet would run these as formulas; numbers are no formulas.
    if (/^\s*[=+\-@\t\r]/.test(text) && !Number.isFinite(Number(text))) text = `'${text}`;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const csv = (part) => {
    const names = Object.keys(part[0] || {});
    return [names, ...part.map((row) => names.map((name) => row[name]))].map((line) => line.map(csvCell).join(",")).join("\n") + "\n";
  };
  const texts = {
    "rows.csv": () => csv(rows), "runs.csv": () => csv(runs), "runs.json": () => JSON.stringify(runs, null, 1) + "\n",
  };
  const download = (button) => {
    const latex = button.dataset.download === "latex";
    const text = latex ? data.latex[button.dataset.family] : texts[button.dataset.download]();
    const name = latex ? `${button.dataset.family.replaceAll(/[^\w.-]/g, "-").slice(0, 40)}.tex` : button.dataset.download;
    const address = URL.createObjectURL(new Blob([text], { type: "text/plain;charset=utf-8" }));
    make("a", { href: address, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
    say(`downloaded ${name}`);
  };
  window.graphgauge = { csv, runs };
})();
