"""Archives without weights, as tests/data has them, as live programs: each weight is zeros."""
import io
import json
import math
import zipfile

import torch
from torch._export.serde.serialize import _SERIALIZE_TO_TORCH_DTYPE


def loaded(path):
    """The `ExportedProgram` of an archive."""
    program = torch.export.load(io.BytesIO(filled(path)))
    # The arguments of the example are not recorded.
    program._example_inputs = None
    return program


def filled(path):
    """The archive with the weights and constants that its configurations name."""
    out = io.BytesIO()
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(out, "w") as target:
        names = set(source.namelist())
        for name in names:
            target.writestr(name, source.read(name))
            if name.endswith("_config.json"):
                folder = name.rpartition("/")[0]
                for entry in json.loads(source.read(name))["config"].values():
                    own = f"{folder}/{entry['path_name']}"
                    if own not in names and entry.get("tensor_meta"):
                        names = names | {own}
                        target.writestr(own, zeros(entry))
        if not any("/data/sample_inputs/" in name for name in names):
            example = io.BytesIO()
            torch.save(((), {}), example)
            target.writestr(f"{next(iter(names)).partition('/')[0]}/data/sample_inputs/model.pt", example.getvalue())
    return out.getvalue()


def zeros(entry):
    """The bytes of a tensor as an archive has them."""
    meta = entry["tensor_meta"]
    dtype = _SERIALIZE_TO_TORCH_DTYPE[meta["dtype"]]
    sizes, strides = ([size["as_int"] for size in meta[key]] for key in ("sizes", "strides"))
    elements = 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides)) if math.prod(sizes) else 0
    elements += meta["storage_offset"]["as_int"]
    if entry.get("use_pickle"):
        file = io.BytesIO()
        torch.save(torch.zeros(sizes, dtype=dtype), file)
        return file.getvalue()
    return bytes(elements * dtype.itemsize)
