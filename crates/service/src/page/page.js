"use strict";
// The page of the service: takes a program or guards, asks, and shows the answer.
(() => {
  const { make, show } = sizewise;
  const find = (id) => document.getElementById(id);
  const view = find("view"), state = find("state");
  let program = null;

  // Tabs: arrows move between them, as everywhere.
  const tabs = [find("tab-program"), find("tab-guards")];
  function select(tab) {
    for (const other of tabs) {
      const chosen = other === tab;
      other.setAttribute("aria-selected", String(chosen));
      other.tabIndex = chosen ? 0 : -1;
      find(other.getAttribute("aria-controls")).hidden = !chosen;
    }
    tab.focus();
  }
  tabs.forEach((tab, i) => {
    tab.addEventListener("click", () => select(tab));
    tab.addEventListener("keydown", (event) => {
      if (event.key === "ArrowRight" || event.key === "ArrowLeft") select(tabs[(i + 1) % tabs.length]);
    });
  });

  function headers(more) {
    const token = find("token").value.trim();
    return { ...more, ...(token ? { Authorization: `Bearer ${token}` } : {}) };
  }

  // A text in which nothing is hidden: control characters, and those that reorder or take no room.
  const visible = (text) => String(text).replace(/[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);

  function say(text, isProblem) {
    state.textContent = visible(text);
    state.className = isProblem ? "problem" : "faint";
  }

  // Asks, and shows what went wrong if anything does.
  async function ask(path, options) {
    view.replaceChildren();
    say("Working …");
    try {
      const response = await fetch(path, { method: "POST", ...options });
      const answer = await response.json();
      if (response.ok) {
        say("");
        return answer;
      }
      const place = answer.place ? ` (${Object.entries(answer.place).map(([k, v]) => `${k} ${v}`).join(", ")})` : "";
      const expected = answer.expected ? ` Expected: ${answer.expected}.` : "";
      say(`${answer.title}${place}: ${answer.detail}.${expected}`, true);
    } catch (error) {
      say(`The service does not answer: ${error.message}`, true);
    }
    return null;
  }

  // What a check does not read: weights and examples. Sizes may be computed from constants: small ones are sent.
  const TENSORS = /(^|\/)data\/(weights|sample_inputs)\/[^/]*$/, CONSTANTS = /(^|\/)data\/constants\/[^/]*$/;
  const CONFIG = /\.json$/, SMALL = 1 << 16;

  // The entries of a zip archive, and where its list of them starts; null for anything else.
  async function archived(file) {
    const part = async (from, to) => new DataView(await file.slice(from, to).arrayBuffer());
    const tail = await part(Math.max(0, file.size - (1 << 16) - 64), file.size);
    let at = tail.byteLength - 22;
    while (at >= 0 && tail.getUint32(at, true) !== 0x06054b50) at -= 1;
    if (at < 0) return null;
    let size = tail.getUint32(at + 12, true), start = tail.getUint32(at + 16, true);
    // Of large archives these numbers stand in a record of their own.
    if (at >= 20 && tail.getUint32(at - 20, true) === 0x07064b50) {
      const place = Number(tail.getBigUint64(at - 12, true)), record = await part(place, place + 56);
      size = Number(record.getBigUint64(40, true));
      start = Number(record.getBigUint64(48, true));
    }
    const list = await part(start, start + size), entries = [];
    for (let from = 0; from < size;) {
      if (list.getUint32(from, true) !== 0x02014b50) return null;
      const [name, extra, comment] = [28, 30, 32].map((field) => list.getUint16(from + field, true));
      const end = from + 46 + name;
      const entry = {
        head: list.buffer.slice(from, end), name: new TextDecoder().decode(list.buffer.slice(from + 46, end)),
        packed: list.getUint32(from + 20, true), full: list.getUint32(from + 24, true), offset: list.getUint32(from + 42, true),
      };
      for (let field = end; field < end + extra; field += 4 + list.getUint16(field + 2, true)) {
        if (list.getUint16(field, true) !== 1) continue;
        let long = field + 4;
        for (const number of ["full", "packed", "offset"]) {
          if (entry[number] === 0xffffffff) { entry[number] = Number(list.getBigUint64(long, true)); long += 8; }
        }
      }
      entries.push(entry);
      from = end + extra + comment;
    }
    return { entries: entries.sort((a, b) => a.offset - b.offset), start };
  }

  // The archive without its weights, which stay on this machine; the file itself where it has none.
  async function withoutWeights(file) {
    const found = await archived(file).catch(() => null);
    if (!found) return file;
    const { entries, start } = found;
    entries.forEach((entry, i) => { entry.end = i + 1 < entries.length ? entries[i + 1].offset : start; });
    const kept = entries.filter((entry) => {
      const left = TENSORS.test(entry.name) || (CONSTANTS.test(entry.name) && entry.full > SMALL);
      return !left || CONFIG.test(entry.name);
    });
    if (kept.length === entries.length) return file;
    let offset = 0;
    for (const entry of kept) {
      const head = new DataView(entry.head);
      head.setUint32(20, entry.packed, true);
      head.setUint32(24, entry.full, true);
      head.setUint32(30, 0, true);
      head.setUint32(42, offset, true);
      offset += entry.end - entry.offset;
    }
    const last = new DataView(new ArrayBuffer(22));
    last.setUint32(0, 0x06054b50, true);
    last.setUint16(8, kept.length, true);
    last.setUint16(10, kept.length, true);
    last.setUint32(12, kept.reduce((sum, entry) => sum + entry.head.byteLength, 0), true);
    last.setUint32(16, offset, true);
    return new File([...kept.map((entry) => file.slice(entry.offset, entry.end)), ...kept.map((entry) => entry.head), last.buffer], file.name);
  }

  let ready = null;
  function choose(file) {
    ready = prepare(file);
    return ready;
  }

  async function prepare(file) {
    program = file;
    find("chosen").textContent = `${file.name}, ${Math.ceil(file.size / 1024)} KiB`;
    const sent = await withoutWeights(file);
    if (program === file && sent !== file) {
      program = sent;
      find("chosen").textContent += `; sent without its weights, ${Math.ceil(sent.size / 1024)} KiB`;
    }
  }

  async function take(files) {
    for (const file of files) {
      // Programs and models; what else is dropped is a spec, in JSON or as Python.
      if (/\.(pt2|onnx)$/.test(file.name)) await choose(file);
      else find("spec").value = await file.text();
    }
  }

  const drop = find("drop");
  // A file that is dropped beside the field is not to replace the page.
  for (const kind of ["dragover", "drop"]) document.addEventListener(kind, (event) => event.preventDefault());
  document.addEventListener("dragover", () => drop.classList.add("over"));
  document.addEventListener("dragleave", () => drop.classList.remove("over"));
  document.addEventListener("drop", (event) => {
    drop.classList.remove("over");
    if (event.dataTransfer) take(event.dataTransfer.files);
  });
  find("program").addEventListener("change", (event) => {
    const [file] = event.target.files;
    if (file) choose(file);
  });

  find("panel-program").addEventListener("submit", async (event) => {
    event.preventDefault();
    if (!program) {
      say("Choose a program first.", true);
      find("program").focus();
      return;
    }
    await ready;
    const form = new FormData();
    form.append("program", program, program.name);
    if (find("spec").value.trim()) form.append("spec", find("spec").value);
    const answer = await ask("/v1/check?format=view", { body: form, headers: headers() });
    if (answer) show(view, answer);
  });

  const lines = (id) => find(id).value.split("\n").map((line) => line.trim()).filter(Boolean);

  // `s0: 2..64`, either end may be missing.
  function ranges() {
    const symbols = {};
    for (const line of lines("symbols")) {
      const match = line.match(/^([A-Za-z_][A-Za-z_0-9]*)\s*:\s*(-?\d+)?\s*\.\.\s*(-?\d+)?$/);
      if (!match) {
        say(`“${line}” is no range; expected one such as s0: 2..64`, true);
        find("symbols").focus();
        return null;
      }
      symbols[match[1]] = { min: match[2] ? Number(match[2]) : null, max: match[3] ? Number(match[3]) : null };
    }
    return symbols;
  }

  const json = (body) => ({ body: JSON.stringify(body), headers: headers({ "Content-Type": "application/json" }) });
  const list = (items) => make("ul", {}, items.map((item) => make("li", {}, make("code", {}, item))));

  find("panel-guards").addEventListener("submit", async (event) => {
    event.preventDefault();
    const symbols = ranges();
    if (!symbols) return;
    const body = { symbols, given: lines("guards"), goal: find("goal").value };
    const answer = await ask("/v1/entail?proof=true&explain=true", json(body));
    if (!answer) return;
    const says = {
      implied: "The guards imply the goal.", refuted: "The guards do not imply the goal.",
      inconsistent: "The guards contradict each other.", unknown: "Neither a proof nor a counterexample was found.",
    };
    view.replaceChildren(make("section", { class: "card" },
      make("div", { class: "verdict" }, make("span", { class: `badge ${answer.verdict}`, id: "verdict" }, answer.verdict), make("span", {}, says[answer.verdict]), make("span", { class: "faint" }, `decided by ${answer.decided_by}`)),
      answer.witness ? make("p", {}, "counterexample: ", make("code", {}, Object.entries(answer.witness).map(([s, v]) => `${s} = ${v}`).join(", "))) : "",
      answer.because.length ? [make("p", {}, "because of"), list(answer.because)] : "",
      answer.reason ? make("p", {}, answer.reason) : "",
      answer.proof ? make("details", {}, make("summary", {}, "Proof"), make("ol", {}, answer.proof.map((step) => make("li", {}, make("code", {}, step.rule), ` ${step.says}`)))) : "",
      answer.explain && answer.explain.length ? make("details", {}, make("summary", {}, "What was tried"), make("ol", {}, answer.explain.map((step) => make("li", {}, make("code", {}, step.rung), ` ${step.outcome}`)))) : ""));
  });

  find("minimize").addEventListener("click", async () => {
    const symbols = ranges();
    if (!symbols) return;
    const answer = await ask("/v1/minimize", json({ symbols, guards: lines("guards") }));
    if (!answer) return;
    view.replaceChildren(make("section", { class: "card" }, make("h2", {}, "What is left"), list(answer.guards),
      answer.dropped.length ? [make("h2", {}, "What was left out"), make("ul", {}, answer.dropped.map((one) => make("li", {}, make("code", {}, one.guard), one.because.length ? ` follows from ${one.because.join("; ")}` : " always holds")))] : ""));
  });
})();
