"use strict";
(() => {
  const data = JSON.parse(document.getElementById("da-score-data").textContent);
  const byNumber = new Map(data.breakdowns.map((line, place) => [String(line[0]), place]));
  const dialog = document.getElementById("breakdown");
  const body = document.getElementById("b-body");
  const title = document.getElementById("b-title");
  const make = (tag, text, kind) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    if (kind) element.className = kind;
    return element;
  };
  const number = (value) => (value === null ? "-" : value.toFixed(3));
  const roles = { TABLE: "table", THEAD: "rowgroup", TBODY: "rowgroup", TR: "row", TD: "cell" };
  const keepMeaning = (all) => [all, ...all.querySelectorAll("thead, tbody, tr, th, td")].forEach((part) => {
    part.setAttribute("role", roles[part.tagName] || (part.scope === "row" ? "rowheader" : "columnheader"));
  }); // some browsers take a table that is laid out in another way for no table
  const table = (heads, rows, marked) => {
    const all = make("table", undefined, "stack");
    const head = all.createTHead().insertRow();
    heads.forEach(([text, kind]) => {
      const cell = make("th", text, kind === "n" ? kind : "");
      cell.scope = "col";
      head.append(cell);
    });
    const rest = all.createTBody();
    rows.forEach((cells, place) => {
      const row = rest.insertRow();
      if (marked[place]) row.className = "zero-row";
      cells.forEach((text, n) => {
        const cell = make(n ? "td" : "th", text, heads[n][1]);
        if (!n) cell.scope = "row";
        if (heads[n][1] === "n") cell.dataset.label = heads[n][0].toLowerCase();
        row.append(cell);
      });
    });
    keepMeaning(all);
    return all;
  };
  const text = (place) => data.texts[place];
  const file = (path, line) => // a page that is opened from disk may lead to files there; any other shows where they are
    location.protocol === "file:" && path.startsWith("/") ? `file://${path.split("/").map(encodeURIComponent).join("/")}#L${line}` : "";
  const where = (head, found) => {
    const all = make("p", head, "why");
    found.forEach(([name, address], n) => {
      if (n) all.append(", ");
      const part = make(address ? "a" : "span", name);
      if (address) { part.href = address; part.rel = "noopener noreferrer"; }
      all.append(part);
    });
    return all;
  };
  let shown = -1;
  const show = (place) => {
    const [iteration, ...line] = data.breakdowns[place];
    const [value, rows, claims, places] = [line[4], line[9], line[10], line[13]];
    const [task, date, session, rubric, , band, origin, state, why, , , used, commit, , subject] = line.map(text);
    shown = place;
    title.textContent = `Iteration ${iteration}${subject ? `: ${subject}` : ""}`;
    document.getElementById("b-before").disabled = place === 0;
    document.getElementById("b-after").disabled = place === data.breakdowns.length - 1;
    const poor = band === "insufficient" ? ", not enough evidence" : data.graded ? `, ${band}` : "";
    const facts = [`${data.score.toLowerCase()} ${number(value)}${poor}`, task, date, session && `session ${session}`, `rubric ${rubric}`,
      origin === "sidecar" ? "from its sidecar" : "scored for this report",
      state === "current" ? state : `${state}: ${why}`];
    body.replaceChildren(make("p", facts.filter(Boolean).join(" · "), "dim"));
    if (used) body.append(make("p", used, "dim"));
    if (commit) body.append(where("Commit ", [[commit]]));
    if (places.length) body.append(where("Lines ", places.map(([path, first, last]) => [`${text(path)}:${first}-${last}`, file(text(path), first)])));
    body.append(table(
      [["Signal"], ["Sub-score", "n"], ["Weight", "n"], ["Contribution", "n"], ["Detail", "why"]],
      rows.map(([signal, present, sub, weight, contribution, detail]) => [
        text(signal), present ? number(sub) : "-", number(weight), present ? number(contribution) : "-", text(detail)]),
      rows.map(([, present, sub]) => present && sub === 0)));
    if (claims.length) {
      body.append(make("h3", "Claimed against observed"));
      body.append(table([["Role"], ["Signal"], ["Claimed", "n"], ["Observed", "n"], ["Claim", "why"], ["Observation", "why"]],
        claims.map(([role, signal, claimed, observed, said, seen]) =>
          [text(role), text(signal), number(claimed), number(observed), text(said), text(seen)]),
        claims.map(([, , claimed, observed]) => claimed !== null && observed !== null && observed < claimed)));
    }
    if (!dialog.open) dialog.showModal();
    else if (!dialog.contains(document.activeElement) || document.activeElement.disabled) title.focus();
    dialog.scrollTop = 0;
  };
  const follow = () => {
    const found = /^#iter-(-?\d+)$/.exec(location.hash);
    const place = found ? byNumber.get(found[1]) : undefined;
    if (place !== undefined) show(place);
    else if (dialog.open) dialog.close();
  };
  const step = (by) => { location.hash = `#iter-${data.breakdowns[shown + by][0]}`; };
  document.getElementById("b-before").addEventListener("click", () => step(-1));
  document.getElementById("b-after").addEventListener("click", () => step(1));
  dialog.addEventListener("close", () => {
    if (/^#iter-/.test(location.hash)) history.replaceState(null, "", location.pathname + location.search);
  });
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  dialog.addEventListener("keydown", (event) => {
    if (event.key === "ArrowLeft" && shown > 0) step(-1);
    if (event.key === "ArrowRight" && shown < data.breakdowns.length - 1) step(1);
  });
  window.addEventListener("hashchange", follow);
  document.querySelectorAll("table.stack").forEach(keepMeaning);
  const filter = document.getElementById("filter");
  if (filter) {
    const rows = [...document.querySelectorAll("#list tbody tr")].map((row) => [row, row.textContent.toLowerCase()]);
    filter.addEventListener("input", () => {
      const wanted = filter.value.trim().toLowerCase();
      let count = 0;
      rows.forEach(([row, all]) => { row.hidden = !all.includes(wanted); count += !row.hidden; });
      document.getElementById("count").textContent = wanted ? `${count} of ${rows.length}` : "";
    });
  }

  // Charts. Their tables have the same numbers and the links for keyboards; colors are those of the page.
  const [good, fair, bad, open, second, faint, ink] =
    ["good", "fair", "poor", "accent", "second", "faint", "ink"].map((name) => `var(--${name})`);
  const became = { landed: [good, "circle", "landed"], reverted: [bad, "cross", "reverted"],
    taken_back: [fair, "star", "taken back"], open: [open, "triangle", "open"],
    lost: [second, "diamond", "lost"], unclear: [faint, "square", "unclear"], talk: [faint, "wye", "talk"] };
  const states = Object.keys(became);
  const ofState = (n) => ({ domain: states, range: states.map((name) => became[name][n]) });
  const legend = (names) => {
    const all = make("p", undefined, "legend");
    all.setAttribute("aria-hidden", "true"); // the table beside it has the words
    states.filter((name) => names.has(name)).forEach((name) => {
      const [color, symbol, said] = became[name];
      const one = make("span", ` ${said}`);
      const mark = d3.create("svg").attr("width", 12).attr("height", 12).attr("viewBox", "-8 -8 16 16");
      mark.append("path").attr("fill", color).attr("d", d3.symbol(d3[`symbol${symbol[0].toUpperCase()}${symbol.slice(1)}`], 90));
      one.prepend(mark.node());
      all.append(one);
    });
    return all;
  };
  const dollars = (value) => (value > 0 && value < 0.005 ? "<$0.01" : `$${value.toFixed(2)}`);
  const dots = (options) => ({ r: 4, fillOpacity: 0.75, tip: { maxRadius: 30, fontSize: 13 }, ...options });
  const months = data.work.months.flatMap(([month, ...counts]) => counts.map((count, n) => ({ month, count, state: states[n] })));
  const units = data.work.units.map(([place, ended, subject, sha, state, cost, minutes]) =>
    ({ place, ended: new Date(ended), subject: [subject || became[state][2], sha].filter(Boolean).join(" · "), state, cost, minutes }));
  const days = data.work.days.map(([day, cost]) => ({ day: new Date(day), cost }));
  const costed = units.filter((unit) => unit.cost !== null);
  const timed = units.filter((unit) => unit.minutes !== null);
  const scored = data.breakdowns.filter((line) => line[5] !== null && text(line[6]) !== "insufficient").map((line) => ({ iteration: line[0], value: line[5], band: text(line[6]),
    rubric: text(line[4]), subject: [text(line[15]) || text(line[1]), text(line[12])].filter(Boolean).join(" · ") }));
  const grades = { excellent: good, good: open, fair: "var(--fair)", poor: bad };
  const rubrics = scored.filter((one, n) => n && one.rubric !== scored[n - 1].rubric);
  const charts = {
    months: (width) => months.length && {
      height: 220, color: ofState(0), states: new Set(months.filter((one) => one.count).map((one) => one.state)), most: 90 + data.work.months.length * 90,
      x: { type: "band", label: null, tickFormat: (month) => month, ticks: months.map((one) => one.month).filter((one, n, all) => n % (5 * Math.ceil(all.length / 5 / (width / 70))) === 0) },
      y: { label: "units", grid: true, tickFormat: (count) => (Number.isInteger(count) ? String(count) : "") },
      marks: [Plot.barY(months.filter((one) => one.count), { x: "month", y: "count", fill: "state", order: states, href: (one) => `#month-${one.month}`,
        title: (one) => `${one.month}: ${one.count} ${became[one.state][2]}`, tip: { fontSize: 13 } }), Plot.ruleY([0], { stroke: ink })] },
    days: () => days.length && {
      height: 200, x: { type: "utc", label: null }, y: { label: "US dollars per day", grid: true },
      marks: [Plot.rectY(days, { x: "day", y: "cost", interval: d3.utcDay, fill: open, tip: { fontSize: 13 },
        title: (one) => `${one.day.toISOString().slice(0, 10)}: ${dollars(one.cost)}` }), Plot.ruleY([0], { stroke: ink })] },
    costs: () => (costed.length || timed.length) && {
      height: 260, symbol: ofState(1), states: new Set((costed.length ? costed : timed).map((unit) => unit.state)), x: { type: "utc", label: null },
      y: { label: costed.length ? "US dollars per unit (square-root scale)" : "minutes per unit (square-root scale)", grid: true, type: "sqrt", zero: true },
      marks: [Plot.ruleY([0], { stroke: ink }), Plot.dot(costed.length ? costed : timed, dots({ x: "ended", y: costed.length ? "cost" : "minutes", symbol: "state",
        fill: (one) => became[one.state][0], href: (one) => `#u${one.place}`,
        title: (one) => `${one.subject}\n${became[one.state][2]}, ${one.ended.toISOString().slice(0, 10)}\n${[one.cost !== null && dollars(one.cost), one.minutes !== null && `${one.minutes.toFixed(0)} min`].filter(Boolean).join(", ")}` }))] },
    scores: () => scored.length && {
      height: 220, x: { label: "iteration", labelOffset: 34, tickFormat: (n) => (Number.isInteger(n) ? String(n) : "") }, y: { label: data.score.toLowerCase(), domain: [0, 1], grid: true },
      marks: [Plot.ruleX(rubrics, { x: "iteration", stroke: faint, strokeDasharray: "2,3" }),
        Plot.text(rubrics, { x: "iteration", frameAnchor: "top", dy: -12, text: (one) => `rubric ${one.rubric}`, fill: ink }),
        Plot.dot(scored, dots({ x: "iteration", y: "value", fill: (one) => (data.graded && grades[one.band]) || open, href: (one) => `#iter-${one.iteration}`,
          title: (one) => `iteration ${one.iteration}: ${number(one.value)}\n${one.subject}` }))] },
  };
  const draw = (node) => {
    const width = node.clientWidth;
    const options = charts[node.dataset.chart](width);
    node.hidden = !options;
    if (!options || !width || node.dataset.width === String(width)) return;
    node.dataset.width = width;
    const plot = Plot.plot({ width: Math.min(width, options.most || width), marginLeft: 44, marginTop: 26, marginBottom: 36, ...options, color: { type: "categorical", ...options.color }, style: { fontSize: "12px" } });
    node.replaceChildren(plot, ...(options.states ? [legend(options.states)] : []));
    node.querySelectorAll("svg a").forEach((link) => link.setAttribute("tabindex", "-1"));
    node.querySelectorAll("svg").forEach((svg) => svg.setAttribute("aria-hidden", "true"));
  };
  const resized = new ResizeObserver((all) => all.forEach((one) => draw(one.target)));
  document.querySelectorAll(".chart").forEach((node) => { draw(node); resized.observe(node); });
  follow();
})();
