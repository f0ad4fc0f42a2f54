"""Runs the Python that `sizewise show --as python` writes; needs torch 2.15.

    python scripts/check_python_runs.py SIZEWISE

Each module of `stateful_modules.py` and each program of `mutating_programs.py` is exported; the class `GraphModule` of the text, called with
states and inputs in the order of the signature, has to give what the exported program's graph gives.
"""

import copy
import pathlib
import subprocess
import sys
import tempfile

import torch
import torch.utils._pytree as pytree
from mutating_programs import CASES
from stateful_modules import modules


def programs():
    for name, module, args, kwargs, shapes in modules():
        yield name, module, args, kwargs, shapes and tuple(shapes.values())
    for name, make, args, shapes in CASES:
        yield name, make(), args, {}, shapes and {"args": shapes}


def operands(program, args, kwargs):
    """What the graph's inputs are, in order."""
    states = {**program.state_dict, **program.constants}
    given = iter(pytree.tree_leaves((args, kwargs)))
    order = program.graph_signature.input_specs
    return [states[spec.target].detach().clone() if spec.target in states else copy.deepcopy(next(given)) for spec in order]


def same(a, b):
    if not isinstance(a, torch.Tensor):
        return a == b
    return a.shape == b.shape and a.dtype == b.dtype and torch.allclose(a, b, equal_nan=True)


def main(sizewise):
    count = wrong = 0
    with tempfile.TemporaryDirectory() as work:
        source = pathlib.Path(work, "program.pt2")
        for name, module, args, kwargs, shapes in programs():
            program = torch.export.export(module, copy.deepcopy(args), copy.deepcopy(kwargs), dynamic_shapes=shapes)
            count += 1
            torch.export.save(program, source)
            command = [sizewise, "show", source, "--as", "python"]
            text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            try:
                scope = {}
                exec(compile(text, name, "exec"), scope)
                torch.manual_seed(0)
                got = scope["GraphModule"]()(*operands(program, args, kwargs))
                torch.manual_seed(0)
                expected = program.graph_module(*operands(program, args, kwargs))
                got, expected = pytree.tree_leaves(got), pytree.tree_leaves(expected)
                found = "" if len(got) == len(expected) and all(map(same, got, expected)) else "differs"
            except Exception as error:
                found = f"{type(error).__name__}: {str(error)[:300]}"
            if found:
                wrong += 1
                print(f"{name}: {found}")
    print(f"{count} programs, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
