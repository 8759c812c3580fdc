"use strict";
// Text of models and data is only ever set as text, never as markup.
(() => {
  const byId = (id) => document.getElementById(id);
  const make = (tag, className, text) => {
    const made = document.createElement(tag);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  };
  const colour = (index) => getComputedStyle(document.documentElement).getPropertyValue(`--c${index % 8}`).trim();
  const dashes = [[], [8, 3], [2, 2], [8, 3, 2, 3], [14, 4]];  // one for each shape of points
  const words = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);
  const hasAll = (text, asked) => asked.every((word) => text.includes(word));

  const { parts: folder, mlflow: server, experiment } = document.body.dataset;
  const runs = document.querySelector("[data-runs]")?.dataset.runs;
  const page = runs && server ? `${server}/${new URL(runs).hash.replace(/experiments\/[^/]+/, `experiments/${experiment}`)}` : runs;
  for (const link of document.querySelectorAll("a.run")) {
    link.href = page.replace("%7Bcell%7D", encodeURIComponent(link.dataset.run));
    link.title = `the run of ${link.dataset.run} in MLflow, while tomrl ui is running`;
  }

  // Rules and minds are explained once on the page, and wherever they are pointed at.
  const does = new Map([...document.querySelectorAll("#glossary dt")].map((name) => [name.textContent, name.nextElementSibling.textContent]));
  const explain = (cell, name) => { if (does.has(name)) cell.title = `${name}: ${does.get(name)}`; };
  for (const link of document.querySelectorAll(".verdicts td > a[data-cell]")) explain(link.parentElement, link.firstChild.textContent.replace(/^.*?: /, ""));
  for (const line of document.querySelectorAll("#result-table tbody tr")) explain(line.lastElementChild, line.lastElementChild.textContent.replace(/^\S+ /, ""));

  for (const input of document.querySelectorAll("input[data-filters]")) {
    const count = input.closest(".filters").querySelector("output");
    let rows = [], texts = [];
    input.addEventListener("input", () => {
      if (!rows.length) {  // a table of what lies beside the page comes once it is opened
        rows = [...byId(input.dataset.filters).querySelectorAll("tbody tr, li")];
        texts = rows.map((row) => row.textContent.toLowerCase());
      }
      const asked = words(input.value);
      rows.forEach((row, place) => { row.hidden = !hasAll(texts[place], asked); });
      const left = rows.filter((row) => !row.hidden).length;
      count.value = asked.length ? `${left} of ${rows.length}` : "";
    });
  }

  const number = (text) => { const found = text.match(/^\s*[+-]?\d+(?:\.\d+)?/); return found ? Number(found[0]) : null; };
  const compare = (a, b) => number(a) !== null && number(b) !== null ? number(a) - number(b) : a.localeCompare(b);
  const sortable = (head) => {
    const sort = () => {
      const table = head.closest("table"), body = table.tBodies[0], column = head.cellIndex;
      const down = head.getAttribute("aria-sort") === "ascending";
      const text = (row) => row.cells[column] ? row.cells[column].textContent : "";
      const rows = [...body.rows].sort((a, b) => (down ? -1 : 1) * compare(text(a), text(b)));
      for (const other of table.querySelectorAll("th")) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      body.append(...rows);
    };
    head.tabIndex = 0; head.title = "sort";
    head.addEventListener("click", sort);
    head.addEventListener("keydown", (event) => { if (event.key === "Enter") sort(); });
  };
  document.querySelectorAll(".sorts thead th").forEach(sortable);

  for (const panel of document.querySelectorAll(".panels svg")) {
    const points = [...panel.querySelectorAll(".point")], named = panel.parentElement.querySelector(".pointed");
    const name = (event) => {
      const point = event.target.closest(".point");
      if (point) named.value = point.querySelector("title").textContent;
    };
    panel.addEventListener("pointerover", name);
    panel.addEventListener("focusin", name);
    panel.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      const from = points.indexOf(event.target.closest(".point"));
      if (!step || from < 0) return;
      event.preventDefault();
      const to = points[(from + step + points.length) % points.length];
      points[from].setAttribute("tabindex", "-1"); to.setAttribute("tabindex", "0"); to.focus();
    });
  }

  async function unpack(text) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  }

  // What lies beside the page are scripts: a page that is itself a file may load no other kind.
  const parts = new Map(), come = new Map();
  window.part = (name, text) => come.get(name)(text);
  function load(name) {
    if (!parts.has(name)) {
      parts.set(name, new Promise((resolve, reject) => {
        const script = make("script");
        come.set(name, resolve);
        script.onload = () => script.remove();
        script.onerror = () => { script.remove(); parts.delete(name); reject(new Error(name)); };
        script.src = `${folder}/${name.split("/").map(encodeURIComponent).join("/")}.js`;
        document.head.append(script);
      }).then(unpack));
    }
    return parts.get(name);
  }

  for (const image of document.querySelectorAll("img[data-figure]")) image.src = `${folder}/../figures/${image.dataset.figure}.svg`;

  // Long tables are made once they are opened; where they are large, they lie beside the page.
  const inside = byId("tables"), tables = () => inside ? unpack(inside.textContent.trim()) : load("tables");
  const filter = (input) => input.dispatchEvent(new Event("input"));
  for (const made of document.querySelectorAll("details[data-table]")) {
    const box = made.querySelector(".scroll");
    made.addEventListener("toggle", () => {
      if (made.open && !box.children.length) tables().then(
        (all) => { box.append(table(all[made.dataset.table])); filter(made.querySelector("input")); },
        () => { box.textContent = "This table is in a file that should lie beside the page."; });
    });
  }
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-signatures]");
    if (!link) return;
    const made = document.querySelector("details[data-section=signatures]"), input = made.querySelector("input");
    made.open = true; input.value = `${link.dataset.signatures} present`; filter(input);
  });
  function table([headings, ...rows]) {
    const made = make("table", "sorts"), body = make("tbody"), head = make("tr"), top = make("thead");
    for (const heading of headings) head.append(make("th", "", heading));
    for (const row of rows) {
      const line = make("tr");
      for (const text of row) line.append(make("td", text === "present" ? "rule" : number(text) === null ? "" : "number", text));
      body.append(line);
    }
    top.append(head); made.append(top, body);
    [...head.cells].forEach(sortable);
    return made;
  }

  function options(select, names, every) {
    if (every) select.append(new Option(every, ""));
    for (const name of names) select.append(new Option(name, name));
  }

  function showSamples(packed) {
    const [cell, column, kind, search, beside] = ["cell", "column", "kind", "search", "beside"].map((name) => byId(`sample-${name}`));
    const list = byId("sample-list"), count = byId("sample-count"), more = byId("sample-more");
    const asSample = (cell, column, place, kind, stories, [story, asked, gold, choices, order, id], own, before, rule) =>
      ({ cell, column, place, kind: packed.kinds[kind], story: stories[story], asked, gold, choices, order, id, own, before, rule });
    const few = packed.samples.map(([cell, column, place, kind, question, own, before, rule]) =>
      asSample(cell, column, place, kind, packed.stories, packed.questions[question], packed.responses[own], before === null ? null : packed.responses[before], rule));
    const answers = (cell, column, page) => load(`${cell}/${column}-${page}`);
    async function all(cell, columns, progress) {
      const found = [], base = packed.bases[cell], wanted = columns.flatMap((column) =>
        Array.from({ length: Math.ceil(packed.columns[column] / packed.page) }, (_, page) => [column, page]));
      for (const [column, page] of wanted) {
        progress(found.length);
        const [asked, own, before] = await Promise.all([load(`${column}-${page}`), answers(cell, column, page), base && answers(base, column, page)]);
        own.forEach(([kind, response, rule], place) => found.push(asSample(cell, column, page * packed.page + place, kind, asked.stories, asked.questions[place], response, before ? before[place][1] : null, rule)));
      }
      return found;
    }
    const plain = (response) => response === null ? "" : response[2].map((piece) => typeof piece === "string" ? piece : piece[0]).join("");
    const texts = new Map();
    const textOf = (sample) => {
      if (!texts.has(sample)) texts.set(sample, [sample.asked, sample.story, sample.gold, sample.id, plain(sample.own), plain(sample.before)].join("\n").toLowerCase());
      return texts.get(sample);
    };
    options(cell, Object.keys(packed.bases), "some of every cell");
    options(beside, Object.keys(packed.bases), "no other cell");
    options(column, Object.keys(packed.columns), "every column");
    options(kind, ["rule followed", "false claim", ...packed.kinds.filter((name) => few.some((each) => each.kind === name))], "every kind");
    const isFalse = (sample) => sample.own[2].some((piece) => typeof piece !== "string" && !piece[1]);
    const isKind = (sample) => kind.value === "" || sample.kind === kind.value ||
      (kind.value === "rule followed" && sample.rule !== null) || (kind.value === "false claim" && isFalse(sample));
    let samples = few, found = [], shown = 0, latest = 0, note = "";
    const screen = 25;
    function next() {
      for (const sample of found.slice(shown, shown + screen)) list.append(card(sample));
      shown = Math.min(found.length, shown + screen);
      more.hidden = shown >= found.length;
      count.value = `${found.length} of ${samples.length}${note}`;
    }
    async function read() {
      const mine = ++latest, columns = column.value ? [column.value] : Object.keys(packed.columns);
      let read = few, said = "";
      if (cell.value) {
        samples = []; refresh();
        try {
          read = await all(cell.value, columns, (done) => { if (mine === latest) count.value = `${done} are read`; });
        } catch (error) {
          said = " on this page; the others are in files that should lie beside it";
        }
      }
      if (mine !== latest) return;  // something else was chosen meanwhile
      [samples, note] = [read, said];
      refresh();
    }
    function refresh() {
      const asked = words(search.value);
      found = samples.filter((each) => (!cell.value || each.cell === cell.value) && (!column.value || each.column === column.value) &&
        isKind(each) && (!asked.length || hasAll(textOf(each), asked)));
      list.replaceChildren(); shown = 0; next();
    }
    function card(sample) {
      const made = make("details", "sample"), summary = make("summary");
      for (const badge of [sample.kind, sample.cell, sample.column, sample.order === null ? null : `order ${sample.order}`]) {
        if (badge !== null) summary.append(make("span", "badge", badge));
      }
      if (sample.rule !== null) summary.append(make("span", "badge rule", `as the rule: ${sample.rule}`));
      summary.append(document.createTextNode(sample.asked));
      made.append(summary);
      made.addEventListener("toggle", () => { if (made.open && made.children.length === 1) fill(made, sample); });
      return made;
    }
    function fill(made, sample) {
      if (sample.story) made.append(make("h3", "", "Story"), make("div", "text", sample.story));
      made.append(make("h3", "", "Question"), make("div", "text", sample.asked + (sample.choices.length ? `\nAdmissible answers: ${sample.choices.join(", ")}` : "")));
      const prompt = make("details");
      prompt.append(make("summary", "", "Prompt"), make("div", "text", packed.prompts[sample.cell]));
      made.append(prompt);
      const where = make("p", "", `Gold answer: ${sample.gold}. Id: ${sample.id}. `), file = make("a", "", "all responses of the cell");
      file.href = `${list.dataset.runs}/${encodeURIComponent(sample.cell)}/evaluate/responses.parquet`;
      where.append(file);
      const run = document.querySelector(`a.run[data-run="${CSS.escape(sample.cell)}"]`);
      if (run) { const link = make("a", "", "its run in MLflow"); link.href = run.href; where.append(", ", link); }
      made.append(where);
      const said = make("div", "said");
      if (sample.before !== null) said.append(response("Base model", sample.before));
      said.append(response(sample.before === null ? "Response" : "After training", sample.own));
      made.append(said);
      const other = beside.value;
      if (other && other !== sample.cell) {
        answers(other, sample.column, Math.floor(sample.place / packed.page)).then(
          (rows) => said.append(response(other, rows[sample.place % packed.page][1])),
          () => said.append(make("p", "quiet", `${other}: its answers should lie in files beside this page`)));
      }
    }
    function response(title, [answer, right, pieces]) {
      const made = make("div");
      made.append(make("h3", "", `${title}: ${answer === null ? "no answer" : answer} (${right ? "right" : "wrong"})`));
      const text = make("div", "text");
      for (const piece of pieces) {
        if (typeof piece === "string") { text.append(document.createTextNode(piece)); continue; }
        const mark = make("mark", piece[1] ? "true" : "false", piece[0]);
        mark.title = piece[2]; mark.tabIndex = 0;
        text.append(mark);
      }
      made.append(text);
      return made;
    }
    for (const select of [cell, column]) select.addEventListener("change", read);
    for (const select of [kind, beside]) select.addEventListener("change", refresh);
    search.addEventListener("input", refresh);
    more.addEventListener("click", next);
    document.addEventListener("click", (event) => {
      const link = event.target.closest("a[data-cell]");
      if (!link) return;
      cell.value = link.dataset.cell; column.value = link.dataset.column || ""; kind.value = ""; search.value = "";
      read();
    });
    refresh();
  }

  function showCurves(curves, looks) {
    const box = byId("curve-plot"), near = byId("curve-near"), choice = byId("curve-name"), list = byId("curve-cells");
    const cells = Object.keys(curves);
    const first = ["validation_accuracy", "reward_mean", "length_mean"];
    const all = new Set(cells.flatMap((cell) => Object.keys(curves[cell])));
    options(choice, [...first.filter((name) => all.has(name)), ...[...all].filter((name) => !first.includes(name)).sort()]);
    const hidden = new Set();
    const stroke = (cell) => colour(looks[cell][0]), dash = (cell) => dashes[looks[cell][1]];
    let plot = null, drawn = [];
    const point = (cell) => plot.setSeries(drawn.includes(cell) ? drawn.indexOf(cell) + 1 : null, { focus: true });
    function sample(cell) {
      const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg"), line = document.createElementNS(svg.namespaceURI, "line");
      for (const [name, value] of [["x1", 0], ["x2", "100%"], ["y1", 3], ["y2", 3], ["stroke-width", 3], ["stroke-dasharray", dash(cell).join(" ")]]) line.setAttribute(name, value);
      line.style.stroke = `var(--c${looks[cell][0] % 8})`;
      svg.append(line);
      return svg;
    }
    cells.forEach((cell) => {
      const label = make("label"), box = make("input"), line = sample(cell);
      box.type = "checkbox"; box.checked = true;
      for (const name of ["pointerenter", "focusin"]) label.addEventListener(name, () => point(cell));
      for (const name of ["pointerleave", "focusout"]) label.addEventListener(name, () => point(null));
      box.addEventListener("change", () => { box.checked ? hidden.delete(cell) : hidden.add(cell); draw(); });
      label.append(box, line, document.createTextNode(cell));
      list.append(label);
    });
    byId("curve-filter").addEventListener("input", (event) => {
      const asked = words(event.target.value);
      [...list.children].forEach((label, place) => {
        const match = hasAll(cells[place].toLowerCase(), asked);
        label.hidden = !match;
        label.firstChild.checked = match;
        match ? hidden.delete(cells[place]) : hidden.add(cells[place]);
      });
      draw();
    });
    // The mean of a point and its neighbours: as many on each side as are asked for and there.
    function smoothed([steps, values], reach) {
      const mean = (place) => {
        const wide = Math.min(reach, place, values.length - 1 - place);
        const near = values.slice(place - wide, place + wide + 1).filter((value) => value !== null);
        return values[place] === null ? null : near.reduce((sum, value) => sum + value, 0) / near.length;
      };
      return [steps, values.map((_, place) => mean(place))];
    }
    function draw() {
      if (plot) plot.destroy();
      drawn = cells.filter((cell) => curves[cell][choice.value] && !hidden.has(cell));
      const style = getComputedStyle(document.documentElement), ink = style.getPropertyValue("--ink").trim(), line = style.getPropertyValue("--line").trim();
      const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { stroke: line } };
      const shares = choice.value.includes("accuracy"), label = choice.value.replaceAll("_", " ") + (shares ? " (%)" : "");
      const scaled = ([steps, values]) => [steps, shares ? values.map((value) => 100 * value) : values];
      const tables = drawn.map((cell) => smoothed(scaled(curves[cell][choice.value]), Number(byId("curve-smooth").value)));
      const data = tables.length ? uPlot.join(tables) : [[]];
      plot = new uPlot({
        width: box.clientWidth, height: 320, scales: { x: { time: false } }, legend: { show: drawn.length > 0 && drawn.length <= 12 },
        cursor: { focus: { prox: 24 } }, focus: { alpha: 0.25 },
        hooks: { setSeries: [(_, series) => { if (series) near.value = drawn[series - 1]; }] },
        axes: [{ ...axis, label: "step" }, { ...axis, label, size: 64 }],
        series: [{ label: "step" }, ...drawn.map((cell) => ({ label: cell, stroke: stroke(cell), dash: dash(cell), width: 1.6, spanGaps: true, points: { show: false } }))],
      }, data, box);
    }
    choice.addEventListener("change", draw);
    byId("curve-smooth").addEventListener("input", draw);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
    let width = box.clientWidth;
    addEventListener("resize", () => { if (box.clientWidth !== width) { width = box.clientWidth; draw(); } });
    draw();
  }

  unpack(byId("packed").textContent.trim()).then((packed) => {
    showSamples(packed);
    if (byId("curves")) {
      const watch = new IntersectionObserver((seen) => {
        if (!seen.some((each) => each.isIntersecting)) return;
        watch.disconnect();
        load("curves").then((curves) => showCurves(curves, packed.looks), () => { byId("curve-near").value = "The curves are in files that should lie beside this page."; });
      }, { rootMargin: "500px" });
      watch.observe(byId("curves"));
    }
    document.body.dataset.ready = "true";
  });
})();
