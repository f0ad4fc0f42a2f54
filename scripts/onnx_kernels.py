#!/usr/bin/env python3
"""Adds to crates/onnx-model/data/schemas.txt the types for which onnxruntime's CPU provider has kernels, or runs a function body.

  onnx_kernels.py crates/onnx-model/data/schemas.txt > new.txt

Needs `onnx` and a build of `onnxruntime`. A last field holds the kernels of a version, with `;` between: for each the types
of its constraints, as in the field of the schema, with `,` between, and behind `@` the versions of the domain for which
onnxruntime runs a body in its place, if these are not all. `none` says that there is no kernel, nor a function body
in its place, while other versions have one; a version without the field has kernels for all its types, or the operator has
none at all. Constraints that a kernel does not limit are left out.
"""
import collections, re, sys
import onnx
import onnxruntime
import onnxruntime.capi.onnxruntime_pybind11_state as state
from onnx import TensorProto, helper
from onnx_schemas import short

NUMBERS = {
    "f16": TensorProto.FLOAT16, "bf16": TensorProto.BFLOAT16, "f32": TensorProto.FLOAT, "f64": TensorProto.DOUBLE,
    **{f"u{bits}": getattr(TensorProto, f"UINT{bits}") for bits in (8, 16, 32, 64)},
    **{f"i{bits}": getattr(TensorProto, f"INT{bits}") for bits in (8, 16, 32, 64)},
}
# The newest version of ai.onnx that onnxruntime loads.
NEWEST = 26
# Operators with graphs within.
CONTROL = ("If", "Loop", "Scan")
# Operators whose body stands for their kernels where those lack a type, and which take one tensor and return one of its
# type, or two.
BODIES = {
    "": "Bernoulli Elu Gelu GreaterOrEqual GroupNormalization HardSigmoid HardSwish LeakyRelu LessOrEqual LogSoftmax MeanVarianceNormalization "
    "Mish PRelu RMSNormalization ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceSumSquare Relu Selu Softmax Softplus Softsign Swish "
    "ThresholdedRelu".split(),
    "com.microsoft": ["FastGelu", "QuickGelu"],
}


def kernels():
    """The types of constraints of each kernel, with the versions that it is for."""
    found = collections.defaultdict(list)
    for kernel in state.get_all_opkernel_def():
        if "CPU" in kernel.provider:
            types = {name: frozenset(map(short, types)) for name, types in kernel.type_constraints.items()}
            found[kernel.domain, kernel.op_name].append((*kernel.version_range, types))
    return found


def has_body(domain, op, since):
    try: schema = onnx.defs.get_schema(op, since, domain)
    except onnx.defs.SchemaError: return False
    return schema.has_function or schema.has_context_dependent_function


def loads(domain, op, version, kind):
    """Whether onnxruntime loads the operator on tensors of a type, by its kernel or by its body."""
    if kind not in NUMBERS: return False
    x = (1, 2, 3, 3)
    shapes = {"PRelu": [x, x], "GreaterOrEqual": [x, x], "LessOrEqual": [x, x], "RMSNormalization": [x, (3,)],
              "GroupNormalization": [x, (2,), (2,)] if version >= 21 else [x, (1,), (1,)]}.get(op, [x])
    names = [f"x{at}" for at in range(len(shapes))]
    inputs = [helper.make_tensor_value_info(name, NUMBERS[kind], shape) for name, shape in zip(names, shapes)]
    made = TensorProto.BOOL if op in ("GreaterOrEqual", "LessOrEqual") else NUMBERS[kind]
    output = helper.make_tensor_value_info("y", made, None)
    attributes = {"num_groups": 1} if op == "GroupNormalization" else {}
    node = helper.make_node(op, names, ["y"], domain=domain, **attributes)
    graph = helper.make_graph([node], "g", inputs, [output])
    versions = {"": 17, domain: max(version, 7) if domain == "" else version}
    imports = [helper.make_opsetid(*known) for known in versions.items()]
    model = helper.make_model(graph, opset_imports=imports, ir_version=10)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    try: onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception: return False
    return True


def limits(of, allowed, is_control):
    """What kernels limit of the types that a schema allows; None where one limits nothing. The outputs of control flow may
    have types that its schema does not allow, so that all types of its kernels count."""
    rows = []
    for types in of:
        limited = [name for name in types if name in allowed and not allowed[name] <= types[name]]
        row = {name: types[name] if is_control else types[name] & allowed[name] for name in limited}
        if not row: return None
        if row not in rows: rows.append(row)
    names = {name for row in rows for name in row}
    if len(names) == 1 and all(len(row) == 1 for row in rows):
        (name,) = names
        merged = frozenset().union(*(row[name] for row in rows))
        return None if allowed[name] <= merged else [{name: merged}]
    return rows


def main():
    lines = open(sys.argv[1], encoding="utf8").read().splitlines()
    sets = {}
    for line in lines[1:]:
        if line.startswith("#"):
            number, names = line.split(" ")
            # Commas within parentheses are those of maps.
            sets[number] = re.split(r",(?![^(]*\))", names)
    numbers = {frozenset(names): number for number, names in sets.items()}
    order = ["f16", "f32", "f64", "bf16"]

    def number(names):
        if names not in numbers:
            numbers[names] = f"#{len(sets)}"
            sets[numbers[names]] = sorted(names, key=lambda name: (name not in order, name))
        return numbers[names]

    of, rows = kernels(), []
    for line in lines:
        if line.startswith("#"): continue
        fields = line.split("|")[:8]
        domain, op, since = fields[0], fields[1], int(fields[2])
        fields += [""] * (8 - len(fields))
        allowed = {name: frozenset(sets[kind]) for name, kind in (bound.split("=") for bound in fields[5].split())}
        fit = [types for first, last, types in of.get((domain, op), [])
               if first == since or first < since <= last < 2**31 - 1]
        name = "T" if "T" in allowed else next(iter(allowed), "")
        is_body = op in BODIES.get(domain, []) and (domain != "" or has_body(domain, op, since))
        if is_body and since <= NEWEST:
            later = [int(other.split("|")[2]) for other in lines if other.startswith(f"{domain}|{op}|")]
            last = min((other - 1 for other in later if other > since), default=NEWEST)
            if domain: last = since
            spans = []
            for version in range(since if domain else max(since, 7), min(last, NEWEST) + 1):
                runs = frozenset(kind for kind in allowed[name] if loads(domain, op, version, kind))
                if spans and spans[-1][2] == runs: spans[-1][1] = version
                else: spans.append([version, version, runs])
            texts = [f"{name}={number(runs)}@{first}-{last}" for first, last, runs in spans]
            if len(spans) == 1: texts = [] if spans[0][2] == allowed[name] else [f"{name}={number(spans[0][2])}"]
            if not any(runs for _, _, runs in spans): texts = ["none"]
            if texts: fields.append(";".join(texts))
            rows.append("|".join(fields))
            continue
        elif has_body(domain, op, since) or fields[7] == "deprecated" or domain == "com.microsoft" and (domain, op) not in of: found = None
        else: found = limits(fit, allowed, op in CONTROL) if fit else []
        if found is not None:
            alternatives = (",".join(f"{name}={number(row[name])}" for name in sorted(row)) for row in found)
            fields.append(";".join(alternatives) if found else "none")
        rows.append("|".join(fields))
    print(lines[0])
    for key, names in sets.items(): print(key, ",".join(names))
    print("\n".join(rows))


if __name__ == "__main__":
    main()
