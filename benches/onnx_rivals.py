"""Shapes of the values of ONNX models, beside what other tools infer: how many are right, and how long it takes.

    cargo build --release --bin sizewise && cargo build --release -p sizewise-benches --bench onnx
    python3 benches/onnx_rivals.py FOLDER --bin target/release/sizewise --bench target/release/deps/onnx-HASH

FOLDER has `models.jsonl.gz`, a model a line with `name`, `inputs` and the recorded shapes of its `values`, and
`models/NAME.onnx.gz`. `value_info` is removed from every model. A value is right where it has the recorded shape at each
recorded assignment of sizes, open where a size is not said, wrong where one differs. What a tool does not say because it
fails on the model is lost. Needs `onnx`; `onnxruntime`, `onnx_shape_inference` and `onnxslim` count where they are
installed. Each tool has a process of its own for each model, so that one that crashes loses that model alone. Times are CPU
times of the first call in that process, imports left out, and medians of later calls: of Python tools on the parsed model,
of sizewise on the bytes of the file.
"""
import argparse, collections, contextlib, gzip, io, json, os, pathlib, pickle, statistics, subprocess, sys, tempfile, time
import onnx

FUNCTIONS = {"FloorDiv": lambda a, b: a // b, "Mod": lambda a, b: a % b, "CeilDiv": lambda a, b: -(-a // b), "Min": min, "Max": max,
    "min": min, "max": max, "Eq": lambda a, b: a == b, "Ne": lambda a, b: a != b, "And": lambda *a: all(a), "Or": lambda *a: any(a),
    "Not": lambda a: not a, "Where": lambda c, a, b: a if c else b, "floor": lambda a: int(a // 1), "ceiling": lambda a: int(-(-a // 1)),
    "Abs": abs, "Piecewise": lambda *parts: next(value for value, holds in parts if holds), "True": True, "False": False}


def value(size, known):
    """A size at an assignment; None where it is open."""
    if not isinstance(size, str):
        return size
    try:
        found = eval(size, {"__builtins__": {}, **FUNCTIONS}, known)
    except Exception:
        return known.get(size)
    return int(found) if found == int(found) else None


def names(inputs, shapes):
    """What the names of sizes are at the shapes of the inputs."""
    known = {}
    for entry in inputs:
        for size, given in zip(entry["shape"] or [], shapes.get(entry["name"], [])):
            if isinstance(size, str):
                known[size] = given
    return known


def declared(model):
    """The sizes that a model says of its values."""
    found = {}
    for info in [*model.graph.input, *model.graph.value_info, *model.graph.output]:
        if info.type.HasField("tensor_type") and info.type.tensor_type.HasField("shape"):
            dims = info.type.tensor_type.shape.dim
            found[info.name] = [d.dim_value if d.HasField("dim_value") else d.dim_param or None for d in dims]
    for weight in model.graph.initializer:
        found[weight.name] = list(weight.dims)
    return found


def rivals():
    yield "onnx infer_shapes, strict, data_prop", lambda m: onnx.shape_inference.infer_shapes(m, strict_mode=True, data_prop=True)
    with contextlib.suppress(ImportError):
        from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference
        for merge in (False, True):
            title = "onnxruntime symbolic_shape_infer" + (", auto_merge" if merge else "")
            yield title, lambda m, merge=merge: SymbolicShapeInference.infer_shapes(m, auto_merge=merge)
    with contextlib.suppress(ImportError):
        import onnx_ir, onnx_shape_inference
        yield "onnx-shape-inference", lambda m: onnx_ir.to_proto(onnx_shape_inference.infer_symbolic_shapes(onnx_ir.from_proto(m)))
    with contextlib.suppress(ImportError):
        import onnxslim
        yield "onnxslim", lambda m: onnxslim.slim(m)


LATER = 9


def calls(infer, model):
    """The sizes that a tool says of a model's values, None where it fails; and the times of its first and of later calls."""
    times, sizes = [], None
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        while not times or len(times) <= LATER and sum(times) < 1:
            copy = onnx.ModelProto(); copy.CopyFrom(model)
            start = time.process_time()
            try: inferred = infer(copy)
            except Exception: inferred = None
            times.append(time.process_time() - start)
            if len(times) == 1 and inferred is not None: sizes = declared(inferred)
    return sizes, times[0], statistics.median(times[1:] or times)


def in_fresh_process(infer, model):
    """As `calls`, in a process that has imported the tool and not called it.

    It runs in a folder of its own: some tools write files into the current one.
    """
    begin, end = os.pipe()
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException), os.fdopen(end, "wb") as answer:
            with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
                pickle.dump(calls(infer, model), answer)
        os._exit(0)
    os.close(end)
    with os.fdopen(begin, "rb") as answer:
        written = answer.read()
    os.waitpid(child, 0)
    return pickle.loads(written) if written else (None, None, None)


class Tally:
    def __init__(self):
        self.count, self.first, self.later, self.whole, self.lost = collections.Counter(), [], [], 0, 0

    def add(self, record, sizes, known_of, first, later):
        """`sizes`: by value; None where the tool fails. `known_of`: what symbols are, at the shapes of the inputs."""
        if first is not None:
            self.first.append(first), self.later.append(later)
        self.lost += sizes is None
        states = {}
        for point in record["values"]:
            known = {**names(record["inputs"], point["shapes"]), **known_of(point["shapes"])}
            for name, want in point["of"].items():
                got = sizes and sizes.get(name)
                if sizes is None: state = 3
                elif got is None: state = 2
                elif len(got) != len(want): state = 4
                else:
                    found = [value(size, known) for size in got]
                    state = 4 if any(f is not None and f != w for f, w in zip(found, want)) else 1 if None in found else 0
                states[name] = max(states.get(name, 0), state)
        for state in states.values():
            self.count[("right", "open", "none", "lost", "wrong")[state]] += 1
        self.whole += all(state == 0 for state in states.values())

    def row(self, title):
        total = sum(self.count.values()) or 1
        share = [f"{100 * self.count[k] / total:.2f}" for k in ("right", "open", "none", "wrong", "lost")]
        medians = [f"{1000 * statistics.median(times or [0]):.3f}" for times in (self.first, self.later)]
        return "| " + " | ".join([title, *share, str(self.whole), str(self.lost), *medians]) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--bin", default="target/release/sizewise")
    parser.add_argument("--bench", help="the bench `onnx`, which measures the time in process")
    parser.add_argument("--limit", type=int)
    args = parser.parse_args()
    with gzip.open(args.folder / "models.jsonl.gz", "rt") as lines:
        records = [record for record in map(json.loads, lines) if record.get("values")][:args.limit]
    others = list(rivals())
    tallies = {title: Tally() for title, _ in others} | {"sizewise": Tally()}
    ratios = []
    for record in records:
        with gzip.open(args.folder / "models" / f"{record['name']}.onnx.gz") as file:
            model = onnx.load_from_string(file.read())
        del model.graph.value_info[:]
        taken = {}
        for title, infer in others:
            sizes, *taken[title] = in_fresh_process(infer, model)
            tallies[title].add(record, sizes, lambda shapes: {}, *taken[title])
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.onnx")
            onnx.save(model, path)
            start = time.perf_counter()
            answer = subprocess.run([args.bin, "show", path, "--as", "shapes"], capture_output=True, text=True)
            first = later = time.perf_counter() - start
            if args.bench:
                timed = subprocess.run([args.bench, path], capture_output=True, text=True)
                timed = json.loads(timed.stdout) if timed.stdout else {}
                first, later = timed.get("first", first), timed.get("shapes", later)
        shown = json.loads(answer.stdout) if answer.returncode == 0 else None
        sources = {symbol: info["source"] for symbol, info in (shown or {}).get("symbols", {}).items() if info.get("source")}

        def symbols(shapes):
            places = {symbol: source[:-1].rsplit("[", 1) for symbol, source in sources.items()}
            return {symbol: shapes[name][int(at)] for symbol, (name, at) in places.items() if name in shapes}

        sizes = shown and {name: found["shape"] for name, found in shown["values"].items() if found["shape"] is not None}
        tallies["sizewise"].add(record, sizes, symbols, first, later)
        if None not in (of_onnx := taken[others[0][0]]):
            ratios.append((of_onnx[0] / first, of_onnx[1] / later))
    print(f"{len(records)} models, {sum(tallies['sizewise'].count.values())} values\n")
    print("| tool | right % | size open % | none % | wrong % | lost % | models wholly right | models failed on | first call, median ms | later calls, median ms |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for title, tally in tallies.items():
        print(tally.row(title))
    first, later = (statistics.median(ratio) for ratio in zip(*ratios))
    print(f"\nonnx's inference takes {first:.1f} times as long as sizewise on the median model at the first call of a process, "
          f"{later:.1f} times when it is called again.")


if __name__ == "__main__":
    sys.exit(main())
