// Draws the charts: colours come from the style sheet, so they follow dark mode and print.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  for (const chart of data.charts) {
    const place = document.getElementById(chart.id);
    const description = `${place.closest("figure").querySelector(".chart-title").textContent}. The means are in the table.`;
    vegaEmbed(place, { ...chart.spec, description, datasets: { rows: chart.rows } },
      { mode: "vega-lite", renderer: "svg", actions: false, ast: true, tooltip: { theme: "page" } })
      .then(() => { place.dataset.drawn = "true"; });
  }
})();
