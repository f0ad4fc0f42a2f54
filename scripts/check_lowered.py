"""Runs what `sizewise lower` and `sizewise pass` write beside the original; needs torch 2.15, but no ExecuTorch.

    python scripts/check_lowered.py SIZEWISE [--passes] [--every N] [--only NAME] [ARCHIVE_OR_FOLDER...]

Without archives: the programs below, which give several numbers to a node or to several nodes, the functions of
`decomposable_programs.py` and the programs of `mutating_programs.py`. Archives are those that torch wrote, from folders with `*.pt2`
(program.pt2 of a folder within too); states that an archive left out, and inputs, are drawn at random from what is recorded of them. Each program
is taken to the Edge dialect; with `--passes` also through `dce,cse,fold,derive`, `assert`, `functionalize` and `functionalize,decompose`.
Outputs, states and inputs have to be those of the original. An Edge program is run by the ATen operators that its operators wrap; those that
take an order of dimensions are defined here. Programs that draw random numbers are compared in shapes and dtypes only.
"""

import argparse
import collections
import copy
import functools
import io
import json
import logging
import pathlib
import subprocess
import sys
import tempfile
import warnings
import zipfile

import torch
import torch.utils._pytree as pytree
from decomposable_programs import Fn, functions
from mutating_programs import CASES

warnings.filterwarnings("ignore")
logging.disable(logging.ERROR)
WRAPPED = "executorch.exir.dialects.edge._ops."
PASSES = ["dce,cse,fold,derive", "assert", "functionalize", "functionalize,decompose"]
LIBRARY = torch.library.Library("dim_order_ops", "DEF")


def ordered(result, dim_order):
    """The values in an order of dimensions in memory."""
    if dim_order is None:
        return result.contiguous()
    back = [dim_order.index(dim) for dim in range(result.dim())]
    return result.permute(dim_order).contiguous().permute(back)


def to_dim_order_copy(x, *, dtype=None, layout=None, device=None, pin_memory=None, non_blocking=False, dim_order=None):
    return ordered(torch.ops.aten._to_copy.default(x, dtype=dtype), dim_order).clone()


def clone_dim_order(x, *, non_blocking=False, dim_order=None):
    return ordered(x, dim_order).clone()


def empty_dim_order(size, *, dtype=None, layout=None, device=None, pin_memory=None, dim_order=None):
    return ordered(torch.empty(size, dtype=dtype), dim_order)


OPTIONS = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
for declared, function in (
    (f"_to_dim_order_copy(Tensor self, *, {OPTIONS}, bool non_blocking=False, int[]? dim_order=None) -> Tensor", to_dim_order_copy),
    ("_clone_dim_order(Tensor self, *, bool non_blocking=False, int[]? dim_order=None) -> Tensor", clone_dim_order),
    (f"_empty_dim_order(SymInt[] size, *, {OPTIONS}, int[]? dim_order=None) -> Tensor", empty_dim_order),
):
    LIBRARY.define(declared)
    LIBRARY.impl(declared.split("(")[0], function, "CompositeExplicitAutograd")


def aten(path):
    """An archive with the ATen operators that Edge operators wrap."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(buffer, "w") as made:
        for name in source.namelist():
            content = source.read(name)
            if "/models/" in name and name.endswith(".json"):
                document = json.loads(content.replace(WRAPPED.encode(), b"torch.ops."))
                if document.get("verifiers") == ["EDGE"]:
                    document["verifiers"] = ["ATEN"]
                content = json.dumps(document)
            made.writestr(name, content)
    buffer.seek(0)
    return buffer


def example(file):
    """The sizes of the example, by symbol, which archives of unbacked sizes leave out: `truth.json` beside them has them."""
    truth = file.parent / "truth.json"
    inputs = json.loads(truth.read_text()).get("inputs", []) if truth.exists() else []
    named = [pair for given in inputs for pair in zip(given.get("symbolic") or [], given.get("shape") or [])]
    return {symbol: size for symbol, size in named if isinstance(symbol, str)}


def number(size, known):
    if isinstance(size, (int, float, bool)):
        return size
    if size.node.hint is not None:
        return size.node.hint
    return int(size.node.expr.subs({symbol: known[symbol.name] for symbol in size.node.expr.free_symbols}))


def tensor(meta, draw, known):
    """Values of a recorded tensor, strides too. Integers stay small, as they may index something."""
    size, stride = [number(s, known) for s in meta.shape], [number(s, known) for s in meta.stride()]
    room = 1 + sum((n - 1) * s for n, s in zip(size, stride)) if all(size) else 0
    if meta.dtype.is_complex or meta.dtype.is_floating_point:
        flat = torch.randn(room, generator=draw).to(meta.dtype)
    else:
        flat = torch.randint(0, 2, (room,), generator=draw).to(meta.dtype)
    return flat.as_strided(size, stride)


def operands(program, draw, known):
    """What the graph's inputs are drawn to be: states that were read are kept, those without values are drawn."""
    states = {}
    nodes = {node.name: node for node in program.graph.nodes if node.op == "placeholder"}
    held = {**program.state_dict, **program.constants}
    inputs = []
    for spec in program.graph_signature.input_specs:
        meta = nodes[spec.arg.name].meta.get("val") if spec.arg.name in nodes else None
        is_user = spec.kind == torch.export.graph_signature.InputKind.USER_INPUT
        if not is_user:
            value = held.get(spec.target)
            if isinstance(value, torch.Tensor) and not value.any():
                value = tensor(value, draw, known)
            states[spec.target] = value
        elif isinstance(meta, torch.Tensor):
            inputs.append(tensor(meta, draw, known))
        elif isinstance(meta, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            inputs.append(number(meta, known))
        else:
            inputs.append(spec.arg.value if hasattr(spec.arg, "value") else meta)
    return states, inputs


def outcome(program, states, inputs):
    """What the graph gives, by what each output is, and the states and inputs that it wrote."""
    torch.manual_seed(0)
    held = {**program.state_dict, **program.constants}
    given, users = [], iter(copy.deepcopy(inputs))
    for spec in program.graph_signature.input_specs:
        if spec.kind == torch.export.graph_signature.InputKind.USER_INPUT:
            given.append(next(users))
        else:
            value = states[spec.target] if spec.target in states else held[spec.target]
            given.append(value.detach().clone() if isinstance(value, torch.Tensor) else value)
    with torch.no_grad():
        results = program.graph_module(*given)
    writes = {spec.target: value for spec, value in zip(program.graph_signature.input_specs, given) if spec.target in states}
    written = dict(enumerate(value for spec, value in zip(program.graph_signature.input_specs, given)
                             if spec.kind == torch.export.graph_signature.InputKind.USER_INPUT))
    order = [node.name for node in program.graph.nodes if node.op == "placeholder"]
    users = [spec.arg.name for spec in program.graph_signature.input_specs if spec.kind.name == "USER_INPUT"]
    outputs = []
    for spec, value in zip(program.graph_signature.output_specs, results):
        if spec.kind.name == "USER_OUTPUT":
            outputs.append(value)
        elif spec.kind.name == "USER_INPUT_MUTATION":
            written[users.index(spec.target)] = value
        else:
            writes[spec.target] = value
    assert len(order) == len(given)
    return pytree.tree_leaves(outputs) + pytree.tree_leaves(written) + [value for _, value in sorted(writes.items())]


def equal(a, b, exact):
    if not isinstance(a, torch.Tensor):
        return a == b or a != a and b != b
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if not exact or a.device.type == "meta":
        return True
    close = {torch.float16: 2e-2, torch.bfloat16: 6e-2, torch.float64: 1e-9}.get(a.dtype, 1e-3)
    if a.dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
        a, b, close = a.float(), b.float(), 0.1
    return torch.allclose(a, b, rtol=close, atol=close / 10, equal_nan=True)


def called(program):
    nodes = [node for module in program.graph_module.modules() if hasattr(module, "graph") for node in module.graph.nodes]
    return [node.target for node in nodes if isinstance(node.target, torch._ops.OpOverload)]


def is_random(program):
    return any(torch.Tag.nondeterministic_seeded in op.tags or "empty" in str(op) for op in called(program))


def programs_with_numbers():
    """Numbers where operators take tensors: several of a node, of several nodes, of mixed kinds, equal and not."""
    x, h, d = torch.tensor([0.5, 1.5, -2.0]), torch.tensor([0.5, 1.5, -2.0]).half(), torch.tensor([0.5, 1.5, -2.0]).double()
    k, big, j = torch.tensor([3, -4, 5]), torch.tensor([2**24 + 1, 2**53 + 1, 7]), torch.tensor([3, -4, 5], dtype=torch.int32)
    zero, flags = torch.tensor(3, dtype=torch.int32), torch.tensor([True, False, True])
    yield "two_numbers", lambda x: x * 3.0 + 7.0, (x,)
    yield "three_numbers", lambda x: ((x - 1.0) / 2.0, 7.0 - x, x / 2), (x,)
    yield "equal_numbers", lambda x: (x * 3.0 + 3.0, x * 3, 3 - x), (x,)
    yield "mixed_kinds", lambda x, k: (15.0 - x, 15 - k, x + True, k * 2.5), (x, k)
    yield "integers_stay", lambda x, k: (15.0 - x, (15 - k) > 3, (15 - k).abs()), (x, big)
    yield "doubles", lambda d: (d * 3.3 + 0.1, d / 7, 1e-9 - d), (d,)
    yield "halves", lambda h: (h * 3.5 + 0.25, 1 - h), (h,)
    yield "small_integers", lambda j: (j * 7 + 2, 5 - j, j / 3), (j,)
    yield "no_dimensions", lambda zero: (zero * 7 + 2, 5 - zero, zero / 3, (zero * 2**30) > 0), (zero,)
    yield "no_dimensions_half", lambda h: (h[0] * 3.5 + 0.25, h.sum() - 1.5), (h,)
    yield "choices", lambda b, x: (torch.where(b, 2.0, 5.0) + x, torch.where(b, x, 7.0), torch.where(b, 1, 4)), (flags, x)
    yield "conditions", lambda b, k: (torch.where(b, k, 2), torch.where(b, 3, k) - 4), (flags, k)
    yield "sizes", lambda x, k: (x * x.shape[0] + 2.0, k - k.shape[0], k * 3 + x.shape[0]), (x, k)
    yield "size_quotients", lambda d: d * (d.shape[0] / 7) + 0.3, (d,)
    yield "unused_numbers", lambda x: ((x * 3.0, x * 5.0)[1], torch.cat([x, (x * 2.0 + 9.0)[:0]]) + 4.0), (x,)
    yield "buffer_of_the_name", Named(), (x,)


class Named(torch.nn.Module):
    """Has a buffer that is called as lifted numbers are."""

    def __init__(self):
        super().__init__()
        self.register_buffer("_lifted_tensor_constant1", torch.tensor([1.0, 2.0, 3.0]))

    def forward(self, x):
        return x * self._lifted_tensor_constant1 * 4.0 + 6.0


def exported(module, args, dynamic, training=True):
    dims = tuple({0: torch.export.Dim.AUTO} if isinstance(x, torch.Tensor) and x.dim() else None for x in args)
    module = module if isinstance(module, torch.nn.Module) else Fn(module)
    shapes = ((dims,) if isinstance(module, Fn) else dims) if dynamic else None
    program = torch.export.export(module, copy.deepcopy(args), dynamic_shapes=shapes)
    return program if training else program.run_decompositions({})


def made_here():
    """Names, functions that export, and arguments."""
    for name, module, args in [*programs_with_numbers(), *functions()]:
        for dynamic in (False, True):
            label = f"{name}{' (dynamic)' if dynamic else ''}"
            yield label, functools.partial(exported, module, args, dynamic), args
    for name, make, args, shapes in CASES:
        yield name, functools.partial(lambda m, a, s: torch.export.export(m(), copy.deepcopy(a), dynamic_shapes=s and {"args": s}), make, args, shapes), args


def archives(paths):
    for path in map(pathlib.Path, paths):
        found = sorted(path.rglob("*.pt2")) if path.is_dir() else [path]
        for file in found:
            yield f"{file.parent.name}/{file.name}", file


def selected(programs, given):
    return [program for program in programs if program[0].startswith(given.only)][:: given.every]


class Check:
    def __init__(self, sizewise, passes):
        self.sizewise, self.passes = sizewise, passes
        self.counts = collections.Counter()
        self.wrong = 0

    def program(self, name, source, program, states, inputs):
        """Compares what every command writes of an archive with the program that it has."""
        try:
            expected = outcome(program, states, inputs)
        except Exception as error:
            self.counts[f"not run by torch ({type(error).__name__})"] += 1
            return
        exact = not is_random(program)
        commands = {"lower": ["lower", source, "--to", "edge"]}
        commands |= {passes: ["pass", source, "--run", passes] for passes in self.passes or []}
        self.counts["programs"] += 1
        for label, command in commands.items():
            made = source.parent / "made.pt2"
            done = subprocess.run([self.sizewise, *command, "--output", made], capture_output=True, text=True)
            if done.returncode:
                # 1 is what a pass cannot do, 3 what is not supported.
                refused = done.returncode in (1, 3)
                self.counts[f"{label}: {'refused' if refused else f'status {done.returncode}'}"] += 1
                if not refused:
                    self.say(name, label, done.stderr)
                continue
            try:
                got = torch.export.load(aten(made))
                own = outcome(got, states, inputs)
            except Exception as error:
                self.say(name, label, f"{type(error).__name__}: {error}")
                continue
            if len(own) != len(expected):
                self.say(name, label, f"{len(own)} values for {len(expected)}")
            elif not all(equal(a, b, exact) for a, b in zip(own, expected)):
                self.say(name, label, f"differs: {[(i, a, b) for i, (a, b) in enumerate(zip(own, expected)) if not equal(a, b, exact)][:1]}")
            else:
                self.counts[f"{label}: {'equal' if exact else 'equal shapes, as numbers are drawn'}"] += 1

    def say(self, name, label, text):
        self.wrong += 1
        self.counts[f"{label}: wrong"] += 1
        print(f"{name}: {label}: {' '.join(text.split())[:500]}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sizewise")
    parser.add_argument("--passes", action="store_true")
    parser.add_argument("--every", type=int, default=1, help="run one of so many")
    parser.add_argument("--only", default="", help="run those whose name begins so")
    parser.add_argument("archives", nargs="*")
    given = parser.parse_intermixed_args()
    check = Check(given.sizewise, PASSES if given.passes else [])
    with tempfile.TemporaryDirectory() as work:
        source = pathlib.Path(work, "program.pt2")
        for name, make, args in [] if given.archives else selected(made_here(), given):
            try:
                program = make()
            except Exception:
                check.counts["not exported by torch"] += 1
                continue
            torch.export.save(program, source)
            program = torch.export.load(source)
            states = {spec.target: {**program.state_dict, **program.constants}[spec.target]
                      for spec in program.graph_signature.input_specs if spec.kind.name not in ("USER_INPUT", "TOKEN")}
            check.program(name, source, program, states, pytree.tree_leaves(args))
        for name, file in selected(archives(given.archives), given):
            # An archive without weights gets entries for them, which torch reads as zeros.
            subprocess.run([given.sizewise, "show", file, "--as", "pt2", "--output", source], capture_output=True, check=False)
            try:
                program = torch.export.load(source)
                states, inputs = operands(program, torch.Generator().manual_seed(0), example(file))
            except Exception as error:
                check.counts[f"not loaded by torch ({type(error).__name__})"] += 1
                continue
            check.program(name, source, program, states, inputs)
    for what, count in sorted(check.counts.items()):
        print(f"{what}: {count}")
    return 1 if check.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
