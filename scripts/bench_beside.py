#!/usr/bin/env python3
"""Times sizewise beside what a user would pick instead, in one run, and prints tables of ratios (Markdown).

    python3 scripts/bench_beside.py [--programs FOLDER [--timings FILE]] > beside.md

Beside serde_json for whole checks of programs, Z3 called directly from Rust for questions, TDim of tract-data for simplification, and, where torch can
be imported, FakeTensorProp under a fresh ShapeEnv for propagation. FOLDER has one folder a program, each with a `program.pt2`; without it
the examples are checked. FILE is what FakeTensorProp took for these programs when they were exported: a JSON list of
`{"name": ..., "fake_prop": [{"propagate_s": ...}, ...]}`, `retimed.fake_tensor_prop` being read as well.
"""
import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BESIDE = ROOT / "benches" / "beside"
BENCHES = ["phases", "scale", "reasoning", "entail"]


def run(*command, cwd=ROOT):
    """What a command prints; a command that fails ends the run."""
    done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")
    return done.stdout


def executables():
    """Paths of what cargo builds, by name; builds what is not built yet."""
    commands = [(ROOT, ["cargo", "build", "--release", "--bin", "sizewise"]), (BESIDE, ["cargo", "build", "--release"])]
    commands[0][1].extend(part for bench in BENCHES for part in ("--bench", bench))
    found = {}
    for folder, command in commands:
        for line in run(*command, "--message-format=json", cwd=folder).splitlines():
            message = json.loads(line)
            if message.get("reason") == "compiler-artifact" and message.get("executable"):
                found[message["target"]["name"]] = message["executable"]
    return found


def lines(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def table(title, heads, rows, note=""):
    print(f"\n### {title}\n\n{note}\n" if note else f"\n### {title}\n")
    print("| " + " | ".join(heads) + " |")
    print("|" + "|".join([" --- "] + [" ---: "] * (len(heads) - 1)) + "|")
    for row in rows:
        print("| " + " | ".join(row) + " |")


def short(path):
    path = Path(path)
    return path.parent.name if path.stem == "program" else path.stem


def ms(seconds):
    return f"{seconds * 1e3:.2f}"


def recorded_times(path):
    """The least time of each program's recorded propagations by FakeTensorProp, by name."""
    least = {}
    for record in json.loads(path.read_text()):
        runs = record.get("fake_prop", []) + record.get("retimed", {}).get("fake_tensor_prop", [])
        if runs:
            least[record["name"]] = min(run["propagate_s"] for run in runs)
    return least


def beside_recorded(measured, timings):
    """Propagation beside what torch took for the same programs at another time."""
    least = recorded_times(timings)
    both = [(line, least[short(line["path"])]) for line in measured if short(line["path"]) in least]
    rows = [[
        short(line["path"]), str(line["nodes"]), ms(line["median_s"]["propagate"]), f"{other * 1e3:.0f}",
        f"{other / line['median_s']['propagate']:.0f}",
    ] for line, other in both]
    table("Propagation beside FakeTensorProp as recorded", ["program", "nodes", "sizewise ms", "FakeTensorProp ms", "ratio"], rows,
          "FakeTensorProp under a fresh ShapeEnv, the least of the recorded times; not of this run.")
    if both:
        ratios = [other / line["median_s"]["propagate"] for line, other in both]
        print(f"\nMedian {statistics.median(ratios):.0f}, least {min(ratios):.0f}.")


def whole_checks(tools, programs):
    typed = {line["path"]: line for line in lines(run(tools["typed_json"], *programs))}
    alike = {line["path"]: line for line in lines(run(tools["typed_json_mimalloc"], *programs))}
    rows, propagated = [], []
    measured = lines(run(tools["phases"], *programs))
    for line in measured:
        times, other = line["median_s"], typed[line["path"]]["median_s"]
        same = alike[line["path"]]["median_s"]
        propagated.append(times["propagate"] / max(line["nodes"], 1))
        rows.append([
            short(line["path"]), str(line["nodes"]), ms(other), ms(same), ms(times["read"]), ms(times["propagate"]),
            ms(times["decide"]), ms(times["whole"]), f"{times['read'] / other:.2f}", f"{times['whole'] / other:.2f}",
            f"{times['whole'] / same:.2f}", f"{propagated[-1] * 1e6:.2f}",
        ])
    heads = ["program", "nodes", "serde_json ms", "with mimalloc ms", "read ms", "propagate ms", "decide ms", "whole ms",
             "read / serde_json", "whole / serde_json", "whole / serde_json with mimalloc", "propagate us a node"]
    table("Whole checks beside parsing alone", heads, rows,
          "Bytes of the archive in, JSON report out, in process; serde_json parses the unpacked JSON into typed structs "
          "(`benches/beside`), with the system's allocator and with that of the `sizewise` program. Medians.")
    if propagated:
        print(f"\nPropagation, median over these programs: {statistics.median(propagated) * 1e6:.2f} us a node.")
    return measured


def scale(tools):
    rows = []
    for line in lines(run(tools["scale"])):
        nodes, guards = line["nodes"], line["guards"]
        per = lambda key: f"{line[key] / nodes * 1e6:.2f}"
        rows.append([
            str(nodes), str(line["symbols"]), str(guards), per("read_s"), per("propagate_s"), per("whole_s"),
            f"{(line['bind_s'] + line['decide_s']) / guards * 1e6:.2f}" if guards else "",
            f"{line['peak_bytes'] / nodes:.0f}", f"{line['json_bytes'] / nodes:.0f}",
        ])
    heads = ["nodes", "symbols", "guards", "read us a node", "propagate us a node", "whole us a node", "us a guard",
             "peak bytes a node", "JSON bytes a node"]
    table("Growth", heads, rows, "Programs made to measure (`benches/generate`); us a guard is binding and deciding. The JSON is "
          "handed in unpacked and counts towards no peak.")


def simplification(tools):
    expressions = ROOT / "benches" / "expressions.txt"
    own = lines(run(tools["reasoning"], "lines"))
    other = {line["expr"]: line for line in lines(run(tools["tdim"], expressions))}
    both = [(a, other[a["expr"]]) for a in own if other[a["expr"]]["median_s"] is not None]
    ratios = [b["median_s"] / a["median_s"] for a, b in both]
    simpler = sum(len(a["simple"].replace(" ", "")) < len(b["simple"].replace(" ", "").replace("/", "//")) for a, b in both)
    longer = sum(len(a["simple"].replace(" ", "")) > len(b["simple"].replace(" ", "").replace("/", "//")) for a, b in both)
    rows = [[
        str(len(own)), str(len(both)), f"{statistics.median(a['median_s'] for a, _ in both) * 1e6:.1f}",
        f"{statistics.median(b['median_s'] for _, b in both) * 1e6:.1f}", f"{statistics.median(ratios):.2f}",
        str(simpler), str(longer),
    ]]
    heads = ["expressions", "TDim reads", "sizewise median us", "TDim median us", "TDim / sizewise", "sizewise shorter", "TDim shorter"]
    table("Simplification beside TDim", heads, rows, "Text in, text out (`benches/expressions.txt`).")


def questions(tools):
    text = run(tools["entail"], "--bench", "beside nothing")
    found = re.findall(r"beside (.*?), (\w+) \((\d+) queries\): median (\S+) against (\S+) \((\d+)x\), total (\S+) against (\S+) "
                       r"\(([\d.]+)x\)", text)
    heads = ["beside", "queries", "number", "sizewise median", "other median", "ratio", "sizewise total", "other total", "ratio"]
    table("Questions beside Z3", heads, [[whom, name, n, a, b, r, c, d, s] for whom, name, n, a, b, r, c, d, s in found],
          "Recorded queries, nothing prepared, a fresh solver for each.")


def start_up(tools):
    query = '{"id":1,"symbols":{"s0":{"min":2}},"given":["Eq(Mod(s0, 8), 0)"],"goal":"Eq(8*(s0//8), s0)"}\n'
    def least(command, text):
        times = []
        for _ in range(25):
            start = time.perf_counter()
            subprocess.run(command, input=text, capture_output=True, text=True, check=False)
            times.append(time.perf_counter() - start)
        return statistics.median(times)
    rows = [
        ["entail, one question", ms(least([tools["sizewise"], "entail"], query))],
        ["check examples/branch.pt2", ms(least([tools["sizewise"], "check", str(ROOT / "examples/branch.pt2")], ""))],
        ["nothing (`true`)", ms(least(["true"], ""))],
    ]
    table("Start-up", ["command", "median ms"], rows, "From starting the process to its end.")


def fake_tensor_prop(tools):
    """Exports residual networks of growing depth and propagates them both ways."""
    try:
        import torch
        from torch._subclasses import FakeTensorMode
        from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext
        from torch.fx.passes.fake_tensor_prop import FakeTensorProp
    except ImportError:
        print("\ntorch is not installed: nothing is compared with FakeTensorProp.")
        return
    torch.set_num_threads(1)

    class Net(torch.nn.Module):
        def __init__(self, depth):
            super().__init__()
            self.layers = torch.nn.ModuleList(torch.nn.Linear(16, 16) for _ in range(depth))

        def forward(self, x):
            for layer in self.layers:
                y = layer(x).view(x.shape[0], 2, 8).transpose(1, 2).reshape(x.shape[0], 16)
                x = torch.relu(x + y)
            return x

    rows = []
    for depth in (2, 20, 200):
        exported = torch.export.export(Net(depth), (torch.randn(6, 16),), dynamic_shapes=((torch.export.Dim("batch"), None),))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"residual_{depth}.pt2"
            torch.export.save(exported, path)
            own = lines(run(tools["phases"], path))[0]
        graph = exported.graph_module
        recorded = [node.meta["val"] for node in graph.graph.nodes if node.op == "placeholder"]
        times = []
        for _ in range(5):
            mode = FakeTensorMode(shape_env=ShapeEnv())
            inputs = []
            for value in recorded:
                sizes = [int(size) if isinstance(size, int) else 6 for size in value.shape]
                dynamic = [DimDynamic.STATIC if isinstance(size, int) else DimDynamic.DYNAMIC for size in value.shape]
                context = StatelessSymbolicContext(dynamic_sizes=dynamic)
                inputs.append(mode.from_tensor(torch.empty(sizes), symbolic_context=context))
            start = time.perf_counter()
            with mode:
                FakeTensorProp(graph, mode).propagate_dont_convert_inputs(*inputs)
            times.append(time.perf_counter() - start)
        other, mine = statistics.median(times), own["median_s"]["propagate"]
        nodes = own["nodes"]
        rows.append([str(nodes), f"{mine / nodes * 1e6:.2f}", f"{other / nodes * 1e6:.0f}", f"{other / mine:.0f}"])
    table("Propagation beside FakeTensorProp", ["nodes", "sizewise us a node", "FakeTensorProp us a node", "ratio"], rows,
          f"Residual networks exported by torch {torch.__version__}, under a fresh ShapeEnv each time.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=Path, help="a folder of programs, one folder each")
    parser.add_argument("--timings", type=Path, help="what FakeTensorProp took for the programs")
    options = parser.parse_args()
    folder = options.programs
    large = sorted(path for name in ("large_*", "many_syms*") for path in folder.glob(f"**/{name}/program.pt2")) if folder else []
    programs = large or sorted((ROOT / "examples").glob("*.pt2"))
    tools = executables()
    start_up(tools)
    measured = whole_checks(tools, programs)
    if options.timings:
        beside_recorded(measured, options.timings)
    fake_tensor_prop(tools)
    scale(tools)
    questions(tools)
    simplification(tools)


if __name__ == "__main__":
    main()
