"""Random models of pools, convolutions, squeezes and reshapes behind every kind of node: do those load that are `ok`?

    python scripts/onnx/random_loads.py SIZEWISE [--count N] [--seed S]

Prints the models that are `ok` and that onnxruntime does not load, in text form, and how many there were of each
verdict. A model that loads as it is, and not once onnxruntime has optimized it, is counted by itself: a fusion makes of
it what onnxruntime refuses. Needs onnx, onnxruntime and numpy.
"""

import argparse
import collections
import json
import random
import subprocess
import sys
import tempfile

import onnx
from judge import Onnxruntime
from onnx import parser, printer

# Operators that keep sizes, and the first versions of some of them.
UNARY = "Abs Neg Relu Sigmoid Tanh Exp Erf Elu Softplus HardSigmoid LeakyRelu Sin Selu Softsign Sqrt Floor Identity"
UNARY = UNARY.split() + "Softmax".split()
UNARY += "LogSoftmax Hardmax Ceil Round Reciprocal Sign Mish Celu ThresholdedRelu Shrink Gelu HardSwish".split()
SINCE = {"Mish": 18, "Gelu": 20, "HardSwish": 14, "Celu": 12, "Round": 11, "ThresholdedRelu": 10}
SINCE.update(Erf=9, Sign=9, Shrink=9)
# Kinds of nodes that stand before a window.
KINDS = "unary unary unary binary norm clip where cast dropout transpose pad conv lrn slice if concat".split()


class Writer:
    """A model as text, written node by node from a value of four dimensions; `sizes` are those at the example."""

    def __init__(self, rng):
        self.rng, self.lines, self.weights, self.count = rng, [], [], 0
        self.version = rng.choice([7, 8, 9, 10, 11, 12, 13, 17, 18, 20])
        channels = rng.choice([1, 1, 2, 3])
        self.sizes = [rng.choice([1, 2]), channels, rng.randint(1, 9), rng.randint(1, 9)]
        names = ["n", "c", "h", "w"]
        open_dims = [rng.random() < p for p in (0.5, 0.1, 0.25, 0.25)]
        stated = [name if is_open else str(size) for name, size, is_open in zip(names, self.sizes, open_dims)]
        if rng.random() < 0.1:
            self.stated = "float"
            self.stated = "float[" + ", ".join(names) + "]"
        else:
            self.stated = "float[" + ", ".join(stated) + "]"
        self.last = "x"

    def name(self):
        self.count += 1
        return f"v{self.count}"

    def weight(self, dims, values=None, kind="float"):
        name = f"w{len(self.weights)}"
        count = 1
        for dim in dims:
            count *= dim
        values = values or ["1"] * count
        shape = f"[{', '.join(map(str, dims))}]" if dims else ""
        self.weights.append(f"{kind}{shape} {name} = {{{', '.join(map(str, values))}}}")
        return name

    def ints(self, values):
        """A list of integers as an initializer, a constant, or what `Identity` makes of one."""
        style = self.rng.random()
        if style < 0.5:
            return self.weight([len(values)], values, "int64")
        name = self.name()
        text = ", ".join(map(str, values))
        self.lines.append(f"{name} = Constant<value = int64[{len(values)}] {{{text}}}>()")
        if style > 0.9:
            other = self.name()
            self.lines.append(f"{other} = Identity({name})")
            return other
        return name

    def node(self, op, *inputs, attributes=""):
        name = self.name()
        inputs = ", ".join([self.last, *inputs])
        self.lines.append(f"{name} = {op}{attributes}({inputs})")
        self.last = name

    def before(self):
        """A node that keeps the sizes."""
        rng = self.rng
        kind = rng.choice(KINDS)
        n, c, h, w = self.sizes
        if kind == "unary":
            self.node(rng.choice([op for op in UNARY if self.version >= SINCE.get(op, 7)]))
        elif kind == "binary":
            op = rng.choice("Add Sub Mul Div Max Min Mean Sum PRelu Pow".split())
            if op in ("Max", "Min", "Mean", "Sum") and self.version < 8:
                op = "Add"
            dims = rng.choice([[], [1], [1, 1, 1], [c, 1, 1], [1, c, 1, 1]])
            self.node(op, self.weight(dims))
        elif kind == "norm":
            if rng.random() < 0.5:
                self.node("BatchNormalization", *(self.weight([c]) for _ in range(4)))
            else:
                self.node("InstanceNormalization", self.weight([c]), self.weight([c]))
        elif kind == "clip":
            if self.version < 11:
                self.node("Clip", attributes="<min = 0.0, max = 6.0>")
            else:
                self.node("Clip", self.weight([]), self.weight([]))
        elif kind == "where" and self.version >= 9:
            condition = self.weight([1], ["1"], "bool")
            name = self.name()
            self.lines.append(f"{name} = Where({condition}, {self.last}, {self.last})")
            self.last = name
        elif kind == "cast":
            self.node("Cast", attributes="<to = 1>")
        elif kind == "dropout":
            self.node("Dropout")
        elif kind == "transpose":
            self.node("Transpose", attributes="<perm = [0, 1, 3, 2]>")
            self.sizes = [n, c, w, h]
        elif kind == "pad" and self.version >= 11:
            self.node("Pad", self.ints([0, 0, 0, 0, 0, 0, 1, 1]))
            self.sizes = [n, c, h + 1, w + 1]
        elif kind == "conv":
            self.node("Conv", self.weight([c, c, 1, 1]))
        elif kind == "lrn":
            self.node("LRN", attributes="<size = 1>")
        elif kind == "slice" and self.version >= 10 and h > 1:
            self.node("Slice", self.ints([1]), self.ints([9]), self.ints([2]))
            self.sizes = [n, c, h - 1, w]
        elif kind == "concat":
            other = self.last
            self.node("Concat", other, attributes=f"<axis = {rng.choice([1, 3, -1])}>")
            self.sizes = None
        elif kind == "if":
            condition, name = self.weight([], ["1"], "bool"), self.name()
            ops = [rng.choice(UNARY[:6]) for _ in range(2)]
            branches = ", ".join(
                f"{side}_branch = b{made} () => (r{made}) {{ r{made} = {op}({self.last}) }}"
                for side, op, made in zip(("then", "else"), ops, (f"{self.count}t", f"{self.count}e"))
            )
            self.lines.append(f"{name} = If({condition}) <{branches}>")
            self.last = name

    def window(self):
        """A pool or a convolution whose last window may lie in the padding."""
        rng = self.rng
        op = rng.choice(["MaxPool", "MaxPool", "AveragePool", "LpPool", "Conv", "ConvTranspose"])
        kernel = [rng.randint(1, 3) for _ in range(2)]
        strides = [rng.randint(1, 4) for _ in range(2)]
        said = [f"strides = {strides}"]
        if op in ("MaxPool", "AveragePool", "LpPool"):
            said.append(f"kernel_shape = {kernel}")
            if rng.random() < 0.6:
                pads = [rng.randint(0, max(k - 1, 0)) for k in kernel + kernel]
                said.append(f"pads = {pads}")
            elif rng.random() < 0.7:
                said.append(f'auto_pad = "{rng.choice(["SAME_UPPER", "SAME_LOWER", "VALID"])}"')
            least = {"MaxPool": 10, "AveragePool": 10, "LpPool": 18}[op]
            if self.version >= least and rng.random() < 0.7:
                said.append("ceil_mode = 1")
            dilated = {"MaxPool": 10, "AveragePool": 19, "LpPool": 18}[op]
            if self.version >= dilated and rng.random() < 0.3:
                said.append(f"dilations = {[rng.randint(1, 3) for _ in range(2)]}")
            self.node(op, attributes=f"<{', '.join(said)}>")
        else:
            channels = self.sizes[1]
            dims = [channels, channels, *kernel]
            if op == "ConvTranspose" and rng.random() < 0.3:
                said.append(f"output_shape = [{rng.randint(1, 9)}, {rng.randint(1, 9)}]")
            elif rng.random() < 0.5:
                said.append(f"pads = {[rng.randint(0, 2) for _ in range(4)]}")
            self.node(op, self.weight(dims), attributes=f"<{', '.join(said)}>")

    def behind(self):
        """A node that asks for sizes."""
        rng = self.rng
        kind = rng.choice("squeeze squeeze reshape flatten add matmul concat unsqueeze split global gemm branch".split())
        if kind == "squeeze":
            axes = rng.choice([[2], [3], [2, 3], [0], [1], [-1], []])
            if self.version < 13:
                self.node("Squeeze", attributes=f"<axes = {axes}>" if axes else "")
            else:
                self.node("Squeeze", *([self.ints(axes)] if axes else []))
        elif kind == "reshape":
            target = rng.choice([[0, -1], [-1], [1, -1], [0, 0, -1], [2, -1], [-1, 4], [1, 1, 2, 2], [1, 1, 1]])
            self.node("Reshape", self.ints(target))
        elif kind == "flatten":
            self.node("Flatten")
            if rng.random() < 0.7:
                self.node("MatMul", self.weight([rng.randint(1, 6), 2]))
        elif kind == "gemm":
            self.node("Flatten")
            self.node("Gemm", self.weight([rng.randint(1, 6), 2]))
        elif kind == "add":
            self.node("Add", self.weight([rng.randint(1, 4), rng.randint(1, 4)]))
        elif kind == "matmul":
            self.node("MatMul", self.weight([rng.randint(1, 4), 2]))
        elif kind == "concat":
            other = self.weight([1, 1, rng.randint(1, 3), rng.randint(1, 3)])
            self.node("Concat", other, attributes=f"<axis = {rng.choice([2, 3])}>")
        elif kind == "unsqueeze" and self.version < 13:
            self.node("Unsqueeze", attributes=f"<axes = [{rng.choice([0, 1, -1])}]>")
        elif kind == "split" and self.version < 18:
            first, second = self.name(), self.name()
            self.lines.append(f"{first}, {second} = Split<axis = {rng.choice([2, 3])}>({self.last})")
            self.last = self.name()
            self.lines.append(f"{self.last} = Add({first}, {second})")
        elif kind == "global":
            self.node("GlobalAveragePool")
        elif kind == "branch":
            self.branch()

    def branch(self):
        """An `If` on a size, with a branch that may never run and that may not fit."""
        rng = self.rng
        shape, size, condition, name = (self.name() for _ in range(4))
        at, number = self.weight([], [rng.randint(0, 3)], "int64"), self.weight([], [rng.randint(1, 4)], "int64")
        self.lines.append(f"{shape} = Shape({self.last})")
        self.lines.append(f"{size} = Gather({shape}, {at})")
        self.lines.append(f"{condition} = {rng.choice(['Equal', 'Greater', 'Less'])}({size}, {number})")
        branches = []
        for side in ("then", "else"):
            targets = [[3, 0, -1], [4, 0, 0, 0, -1], [0, 0, -1], [-1], [5, -1], [0, 2, -1]]
            target, result = self.ints(rng.choice(targets)), f"r{self.count}{side}"
            made = rng.choice([f"Reshape({self.last}, {target})", f"Neg({self.last})"])
            branches.append(f"{side}_branch = b{result} () => ({result}) {{ {result} = {made} }}")
        self.lines.append(f"{name} = If({condition}) <{', '.join(branches)}>")
        self.last = name

    def text(self):
        rng = self.rng
        for _ in range(rng.choice([0, 1, 1, 1, 2])):
            if self.sizes:
                self.before()
        for _ in range(rng.choice([1, 1, 2])):
            if self.sizes:
                self.window()
            if rng.random() < 0.3:
                self.node(rng.choice(UNARY[:6]))
        for _ in range(rng.choice([1, 1, 2])):
            self.behind()
        weights = f"<{', '.join(self.weights)}>" if self.weights else ""
        body = "\n  ".join(self.lines)
        return (
            f'<ir_version: 8, opset_import: ["" : {self.version}]>\n'
            f"g ({self.stated} x) => (y)\n{weights}\n{{\n  {body}\n  y = Identity({self.last})\n}}"
        )


def model_of(text):
    """The model of a text; its output is of floats."""
    model = parser.parse_model(text)
    model.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    return model.SerializeToString()


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("sizewise")
    arguments.add_argument("--count", type=int, default=2000)
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--show", help="also print the models of this verdict")
    arguments = arguments.parse_args()
    judges = [Onnxruntime(level) for level in ("ORT_DISABLE_ALL", "ORT_ENABLE_ALL")]
    counts, wrong = collections.Counter(), 0
    for number in range(arguments.count):
        text = Writer(random.Random(f"{arguments.seed}:{number}")).text()
        try:
            model = model_of(text)
        except Exception as error:
            print(f"not written: {error}\n{text}")
            return 1
        answers = [judge.run(model, {}) for judge in judges]
        refusals = [detail for kind, detail in answers if kind == "load"]
        loads = "does not load" if answers[0][0] == "load" else "loads unoptimized" if refusals else "loads"
        with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
            file.write(model)
            file.flush()
            asked = [arguments.sizewise, "check", file.name, "--format", "json"]
            made = subprocess.run(asked, capture_output=True, text=True)
        verdict = json.loads(made.stdout)["verdict"] if made.stdout.strip() else "not read"
        counts[verdict, loads] += 1
        is_wrong = verdict == "ok" and loads == "does not load"
        wrong += is_wrong
        if is_wrong or verdict == "ok" and refusals or verdict == arguments.show:
            print(f"{number}: {verdict}, {loads} {' '.join(refusals)[:300]}\n{text}\n", flush=True)
    for (verdict, loads), count in sorted(counts.items()):
        print(f"  {verdict:10} {loads:18} {count}")
    print(f"{wrong} of {arguments.count} are ok and do not load")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
