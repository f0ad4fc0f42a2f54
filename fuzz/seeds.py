#!/usr/bin/env python3
"""Writes the corpora that fuzzing starts from, out of the inputs of the test suite: `fuzz/corpus/TARGET/…`."""
import gzip
import json
import os
import pathlib
import subprocess
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
CORPUS = ROOT / "fuzz" / "corpus"
LARGEST = 64 << 10


def put(target, name, data):
    if isinstance(data, str):
        data = data.encode()
    if len(data) <= LARGEST:
        folder = CORPUS / target
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def programs():
    data = ROOT / "tests" / "data"
    for path in sorted([*data.glob("programs/*.pt2"), *data.glob("users/*.pt2"), *ROOT.glob("examples/*.pt2")]):
        put("archive", path.stem, path.read_bytes())
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                if name.endswith("models/model.json"):
                    put("program_json", path.stem, archive.read(name))
    for path in sorted(ROOT.glob("examples/*.json")):
        put("spec", path.stem, path.read_bytes())
    for i, spec in enumerate(
        [
            '[["AUTO","DYNAMIC",null,3]]',
            '{"x":[{"dim":"batch","min":2,"max":64},{"derived":"2*batch + 1","root":{"dim":"batch"}}],"n":"DYNAMIC"}',
            '{"dynamic_shapes":{"x":["batch"]},"dims":{"batch":{"min":1,"max":9,"derived":["2*batch"]}}}',
            '{"x":{"0":{"hint":"AUTO","min":2}},"args":[[1,"STATIC"]]}',
        ]
    ):
        put("spec", f"form_{i}", spec)
    python = [
        "from torch.export import Dim\n\nbatch = Dim('batch', min=2, max=64)\n"
        "dynamic_shapes = {'x': (batch, Dim.AUTO), 'y': {0: 2*batch + 1}, 'mask': None}\n",
        "b, c = dims('b', 'c', min=2, max=2**6)\ndynamic_shapes = dict(x=[b, 3*(c - 1)], args=((b,), [None, 1_000]))",
        "import torch\n({0: torch.export.Dim.DYNAMIC(min=4, max=None)}, Dim.STATIC, 'AUTO') # the rest is static\n",
        "b = Dim(\n    \"b\",\n    max=64, min=-(-2),\n); d = b*2 \\\n  - 1\n{\"\"\"x\"\"\": [d, 0], 'kw': {'a b': {}}}",
        "dynamic_shapes = {'x': [open('f')], 'x': Dim.AUT}",
    ]
    for i, spec in enumerate(python):
        put("spec", f"python_{i}", spec)


def queries():
    for path in sorted((ROOT / "tests" / "data" / "queries").glob("*.jsonl")):
        for i, line in enumerate(path.read_text().splitlines()[:150]):
            query = json.loads(line)
            if "goal" in query:
                put("queries", f"{path.stem}_{i}", "\0" + line)
                put("expression", f"{path.stem}_{i}", query["goal"])
                put("guard_code", f"{path.stem}_{i}", query["goal"])
    put("guard_code", "sources", "((L['y'].size()[0] + L['x'].size()[0]) % 2) == 0 and 2 <= L['args'][0].stride()[1]")
    put("expression", "srepr", "Add(Mul(Integer(2), Symbol('s17', positive=True, integer=True)), Integer(2))")


def calls():
    seen = {}
    with gzip.open(ROOT / "tests" / "data" / "ops.jsonl.gz", "rt") as lines:
        for line in lines:
            call = json.loads(line)
            seen.setdefault(call["op"], {k: call[k] for k in ("op", "args", "kwargs") if k in call})
    for i, (op, call) in enumerate(seen.items()):
        if i % 3 == 0:
            put("infer", op, json.dumps(call, separators=(",", ":")))


def texts():
    for path in sorted((ROOT / "rules").glob("*.rules")):
        put("rules", path.stem, path.read_text())
    put("operators", "corpus", (ROOT / "operators" / "corpus.toml").read_text())
    lines = (ROOT / "data" / "schemas.txt").read_text().splitlines()
    for i, line in enumerate(lines):
        if i % 20 == 0 and not line.startswith("#"):
            put("schema", str(i), line.split(" ", 1)[1])


def models():
    """ONNX models as text, and the least one that is read as protobuf."""
    head = '<ir_version: 8, opset_import: ["" : 17]>\n'
    loop = "y, z = Loop (n, c, x) <body = b (int64 i, bool d, float[N] v) => (bool e, float[N] w, float[N] r) { e = Identity(d) w = Add(v, v) r = Neg(v) }>"
    for name, body in {
        "add": "g (float[N,4] x, float[M,1] w) => (float[N,4] y) { y = Add(x, w) }",
        "reshape": "g (float[N,4] x) => (float[P] y) { s = Constant<value_ints=[-1]>() y = Reshape(x, s) }",
        "shape": "g (float[N,4] x) => (float[Q] y) { s = Shape(x) i = Constant<value_int=0>() n = Gather(s, i) "
        "o = Constant<value_int=1>() z = Constant<value_int=0>() r = Range(z, n, o) y = Cast<to=1>(r) }",
        "conv": "g (float[N,3,H,W] x, float[8,3,3,3] w) => (float[N,8,P,Q] y) { y = Conv<pads=[1,1,1,1], strides=[2,2]>(x, w) }",
        "if": "g (bool c, float[N] x) => (float[M] y) { y = If (c) <then_branch = t () => (float[N] a) { a = Neg(x) }, "
        "else_branch = e () => (float[K] b) { b = Concat<axis=0>(x, x) }> }",
        "loop": "g (int64 n, bool c, float[N] x) => (float[N] y, float[T,N] z) { " + loop + " }",
        "pad": 'g (float[N] x, int64[2] p) => (float[M] y) { y = Pad<mode="reflect">(x, p) }',
    }.items():
        put("onnx_model", name, head + body)
    put("onnx_model", "least", bytes([8, 8, 58, 0, 66, 2, 16, 17]))


def built():
    """The program, if it is built; the folder of builds may be elsewhere."""
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    places = [target / profile / "sizewise" for profile in ("release", "fast", "debug")]
    return next((path for path in places if path.exists()), None)


def shown():
    """Programs as the text that the program itself writes, if it is built."""
    binary = built()
    if binary is None:
        print("program_text has no corpus: build sizewise first", file=sys.stderr)
        return
    for path in sorted((ROOT / "tests" / "data" / "programs").glob("*.pt2")):
        for form in ("fx", "readable"):
            text = subprocess.run([binary, "show", "--as", form, path], capture_output=True)
            if text.returncode == 0:
                put("program_text", f"{path.stem}.{form}", text.stdout)


def certificates():
    """Certificates that the program writes of recorded questions, if it is built; one of each rule besides."""
    head = "(certificate 1 (symbols x y) (premises (>= x 0) (>= y 3)) (defined) "
    for name, goal, definitions, proof in [
        ("combine", "(>= (+ x y) 3)", "", "(combine (1 0) (1 1) (1 2))"),
        ("multiply", "(>= (* x y) (* 3 x))", "", "(multiply 0 1) (combine (1 3) (1 2))"),
        ("modulo", "(!= (- (* x x) (* 4 y)) 2)", "", "(modulo 4 2)"),
        ("define", "(<= (// x 2) x)", "(q (// x 2))", "(combine (2 2) (1 3) (1 0))"),
        ("let", "(>= (+ x y) 3)", "", "(let z (+ x y)) (combine (1 0) (1 1) (1 2))"),
        ("cut", "(>= (+ x y) 3)", "", "(cut x 7 ((combine (1 0) (1 1) (1 2))) ((combine (1 0) (1 1) (1 2))))"),
        ("split", "(= x 1)", "", "(split 2 ((outside z3)) ((equal 0 3) (square (- x y)) (combine (x 4)) (outside z3)))"),
        ("divide", "(< (* x y) y)", "", "(combine (1 2)) (divide 3 (- x 1) 1 3) (outside z3)"),
        ("double", "(float<= (sqrt (float x)) (float y))", "(r (float<= (sqrt (float x)) (float y)))", "(contradiction 2)"),
    ]:
        put("certificate", name, f"{head}(goal {goal}) (definitions {definitions}) (proof {proof}))")
    binary = built()
    questions = b"".join(path.read_bytes()[1:].strip() + b"\n" for path in sorted((CORPUS / "queries").glob("*"))[::4])
    answers = subprocess.run([binary, "entail", "--certificate"], input=questions, capture_output=True) if binary else None
    for i, line in enumerate(answers.stdout.splitlines() if answers else []):
        if text := json.loads(line).get("certificate"):
            put("certificate", f"answer_{i}", text)


def requests():
    """Requests out of the other corpora: the place in `http_body.rs`'s list, how the body is cut, the body."""
    form = b'--part\r\ncontent-disposition: form-data; name="%s"\r\n\r\n%s\r\n'
    for place, target in [(0, "queries"), (1, "queries"), (7, "infer"), (8, "infer"), (9, "archive"), (10, "archive"), (11, "archive")]:
        for i, path in enumerate(sorted((CORPUS / target).glob("*"))):
            body = path.read_bytes()
            if target == "queries":
                body = body[1:]
            if place == 10:
                body = form % (b"program", body) + form % (b"spec", b"{}") + b"--part--\r\n"
            if place == 11:
                body = form % (b"program", body) + form % (b"inputs", b'{"args":[[3,4]]}') + b"--part--\r\n"
            if i % 4 == 0:
                put("http_body", f"{target}_{place}_{path.stem}", bytes([place, i % 3]) + body)
    put("http_body", "env", b'\x0c\0{"symbols":{"s0":{"min":2,"max":9}},"facts":["s0 % 2 == 0"]}')
    put("http_body", "bounds", b'\x06\0{"symbols":{"s0":{"min":2,"max":9}},"facts":[],"expr":"3*s0//2"}')


programs()
queries()
calls()
texts()
models()
shown()
certificates()
requests()
