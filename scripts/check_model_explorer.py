#!/usr/bin/env python3
"""Opens graphs that `sizewise show --as model-explorer` writes in Google's Model Explorer, in headless Chromium.

  python -m venv explorer && explorer/bin/pip install ai-edge-model-explorer
  explorer/bin/python scripts/check_model_explorer.py SIZEWISE PROGRAM.pt2...

For each program: writes the graph and the data of its nodes, checks them against the types of Model Explorer
(`input_graph.ts`, `types.ts`), opens them with the package's own server and page, and waits until the page shows the graph.
Fails if the page complains, or shows another number of nodes. `--screenshot FOLDER` keeps pictures.
"""
import argparse
import base64
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

FLAGS = ["--headless=new", "--no-sandbox", "--enable-unsafe-swiftshader", "--use-gl=angle", "--use-angle=swiftshader",
         "--window-size=1400,900", "--remote-debugging-pipe", "--no-first-run"]
SECONDS = 180


class Browser:
    """Chromium, spoken to over a pipe in its DevTools protocol."""

    def __init__(self, folder):
        chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        if chromium is None:
            sys.exit("there is no Chromium")
        (read, self.out), (self.into, write) = os.pipe(), os.pipe()

        def pipes():
            # The browser reads from 3 and writes to 4.
            one, two = os.dup(read), os.dup(write)
            os.dup2(one, 3)
            os.dup2(two, 4)
            os.set_inheritable(3, True)
            os.set_inheritable(4, True)

        self.process = subprocess.Popen([chromium, *FLAGS, f"--user-data-dir={folder}", "about:blank"], close_fds=False,
                                        preexec_fn=pipes, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.number, self.answers, self.complaints, self.wake = 0, {}, [], threading.Condition()
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        buffer = b""
        while data := os.read(self.into, 1 << 20):
            *messages, buffer = (buffer + data).split(b"\0")
            for message in map(json.loads, messages):
                with self.wake:
                    if "id" in message:
                        self.answers[message["id"]] = message
                    elif message.get("method") == "Runtime.exceptionThrown":
                        details = message["params"]["exceptionDetails"]
                        text = details.get("exception", {}).get("description") or details.get("text", "")
                        self.complaints.append(text.splitlines()[0])
                    self.wake.notify_all()

    def ask(self, method, session=None, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        with self.wake:
            if not self.wake.wait_for(lambda: message["id"] in self.answers, SECONDS):
                raise TimeoutError(method)
            answer = self.answers.pop(message["id"])
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def page(self, url):
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.complaints.clear()
        for domain in ("Runtime", "Page"):
            self.ask(f"{domain}.enable", session)
        self.ask("Page.navigate", session, url=url)
        return session

    def run(self, session, code):
        return self.ask("Runtime.evaluate", session, expression=code, returnByValue=True)["result"].get("value")

    def close(self):
        self.process.terminate()
        self.process.wait(10)


def is_text(value):
    return isinstance(value, str)


def pairs(items):
    return all(set(item) == {"key", "value"} and is_text(item["key"]) and is_text(item["value"]) for item in items)


def faults(collection):
    """What in a graph collection is not as `input_graph.ts` has it."""
    if set(collection) != {"label", "graphs"} or not is_text(collection["label"]):
        yield "a collection has a label and graphs"
    names = {graph["id"] for graph in collection["graphs"]}
    if len(names) != len(collection["graphs"]):
        yield "two graphs have one id"
    for graph in collection["graphs"]:
        ids = [node["id"] for node in graph["nodes"]]
        known = set(ids)
        if len(known) != len(ids):
            yield f"two nodes of {graph['id']} have one id"
        outputs = {node["id"]: len(node.get("outputsMetadata", [])) for node in graph["nodes"]}
        for node in graph["nodes"]:
            allowed = {"id", "label", "namespace", "attrs", "incomingEdges", "outputsMetadata", "subgraphIds"}
            if not set(node) <= allowed or not all(is_text(node[key]) for key in ("id", "label", "namespace")):
                yield f"{node['id']}: {sorted(node)}"
            if not pairs(node.get("attrs", [])) or not all(pairs(of["attrs"]) for of in node.get("outputsMetadata", [])):
                yield f"{node['id']}: attributes are keys with values that are texts"
            for edge in node.get("incomingEdges", []):
                if edge["sourceNodeId"] not in known or int(edge["sourceNodeOutputId"]) >= outputs[edge["sourceNodeId"]]:
                    yield f"{node['id']}: an edge from nowhere: {edge}"
            if not set(node.get("subgraphIds", [])) <= names:
                yield f"{node['id']}: calls a graph that is not there"


def faults_of_data(data, collection):
    """What in data of nodes is not as `NodeDataProviderData` of `types.ts` has it."""
    graphs = {graph["id"]: {node["id"] for node in graph["nodes"]} for graph in collection["graphs"]}
    for name, of in data.items():
        if name not in graphs or not set(of) <= {"results", "gradient"}:
            yield f"data of {name}: {sorted(of)}"
        for node, result in of["results"].items():
            if node not in graphs[name] or "value" not in result or not set(result) <= {"value", "bgColor"}:
                yield f"data of {node}: {result}"


def shown(browser, session):
    """What the page says, once it shows a graph; what it complains of, if it does."""
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        if browser.complaints:
            return None, browser.complaints[0]
        if browser.run(session, "document.querySelector('webgl-renderer canvas, model-graph-visualizer canvas') !== null"):
            return browser.run(session, "document.body.innerText"), None
        time.sleep(0.5)
    return None, f"no graph within {SECONDS} s: {browser.run(session, 'document.body.innerText')!r:.400}"


def check(browser, port, sizewise, program, screenshots):
    folder = tempfile.mkdtemp(dir=os.environ.get("TMPDIR"))
    graph = os.path.join(folder, "graph.json")
    subprocess.run([sizewise, "show", program, "--as", "model-explorer", "--output", graph, "--node-data", folder], check=True)
    with open(graph) as file:
        collection = json.load(file)
    wrong = list(faults(collection))
    sources = []
    for name in ("bytes", "shapes", "conditions", "findings"):
        path = os.path.join(folder, f"{name}.json")
        sources.append(path)
        with open(path) as file:
            wrong += faults_of_data(json.load(file), collection)
    data = {"models": [{"url": graph}], "nodeData": sources, "nodeDataTargets": [""] * len(sources)}
    started = time.monotonic()
    session = browser.page(f"http://localhost:{port}/?data={urllib.parse.quote(json.dumps(data))}&show_open_in_new_tab=0")
    text, complaint = shown(browser, session)
    seconds = time.monotonic() - started
    time.sleep(2)
    if screenshots:
        picture = browser.ask("Page.captureScreenshot", session)["data"]
        with open(os.path.join(screenshots, os.path.basename(os.path.dirname(os.path.abspath(program))) + ".png"), "wb") as file:
            file.write(base64.b64decode(picture))
    text = browser.run(session, "document.body.innerText") if text is not None else None
    complaint = complaint or (browser.complaints[0] if browser.complaints else None)
    nodes = sum(len(graph["nodes"]) for graph in collection["graphs"])
    size = os.path.getsize(graph)
    shutil.rmtree(folder)
    wrong += [complaint] if complaint else []
    missing = [name for name in ("bytes", "shapes", "conditions", "findings") if text is not None and name not in text]
    wrong += [f"the page does not name the data {missing}"] if missing else []
    # The page begins with the largest graph.
    counted = re.search(r"op node count\s+(\d+)", text or "")
    most = max(len(graph["nodes"]) for graph in collection["graphs"])
    if text is not None and (counted is None or int(counted[1]) != most):
        wrong.append(f"the page counts {counted and counted[1]} nodes, not {most}")
    print(f"{'FAILED' if wrong else 'ok':7} {program}: {nodes} nodes in {len(collection['graphs'])} graphs, {size / 1e6:.1f} MB, "
          f"opened in {seconds:.1f} s")
    for fault in wrong[:5]:
        print(f"        {fault}")
    if text is not None and os.environ.get("VERBOSE"):
        print(text)
    return not wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizewise")
    parser.add_argument("programs", nargs="+")
    parser.add_argument("--screenshot", metavar="FOLDER")
    parser.add_argument("--port", type=int, default=8123)
    arguments = parser.parse_args()
    import model_explorer.server
    start = lambda: model_explorer.server.start(port=arguments.port, no_open_in_browser=True, skip_health_check=True)
    threading.Thread(target=start, daemon=True).start()
    for _ in range(100):
        try:
            urllib.request.urlopen(f"http://localhost:{arguments.port}/check_health").read()
            break
        except OSError:
            time.sleep(0.2)
    profile = tempfile.mkdtemp()
    browser = Browser(profile)
    try:
        results = [check(browser, arguments.port, arguments.sizewise, program, arguments.screenshot)
                   for program in arguments.programs]
    finally:
        browser.close()
        shutil.rmtree(profile, ignore_errors=True)
    sys.exit(0 if all(results) else 1)


main()
