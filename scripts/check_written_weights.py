"""Has torch load and run the archives that sizewise writes of archives with weights; needs torch 2.15.

    python scripts/check_written_weights.py SIZEWISE

Each module of `stateful_modules.py` is exported and saved; `show --as pt2` and `pass --run dce,cse,fold,derive` write it again. Outputs,
states, signature, samples of inputs and which states share memory have to be those of the original.
"""

import subprocess
import sys
import tempfile
import pathlib
import copy

import torch
import torch.utils._pytree as pytree
from stateful_modules import modules


def same(a, b):
    if not isinstance(a, torch.Tensor):
        return a == b
    return a.dtype == b.dtype and a.shape == b.shape and a.stride() == b.stride() and bytes_of(a) == bytes_of(b)


def bytes_of(tensor):
    return tensor.detach().contiguous().flatten().view(torch.uint8).numpy().tobytes()


def run(program, args, kwargs):
    torch.manual_seed(0)
    module = program.module()
    outputs = [module(*copy.deepcopy(args), **copy.deepcopy(kwargs)) for _ in range(2)]
    return pytree.tree_leaves(outputs) + [value for _, value in sorted(module.named_buffers())]


def sharing(program):
    groups = {}
    for name, value in program.state_dict.items():
        groups.setdefault(value.untyped_storage()._cdata, []).append(name)
    return sorted(sorted(group) for group in groups.values() if len(group) > 1)


def differences(before, after, args, kwargs):
    for a, b, what in (
        (before.state_dict, after.state_dict, "state"),
        (before.constants, after.constants, "constants"),
    ):
        if list(a) != list(b) or not all(same(a[name], b[name]) and type(a[name]) is type(b[name]) for name in a):
            yield what
    if str(before.graph_signature) != str(after.graph_signature):
        yield "signature"
    if sharing(before) != sharing(after):
        yield f"sharing {sharing(before)} {sharing(after)}"
    samples = pytree.tree_leaves(before.example_inputs), pytree.tree_leaves(after.example_inputs)
    if len(samples[0]) != len(samples[1]) or not all(map(same, *samples)):
        yield "sample inputs"
    outputs = run(before, args, kwargs), run(after, args, kwargs)
    if len(outputs[0]) != len(outputs[1]) or not all(map(same, *outputs)):
        yield "outputs"


def main(sizewise):
    count, wrong, own = 0, 0, 0
    with tempfile.TemporaryDirectory() as work:
        for name, module, args, kwargs, shapes in modules():
            source, written = pathlib.Path(work, "program.pt2"), pathlib.Path(work, "written.pt2")
            try:
                program = torch.export.export(module, args, kwargs, dynamic_shapes=shapes and tuple(shapes.values()))
                torch.export.save(program, source)
                run(torch.export.load(source), args, kwargs)
            except Exception as error:
                print(f"{name}: torch itself: {type(error).__name__}: {str(error)[:150]}")
                own += 1
                continue
            for command in (["show", "--as", "pt2"], ["pass", "--run", "dce,cse,fold,derive"]):
                count += 1
                result = subprocess.run([sizewise, command[0], source, *command[1:], "--output", written], capture_output=True, text=True)
                try:
                    assert result.returncode == 0, result.stderr
                    # Both are loaded anew: running a module changes its states.
                    found = list(differences(torch.export.load(source), torch.export.load(written), args, kwargs))
                except Exception as error:
                    found = [f"{type(error).__name__}: {str(error)[:300]}"]
                if found:
                    wrong += 1
                    print(f"{name} by {command[0]}: {'; '.join(found)}")
    print(f"{count} archives written, {wrong} differ; {own} modules that torch itself does not save and load")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
