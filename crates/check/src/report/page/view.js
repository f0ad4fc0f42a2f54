"use strict";
// Draws the view of a report: verdict, findings, fixes, and the graph with its shapes.
const sizewise = (() => {
  // Rows of a graph that are drawn before one asks for more, and lanes that wires may take.
  const ROWS = 400, LANES = 14, LANE = 11, ROW = 30;

  // An element with attributes and children; texts are texts, never markup.
  function make(tag, attributes, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
    }
    for (const child of children.flat(9)) {
      if (child !== null && child !== undefined && child !== false) element.append(child);
    }
    return element;
  }

  // A text in which what stands in back-ticks is code.
  function ticked(text) {
    return String(text).split("`").map((part, i) => (i % 2 ? make("code", {}, part) : part));
  }

  // A button that copies a text; where that is not allowed, the text stays to be selected.
  function copier(text) {
    const button = make("button", { type: "button", class: "copy", onclick: async () => {
      try {
        await navigator.clipboard.writeText(text);
        button.textContent = "copied";
      } catch {
        button.textContent = "select the text to copy it";
      }
    } }, "copy");
    return button;
  }

  const plural = (n, one, many) => `${n} ${n === 1 ? one : many}`;
  const symbolsIn = (text) => new Set(String(text).match(/[A-Za-z_][A-Za-z_0-9]*/g) || []);
  const number = (value) => (value === null || value === undefined ? null : String(value));

  function shape(value) {
    return Array.isArray(value) ? `[${value.join(", ")}]` : String(value);
  }

  function inputs(shapes) {
    return Object.entries(shapes).map(([name, value]) => `${name}: ${shape(value)}`).join(", ");
  }

  function elements(values) {
    const each = Object.entries(values || {}).map(([name, value]) => `${name} ${value}`);
    return each.length ? `, every element being: ${each.join(", ")}` : "";
  }

  function rows(pairs) {
    const list = make("dl");
    for (const [term, content] of pairs) {
      if (content) list.append(make("dt", {}, term), make("dd", {}, content));
    }
    return list;
  }

  function range(symbol) {
    const low = number(symbol.min), high = number(symbol.max);
    if (low !== null && high !== null) return low === high ? `= ${low}` : `from ${low} to ${high}`;
    if (low !== null) return `${low} or more`;
    return high !== null ? `at most ${high}` : "any value";
  }

  function show(root, { report, graph }) {
    const state = { picked: null };
    const nameOf = (symbol) => (report.symbols[symbol] && (report.symbols[symbol].dim || report.symbols[symbol].source)) || symbol;
    // A size in the user's names.
    const named = (size) => (size === null ? "?" : String(size)).replace(/[A-Za-z_][A-Za-z_0-9]*/g, (word) => (word in report.symbols ? nameOf(word) : word));
    // The report writes symbols and user's names; both mean the symbol.
    const toSymbols = (text) => {
      const words = symbolsIn(text), found = new Set();
      for (const [symbol, known] of Object.entries(report.symbols)) {
        if (words.has(symbol) || (known.dim && words.has(known.dim)) || (known.source && String(text).includes(known.source))) found.add(symbol);
      }
      return found;
    };
    const why = make("section", { class: "card", "aria-live": "polite", "aria-labelledby": "why-title", id: "why" });

    function pick(size) {
      state.picked = state.picked === String(size) ? null : String(size);
      for (const button of root.querySelectorAll("button.dim")) {
        button.setAttribute("aria-pressed", String(button.dataset.size === state.picked));
      }
      explain();
    }

    function dim(size) {
      if (typeof size === "number" || size === null) return named(size);
      const text = named(size);
      return make("button", { class: "dim mono", type: "button", "data-size": String(size), "aria-pressed": "false", title: `why ${text}?`, onclick: () => pick(size) }, text);
    }

    function sizes(value) {
      if (value.value !== null && value.value !== undefined) return [`${value.kind} = `, dim(value.value)];
      if (!value.sizes) return value.kind;
      const parts = [];
      value.sizes.forEach((size, i) => parts.push(i ? ", " : "", dim(size)));
      return [`${value.kind}[`, ...parts, "]"];
    }

    function explain() {
      why.replaceChildren(make("h2", { id: "why-title" }, "Why is it this size?"));
      if (state.picked === null) {
        why.append(make("p", { class: "faint" }, "Choose a dimension in the graph: its range, where it comes from, and the conditions that speak of it are shown here."));
        return;
      }
      const symbols = [...symbolsIn(state.picked)].filter((word) => word in report.symbols);
      why.append(make("p", {}, make("strong", { class: "mono" }, named(state.picked)),
        symbols.length === 1 && symbols[0] === state.picked ? "" : symbols.length ? ` is computed from ${symbols.map(nameOf).join(", ")}.` : " is known only when the program runs."));
      const table = make("table", {}, make("tbody"));
      for (const symbol of symbols) {
        const known = report.symbols[symbol];
        const hint = known.hint === null ? "" : `, ${known.hint} when traced`;
        table.tBodies[0].append(make("tr", {}, make("th", { scope: "row", class: "mono" }, nameOf(symbol)),
          make("td", {}, range(known) + hint), make("td", { class: "mono faint" }, known.source && known.source !== nameOf(symbol) ? known.source : "")));
      }
      if (symbols.length) why.append(table);
      const about = report.guards.filter((guard) => [...toSymbols(`${guard.expr} ${guard.shown}`)].some((symbol) => symbols.includes(symbol)));
      if (!about.length) {
        why.append(make("p", { class: "faint" }, "No condition of the program speaks of it."));
        return;
      }
      why.append(make("p", {}, `${plural(about.length, "condition speaks", "conditions speak")} of it:`), ...about.slice(0, 30).map(finding));
      if (about.length > 30) why.append(make("p", { class: "faint" }, `and ${about.length - 30} more`));
    }

    function finding(guard) {
      const by = guard.decided_by ? `${guard.decided_by}${guard.because.length ? `: ${guard.because.slice(0, 6).join("; ")}` : ""}` : null;
      const place = [guard.location, guard.module && `in ${guard.module}`].filter(Boolean).join(", ");
      const node = guard.node ? `${guard.node} = ${guard.op || ""}${guard.clause ? ` (${guard.clause})` : ""}` : "at export";
      const [, word, what] = (guard.origin || "").match(/^(needed by|because|declared) (.*)$/s) || [null, guard.node ? "needed by" : "because", node];
      const own = guard.stack.slice(1).filter((frame) => !frame.library), library = guard.stack.length - 1 - own.length;
      const callers = own.slice(0, 3).map((frame) => `${frame.file}:${frame.line}, in ${frame.function}`).join("; ");
      const through = library > 0 ? `, through ${plural(library, "call in a library", "calls in libraries")}` : "";
      return make("article", { class: `finding ${guard.verdict}` },
        make("h3", {}, make("span", { class: `badge ${guard.verdict}` }, guard.verdict === "implied" ? "proved" : guard.verdict), " ", make("code", {}, guard.shown)),
        rows([
          ["source", place && [make("code", {}, place), guard.code ? make("pre", { tabindex: "0" }, guard.code) : ""]],
          [word, ticked(what)],
          ["called from", callers ? make("code", {}, callers + through) : null],
          ["for example", guard.inputs && make("code", {}, inputs(guard.inputs))],
          ["where", guard.witness && Object.keys(guard.witness).length ? make("code", {}, Object.entries(guard.witness).map(([s, v]) => `${nameOf(s)} = ${v}`).join(", ")) : null],
          ["then", guard.consequence && ticked(guard.consequence)],
          ["works", guard.works && make("code", {}, inputs(guard.works) + elements(guard.works_values))],
          ["suggestion", guard.settled_by],
          ["because", guard.verdict === "implied" ? by : guard.settled_by ? null : guard.reason],
        ]));
    }

    // What a verdict of `ok` says, as in the text report.
    function accepted() {
      const left = report.runtime_asserts.length;
      const met = !report.program.onnx ? "its data satisfy the runtime assertions"
        : left === 1 ? "its values meet the condition that is left to run time" : "its values meet the conditions that are left to run time";
      const works = left > 0 ? `works, if ${met}` : "works";
      if (report.assumed === "spec") return `every input that the spec allows ${works}`;
      if (report.assumed === "declaration") {
        return `every input that the model declares ${works}; assumed: sizes of at least 1, equal names equal`;
      }
      return `every input that satisfies the contract recorded at export ${works}; no spec was given`;
    }

    // A condition of an ONNX model is a sentence, with the inputs whose values decide it.
    function leftToRunTime(a) {
      if (!a.op) return make("p", {}, make("code", {}, a.expr), ` after ${a.after_node}: ${a.message}`);
      const inputs = a.inputs ? `; the values of ${a.inputs.join(", ")} decide it` : "";
      return make("p", {}, make("code", {}, `${a.after_node} = ${a.op}`), ` ${a.expr}${inputs}`);
    }

    function head() {
      const of = (verdict) => report.guards.filter((guard) => guard.verdict === verdict);
      const broken = of("violated").filter((guard) => !guard.follows).length + report.mismatches.length;
      const says = {
        ok: accepted(),
        violated: plural(broken, "error", "errors"),
        unknown: "not everything could be decided",
        invalid: "the spec does not fit the program",
      };
      const program = report.program;
      return make("section", { class: "card", "aria-label": "verdict" },
        make("div", { class: "verdict" }, make("span", { class: `badge ${report.verdict}`, id: "verdict" }, report.verdict), make("strong", {}, program.path), make("span", {}, says[report.verdict])),
        make("p", { class: "faint" }, [plural(program.nodes, "node", "nodes"), plural(Object.keys(report.symbols).length, "dynamic dimension", "dynamic dimensions"), ...(program.onnx ? ["ONNX", program.onnx] : [`${program.dialect} IR`, `torch ${program.torch_version}`])].join(" · ")),
        make("p", {}, "inputs ", report.inputs.map((input, i) => [i ? ", " : "", make("code", {}, `${input.name}: ${input.shape ? `${input.dtype}[${input.shape.map(named).join(", ")}]` : input.dtype}`)])),
        make("p", {}, "outputs ", report.outputs.map((output, i) => [i ? ", " : "", make("code", {}, `${output.name}: ${output.shape ? `${output.dtype}[${output.shape.map(named).join(", ")}]` : output.dtype}`),
          output.upper_bound && output.shape && output.shape.some((s) => typeof s !== "number") ? make("span", { class: "faint" }, ` at most ${output.upper_bound.map((b) => (b === null ? "any" : b)).join(" x ")}`) : ""])));
    }

    function listed(title, items, draw) {
      return items.length ? make("section", { class: "card" }, make("h2", {}, title), items.slice(0, 50).map(draw), items.length > 50 ? make("p", { class: "faint" }, `and ${items.length - 50} more`) : "") : null;
    }

    function folded(title, items, draw, open) {
      return items.length ? make("details", { class: "card", open: open ? "" : null }, make("summary", {}, title), items.slice(0, 200).map(draw), items.length > 200 ? make("p", { class: "faint" }, `and ${items.length - 200} more`) : "") : null;
    }

    function standing(one) {
      return one.proved ? "proved" : report.unsupported.length ? "proved but for the skipped nodes" : "proved but for what is undecided";
    }

    function fix(one, i) {
      return make("article", { class: "finding implied" }, make("h3", {}, `Fix ${i + 1} `, make("span", { class: `badge ${one.proved ? "implied" : "unknown"}` }, standing(one)), " ", copier(one.text)),
        make("pre", { tabindex: "0" }, one.text), one.cost ? make("p", { class: "faint" }, one.cost) : "", one.note ? make("p", { class: "faint" }, one.note) : "",
        one.spec ? make("details", {}, make("summary", {}, "the changed spec"), make("pre", { tabindex: "0" }, JSON.stringify(one.spec, null, 1))) : "");
    }

    // What is allowed, what the first fix makes of it, and where that comes from.
    function dimensions() {
      const dims = report.dimensions || [];
      if (!dims.length) return null;
      const needs = report.fixes[0].loses === false ? "the program needs" : "fix 1 makes it";
      const heads = ["size", "allowed", needs, "from"].map((text) => make("th", { scope: "col" }, text));
      return make("section", { class: "card", "aria-labelledby": "sizes-title" }, make("h2", { id: "sizes-title" }, "Sizes that are too free"),
        make("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "table of sizes" }, make("table", {}, make("thead", {}, make("tr", {}, heads)), make("tbody", {}, dims.map((row) => make("tr", {},
          make("th", { scope: "row", class: "mono" }, row.source && row.source !== row.dim ? `${row.dim} (${row.source})` : row.dim),
          make("td", {}, row.allows), make("td", {}, row.needs), make("td", { class: "mono from" }, row.from.slice(0, 3).join(", ") + (row.from.length > 3 ? `, ${row.from.length - 3} more` : ""))))))));
    }

    // What a run takes, and the values that get largest.
    function costs() {
      const all = report.costs;
      if (!all) return null;
      const most = (one) => (one.max === null ? "no bound" : `at most ${one.max}`);
      const figure = (one) => [one.expr ? make("code", {}, one.expr) : "", make("span", { class: "faint" }, ` ${most(one)}`)];
      const largest = all.values.map((one) => make("p", {}, make("code", {}, `${one.value}: ${one.dtype}[${one.shape.join(", ")}]`), ` ${most(one.bytes)} bytes`, one.at ? make("span", { class: "faint" }, `, with ${one.at}`) : ""));
      return make("section", { class: "card", "aria-labelledby": "costs-title" }, make("h2", { id: "costs-title" }, "What a run takes"),
        rows([["flops", figure(all.flops)], ["bytes made", figure(all.activation_bytes)], ["bytes live together", figure(all.peak_bytes)]]),
        largest.length ? make("h3", {}, "The largest values") : "", largest,
        all.reasons.length ? make("p", { class: "faint" }, "not exact: ", all.reasons.slice(0, 5).join("; ")) : "");
    }

    // Wires: a value's lane runs from the row that makes it to the last that uses it.
    function wires(list) {
      const row = new Map(), last = new Map(), users = new Map();
      list.forEach((item, i) => {
        for (const value of item.values) row.set(value.name, i);
        for (const name of item.uses) {
          if (row.has(name)) { last.set(name, i); users.set(name, [...(users.get(name) || []), i]); }
        }
      });
      const busy = [], paths = [], dots = [], at = (i) => i * ROW + ROW / 2;
      let widest = 0;
      for (const [name, from] of row) {
        const to = last.get(name);
        if (to === undefined || to === from) continue;
        let lane = busy.findIndex((until) => until <= from);
        if (lane < 0) lane = busy.length;
        busy[lane] = to;
        lane = Math.min(lane, LANES);
        widest = Math.max(widest, lane);
        for (const user of users.get(name)) paths.push([lane, at(from), at(user)]);
      }
      const right = (widest + 2) * LANE;
      list.forEach((_, i) => dots.push([right, at(i)]));
      const spot = "http://www.w3.org/2000/svg";
      const svg = document.createElementNS(spot, "svg");
      svg.setAttribute("class", "wires"); svg.setAttribute("width", String(right + 6)); svg.setAttribute("height", String(list.length * ROW)); svg.setAttribute("aria-hidden", "true");
      for (const [lane, from, to] of paths) {
        const x = right - (lane + 1) * LANE, path = document.createElementNS(spot, "path");
        path.setAttribute("d", `M${right} ${from} Q${x} ${from} ${x} ${Math.min(from + 12, to)} V${Math.max(to - 12, from)} Q${x} ${to} ${right} ${to}`);
        svg.append(path);
      }
      for (const [x, y] of dots) {
        const dot = document.createElementNS(spot, "circle");
        dot.setAttribute("cx", String(x)); dot.setAttribute("cy", String(y)); dot.setAttribute("r", "3.2");
        svg.append(dot);
      }
      return { svg, width: right + 12 };
    }

    const faulty = new Set([...report.guards.filter((g) => g.verdict === "violated" && g.node).map((g) => g.node), ...report.mismatches.map((m) => m.node)]);
    const everything = [...graph.inputs.map((value) => ({ name: value.name, op: "input", depth: 0, uses: [], values: [value], location: null })), ...graph.nodes];

    function node(item, indent) {
      const place = [item.location, item.code].filter(Boolean).join("   ");
      return make("li", { class: faulty.has(item.name) ? "named" : null, style: `padding-left:${indent}px`, title: place || null },
        make("span", { class: "name mono" }, item.name), make("span", { class: "mono" }, item.values.map((value, i) => [i ? ", " : "", sizes(value)])),
        make("span", { class: "op mono" }, item.op), item.uses.length ? make("span", { class: "hidden" }, `uses ${item.uses.join(", ")}`) : "", item.location ? make("span", { class: "faint" }, item.location) : "");
    }

    // Rows with the wires between them.
    function wired(list) {
      const { svg, width } = wires(list);
      return make("ol", { class: "rows" }, svg, list.map((item) => node(item, width + item.depth * 18)));
    }

    // Runs of nodes of one module, each to be opened; what is named by a finding is open.
    function byModule() {
      const runs = [];
      for (const item of everything) {
        const module = item.module || (item.op === "input" ? "inputs" : "");
        if (!runs.length || runs[runs.length - 1].module !== module) runs.push({ module, items: [] });
        runs[runs.length - 1].items.push(item);
      }
      return runs.map(({ module, items }) => {
        const draw = () => wired(items);
        const open = items.some((item) => faulty.has(item.name));
        const box = make("details", { open: open ? "" : null, ontoggle: () => { if (box.open && box.children.length === 1) box.append(draw()); } },
          make("summary", {}, make("span", { class: "mono" }, module || "the program itself"), ` ${plural(items.length, "node", "nodes")}`));
        if (open) box.append(draw());
        return box;
      });
    }

    function graphView() {
      const place = make("div", { class: "graph", tabindex: "0", role: "region", "aria-label": "nodes" });
      const found = make("p", { class: "faint", role: "status" });
      const search = make("input", { type: "search", "aria-label": "search the graph", placeholder: "search nodes, operators, sizes, lines", oninput: () => draw(ROWS) });
      const modules = make("input", { type: "checkbox", id: "by-module", oninput: () => draw(ROWS) });
      const says = (item) => [item.name, item.op, item.location, item.code, item.module, ...item.values.flatMap((value) => (value.sizes || []).map(named))].filter(Boolean).join(" ").toLowerCase();
      function draw(limit) {
        const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
        const list = words.length ? everything.filter((item) => { const text = says(item); return words.every((word) => text.includes(word)); }) : everything;
        found.textContent = words.length ? plural(list.length, "node is found", "nodes are found") : "";
        if (modules.checked && !words.length) return place.replaceChildren(...byModule());
        place.replaceChildren(wired(list.slice(0, limit)));
        if (list.length > limit) {
          place.append(make("p", {}, make("button", { type: "button", onclick: () => draw(limit * 10) }, `${list.length - limit} more nodes`)));
        }
      }
      draw(ROWS);
      return make("section", { class: "card", "aria-labelledby": "graph-title" }, make("h2", { id: "graph-title" }, "Graph"),
        make("p", { class: "faint" }, "Shapes as the program records them. Choose a dimension to see why it is what it is."),
        make("p", { class: "tools" }, search, make("label", { for: "by-module" }, modules, " by module")), found, place);
    }

    const violated = report.guards.filter((guard) => guard.verdict === "violated");
    const open = report.guards.filter((guard) => guard.verdict === "unknown");
    const proved = report.guards.filter((guard) => guard.verdict === "implied");
    explain();
    root.replaceChildren(head(), make("div", { class: "columns" },
      make("div", {},
        dimensions(),
        listed("What to change", report.fixes, fix),
        listed("Help", report.help, (text) => make("p", {}, ticked(text))),
        listed("What is wrong", report.diagnostics.filter((d) => d.level === "error"), (d) => make("p", {}, make("code", {}, d.code), " ", ticked(d.message))),
        listed("Violated", violated.filter((guard) => !guard.follows), finding),
        listed("Recorded shapes that are wrong", report.mismatches, (m) => make("article", { class: "finding violated" }, make("h3", {}, make("code", {}, m.value)), rows([["recorded", make("code", {}, m.recorded)], ["comes out as", make("code", {}, m.derived)], ["for inputs", m.inputs && make("code", {}, inputs(m.inputs))]]))),
        open.length && report.fixes.length && (report.fixes[0].proved || !report.program.onnx) ? folded(`${plural(open.length, "condition is", "conditions are")} undecided under this spec; fix 1 settles that`, open, finding) : listed("Undecided", open, finding),
        listed(report.program.onnx ? "Nodes that are not fully followed" : "Nodes skipped (no shape function); declare the operators with --ops", report.unsupported, (u) => make("p", {}, make("code", {}, `${u.node} = ${u.op}`), ` ${u.reason}`)),
        folded(`${plural(violated.filter((g) => g.follows).length, "condition", "conditions")} violated with these`, violated.filter((g) => g.follows), finding),
        folded(`${plural(proved.length, "condition is", "conditions are")} proved`, proved, finding, !violated.length && proved.length <= 20),
        folded(`${plural(report.minimal_guards.length, "condition", "conditions")} that the program needs of its inputs`, report.minimal_guards, (text) => make("pre", { tabindex: "0" }, named(text))),
        folded(report.program.onnx ? `Left to run time: ${plural(report.runtime_asserts.length, "condition", "conditions")} on values` : `${plural(report.runtime_asserts.length, "condition", "conditions")} that only running the program can check`, report.runtime_asserts, leftToRunTime, Boolean(report.program.onnx) && report.runtime_asserts.length <= 20),
        costs(),
        folded("Remarks", report.diagnostics.filter((d) => d.level !== "error"), (d) => make("p", {}, make("code", {}, d.code), " ", ticked(d.message)))),
      make("div", {}, graphView(), why)));
  }

  // What is folded is printed, too.
  addEventListener("beforeprint", () => document.querySelectorAll("details:not([open])").forEach((box) => { box.open = true; }));

  // The data of a page: JSON, or base64 of the same packed by zlib.
  async function read(element) {
    if (element.type === "application/json") return JSON.parse(element.textContent);
    const bytes = Uint8Array.from(atob(element.textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(stream).text());
  }

  return { show, make, read };
})();
