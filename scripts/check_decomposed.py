"""Compares what `sizewise pass --run functionalize,decompose` makes with torch; needs torch 2.15.

    python scripts/check_decomposed.py SIZEWISE [--only NAME] [--every N] [--edge]

Every function of `decomposable_programs.py` and every module of `decomposable_modules.py` is exported as training IR, once with the
sizes of its arguments and once with all of them dynamic (`Dim.AUTO`). What is made has to be of core operators, to be loaded by torch,
and to give what the exported program gives, in dtypes and strides too, at three sizes. With `--edge`, `sizewise lower --to edge` is asked
as well, and may refuse only what it says it cannot (`check_lowered.py` compares its values). Said at the end: how many were decomposed, how
many of those that torch's `run_decompositions()` decomposes were refused, and where it leaves other operators.
"""

import argparse
import collections
import copy
import pathlib
import subprocess
import sys
import tempfile
import warnings

import torch
import torch.utils._pytree as pytree
from decomposable_modules import modules
from decomposable_programs import Fn, functions

warnings.filterwarnings("ignore")
# Made once: it holds every operator that is made of others.
TABLE = torch.export.default_decompositions()
# Not of the core set; torch leaves them too, and ExecuTorch allows them.
ADMITTED = {"aten.full_like.default", "aten.scalar_tensor.default", "aten.sym_size.int", "aten._assert_scalar.default",
            "aten._assert_tensor_metadata.default", "aten.max.default", "aten.min.default", "aten._assert_async.msg",
            "aten.sym_constrain_range_for_size.default", "aten.sym_constrain_range.default"}


def operators(program):
    nodes = [node for module in program.graph_module.modules() if hasattr(module, "graph") for node in module.graph.nodes]
    return {node.target for node in nodes if isinstance(node.target, torch._ops.OpOverload)}


def not_core(program):
    found = [op for op in operators(program) if torch.Tag.core not in op.tags and str(op) not in ADMITTED]
    return sorted(map(str, found))


PRECISIONS = {torch.bfloat16: 4e-2, torch.float16: 1e-2}


def precision(program):
    """How close results have to be: halves are rounded otherwise where they are computed otherwise."""
    nodes = [node for module in program.graph_module.modules() if hasattr(module, "graph") for node in module.graph.nodes]
    dtypes = {node.meta["val"].dtype for node in nodes if isinstance(node.meta.get("val"), torch.Tensor)}
    return max([1e-4] + [PRECISIONS.get(dtype, 0) for dtype in dtypes])


def as_recorded(program, values):
    """What the module gave, in the dtypes that are recorded: in autocast regions torch records others of recurrent layers than it gives."""
    recorded = [spec.arg.name for spec in program.graph_signature.output_specs if spec.kind.name == "USER_OUTPUT"]
    nodes = {node.name: node.meta.get("val") for node in program.graph.nodes}
    known = [nodes.get(name) for name in recorded]
    return [x.to(meta.dtype) if isinstance(x, torch.Tensor) and isinstance(meta, torch.Tensor) else x for x, meta in zip(values, known)]


def equal(a, b, close):
    if not isinstance(a, torch.Tensor):
        return a == b or isinstance(a, float) and abs(a - b) <= 1e-4 * abs(b) + 1e-5
    return a.dtype == b.dtype and a.shape == b.shape and torch.allclose(a, b, rtol=close, atol=close / 4, equal_nan=True)


def outputs(program, args):
    torch.manual_seed(0)
    return pytree.tree_leaves(program.module()(*copy.deepcopy(args)))


def grown(program, args, more):
    """Arguments whose sizes are larger wherever the export left them open: elements are repeated, so that indices stay in bounds."""
    nodes = {node.name: node.meta.get("val") for node in program.graph.nodes if node.op == "placeholder"}
    recorded = [nodes.get(spec.arg.name) for spec in program.graph_signature.input_specs if spec.kind.name == "USER_INPUT"]
    flat, spec = pytree.tree_flatten(args)
    sizes = [(size.node.expr, n) for meta, x in zip(recorded, flat) if isinstance(meta, torch.Tensor)
             for size, n in zip(meta.shape, x.shape) if isinstance(size, torch.SymInt)]
    known = {expr: n + more for expr, n in sizes if expr.is_Symbol}
    for at, (meta, x) in enumerate(zip(recorded, flat)):
        for dim, size in enumerate(meta.shape if isinstance(meta, torch.Tensor) else ()):
            if isinstance(size, torch.SymInt):
                n = int(size.node.expr.subs(known))
                x = x.index_select(dim, torch.arange(n) % max(1, x.shape[dim]))
        flat[at] = x
    return pytree.tree_unflatten(flat, spec)


def exported(module, args, dynamic):
    def open_sizes(x):
        return {dim: torch.export.Dim.AUTO for dim in range(x.dim())} if isinstance(x, torch.Tensor) else None
    dims = pytree.tree_map(open_sizes, args) if dynamic else None
    varargs = dynamic and any(type(module).__name__ == name for name in ("Fn", "Call", "Autocast"))
    return torch.export.export(module, copy.deepcopy(args), dynamic_shapes=(dims,) if varargs else dims)


def written(sizewise, command, source, made):
    """Why nothing was written (a text that names it), or nothing. Other failures are raised."""
    done = subprocess.run([sizewise, command[0], source, *command[1:], "--output", made], capture_output=True, text=True)
    why = " ".join(done.stderr.split())[:400]
    if done.returncode not in (0, 1, 3) or done.returncode and not why:
        raise ValueError(f"status {done.returncode}: {why}")
    return why if done.returncode else None


class Check:
    def __init__(self, sizewise, edge):
        self.sizewise, self.edge = sizewise, edge
        self.counts = collections.Counter()
        self.wrong = 0

    def program(self, label, work, program, args):
        source, made = pathlib.Path(work, "program.pt2"), pathlib.Path(work, "made.pt2")
        torch.export.save(program, source)
        theirs = self.theirs(label, source)
        whole = theirs is not None and not not_core(theirs)
        self.counts["decomposed by torch"] += whole
        if self.edge and not (why := written(self.sizewise, ["lower", "--to", "edge"], source, made)):
            self.counts["lowered to edge"] += 1
        elif self.edge and whole:
            print(f"{label}: not lowered: {why}", flush=True)
        why = written(self.sizewise, ["pass", "--run", "functionalize,decompose"], source, made)
        if why:
            self.counts["refused, torch decomposes it" if whole else "refused, torch leaves operators too"] += 1
            print(f"{label}: {'MISSING' if whole else 'refused'}: {why}"
                  + (f" [torch leaves {not_core(theirs)}]" if theirs is not None and not whole else ""), flush=True)
            return
        self.counts["decomposed"] += 1
        got = torch.export.load(made)
        if not_core(got):
            self.say(label, f"not core: {not_core(got)}")
        ran = sum(self.compared(label, program, got, grown(program, args, more)) for more in (0, 1, 3))
        self.counts[f"run at {ran} sizes"] += 1
        ours, known = (set(map(str, operators(p))) if p is not None else set() for p in (got, theirs))
        if ours == known:
            self.counts["with the operators of torch"] += 1
        elif whole:
            print(f"{label}: torch also has {sorted(known - ours)}, here {sorted(ours - known)}")

    def theirs(self, label, source):
        try:
            return torch.export.load(source).run_decompositions(TABLE.copy())
        except Exception as error:
            self.counts["torch fails to decompose"] += 1
            print(f"{label}: torch: {type(error).__name__}: {' '.join(str(error).split())[:160]}", flush=True)
            return None

    def compared(self, label, program, got, given):
        try:
            given_back = outputs(program, given)
        except Exception:
            return 0
        expected, own = as_recorded(program, given_back), outputs(got, given)
        close = max([precision(program)] + [PRECISIONS.get(x.dtype, 0) for x in given_back if isinstance(x, torch.Tensor)])
        if len(own) != len(expected) or not all(equal(a, c, close) for a, c in zip(own, expected)):
            self.say(label, f"outputs differ at {[tuple(x.shape) for x in pytree.tree_leaves(given)]}")
        for a, c in zip(own, expected):
            if isinstance(a, torch.Tensor) and a.numel() > 1 and a.stride() != c.stride():
                self.counts["strides that differ"] += 1
                print(f"{label}: strides {a.stride()}, torch {c.stride()} of {tuple(c.shape)}")
        return 1

    def say(self, label, text):
        self.wrong += 1
        print(f"{label}: WRONG: {text}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sizewise")
    parser.add_argument("--only", default="", help="names that begin so")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--new", action="store_true", help="the modules only")
    parser.add_argument("--edge", action="store_true")
    given = parser.parse_args()
    check = Check(given.sizewise, given.edge)
    programs = [*modules(), *([] if given.new else functions())]
    for name, function, args in [program for program in programs if program[0].startswith(given.only)][:: given.every]:
        module = function if isinstance(function, torch.nn.Module) else Fn(function)
        for dynamic in (False, True):
            label = f"{name}{' (dynamic)' if dynamic else ''}"
            try:
                program = exported(module, args, dynamic)
            except Exception as error:
                check.counts["not exported by torch"] += 1
                print(f"{label}: not exported: {' '.join(str(error).split())[:100]}", flush=True)
                continue
            check.counts["programs"] += 1
            with tempfile.TemporaryDirectory() as work:
                try:
                    check.program(label, work, program, args)
                except Exception as error:
                    check.say(label, f"{type(error).__name__}: {' '.join(str(error).split())[:300]}")
    for what, count in sorted(check.counts.items()):
        print(f"{what}: {count}")
    return 1 if check.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
