"""Compares what `sizewise pass --run functionalize` makes with torch's `run_decompositions({})`; needs torch 2.15.

    python scripts/check_functionalized.py SIZEWISE [NAME]

Every program of `mutating_programs.py` is exported as training IR. Both results have to have the same signature, and to give the same
outputs, inputs and states when they run twice; so has the training program itself.
"""

import copy
import pathlib
import subprocess
import sys
import tempfile

import torch
import torch.utils._pytree as pytree
from mutating_programs import CASES


def outcome(program, args):
    """Outputs, inputs and states of two runs."""
    module = program.module().requires_grad_(False)
    args = copy.deepcopy(args)
    results = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        results += pytree.tree_leaves(copy.deepcopy(module(*args)))
        results += pytree.tree_leaves(copy.deepcopy(args))
        results += [value.detach().clone() for _, value in sorted([*module.named_buffers(), *module.named_parameters()])]
    return results


def equal(a, b):
    if not isinstance(a, torch.Tensor):
        return a == b
    return a.dtype == b.dtype and a.shape == b.shape and torch.allclose(a, b, rtol=1e-5, atol=1e-6, equal_nan=True)


def signature(program):
    """Kinds and targets; what results are called is nobody's concern."""
    inputs = [(spec.kind.name, spec.arg.name, spec.target, spec.persistent) for spec in program.graph_signature.input_specs]
    return inputs, [(spec.kind.name, spec.target) for spec in program.graph_signature.output_specs]


def writes(program):
    """The operators that still write."""
    nodes = [node for module in program.graph_module.modules() if hasattr(module, "graph") for node in module.graph.nodes]
    ops = [node.target for node in nodes if isinstance(node.target, torch._ops.OpOverload)]
    return sorted({str(op) for op in ops if op._schema.is_mutable})


def check(sizewise, work, make, args, shapes):
    source, made = pathlib.Path(work, "program.pt2"), pathlib.Path(work, "made.pt2")
    program = torch.export.export(make(), copy.deepcopy(args), dynamic_shapes=shapes and {"args": shapes})
    torch.export.save(program, source)
    expected = torch.export.load(source).run_decompositions({})
    command = [sizewise, "pass", source, "--run", "functionalize", "--output", made]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        return [f"status {result.returncode}: {result.stderr.strip()[:300]}"]
    found = []
    got = torch.export.load(made)
    if signature(got) != signature(expected):
        found.append(f"signature {signature(got)} for {signature(expected)}")
    if writes(got):
        found.append(f"writes {writes(got)}")
    results = {"torch": outcome(expected, args), "eager": outcome(torch.export.load(source), args)}
    own = outcome(got, args)
    for name, other in results.items():
        if len(own) != len(other) or not all(map(equal, own, other)):
            found.append(f"outputs differ from {name}")
    return found


def main(sizewise, only=None):
    wrong = count = 0
    for name, make, args, shapes in CASES:
        if only and name != only:
            continue
        count += 1
        with tempfile.TemporaryDirectory() as work:
            try:
                found = check(sizewise, work, make, args, shapes)
            except Exception as error:
                found = [f"{type(error).__name__}: {str(error)[:400]}"]
        if found:
            wrong += 1
            print(f"{name}: {'; '.join(found)}")
    print(f"{count} programs, {wrong} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
