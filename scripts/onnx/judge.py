"""Holds what `sizewise eval` says of a model and sizes against what onnxruntime does with them."""

import base64
import collections
import json
import os
import pickle
import select
import subprocess
import sys
import tempfile

import numpy
import onnx.helper

# Messages of onnxruntime that say nothing of the model: memory of this machine.
NOT_JUDGED = ("Failed to allocate", "bad_alloc", "bad allocation", "out of memory")
SECONDS = 30


class Onnxruntime:
    """onnxruntime in a process of its own, since some calls end it."""

    def __init__(self, level="ORT_DISABLE_ALL"):
        self.process, self.level = None, level

    def run(self, model, inputs):
        """What a run makes: ("ok", sizes of outputs), ("load" or "run", message) or ("crash", "")."""
        if self.process is None:
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
            self.process = subprocess.Popen([sys.executable, __file__, self.level], **pipes)
        question = base64.b64encode(pickle.dumps((model, inputs))) + b"\n"
        try:
            self.process.stdin.write(question)
            self.process.stdin.flush()
            ready, _, _ = select.select([self.process.stdout], [], [], SECONDS)
            answer = self.process.stdout.readline() if ready else b""
        except BrokenPipeError:
            answer = b""
        if not answer:
            self.process.kill()
            self.process.wait()
            self.process = None
            return "crash", ""
        return pickle.loads(base64.b64decode(answer))


def worker():
    """Answers questions of `Onnxruntime.run`, a line each."""
    import onnxruntime

    # What onnxruntime prints is no answer.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, sys.argv[1])
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    for line in sys.stdin.buffer:
        model, inputs = pickle.loads(base64.b64decode(line))
        answer = run(onnxruntime, options, model, inputs)
        answers.write(base64.b64encode(pickle.dumps(answer)) + b"\n")
        answers.flush()


def run(onnxruntime, options, model, inputs):
    try:
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        return "load", str(error)
    try:
        # Values of types that numpy lacks come from OrtValue; of those the shape is all that is asked for.
        make = onnxruntime.OrtValue
        given = {
            name: value
            if isinstance(value, list) or value is None
            else make.ortvalue_from_numpy(value)
            if kind is None
            else make.ortvalue_from_numpy_with_onnx_type(value, kind)
            for name, (value, kind) in inputs.items()
        }
        if any(isinstance(value, list) or value is None for value in given.values()):
            results = session.run(None, {name: value for name, (value, _) in inputs.items()})
            return "ok", [sizes_of(value) for value in results]
        names = [output.name for output in session.get_outputs()]
        results = session.run_with_ort_values(names, given)
        return "ok", [value.shape() if value.is_tensor() else None for value in results]
    except Exception as error:
        return "run", str(error)


def sizes_of(value):
    return list(value.shape) if isinstance(value, numpy.ndarray) else None


def questions(inputs):
    """The sizes and the elements of inputs as `eval` takes them; None where it cannot be asked."""
    shapes, values = {}, {}
    for name, (value, kind) in inputs.items():
        if not isinstance(value, numpy.ndarray) or value.dtype.kind not in "biuf":
            return None
        shapes[name] = list(value.shape)
        if kind is not None:
            # The bits of a type that numpy lacks.
            value = value.view(onnx.helper.tensor_dtype_to_np_dtype(kind)).astype(numpy.float64)
        if value.dtype.kind == "f" and not numpy.isfinite(value).all():
            return None
        if value.size:
            values[name] = [float(x) if value.dtype.kind == "f" else int(x) for x in value.ravel()]
    return {"shapes": shapes, "values": values}


def evaluated(sizewise, model, inputs, *options):
    """What `sizewise eval` answers; None where it cannot be asked."""
    asked = questions(inputs)
    if asked is None:
        return None
    with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
        file.write(model)
        file.flush()
        made = subprocess.run(
            [sizewise, "eval", file.name, *options], input=json.dumps({"id": 0, **asked}), capture_output=True, text=True
        )
    line = made.stdout.strip().split("\n")[0]
    if not line:
        # A model that is not read is refused, unless the reader has a bound of its own.
        return {"ok": False, "error": made.stderr.strip(), "error_kind": "read"}
    return json.loads(line)


def agrees(said, made):
    """Whether sizes are those that were made. A text is a size that data decide."""
    if said is None or made is None:
        return True
    return len(said) == len(made) and all(isinstance(a, str) or a == b for a, b in zip(said, made))


def outcome(answer, actual):
    """How an answer of `eval` compares with what onnxruntime did."""
    if answer is None:
        return "not asked"
    kind, detail = actual
    if kind == "crash" or kind != "ok" and any(text in detail for text in NOT_JUDGED):
        return "not judged"
    if not answer["ok"]:
        if answer.get("error_kind") == "unsupported":
            return "unsupported"
        return "refused too much" if kind == "ok" else "right"
    if kind != "ok":
        return "left to run time" if answer.get("runtime_asserts") else "ACCEPTED WRONGLY"
    pairs = zip(answer["outputs"], detail)
    return "right" if all(agrees(said, made) for said, made in pairs) else "WRONG SHAPE"


class Tally:
    """Outcomes by operator; what is wrong is printed."""

    def __init__(self, shows=("ACCEPTED WRONGLY", "WRONG SHAPE")):
        self.counts, self.by_op, self.shows = collections.Counter(), collections.Counter(), shows

    def add(self, op, found, describe):
        self.counts[found] += 1
        if found not in ("right", "not judged", "not asked"):
            self.by_op[op, found] += 1
        if found in self.shows:
            print(f"{found}: {describe()}", flush=True)

    def ends(self):
        """Prints the counts; the exit status."""
        for (op, found), count in sorted(self.by_op.items()):
            print(f"  {op:24} {found:20} {count}")
        print(", ".join(f"{count} {found}" for found, count in sorted(self.counts.items())))
        wrong = self.counts["ACCEPTED WRONGLY"] + self.counts["WRONG SHAPE"]
        return 1 if wrong else 0


if __name__ == "__main__":
    worker()
