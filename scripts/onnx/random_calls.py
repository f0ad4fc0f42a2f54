"""Random calls of ONNX operators: what `sizewise eval` says of each against what onnxruntime does.

    python scripts/onnx/random_calls.py SIZEWISE [--count N] [--seed S] [--op NAME] [--show OUTCOME]

Prints calls that were accepted wrongly or given a wrong shape, with their model in text form, and how many there were.
Needs onnx, onnxruntime and numpy.
"""

import argparse
import random
import sys

import call_families
import numpy
import onnx
import tree_calls  # noqa: F401, its families are drawn too
from judge import Onnxruntime, Tally, evaluated, outcome
from onnx import TensorProto, helper, numpy_helper

# What may stand before a call: it keeps sizes and elements, and onnxruntime's inference of shapes treats it in its own way.
BEFORE = ["Identity", "Abs", "Relu", "Sigmoid", "Tanh", "Neg", "Softmax", "Dropout"]


def placed(rng, call, at, given, operand):
    """An operand as an initializer or as an input of which sizes are declared as numbers or names, by a draw."""
    name = f"x{at}"
    if operand.constant:
        return name, None, numpy_helper.from_array(operand.value, name)
    style = rng.choice(["numbers", "names", "names", "mixed"])
    dims = [
        size if style == "numbers" or style == "mixed" and rng.random() < 0.5 else f"d{at}_{axis}"
        for axis, size in enumerate(operand.value.shape)
    ]
    kind = helper.np_dtype_to_tensor_dtype(operand.value.dtype)
    given[name] = (operand.value, None)
    return name, helper.make_tensor_value_info(name, kind, dims), None


def model_of(rng, call):
    """A model of one call, perhaps with a node before it and one behind it, and what it is given."""
    given, infos, weights, names, nodes = {}, [], [], [], []
    for at, operand in enumerate(call.operands):
        if operand is None:
            names.append("")
            continue
        name, info, weight = placed(rng, call, at, given, operand)
        (infos if info else weights).append(info or weight)
        if at == 0 and info and operand.value.dtype == numpy.float32 and rng.random() < 0.3:
            nodes.append(helper.make_node(rng.choice(BEFORE), [name], ["before"]))
            name = "before"
        names.append(name)
    while names and names[-1] == "":
        names.pop()
    results = [f"y{at}" if wanted else "" for at, wanted in enumerate(call.wanted)]
    attributes = {name: value for name, value in call.attributes.items() if value != []}
    nodes.append(helper.make_node(call.op, names, results, domain=call.domain, **attributes))
    kinds = onnx.TypeProto()
    outputs = []
    for result in filter(None, results):
        info = onnx.ValueInfoProto()
        info.name = result
        info.type.CopyFrom(kinds)
        outputs.append(info)
    graph = helper.make_graph(nodes, "g", infos, outputs, weights)
    versions = {"": 13, call.domain: call.version}
    imports = [helper.make_opsetid(domain, version) for domain, version in versions.items()]
    model = helper.make_model(graph, opset_imports=imports, ir_version=10)
    return model, given


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sizewise")
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--op")
    parser.add_argument("--show", action="append", default=["ACCEPTED WRONGLY", "WRONG SHAPE"])
    asked = parser.parse_args()
    families = [(name, draw) for name, draw in call_families.FAMILIES if asked.op in (None, name)]
    runtime, tally = Onnxruntime(), Tally(asked.show)
    for number in range(asked.count):
        rng = random.Random(f"{asked.seed}/{number}")
        name, draw = rng.choice(families)
        call = draw(rng)
        model, given = model_of(rng, call)
        actual = runtime.run(model.SerializeToString(), given)
        answer = evaluated(asked.sizewise, model.SerializeToString(), given)

        def describe():
            sizes = {name: list(value.shape) for name, (value, _) in given.items()}
            small = {name: value.tolist() for name, (value, _) in given.items() if value.size <= 8}
            text = onnx.printer.to_text(model)
            return f"{asked.seed}/{number} {sizes} {small}\n{text}\n  sizewise {answer}\n  onnxruntime {actual}\n"

        tally.add(name, outcome(answer, actual), describe)
    return tally.ends()


if __name__ == "__main__":
    sys.exit(main())
