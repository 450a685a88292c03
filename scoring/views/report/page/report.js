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
    const [value, rows, claims, places] = [line[4], line[9], line[10], line[14]];
    const [task, date, session, rubric, , band, origin, state, why, , , used, commit, page] = line.map(text);
    shown = place;
    title.textContent = `Iteration ${iteration}: ${number(value)}, ${band}`;
    document.getElementById("b-before").disabled = place === 0;
    document.getElementById("b-after").disabled = place === data.breakdowns.length - 1;
    const facts = [task, date, session && `session ${session}`, `rubric ${rubric}`,
      origin === "sidecar" ? "from its sidecar" : "scored for this report",
      state === "current" ? state : `${state}: ${why}`];
    body.replaceChildren(make("p", facts.filter(Boolean).join(" · "), "dim"));
    if (used) body.append(make("p", used, "dim"));
    if (commit) body.append(where("Commit ", [[commit, page]]));
    if (places.length) body.append(where("Lines ", places.map(([path, first, last]) => [`${text(path)}:${first}-${last}`, file(text(path), first)])));
    body.append(table(
      [["Signal"], ["Sub-score", "n"], ["Weight", "n"], ["Contribution", "n"], ["Detail", "why"]],
      rows.map(([signal, present, sub, weight, contribution, detail]) => [
        data.signals[signal][1], present ? number(sub) : "-", number(weight), present ? number(contribution) : "-", text(detail)]),
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
  follow();
})();
