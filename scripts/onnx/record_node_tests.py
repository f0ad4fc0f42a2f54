"""Records the node tests of the `onnx` package for tests/onnx_nodes.rs.

    python scripts/onnx/record_node_tests.py tests/data/onnx_nodes.jsonl.gz

A line has a model, the sizes of what it is given, elements that may decide sizes, and the sizes of what the test expects.
`eval` is given no texts and takes each for "a": of tests with texts, the reference implementation says what is made of those.
Needs onnx and numpy.
"""

import gzip
import json
import sys
import warnings

import numpy
import onnx
import onnx.backend.test.loader
import onnx.numpy_helper
import onnx.reference

# Elements of floats decide a size in small inputs alone, such as scales and bounds.
MOST_FLOATS, MOST_INTEGERS = 16, 4096


def tensor_of(value):
    """Messages and scalars of numpy as tensors; other values as they are."""
    if isinstance(value, onnx.TensorProto):
        return onnx.numpy_helper.to_array(value)
    return numpy.asarray(value) if isinstance(value, numpy.generic) else value


def given_of(value):
    """Sizes and elements of an input; None for a value that `eval` is not given."""
    if not isinstance(value, numpy.ndarray):
        return None
    # Types that numpy itself does not have, such as bfloat16.
    if value.dtype.kind == "V":
        value = value.astype(numpy.float32)
    if value.dtype.kind not in "biuf":
        return list(value.shape), None
    most = MOST_FLOATS if value.dtype.kind == "f" else MOST_INTEGERS
    if not 0 < value.size <= most or value.dtype.kind == "f" and not numpy.isfinite(value).all():
        return list(value.shape), None
    number = float if value.dtype.kind == "f" else int
    return list(value.shape), [number(x) for x in value.ravel()]


def made_of(test, given, made):
    """What a test expects, of "a" for each text."""
    if not any(isinstance(value, numpy.ndarray) and value.dtype.kind in "OU" for value in given):
        return made
    texts = [numpy.full(value.shape, "a", object) if value.dtype.kind in "OU" else value for value in given]
    names = [info.name for info in test.model.graph.input]
    return onnx.reference.ReferenceEvaluator(test.model).run(None, dict(zip(names, texts)))


def main(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tests = onnx.backend.test.loader.load_model_tests(kind="node")
    with gzip.GzipFile(path, "wb", 9, mtime=0) as file:
        for test in tests:
            model = onnx.ModelProto()
            model.CopyFrom(test.model)
            # The newest version of the format that is read.
            model.ir_version = min(model.ir_version, 13)
            model.producer_name = ""
            given, made = ([tensor_of(value) for value in values] for values in test.data_sets[0])
            made = made_of(test, given, made)
            inputs = {info.name: given_of(value) for info, value in zip(model.graph.input, given)}
            is_whole = len(given) == len(model.graph.input) and None not in inputs.values()
            line = {
                "name": test.name,
                "model": model.SerializeToString().hex(),
                "shapes": {name: one[0] for name, one in inputs.items() if one} if is_whole else None,
                "values": {name: one[1] for name, one in inputs.items() if one and one[1] is not None},
                "outputs": [list(value.shape) if isinstance(value, numpy.ndarray) else None for value in made],
            }
            file.write(json.dumps(line, separators=(",", ":")).encode() + b"\n")


if __name__ == "__main__":
    main(sys.argv[1])
