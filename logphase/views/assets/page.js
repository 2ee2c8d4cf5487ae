"use strict";
(() => {
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const coarse = matchMedia("(pointer: coarse)").matches;
  const config = {
    responsive: true,
    displaylogo: false,
    showTips: false,
    modeBarButtons: [["zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]],
  };
  const drawn = Object.entries(figures).map(([name, figure]) => {
    const place = document.getElementById(name);
    if (coarse) figure.layout.dragmode = false; // a finger scrolls the page; the buttons zoom
    if (innerWidth < 600) for (const trace of figure.data) if (trace.textposition) trace.textposition = "none"; // no room for words
    const bar = figure.layout.yaxis2 === undefined; // the small ones need no buttons
    return Plotly.newPlot(place, figure.data, figure.layout, { ...config, displayModeBar: bar && (coarse || "hover") });
  });
  Promise.all(drawn).then(() => {
    performance.mark("figures-drawn");
    document.documentElement.dataset.drawn = String(drawn.length);
  });
  const open = [];
  addEventListener("beforeprint", () => {
    for (const fold of document.querySelectorAll("details:not([open])")) { fold.open = true; open.push(fold); }
    document.documentElement.classList.add("paper"); // as wide as a sheet: a figure does not fit itself while it is printed
    const plots = Object.keys(figures).map(name => document.getElementById(name));
    const wide = plots.map(plot => plot.clientWidth);
    plots.forEach((plot, at) => Plotly.relayout(plot, { width: wide[at] }));
  });
  addEventListener("afterprint", () => {
    for (const fold of open.splice(0)) fold.open = false;
    document.documentElement.classList.remove("paper");
    for (const name of Object.keys(figures)) Plotly.relayout(name, { width: null, autosize: true });
  });
})();
