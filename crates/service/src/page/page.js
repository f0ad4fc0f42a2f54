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

  function choose(file) {
    program = file;
    find("chosen").textContent = `${file.name}, ${Math.ceil(file.size / 1024)} KiB`;
  }

  async function take(files) {
    for (const file of files) {
      // Programs and models; what else is dropped is a spec, in JSON or as Python.
      if (/\.(pt2|onnx)$/.test(file.name)) choose(file);
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
