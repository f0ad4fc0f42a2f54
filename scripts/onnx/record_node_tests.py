"""Records the node tests of the `onnx` package for tests/onnx_nodes.rs.

    python scripts/onnx/record_node_tests.py tests/data/onnx_nodes.jsonl.gz

A line has a model, the sizes of what it is given, elements that may decide sizes, and the sizes of what the test expects.
Needs onnx and numpy.
"""

import gzip
import json
import sys
import warnings

import numpy
import onnx
import onnx.backend.test.loader

# Elements of floats decide a size in small inputs alone, such as scales and bounds.
MOST_FLOATS, MOST_INTEGERS = 16, 4096


def given_of(value):
    """Sizes and elements of an input; None for a value that `eval` is not given."""
    if not isinstance(value, numpy.ndarray):
        return None
    if value.dtype.kind not in "biuf":
        return list(value.shape), None
    most = MOST_FLOATS if value.dtype.kind == "f" else MOST_INTEGERS
    if not 0 < value.size <= most or value.dtype.kind == "f" and not numpy.isfinite(value).all():
        return list(value.shape), None
    number = float if value.dtype.kind == "f" else int
    return list(value.shape), [number(x) for x in value.ravel()]


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
            given, made = test.data_sets[0]
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
