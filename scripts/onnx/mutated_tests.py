"""Node tests of the `onnx` package, changed at random: what `sizewise eval` says of each against what onnxruntime does.

    python scripts/onnx/mutated_tests.py SIZEWISE [--count N] [--seed S] [--plain] [--op NAME] [--show OUTCOME]

A change drops or replaces attributes, sizes, ranks, types or elements of inputs, makes inputs initializers, leaves inputs
out, and asks for other versions. With --plain every test is held against onnxruntime as it is. Needs onnx, onnxruntime and numpy.
"""

import argparse
import copy
import random
import sys
import warnings

import numpy
import onnx
import onnx.backend.test.loader
from judge import Onnxruntime, Tally, evaluated, outcome
from onnx import helper, numpy_helper

# The newest version of ai.onnx that onnxruntime loads, and the newest version of the format.
NEWEST, NEWEST_FORMAT = 26, 14
INTEGERS = [-3, -1, 0, 0, 1, 1, 2, 3, 5, 100, 2**31, -(2**63), 2**63 - 1]
FLOATS = [-1.0, 0.0, 0.5, 1.0, 2.0, 1e9]
TYPES = ["float32", "float32", "float64", "float16", "int64", "int32", "uint8", "int8", "bool"]


def tests():
    """The node tests that have tensors alone, with what they are given."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = onnx.backend.test.loader.load_model_tests(kind="node")
    for test in found:
        for given, _ in test.data_sets[:1]:
            if len(given) == len(test.model.graph.input):
                yield test.name, test.model, given


def typed(value, info):
    """A value as onnxruntime takes it: with the element type where numpy has none of its own."""
    if not isinstance(value, numpy.ndarray) or not info.type.HasField("tensor_type"):
        return value, None
    kind = info.type.tensor_type.elem_type
    if value.dtype.kind in "biufOU":
        return value, None
    return value.view(f"u{value.dtype.itemsize}"), kind


def redeclared(rng, info, value):
    """Declares an input as its value is, by numbers, by names, or by what the test had."""
    style = rng.choice(["numbers", "numbers", "names", "mixed"])
    dims = [
        size if style == "numbers" or style == "mixed" and rng.random() < 0.5 else f"{info.name}_{at}"
        for at, size in enumerate(value.shape)
    ]
    kind = info.type.tensor_type.elem_type
    info.CopyFrom(helper.make_tensor_value_info(info.name, kind, dims))


def reshaped(rng, value):
    """Another shape: a size more, less, 0 or 1, a dimension more or less."""
    shape = list(value.shape)
    change = rng.choice(["size", "size", "size", "empty", "one", "more", "less", "flat"])
    if change in ("size", "empty", "one", "less") and shape:
        at = rng.randrange(len(shape))
        if change == "less":
            del shape[at]
        else:
            shape[at] = {"size": max(shape[at] + rng.choice([-1, 1]), 0), "empty": 0, "one": 1}[change]
    elif change == "more":
        shape.insert(rng.randint(0, len(shape)), rng.choice([1, 1, 2]))
    elif change == "flat":
        shape = [int(numpy.prod(shape))]
    count = int(numpy.prod(shape))
    if count > 1_000_000:
        return value
    return numpy.resize(value, shape) if value.size else numpy.ones(shape, value.dtype)


def mutate_attribute(rng, node):
    """Drops, replaces or adds an attribute that the operator has."""
    known = list(node.attribute)
    if known and rng.random() < 0.4:
        node.attribute.remove(rng.choice(known))
        return
    try:
        schema = onnx.defs.get_schema(node.op_type, NEWEST, node.domain)
    except onnx.defs.SchemaError:
        return
    kinds = onnx.defs.OpSchema.AttrType
    drawn = {
        kinds.INT: lambda: rng.choice(INTEGERS),
        kinds.FLOAT: lambda: rng.choice(FLOATS),
        kinds.INTS: lambda: [rng.choice(INTEGERS[:8]) for _ in range(rng.randint(1, 4))],
        kinds.FLOATS: lambda: [rng.choice(FLOATS) for _ in range(rng.randint(1, 4))],
        kinds.STRING: lambda: rng.choice(["", "other", "SAME_UPPER", "linear", "cubic", "none"]),
    }
    names = [name for name, attribute in schema.attributes.items() if attribute.type in drawn]
    if not names:
        return
    name = rng.choice(names)
    own = next((attribute for attribute in known if attribute.name == name), None)
    value = drawn[schema.attributes[name].type]()
    if own is not None:
        if isinstance(value, list) and rng.random() < 0.7:
            # Most lists are near what they were.
            value = list(own.ints or own.floats) or value
            at = rng.randrange(len(value))
            value[at] += rng.choice([-1, 1, 2])
            if rng.random() < 0.2:
                del value[at]
        node.attribute.remove(own)
    if value != []:
        node.attribute.append(helper.make_attribute(name, value))


def mutated(rng, model, given):
    """A copy of a test with one to three changes."""
    model = copy.deepcopy(model)
    graph = model.graph
    given = {info.name: value for info, value in zip(graph.input, given)}
    infos = {info.name: info for info in graph.input}
    numbers = [name for name, value in given.items() if isinstance(value, numpy.ndarray) and value.dtype.kind in "biuf"]
    for _ in range(rng.choice([1, 1, 2, 3])):
        change = rng.choice(["attribute"] * 4 + ["shape"] * 3 + ["elements", "constant", "type", "version", "absent", "output", "all empty"])
        name = rng.choice(numbers) if numbers else None
        node = rng.choice(graph.node)
        if change == "attribute":
            mutate_attribute(rng, node)
        elif change == "version":
            for imported in model.opset_import:
                if imported.domain == "":
                    imported.version = rng.randint(7, NEWEST)
        elif change == "output" and len(node.output) > 1:
            node.output[rng.randrange(len(node.output))] = ""
        elif name is None or name not in given:
            continue
        elif change == "shape":
            given[name] = reshaped(rng, given[name])
        elif change == "all empty":
            shape = [0 if rng.random() < 0.5 else size for size in given[name].shape]
            given[name] = numpy.zeros(shape, given[name].dtype)
        elif change == "elements" and given[name].size:
            value = numpy.array(given[name])
            draw = rng.choice(INTEGERS[:9] if value.dtype.kind in "iu" else FLOATS)
            if value.dtype.kind != "u" or draw >= 0:
                value.reshape(-1)[rng.randrange(value.size)] = draw
            given[name] = value
        elif change == "type":
            kind = rng.choice(TYPES)
            with numpy.errstate(all="ignore"):
                given[name] = given[name].astype(kind)
            infos[name].type.tensor_type.elem_type = helper.np_dtype_to_tensor_dtype(numpy.dtype(kind))
        elif change == "absent" and len(graph.node) == 1:
            at = [at for at, used in enumerate(node.input) if used == name]
            if at and len(numbers) > 1:
                for place in at:
                    node.input[place] = ""
                while node.input and node.input[-1] == "":
                    node.input.pop()
                graph.input.remove(infos[name])
                del given[name]
                numbers.remove(name)
        elif change == "constant":
            graph.initializer.append(numpy_helper.from_array(given.pop(name), name))
            graph.input.remove(infos[name])
            numbers.remove(name)
    for name in numbers:
        redeclared(rng, infos[name], given[name])
    for output in graph.output:
        # What is declared of outputs is another matter.
        if output.type.HasField("tensor_type"):
            output.type.Clear()
    made = {result for node in graph.node for result in node.output}
    for output in [output for output in graph.output if output.name not in made]:
        graph.output.remove(output)
    return model, given


def loaded(model):
    """A test as onnxruntime loads it: in a version of the format that it knows."""
    model = copy.deepcopy(model)
    model.ir_version = min(model.ir_version, NEWEST_FORMAT)
    return model


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sizewise")
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--op")
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--show", action="append", default=["ACCEPTED WRONGLY", "WRONG SHAPE"])
    asked = parser.parse_args()
    known = [(name, loaded(model), given) for name, model, given in tests()]
    known = [test for test in known if asked.op in (None, test[1].graph.node[0].op_type)]
    runtime, tally = Onnxruntime(), Tally(asked.show)
    for number in range(len(known) if asked.plain else asked.count):
        rng = random.Random(f"{asked.seed}/{number}")
        name, model, given = known[number] if asked.plain else rng.choice(known)
        changed, values = (model, {i.name: v for i, v in zip(model.graph.input, given)}) if asked.plain else mutated(rng, model, given)
        infos = {info.name: info for info in changed.graph.input}
        values = {name: typed(value, infos[name]) for name, value in values.items()}
        actual = runtime.run(changed.SerializeToString(), values)
        answer = evaluated(asked.sizewise, changed.SerializeToString(), values)

        def describe():
            sizes = {name: list(value.shape) for name, (value, _) in values.items()}
            small = {name: value.tolist() for name, (value, _) in values.items() if value.size <= 8}
            text = onnx.printer.to_text(changed)[:2000]
            return f"{asked.seed}/{number} {name} {sizes} {small}\n{text}\n  sizewise {answer}\n  onnxruntime {actual}\n"

        tally.add(changed.graph.node[0].op_type if changed.graph.node else "", outcome(answer, actual), describe)
    return tally.ends()


if __name__ == "__main__":
    sys.exit(main())
