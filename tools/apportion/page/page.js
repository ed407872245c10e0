// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The page of `apportion report`: tables and charts from the data in the element "data". Text from there gets into the
// page as text only.
"use strict";
(() => {
  const kColours = ["#332288", "#88ccee", "#44aa99", "#117733", "#999933", "#ddcc77", "#cc6677", "#882255", "#aa4499", "#bbbbbb"];
  const kDark = "#202020", kMedian = "#4477aa", kDefault = "#bbccee", kBound = "#cc3311", kTravel = "#b0b0b0";
  const kRow = 26, kAround = 90;  // pixels: of a row of a chart, and of its axis and legend
  const data = JSON.parse(document.getElementById("data").textContent);

  const colour = (k) => kColours[k % kColours.length];
  // Each its own; where there are more than colours, cores have shades from dark to light.
  const processorColours = (names) => {
    const cores = names.filter((name) => name.startsWith("CPU "));
    const shade = (part) => `rgb(${[[0x22, 0xcc], [0x33, 0xdd], [0x55, 0xee]].map(([dark, light]) => Math.round(dark + part * (light - dark)))})`;
    let devices = 0;
    return names.map((name, k) => names.length <= kColours.length ? colour(k)
      : cores.includes(name) ? shade(cores.indexOf(name) / Math.max(cores.length - 1, 1)) : colour(devices++));
  };
  const number = (x, digits = 4) => (Number.isFinite(x) ? String(Number(x.toPrecision(digits))) : "-");
  const seconds = (s) =>
    !Number.isFinite(s) ? "-" : s >= 1 || s <= 0 ? number(s) + " s" : s >= 1e-3 ? number(s * 1e3) + " ms" : number(s * 1e6) + " us";
  const percent = (x) => x.toFixed(1);

  function element(name, parent, text, className) {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    parent.append(made);
    return made;
  }

  // Cells that are numbers or begin with a digit are set to the right; `filter` hides rows by their text.
  function table(parent, titles, rows) {
    const made = element("table", element("div", parent, undefined, "wide"));
    const right = titles.map((_, c) => rows.length > 0 && rows.every((row) => row[c] === "" || /^[-\d]/.test(row[c])));
    const head = element("tr", element("thead", made));
    titles.forEach((title, c) => element("th", head, title, right[c] ? "number" : ""));
    const body = element("tbody", made);
    for (const row of rows) {
      const line = element("tr", body);
      row.forEach((cell, c) => element("td", line, cell, right[c] ? "number" : ""));
    }
    return made;
  }

  const lines = {  // vertical lines, and the range that is being chosen
    id: "lines",
    afterDatasetsDraw(chart) {
      const { ctx, chartArea: area, scales } = chart, own = chart.own;
      ctx.save();
      const last = {};  // by colour; lines that would touch are one
      for (const line of own.lines || []) {
        const x = scales.x.getPixelForValue(line.x);
        if (x < area.left || x > area.right || x - last[line.colour] < 3) continue;
        last[line.colour] = x;
        ctx.strokeStyle = ctx.fillStyle = line.colour;
        ctx.lineWidth = line.width || 1;
        ctx.setLineDash(line.dash || []);
        ctx.beginPath();
        ctx.moveTo(x, area.top);
        ctx.lineTo(x, area.bottom);
        ctx.stroke();
      }
      if (own.drag) {
        ctx.fillStyle = "rgba(68, 119, 170, 0.25)";
        ctx.fillRect(own.drag.from, area.top, own.drag.to - own.drag.from, area.bottom - area.top);
      }
      ctx.restore();
    },
  };

  // A chart of horizontal bars whose axis of seconds can be zoomed. `draw(chart)` is called before each update.
  function zoomableChart(parent, config, full, rows, draw) {
    const controls = element("div", parent, undefined, "controls");
    const box = element("div", parent, undefined, "chart");
    const canvas = element("canvas", box);
    const resize = (count) => { box.style.height = count * kRow + kAround + "px"; };
    resize(rows);
    config.plugins = [lines];
    config.options.animation = false;
    config.options.maintainAspectRatio = false;
    config.options.scales.x.min = full.min;
    config.options.scales.x.max = full.max;
    const own = { lines: config.lines };
    const chart = new Chart(canvas, { ...config, plugins: [{ id: "own", beforeInit(made) { made.own = own; } }, lines] });
    chart.own = own;
    const show = (min, max) => {
      const least = (full.max - full.min) * 1e-6;
      const x = chart.options.scales.x;
      x.min = Math.max(full.min, Math.min(min, full.max - least));
      x.max = Math.min(full.max, Math.max(max, x.min + least));
      if (draw) draw(chart);
      chart.update("none");
    };
    const zoom = (factor, at) => {
      const { min, max } = chart.options.scales.x, centre = at === undefined ? (min + max) / 2 : at;
      show(centre - (centre - min) * factor, centre + (max - centre) * factor);
    };
    const button = (text, action) => { element("button", controls, text).addEventListener("click", action); };
    button("zoom in", () => zoom(0.5));
    button("zoom out", () => zoom(2));
    button("all", () => show(full.min, full.max));
    element("span", controls, "Drag over the chart to choose a range, Ctrl and wheel zoom, a double click shows all.", "hint");
    const place = (event) => event.clientX - canvas.getBoundingClientRect().left;
    canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      zoom(event.deltaY < 0 ? 0.8 : 1.25, chart.scales.x.getValueForPixel(place(event)));
    }, { passive: false });
    canvas.addEventListener("dblclick", () => show(full.min, full.max));
    canvas.addEventListener("pointerdown", (event) => {
      const x = place(event), area = chart.chartArea;
      if (event.button === 0 && x >= area.left && x <= area.right) chart.own.drag = { from: x, to: x };
    });
    window.addEventListener("pointermove", (event) => {
      if (!chart.own.drag) return;
      chart.own.drag.to = Math.min(Math.max(place(event), chart.chartArea.left), chart.chartArea.right);
      chart.draw();
    });
    window.addEventListener("pointerup", () => {
      const drag = chart.own.drag;
      if (!drag) return;
      chart.own.drag = null;
      const [from, to] = [drag.from, drag.to].sort((a, b) => a - b).map((x) => chart.scales.x.getValueForPixel(x));
      if (Math.abs(drag.to - drag.from) > 3) show(from, to);
      else chart.draw();
    });
    if (draw) { draw(chart); chart.update("none"); }
    return { chart, controls, show, resize, range: full };
  }

  const xAxis = (title) => ({ type: "linear", title: { display: true, text: title }, ticks: { maxRotation: 0, includeBounds: false } });
  const yAxis = (labels) => ({ type: "category", labels, offset: true, ticks: { autoSkip: false }, grid: { display: false } });

  function filterInput(parent, what, change) {
    const label = element("label", parent, `show ${what} with `);
    const input = element("input", label);
    input.type = "search";
    input.size = 14;
    input.addEventListener("input", () => change((name) => name.includes(input.value)));
  }

  // --- Comparisons ---

  // In most comparisons a policy is faster than all that have a worse rank, which no list of twenty names tells.
  function fasterThan(p, policies) {
    const worse = policies.filter((other) => other.rank > p.rank);
    return worse.length > 3 && worse.every((other) => p.faster_than.includes(other.name)) && worse.length === p.faster_than.length
      ? `all from rank ${Math.min(...worse.map((other) => other.rank))} on` : p.faster_than.join(", ");
  }

  function comparison(parent, compared) {
    element("h2", parent, compared.title);
    element("p", parent, `from ${compared.source}`, "hint");
    if (compared.bound !== null) element("p", parent, `Lower bound: ${seconds(compared.bound)}, ${compared.bound_kind}.`);
    const policies = [...compared.policies];
    const bars = policies.map((p) => ({ y: p.name, x: p.median }));
    const longest = Math.max(...policies.map((p) => Math.max(p.high, p.default_median || 0, ...p.raw)));
    const intervals = policies.map((p) => ({ y: p.name, x: [p.low, p.high] }));
    const defaults = policies.filter((p) => p.default_median !== null).map((p) => ({ y: p.name, x: p.default_median }));
    const runs = policies.flatMap((p) => p.raw.map((s) => ({ y: p.name, x: s })));
    const repeated = policies.some((p) => p.raw.length > 1);
    let kept = () => true;
    const all = [bars, intervals, defaults, runs];
    const bar = { grouped: false, barPercentage: 0.9, categoryPercentage: 0.85 };
    const times = zoomableChart(parent, {
      type: "bar",
      data: {
        datasets: [
          { ...bar, type: "scatter", label: "each run", hidden: !repeated, data: runs, backgroundColor: "#ffffff", borderColor: kDark, pointRadius: 2.5 },
          { ...bar, label: `${percent(100 * compared.confidence)} % interval of the median`, hidden: !repeated, data: intervals, backgroundColor: kDark, barThickness: 3 },
          { ...bar, label: "median", data: bars, backgroundColor: kMedian },
          { ...bar, label: "median with the default number of blocks", data: defaults, backgroundColor: kDefault },
        ],
      },
      lines: compared.bound === null ? [] : [{ x: compared.bound, colour: kBound, width: 2, dash: [6, 4] }],
      options: {
        indexAxis: "y",
        scales: { x: xAxis("seconds" + (compared.bound === null ? "" : " (dashed: lower bound)")), y: yAxis(policies.map((p) => p.name)) },
        plugins: {
          legend: { labels: { filter: (item) => repeated || item.datasetIndex > 1 } },
          tooltip: { callbacks: { label: (item) => tip(item) } },
        },
      },
    }, { min: 0, max: longest * 1.05 || 1 }, policies.length);
    function tip(item) {
      const x = item.raw.x;
      return `${item.dataset.label}: ${Array.isArray(x) ? x.map(seconds).join(" to ") : seconds(x)}`;
    }
    element("h3", parent, compared.several_loads ? "Share of the work" : "Share of the units");
    const processors = [...new Set(policies.flatMap((p) => Object.keys(p.shares)))];
    const colours = processorColours(processors);
    const shareSets = processors.map((name, k) => ({
      label: name, backgroundColor: colours[k], all: policies.map((p) => ({ y: p.name, x: p.shares[name] || 0 })), data: [],
    }));
    const shareBox = element("div", parent, undefined, "chart");
    const shares = new Chart(element("canvas", shareBox), {
      type: "bar",
      data: { datasets: shareSets },
      options: {
        indexAxis: "y", animation: false, maintainAspectRatio: false,
        scales: { x: { ...xAxis("percent"), stacked: true, min: 0, max: 100 }, y: { ...yAxis([]), stacked: true } },
        plugins: { tooltip: { callbacks: { label: (item) => `${item.dataset.label}: ${percent(item.raw.x)} %` } } },
      },
    });
    const made = table(parent, ["rank", "policy", "blocks", "median", "interval", "runs", "/ bound", "idle", "faster than"],
      policies.map((p) => [String(p.rank), p.name, String(p.blocks), seconds(p.median), p.raw.length > 1 ? `${seconds(p.low)} to ${seconds(p.high)}` : "-",
        String(p.raw.length), compared.bound ? number(p.median / compared.bound) : "-", percent(p.idle) + " %", fasterThan(p, policies)]));
    const filter = () => {
      const names = policies.map((p) => p.name).filter(kept);
      times.chart.options.scales.y.labels = names;
      times.chart.data.datasets.forEach((set, k) => { set.data = all[[3, 1, 0, 2][k]].filter((point) => kept(point.y)); });
      times.resize(names.length);
      times.chart.update("none");
      shares.options.scales.y.labels = names;
      for (const set of shareSets) set.data = set.all.filter((point) => kept(point.y));
      shareBox.style.height = names.length * kRow + kAround + "px";
      shares.update("none");
      policies.forEach((p, k) => { made.tBodies[0].rows[k].hidden = !kept(p.name); });
    };
    filterInput(times.controls, "policies", (keeps) => { kept = keeps; filter(); });
    filter();
    for (const sentence of compared.sentences) element("p", parent, sentence);
  }

  // --- Runs ---

  // Blocks that are within a pixel of each other on one processor become one bar.
  function barsIn(blocks, from, to, min, max, pixels, keep) {
    const pixel = (max - min) / pixels, bars = [], last = new Map();
    for (const block of blocks) {
      const start = block[from], end = block[to];
      if (end < min || start > max || end <= start || !keep(block)) continue;
      const before = last.get(block.p);
      if (before && before.back === block.back && before.load === block.load && end - before.x[0] < pixel) {
        before.x[1] = Math.max(before.x[1], end);
        before.units += block.units;
        before.count += 1;
      } else {
        const bar = { x: [start, end], p: block.p, load: block.load, first: block.first, units: block.units, back: block.back, count: 1 };
        last.set(block.p, bar);
        bars.push(bar);
      }
    }
    return bars;
  }

  function timeline(parent, line) {
    element("h3", parent, "Blocks over time");
    if (!line) {
      element("p", parent, "These reports have no blocks; a program reports them when it runs with APPORTION_TRACE=1.");
      return;
    }
    const loads = [...new Set(line.runs.map((run) => run.load))];
    let kept = () => true;
    const end = Math.max(...line.runs.map((run) => run.end), ...line.blocks.map((block) => block.home));
    const set = (label, colours) => ({ label, data: [], backgroundColor: colours, grouped: false, categoryPercentage: 1 });
    const sets = [
      ...loads.map((load, k) => ({ ...set(loads.length > 1 ? `${load} computes` : "computes", colour(k)), barPercentage: 0.85, load })),
      { ...set("result not used: others computed the block as well", "#ee8866"), barPercentage: 0.85 },
      { ...set("handed out, or results on the way", kTravel), barPercentage: 0.3 },
    ];
    const marks = [...(line.runs.length > 1 ? ["solid: a run begins"] : []), ...(line.decisions.length ? ["dotted: decisions"] : [])];
    const draw = (chart) => {
      const { min, max } = chart.options.scales.x, pixels = chart.width || 1000;
      const bars = (from, to, keep) => barsIn(line.blocks, from, to, min, max, pixels, keep)
        .filter((bar) => kept(line.processors[bar.p])).map((bar) => ({ ...bar, y: line.processors[bar.p] }));
      loads.forEach((load, k) => { sets[k].data = bars("start", "end", (block) => !block.back && block.load === load); });
      sets[loads.length].data = bars("start", "end", (block) => block.back);
      sets[loads.length + 1].data = bars("given", "home", () => true);
      chart.options.scales.y.labels = line.processors.filter(kept);
    };
    const made = zoomableChart(parent, {
      type: "bar",
      data: { datasets: sets },
      lines: [...line.runs.slice(1).map((run) => ({ x: run.begin, colour: kDark })),
        ...line.decisions.map((decision) => ({ x: decision.at, colour: "#555555", dash: [2, 3] }))],
      options: {
        indexAxis: "y",
        scales: { x: xAxis("seconds" + (marks.length ? ` (${marks.join("; ")})` : "")), y: yAxis(line.processors) },
        plugins: { legend: { labels: { filter: (item) => item.datasetIndex !== loads.length || line.blocks.some((block) => block.back) } }, tooltip: { callbacks: { label: (item) => {
          const bar = item.raw;
          return `${bar.load}: ${bar.count > 1 ? bar.count + " blocks of together" : "block of"} ${bar.units} units` +
            `${bar.count > 1 ? "" : " from " + bar.first}, ${seconds(bar.x[0])} to ${seconds(bar.x[1])}`;
        } } } },
      },
    }, { min: 0, max: end || 1 }, line.processors.length, draw);
    if (line.runs.length > 1) {
      const choose = element("select", element("label", made.controls, "run "));
      element("option", choose, "all");
      line.runs.forEach((run) => element("option", choose, `${run.load}, run ${run.run}, ${run.policy}`));
      choose.addEventListener("change", () => {
        const run = line.runs[choose.selectedIndex - 1];
        if (run) made.show(run.begin, run.end);
        else made.show(0, made.range.max);
      });
    }
    filterInput(made.controls, "processors", (keeps) => {
      kept = keeps;
      made.resize(line.processors.filter(kept).length);
      draw(made.chart);
      made.chart.update("none");
    });
    if (line.decisions.length === 0) return;
    const details = element("details", parent);
    element("summary", details, `${line.decisions.length} decision${line.decisions.length === 1 ? "" : "s"}`);
    table(details, ["at", "reason", "predicted end", "units"],
      line.decisions.map((d) => [seconds(d.at), d.reason, d.predicted === null ? "-" : seconds(d.predicted), d.shares]));
  }

  const kAccount = [["compute", "computing"], ["copies", "copies"], ["transfer", "for data"], ["models", "for models"],
    ["policy", "for a block"], ["home", "results home"], ["end", "at the end"]];
  const kAccountColours = ["#4477aa", "#ee8866", "#ddcc77", "#aa4499", "#cc6677", "#88ccee", "#dddddd"];

  function explained(parent, run) {
    element("h3", parent, `${run.load} under ${run.policy}, run ${run.run}`);
    for (const sentence of run.sentences) element("p", parent, sentence);
    const used = kAccount.map(([key, title], k) => ({ key, title, colour: kAccountColours[k] }))
      .filter(({ key }) => run.processors.some((p) => p.seconds[key] > 0));
    const part = (p, key) => (run.makespan > 0 ? (100 * p.seconds[key]) / run.makespan : 0);
    const box = element("div", parent, undefined, "chart");
    box.style.height = run.processors.length * kRow + kAround + "px";
    new Chart(element("canvas", box), {
      type: "bar",
      data: { datasets: used.map(({ key, title, colour: c }) => ({
        label: title, backgroundColor: c, data: run.processors.map((p) => ({ y: p.name, x: part(p, key) })) })) },
      options: {
        indexAxis: "y", animation: false, maintainAspectRatio: false,
        scales: { x: { ...xAxis("% of the makespan"), stacked: true, min: 0, max: 100 },
          y: { ...yAxis(run.processors.map((p) => p.name)), stacked: true } },
        plugins: { tooltip: { callbacks: { label: (item) => `${item.dataset.label}: ${percent(item.raw.x)} %` } } },
      },
    });
    table(parent, ["% of the makespan", "units", "blocks", ...used.map(({ title }) => title)], run.processors.map((p) => [
      p.name, String(p.units), String(p.blocks), ...used.map(({ key }) => percent(part(p, key)))]));
    const predicted = Object.entries(run.predicted).sort((a, b) => a[1] - b[1]);
    if (predicted.length === 0) return;
    element("p", parent, "By the recorded profile, without transfers, the policies would take");
    table(parent, ["policy", "predicted", "x of this run"],
      predicted.map(([policy, s]) => [policy, seconds(s), run.makespan > 0 ? number(s / run.makespan) : "-"]));
  }

  function program(parent, reported) {
    element("h2", parent, `Runs in ${reported.source}`);
    table(parent, ["load", "policy", "units", "runs", "first", "last", "together"], reported.loads.map((load) => [
      load.name, load.policy, String(load.units), String(load.runs), seconds(load.first), seconds(load.last), seconds(load.together)]));
    timeline(parent, reported.timeline);
    for (const run of reported.explained) explained(parent, run);
  }

  const main = document.querySelector("main");
  for (const compared of data.comparisons) comparison(element("section", main), compared);
  for (const reported of data.programs) program(element("section", main), reported);
})();
