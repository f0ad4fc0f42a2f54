#!/usr/bin/env python3
"""Writes crates/onnx-model/data/schemas.txt: the operator schemas of ONNX and of onnxruntime's own operators.

  onnx_schemas.py SCHEMAS.jsonl[.gz] > crates/onnx-model/data/schemas.txt

The input has an object a schema, as `onnx.defs.get_all_schemas_with_history()` gives them: domain, op, since, the
numbers of inputs and outputs, formal parameters, type constraints and attributes. A line of the output is

  domain|operator|since|inputs|outputs|types|attributes|flags

with inputs and outputs as `least..most name:type`, `?` behind an optional one, `*` behind a variadic one whose values
have one type, `+` behind one whose types may differ; type sets are numbered in lines `#n types`.
"""
import gzip, json, re, sys

SHORT = {"float": "f32", "double": "f64", "float16": "f16", "bfloat16": "bf16", "string": "str", "complex64": "c64",
         "complex128": "c128", "float8e4m3fn": "f8e4m3fn", "float8e4m3fnuz": "f8e4m3fnuz", "float8e5m2": "f8e5m2",
         "float8e5m2fnuz": "f8e5m2fnuz", "float4e2m1": "f4e2m1", "float8e8m0": "f8e8m0", "float6e2m3": "f6e2m3",
         "float6e3m2": "f6e3m2", "bool": "bool"}
LETTER = {"int": "i", "float": "f", "string": "s", "tensor": "t", "graph": "g", "ints": "I", "floats": "F", "strings": "S",
          "sparse_tensor": "p", "type_proto": "y", "tensors": "T", "graphs": "G"}


# Operators that onnxruntime has in the domain of ONNX for what it fuses, whatever the version.
FLOATS = [f"tensor({name})" for name in ("float16", "float", "double", "bfloat16")]
NORM = {"domain": "", "since": 1, "types": {"T": FLOATS, "U": FLOATS[1:3], "V": FLOATS}, "min_inputs": 2, "min_outputs": 1,
        "attrs": {"axis": {"type": "int"}, "epsilon": {"type": "float"}, "stash_type": {"type": "int"}}}
MEAN, DEVIATION = ({"name": name, "type": "U", "option": "optional"} for name in ("Mean", "InvStdDev"))
X, SCALE, Y = ({"name": name, "type": kind} for name, kind in (("X", "T"), ("Scale", "V"), ("Y", "V")))
FUSED = [
    {**NORM, "op": "LayerNormalization", "max_inputs": 3, "max_outputs": 3,
     "inputs": [X, SCALE, {"name": "B", "type": "V", "option": "optional"}], "outputs": [Y, MEAN, DEVIATION]},
    {**NORM, "op": "SimplifiedLayerNormalization", "max_inputs": 2, "max_outputs": 2,
     "inputs": [X, SCALE], "outputs": [Y, DEVIATION]},
]


def short(text):
    text = text.replace(" ", "")
    text = re.sub(r"\b(u?)int(\d+)\b", lambda m: ("u" if m[1] else "i") + m[2], text)
    text = re.sub(r"tensor\((\w+)\)", lambda m: SHORT.get(m[1], m[1]), text)
    return text.replace("optional(", "opt(")


def main():
    path = sys.argv[1]
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf8") as file:
        schemas = FUSED + [json.loads(line) for line in file if line.strip()]
    sets, lines = {}, []

    def types(names):
        return "#%d" % sets.setdefault(",".join(short(name) for name in names), len(sets))

    for s in sorted(schemas, key=lambda s: (s["domain"], s["op"], s["since"])):
        def formal(p):
            mark = {"optional": "?", "variadic": "*" if p.get("homogeneous") else "+"}.get(p.get("option"), "")
            kind = p["type"] if p["type"] in s["types"] else short(p["type"])
            return f"{p['name']}:{kind}{mark}"

        def side(which):
            least, most = s["min_" + which], s["max_" + which]
            most = "" if most >= 2**31 - 1 else most
            return " ".join([f"{least}..{most}"] + [formal(p) for p in s[which]])

        bound = " ".join(f"{name}={types(allowed)}" for name, allowed in s["types"].items())
        attrs = " ".join(f"{n}:{LETTER[a['type']]}{'!' if a.get('required') else ''}" for n, a in sorted(s["attrs"].items()))
        lines.append("|".join([s["domain"], s["op"], str(s["since"]), side("inputs"), side("outputs"), bound, attrs,
                               "deprecated" if s.get("deprecated") else ""]))
    print("# Operator schemas: facts read from onnx 1.23.2 (Apache-2.0) and onnxruntime 1.31.1 (MIT) by scripts/onnx_schemas.py.")
    for text, number in sets.items():
        print(f"#{number} {text}")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
