"""Compares what `sizewise pass --run functionalize,decompose` makes with torch; needs torch 2.15.

    python scripts/check_decomposed.py SIZEWISE [FROM [TO]]

FROM and TO are numbers of functions. Every function of `decomposable_programs.py` is exported as training IR, once with the sizes of its arguments and once with dynamic ones
(`Dim.AUTO`). What is made has to be of core operators, to be loaded by torch, and to give what the exported program gives, at other sizes
too. Said at the end: how many were decomposed, which were refused, and where torch's `run_decompositions()` leaves other operators.
"""

import copy
import pathlib
import subprocess
import sys
import tempfile
import warnings

import torch
import torch.utils._pytree as pytree
from decomposable_programs import Fn, functions

warnings.filterwarnings("ignore")
# Made once: it holds every operator that is made of others.
TABLE = torch.export.default_decompositions()
# Not of the core set; torch leaves them too, and ExecuTorch allows them.
ADMITTED = {"aten.full_like.default", "aten.scalar_tensor.default", "aten.sym_size.int", "aten._assert_scalar.default",
            "aten._assert_tensor_metadata.default", "aten.max.default", "aten.min.default", "aten._assert_async.msg"}


def operators(program):
    nodes = [node for module in program.graph_module.modules() if hasattr(module, "graph") for node in module.graph.nodes]
    return {node.target for node in nodes if isinstance(node.target, torch._ops.OpOverload)}


def not_core(program):
    found = [op for op in operators(program) if torch.Tag.core not in op.tags and str(op) not in ADMITTED]
    return sorted(map(str, found))


def equal(a, b):
    if not isinstance(a, torch.Tensor):
        return a == b
    close = {torch.float16: 1e-2, torch.bfloat16: 4e-2}.get(a.dtype, 1e-4)
    return a.dtype == b.dtype and a.shape == b.shape and torch.allclose(a, b, rtol=close, atol=close / 10, equal_nan=True)


def outputs(program, args):
    torch.manual_seed(0)
    return pytree.tree_leaves(program.module()(*copy.deepcopy(args)))


def larger(args, dynamic):
    """Arguments with one more row wherever the export left the first dimension open."""
    def more(x):
        return torch.cat([x, x[:1]]) if isinstance(x, torch.Tensor) and x.dim() else x
    return tuple(map(more, args)) if dynamic else args


def recorded(program):
    return [tuple(map(str, node.meta["val"].shape)) for node in program.graph.nodes
            if node.op == "call_function" and isinstance(node.meta.get("val"), torch.Tensor)]


def check(sizewise, work, module, args, dynamic):
    """What is wrong (a list), or why the program is refused (text), and operators of torch that are not ours, and ours."""
    source, made = pathlib.Path(work, "program.pt2"), pathlib.Path(work, "made.pt2")
    dims = tuple({0: torch.export.Dim.AUTO} if x.dim() else None for x in args)
    program = torch.export.export(module, copy.deepcopy(args), dynamic_shapes=(dims,) if dynamic and isinstance(module, Fn) else (dims if dynamic else None))
    torch.export.save(program, source)
    command = [sizewise, "pass", source, "--run", "functionalize,decompose", "--output", made]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        why = " ".join(result.stderr.split())[:300]
        return why if result.returncode == 1 and "decompose" in why else [f"status {result.returncode}: {why}"], None
    found = []
    got = torch.export.load(made)
    if not_core(got):
        found.append(f"not core: {not_core(got)}")
    for given in (args, larger(args, dynamic)):
        try:
            expected = outputs(program, given)
        except Exception:
            continue
        own = outputs(got, given)
        if len(own) != len(expected) or not all(map(equal, own, expected)):
            found.append(f"outputs differ at {[tuple(x.shape) for x in given]}")
    theirs, ours = ({str(op) for op in operators(p)} for p in (torch.export.load(source).run_decompositions(TABLE.copy()), got))
    return found, (sorted(theirs - ours), sorted(ours - theirs))


def main(sizewise, first=0, last=None):
    wrong = count = same = 0
    refused = []
    for name, fn, args in list(functions())[int(first) : last and int(last)]:
        for dynamic in (False, True):
            label = f"{name}{' (dynamic)' if dynamic else ''}"
            module = fn if isinstance(fn, torch.nn.Module) else Fn(fn)
            with tempfile.TemporaryDirectory() as work:
                try:
                    found, others = check(sizewise, work, module, args, dynamic)
                except torch._dynamo.exc.UserError:
                    continue
                except Exception as error:
                    found, others = [f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"], None
            count += 1
            if isinstance(found, str):
                refused.append(label)
                print(f"{label}: refused: {found}", flush=True)
            elif found:
                wrong += 1
                print(f"{label}: {'; '.join(found)}", flush=True)
            elif others == ([], []):
                same += 1
            else:
                print(f"{label}: torch also has {others[0]}, here {others[1]}")
    print(f"{count} programs, {wrong} wrong, {len(refused)} refused, {same} of the others with the operators of torch")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))
