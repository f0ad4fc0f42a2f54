#!/usr/bin/env python3
"""Holds sizewise against torch on random programs.

    random_programs.py --bin target/release/sizewise [--seeds FIRST LAST] [--keep FOLDER]

Each seed draws a small program of tensor operations on inputs of random shapes, exports it with every dimension AUTO (every third one is
decomposed to core operators), and compares what sizewise says with what the exported module does:

- `eval`: shapes that it accepts run, and give the shapes that it says; shapes that it refuses do not run.
- `check` of the program's own contract, and under random specs of named dimensions with ranges: where it says `ok`, shapes drawn from the
  spec run; the inputs of a violation do not run, or do not give the recorded shapes.

A line is printed for each difference, with the seed; programs with differences are kept in FOLDER. Refusals of what runs are counted apart: sizewise holds
inputs to recorded static sizes, which torch's guards of a specialized size do not always, and refuses shapes at which torch's answer depends on
the backend. Exit status 1 where something is accepted that fails or gives another shape, or `ok` is wrong.

Not part of the test suite: it needs torch (2.15), and takes about half a second a program.
"""
import argparse
import collections
import json
import logging
import random
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import torch
import torch.nn.functional as F

#: Sizes that symbols are set to; each has a chance, beside the example's own.
SIZES = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 17, 24]
#: Inputs of more elements are not run.
MOST_ELEMENTS = 3_000_000


class Draw:
    """The operations of a program as it is drawn: tensors so far, and a generator of choices."""

    def __init__(self, rng, tensors):
        self.rng, self.tensors = rng, tensors

    def one_of(self, *choices):
        return self.rng.choice(choices)

    def tensor(self, least=0, most=9):
        """The position of a tensor with so many dimensions, of the later ones rather."""
        fitting = [i for i, x in enumerate(self.tensors) if least <= x.dim() <= most]
        return self.rng.choice(fitting[-4:] if self.rng.random() < 0.7 else fitting)

    def dim(self, at):
        """A dimension of a tensor, counted from either end."""
        rank = self.tensors[at].dim()
        return self.rng.randint(-rank, rank - 1)


def unary(operation, least=1, most=9):
    """An operation on one tensor: `operation(draw, position)` gives the function of the tensor."""
    def drawn(draw):
        at = draw.tensor(least, most)
        function = operation(draw, at)
        return lambda t: function(t[at])
    return drawn


def binary(function, least=1, most=9):
    """An operation on two tensors."""
    def drawn(draw):
        a, b = draw.tensor(least, most), draw.tensor(least, most)
        return lambda t: function(t[a], t[b])
    return drawn


def along(function, least=1, *choices):
    """An operation along a dimension, with a drawn argument for each list of choices."""
    def drawn(draw, at):
        dim, drawn_ones = draw.dim(at), [draw.one_of(*c) for c in choices]
        return lambda x: function(x, dim, *drawn_ones)
    return unary(drawn, least)


def plain(function, least=1, most=9):
    """An operation without arguments."""
    return unary(lambda draw, at: function, least, most)


def split_dim(draw, at):
    dim, parts = draw.dim(at) % draw.tensors[at].dim(), draw.one_of(2, 3, 4)
    return lambda x: x.reshape(*x.shape[:dim], parts, x.shape[dim] // parts, *x.shape[dim + 1:])


def view_inferred(draw, at):
    dim, parts = draw.dim(at) % draw.tensors[at].dim(), draw.one_of(2, 3)
    return lambda x: x.view(*x.shape[:dim], -1, parts, *x.shape[dim + 1:])


def permuted(draw, at):
    order = list(range(draw.tensors[at].dim()))
    draw.rng.shuffle(order)
    return lambda x: x.permute(order)


def sliced(draw, at):
    dim = draw.dim(at) % draw.tensors[at].dim()
    part = slice(draw.one_of(None, 0, 1, 2, -2, -3), draw.one_of(None, None, 1, 3, 5, -1, -2), draw.one_of(1, 1, 2, 3))
    return lambda x: x[tuple([slice(None)] * dim + [part])]


def padded(draw, at):
    before, after = draw.one_of(0, 1, 2, -1), draw.one_of(0, 1, 3, -2)
    return lambda x: F.pad(x, (before, after))


def padded_by(draw, at):
    before, mode = draw.one_of(0, 1, 2), draw.one_of("reflect", "replicate", "circular")
    return lambda x: F.pad(x, (before, 1), mode=mode)


def pooled(draw, at):
    kernel, stride, ceil = draw.one_of(1, 2, 3), draw.one_of(1, 2, 3), draw.one_of(True, False)
    padding, two = min(draw.one_of(0, 1), kernel // 2), draw.tensors[at].dim() == 4
    pool = draw.one_of(F.max_pool2d, F.avg_pool2d) if two else draw.one_of(F.max_pool1d, F.avg_pool1d)
    return lambda x: pool(x, kernel, stride, padding, ceil_mode=ceil)


def convolved(draw, at):
    kernel, stride, padding = draw.one_of(1, 2, 3), draw.one_of(1, 2), draw.one_of(0, 1)
    dilation = draw.one_of(1, 2)
    if draw.tensors[at].dim() == 4:
        weight = torch.randn(3, 1, kernel, kernel)
        return lambda x: F.conv2d(x[:, :1], weight, stride=stride, padding=padding, dilation=dilation)
    weight = torch.randn(2, 1, kernel)
    return lambda x: F.conv1d(x[:, :1], weight, stride=stride, padding=padding, dilation=dilation)


def convolved_back(draw, at):
    kernel, stride, padding = draw.one_of(1, 2, 3), draw.one_of(1, 2), draw.one_of(0, 1)
    weight, more = torch.randn(1, 2, kernel), min(draw.one_of(0, 1), stride - 1)
    return lambda x: F.conv_transpose1d(x[:, :1], weight, stride=stride, padding=padding, output_padding=more)


def interpolated(draw, at):
    scale = draw.one_of(2.0, 0.5, 1.5, 3.0)
    return lambda x: F.interpolate(x, scale_factor=scale, mode="nearest")


def branched(draw, at):
    return draw.one_of(
        lambda x: x if x.shape[0] > 3 else x * 2,
        lambda x: x[:2] if x.shape[0] % 2 == 0 else x[1:],
        lambda x: x.flatten() if x.numel() > 8 else x,
    )


def catenated(draw):
    a, b, dim = draw.tensor(1), draw.tensor(), draw.one_of(0, -1)
    return lambda t: torch.cat([t[a], t[b]], dim)


def stacked(draw):
    a, b = draw.tensor(), draw.tensor()
    return lambda t: torch.stack([t[a], t[b]])


OPERATIONS = {
    "cat": catenated,
    "stack": stacked,
    "add": binary(torch.add, 0),
    "multiply": binary(lambda a, b: a * b.relu(), 0),
    "add a sum": binary(lambda a, b: a + b.sum(0, keepdim=True)),
    "matmul": binary(torch.matmul),
    "gram": plain(lambda x: x @ x.transpose(-1, -2), 2),
    "einsum": binary(lambda a, b: torch.einsum("ab,cb->ac", a, b), 2, 2),
    "bmm": binary(lambda a, b: torch.bmm(a, b.transpose(1, 2)), 3, 3),
    "attention": plain(lambda x: F.scaled_dot_product_attention(x, x, x), 3, 4),
    "attention of two": binary(lambda a, b: F.scaled_dot_product_attention(a, a, b), 3, 4),
    "attention of groups": binary(lambda a, b: F.scaled_dot_product_attention(a, b, b, enable_gqa=True), 4, 4),
    "powers": along(lambda x, d, k: x * x.shape[d] ** k, 1, (-1, -0.5, 0.5, 2)),
    "cdist": binary(torch.cdist, 2, 3),
    "outer": plain(lambda x: torch.outer(x.flatten(), x.flatten()[:3]), 1, 2),
    "flatten": plain(torch.flatten),
    "merge": along(lambda x, d: x.flatten(d % (x.dim() - 1), d % (x.dim() - 1) + 1), 2),
    "view merged": along(lambda x, d: x.view(*x.shape[:d % (x.dim() - 1)], -1, *x.shape[d % (x.dim() - 1) + 2:]), 2),
    "split a dimension": unary(split_dim),
    "view inferred": unary(view_inferred),
    "unflatten": along(lambda x, d, k: x.unflatten(d, (-1, k)), 1, (2, 3)),
    "transpose": along(lambda x, d: x.transpose(d, 0), 2),
    "permute": unary(permuted, 2),
    "contiguous view": plain(lambda x: x.transpose(0, -1).contiguous().view(-1), 2),
    "movedim": plain(lambda x: x.movedim(0, -1), 2),
    "slice": unary(sliced),
    "half": along(lambda x, d: x.narrow(d, 0, x.shape[d] // 2)),
    "all but one": along(lambda x, d: x.narrow(d, 1, x.shape[d] - 1)),
    "as long as": binary(lambda a, b: a[:b.shape[0]]),
    "select": along(lambda x, d, i: x.select(d, i), 1, (0, 1, -1, 2)),
    "unsqueeze": along(torch.unsqueeze),
    "squeeze": along(torch.squeeze),
    "expand": binary(lambda a, b: a.expand(b.shape[0], *a.shape)),
    "expand as": binary(lambda a, b: a[:1].expand_as(b)),
    "repeat": along(lambda x, d, k: x.repeat(*([1] * (x.dim() - 1)), k), 1, (1, 2, 3)),
    "interleave": along(lambda x, d, k: x.repeat_interleave(k, dim=d), 1, (2, 3)),
    "tile": plain(lambda x: x.tile((2, 1, 2)), 1, 2),
    "mean": along(lambda x, d, keep: x.mean(d, keepdim=keep), 1, (True, False)),
    "amax": along(lambda x, d, keep: x.amax(d, keepdim=keep), 1, (True, False)),
    "softmax": along(torch.softmax),
    "cumsum": along(torch.cumsum),
    "flip": along(lambda x, d: x.flip(d).roll(1, d)),
    "sorted": plain(lambda x: x.argsort(0)[:2].float()),
    "topk": along(lambda x, d, k: x.topk(k)[0], 1, (1, 2, 3)),
    "chunk": along(lambda x, d, k, i: x.chunk(k, d)[i], 1, (2, 3), (0, -1)),
    "split": along(lambda x, d, k: x.split(k, d)[-1], 1, (1, 2, 3)),
    "unfold": along(lambda x, d, k, step: x.unfold(d, k, step), 1, (2, 3), (1, 2)),
    "glu": along(F.glu),
    "diagonal": along(lambda x, d, o: x.diagonal(o), 2, (0, 1, -1, 2)),
    "lower": plain(torch.tril, 2),
    "masked": plain(lambda x: x.masked_fill(torch.ones(x.shape[-2:], dtype=torch.bool).tril(), 0.0), 2),
    "pad": unary(padded),
    "pad to": along(lambda x, d, k: F.pad(x, (0, -x.shape[-1] % k)), 1, (4, 8)),
    "pad by": unary(padded_by, 3, 4),
    "pool": unary(pooled, 3, 4),
    "adaptive pool": along(lambda x, d, k: F.adaptive_avg_pool1d(x, k), 2, (1, 2, 3)),
    "convolve": unary(convolved, 3, 4),
    "convolve back": unary(convolved_back, 3, 3),
    "interpolate": unary(interpolated, 3, 4),
    "interpolate to": plain(lambda x: F.interpolate(x, size=x.shape[-1] * 2 - 1, mode="linear"), 3, 3),
    "unshuffle": plain(lambda x: F.pixel_unshuffle(x, 2), 4, 4),
    "columns": plain(lambda x: F.unfold(x, (2, 2)), 4, 4),
    "layer norm": plain(lambda x: F.layer_norm(x, (x.shape[-1],))),
    "arange": plain(lambda x: x + torch.arange(x.shape[-1])),
    "zeros": binary(lambda a, b: torch.zeros(a.shape[0] + b.shape[-1], a.shape[-1])),
    "ones": plain(lambda x: x.new_ones(max(x.shape[0] - 2, 1), x.shape[-1] // 2 + 1)),
    "grid": binary(lambda a, b: torch.meshgrid(torch.arange(a.shape[0]), torch.arange(b.shape[-1]), indexing="ij")[0].float()),
    "restride": plain(lambda x: x.as_strided((2, x.shape[1]), (x.stride(0), 1)), 2, 2),
    "branch": unary(branched),
}


class Drawn(torch.nn.Module):
    """Operations one after the other; the last result and another one are given back."""

    def __init__(self, steps, results):
        super().__init__()
        self.steps, self.results = steps, results

    def forward(self, *args):
        tensors = list(args)
        for step in self.steps:
            tensors.append(step(tensors))
        return tuple(tensors[i] for i in self.results)


def draw_program(rng):
    """A program, its example inputs, and the names of its operations."""
    pool = [rng.choice([2, 3, 4, 5, 6, 8, 9, 12]) for _ in range(3)]
    inputs = [torch.randn([rng.choice(pool) for _ in range(rng.choice([1, 2, 2, 3, 3, 4]))]) for _ in range(rng.randint(1, 3))]
    tensors, steps, names = list(inputs), [], []
    wanted = rng.randint(1, 6)
    for _ in range(80):
        if len(steps) == wanted:
            break
        name = rng.choice(list(OPERATIONS))
        try:
            step = OPERATIONS[name](Draw(rng, tensors))
            result = step(tensors)
        except Exception:  # What does not apply to these tensors is not drawn.
            continue
        if result.dim() <= 5 and result.numel() <= 20_000:
            tensors.append(result)
            steps.append(step)
            names.append(name)
    results = sorted({len(tensors) - 1, rng.randrange(len(tensors))})
    return Drawn(steps, results), inputs, names


def run(module, names, shapes):
    """The shapes that the module gives at inputs of these shapes, or why there are none; nothing where they are too large to run."""
    numel = lambda shape: int(torch.tensor(shape).prod()) if shape else 1
    if any(name not in shapes or numel(shapes[name]) > MOST_ELEMENTS for name in names):
        return None
    try:
        return [list(x.shape) for x in module(*[torch.randn(shapes[name]) for name in names])], None
    except Exception as error:
        return None, " ".join(str(error).split())[:160]


class Comparison:
    """One program, exported, and what sizewise and torch say of it."""

    def __init__(self, binary, path, seed):
        self.binary, self.path = binary, path
        self.rng = random.Random(seed)
        torch.manual_seed(seed)
        module, inputs, self.operations = draw_program(self.rng)
        auto = torch.export.Dim.AUTO
        dynamic = (tuple({dim: auto for dim in range(x.dim())} for x in inputs),)
        self.exported = torch.export.export(module, tuple(inputs), dynamic_shapes=dynamic)
        if self.rng.random() < 0.3:
            self.exported = self.exported.run_decompositions()
        torch.export.save(self.exported, path)
        self.module = self.exported.module()
        users = set(self.exported.graph_signature.user_inputs)
        nodes = [n for n in self.exported.graph.nodes if n.op == "placeholder" and n.name in users]
        self.sizes = {n.name: list(n.meta["val"].shape) for n in nodes}
        self.names = list(self.sizes)
        self.hints = {}
        for size in (s for sizes in self.sizes.values() for s in sizes if not isinstance(s, int)):
            for symbol in size.node.expr.free_symbols:
                self.hints[str(symbol)] = int(size.node.shape_env.backed_var_to_val[symbol])
        self.differences, self.counts = [], collections.Counter()

    def sizewise(self, *arguments, text=""):
        done = subprocess.run([self.binary, *map(str, arguments)], input=text, capture_output=True, text=True)
        if done.returncode == 70 or not done.stdout:
            self.differ("CRASH", arguments, done.stderr[:300])
            return None
        return done.stdout

    def differ(self, kind, *what):
        self.counts[kind] += 1
        self.differences.append((kind, *what))

    def shapes_at(self, values):
        def at(size):
            if isinstance(size, int):
                return size
            return int(size.node.expr.subs({s: values[str(s)] for s in size.node.expr.free_symbols}))
        return {name: [at(size) for size in sizes] for name, sizes in self.sizes.items()}

    def trials(self):
        """Shapes of the recorded form at random sizes, some of them spoilt."""
        rng, found = self.rng, [self.shapes_at(self.hints)]
        for i in range(13):
            values = {s: rng.choice(SIZES) if rng.random() < 0.75 else hint for s, hint in self.hints.items()}
            shapes = self.shapes_at(values)
            spoilt = rng.choice(self.names)
            if i > 8 and shapes[spoilt]:
                shapes[spoilt][rng.randrange(len(shapes[spoilt]))] += rng.choice([-1, 1, 2, 3])
            if all(size >= 0 for shape in shapes.values() for size in shape):
                found.append(shapes)
        return found

    def evaluations(self, trials):
        lines = "".join(json.dumps({"id": i, "shapes": shapes}) + "\n" for i, shapes in enumerate(trials))
        answers = self.sizewise("eval", self.path, text=lines) or ""
        for shapes, line in zip(trials, answers.splitlines()):
            answer, outcome = json.loads(line), run(self.module, self.names, shapes)
            if outcome is None:
                continue
            given, error = outcome
            if answer.get("ok"):
                self.counts["accepted"] += 1
                if given is None:
                    self.differ("ACCEPTED, FAILS", shapes, error)
                elif given != answer["outputs"]:
                    self.differ("OTHER SHAPES", shapes, given, answer["outputs"])
            else:
                self.counts["refused"] += 1
                if given is not None:
                    self.differ("refused, runs", shapes, answer.get("error"))

    def draw_spec(self):
        """A spec of named dimensions with ranges around the example, one name a symbol or one a dimension, and the ranges by name."""
        rng, ranges, spec, one_a_symbol = self.rng, {}, [], self.rng.random() < 0.7
        drawn = {}
        for symbol, hint in self.hints.items():
            drawn[symbol] = (min(rng.choice([0, 1, 2, 2, 3, hint, 4]), hint), rng.choice([hint, hint + 1, hint + 3, 16, 64, None]))
        for name, sizes in self.sizes.items():
            entries = []
            for dim, size in enumerate(sizes):
                if isinstance(size, int):
                    entries.append(None)
                    continue
                symbol = str(size.node.expr)
                label = f"d_{symbol}" if one_a_symbol else f"d_{name}_{dim}"
                least, most = drawn[symbol]
                most = None if most is None else max(most, self.hints[symbol])
                ranges[label] = (least, most)
                entries.append({"dim": label, "min": least} | ({} if most is None else {"max": most}))
            spec.append(entries)
        return spec, ranges

    def specs(self):
        expressions = [s.node.expr for sizes in self.sizes.values() for s in sizes if not isinstance(s, int)]
        if not expressions or not all(e.is_Symbol for e in expressions):
            return
        for _ in range(3):
            spec, ranges = self.draw_spec()
            file = self.path.with_suffix(".spec.json")
            file.write_text(json.dumps({"args": spec}))
            text = self.sizewise("check", self.path, "--spec", file, "--format", "json")
            if text is None:
                continue
            report = json.loads(text)
            self.counts[f"spec {report['verdict']}"] += 1
            if report["verdict"] == "ok":
                for values in self.points(ranges):
                    shapes = {
                        name: [size if entry is None else values[entry["dim"]] for size, entry in zip(self.sizes[name], entries)]
                        for name, entries in zip(self.names, spec)
                    }
                    outcome = run(self.module, self.names, shapes)
                    if outcome and outcome[0] is None:
                        self.differ("SPEC OK, FAILS", shapes, outcome[1], spec)
            self.violations(report, spec)

    def points(self, ranges):
        rng = self.rng
        top = lambda least, most: least + 9 if most is None else min(most, least + 12)
        yield {name: least for name, (least, _) in ranges.items()}
        for _ in range(5):
            yield {name: rng.randint(least, top(least, most)) for name, (least, most) in ranges.items()}

    def violations(self, report, spec):
        for guard in report["guards"]:
            if guard["verdict"] != "violated" or not guard.get("inputs") or guard.get("clause") == "recorded size":
                continue
            shapes = {name: [int(s) for s in shape] for name, shape in guard["inputs"].items() if isinstance(shape, list)}
            outcome = run(self.module, self.names, shapes)
            # What runs with an output of another shape than recorded is a violation, too.
            other_shape = "recorded as" in (guard.get("consequence") or "")
            if outcome and outcome[0] is not None and not other_shape:
                self.differ("violated, runs", guard["expr"], shapes, spec)

    def own_contract(self):
        text = self.sizewise("check", self.path, "--format", "json")
        if text is None:
            return
        report = json.loads(text)
        self.counts[f"contract {report['verdict']}"] += 1
        if report["unsupported"]:
            self.differ("unsupported", report["unsupported"])
        self.violations(report, None)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=Path(__file__).resolve().parent.parent / "target/release/sizewise")
    parser.add_argument("--seeds", nargs=2, type=int, default=[0, 200], metavar=("FIRST", "LAST"))
    parser.add_argument("--keep", type=Path, help="where programs with differences are kept")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    logging.disable(logging.CRITICAL)
    torch.set_num_threads(1)
    counts = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "drawn.pt2"
        for seed in range(*options.seeds):
            try:
                comparison = Comparison(options.bin, path, seed)
            except Exception as error:
                counts["not exported"] += 1
                print(f"{seed}: not exported: {' '.join(str(error).split())[:120]}")
                continue
            comparison.own_contract()
            comparison.evaluations(comparison.trials())
            comparison.specs()
            counts += comparison.counts
            for difference in comparison.differences:
                print(f"{seed}: {', '.join(comparison.operations)}: {' | '.join(map(str, difference))}", flush=True)
            if comparison.differences and options.keep:
                shutil.copy(path, options.keep / f"{seed}.pt2")
    for kind, count in sorted(counts.items()):
        print(f"{kind}: {count}")
    sys.exit(1 if any(kind.isupper() for kind in counts) else 0)


if __name__ == "__main__":
    main()
