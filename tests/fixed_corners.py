#!/usr/bin/env python3
"""Calls stored programs at the corners of the first fix that sizewise proposes for their wrong spec.

    python tests/fixed_corners.py --bin target/release/sizewise FOLDER...

needs torch. Every folder below a FOLDER that holds `program.pt2` and `truth.json` (with the fields `inputs` and `dynamic_shapes`) is a
program. Archives without weights get weights of zeros. The exported module checks its guards and ranges when it is called, so a corner
that runs is one that the program really takes; a call with the sizes of the example comes first, and programs that refuse that, because
of the data, are left out. Figures: crates/check/MEASURED.md.
"""
import argparse
import io
import itertools
import json
import math
import pathlib
import warnings
import zipfile

import torch
import torch.utils._pytree as pytree
from torch._export.serde.serialize import _SERIALIZE_TO_TORCH_DTYPE

import widen

MOST_ELEMENTS = 1 << 20
MOST_CORNERS = 32


def with_weights(path):
    """The archive with a file of zeros for each weight and constant, and without sample inputs."""
    old, filled = zipfile.ZipFile(path), io.BytesIO()
    names = set(old.namelist())
    with zipfile.ZipFile(filled, "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
            if not name.endswith("_config.json"):
                continue
            for entry in json.loads(old.read(name))["config"].values():
                file = f"{name.rsplit('/', 1)[0]}/{entry['path_name']}"
                if file not in names and entry.get("tensor_meta"):
                    new.writestr(file, bytes(storage(entry["tensor_meta"])))
        samples = f"{old.namelist()[0].split('/')[0]}/data/sample_inputs/model.pt"
        if samples not in names:
            nothing = io.BytesIO()
            torch.save(((), {}), nothing)
            new.writestr(samples, nothing.getvalue())
    filled.seek(0)
    return filled


def storage(meta):
    """How many bytes a tensor takes."""
    sizes, strides = ([size["as_int"] for size in meta[key]] for key in ("sizes", "strides"))
    elements = meta["storage_offset"]["as_int"] + 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides))
    return 0 if 0 in sizes else elements * torch.empty(0, dtype=_SERIALIZE_TO_TORCH_DTYPE[meta["dtype"]]).element_size()


def tensor(shape, dtype):
    dtype = getattr(torch, dtype)
    return torch.randn(tuple(shape)).to(dtype) if dtype.is_floating_point or dtype.is_complex else torch.zeros(tuple(shape), dtype=dtype)


def arguments(program, inputs, shapes):
    """The arguments of a call: inputs of these shapes, the others as in the example."""
    flat = [
        entry.get("value") if entry.get("shape") is None else tensor(shapes.get(entry["name"], entry["shape"]), entry["dtype"])
        for entry in inputs
    ]
    return pytree.tree_unflatten(flat, program.call_spec.in_spec)


def corners(report, traced):
    """The shapes of the inputs at the corners of a spec; sizes that the spec leaves to the program are as `traced`."""
    for corner in itertools.islice(widen.corners(widen.dims(report)), MOST_CORNERS):
        shapes = {}
        for entry in report["inputs"]:
            sizes = [size if isinstance(size, int) else named(size, corner) for size in entry["shape"] or []]
            if entry["shape"] is not None and any(size is not None for size in sizes):
                known = traced[entry["name"]]
                shapes[entry["name"]] = [known[i] if size is None else size for i, size in enumerate(sizes)]
        if all(math.prod(sizes) <= MOST_ELEMENTS for sizes in shapes.values()):
            yield corner, shapes


def named(size, corner):
    names = compile(size, "size", "eval").co_names
    return widen.value(size, corner) if all(name in corner or name in widen.OPERATORS for name in names) else None


def one(binary, folder):
    """What comes of a program: `runs`, `refused` with the corner, or why it is left out."""
    truth = json.loads((folder / "truth.json").read_text())
    program = str(folder / "program.pt2")
    report = widen.check(binary, program, truth["dynamic_shapes"]) if truth.get("dynamic_shapes") else {"verdict": "ok"}
    if report["verdict"] != "violated" or not report["fixes"]:
        return None
    fixed = widen.check(binary, program, report["fixes"][0]["spec"])
    try:
        loaded = torch.export.load(with_weights(program))
        loaded._example_inputs = arguments(loaded, truth["inputs"], {})
        module = loaded.module()
        args, kwargs = loaded._example_inputs
        module(*args, **kwargs)
    except Exception as error:
        return "left out", f"{type(error).__name__}: {str(error).strip().splitlines()[0][:120]}"
    traced = {entry["name"]: entry.get("shape") for entry in truth["inputs"]}
    for corner, shapes in corners(fixed, traced):
        args, kwargs = arguments(loaded, truth["inputs"], shapes)
        try:
            module(*args, **kwargs)
        except Exception as error:
            return "refused", f"at {corner}: {str(error).strip().splitlines()[0][:160]}"
    return "runs", ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default="target/release/sizewise")
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    count = {"runs": 0, "refused": 0, "left out": 0}
    for path in sorted(path for folder in options.folders for path in folder.rglob("program.pt2")):
        result = one(options.bin, path.parent)
        if result:
            count[result[0]] += 1
            if result[0] != "runs":
                print(f"{path.parent.name}: {result[0]}: {result[1]}", flush=True)
    tried = count["runs"] + count["refused"]
    print(f"{tried} programs: all corners of the first fix run in {count['runs']} (torch {torch.__version__}); {count['left out']} left out")


if __name__ == "__main__":
    main()
