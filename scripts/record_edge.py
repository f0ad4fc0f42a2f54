#!/usr/bin/env python3
"""Records programs of ExecuTorch's dialects for tests/data/edge.

    python3 scripts/record_edge.py [FOLDER]

Needs torch and executorch (EXECUTORCH_VERSION). Each program below is exported, decomposed with the table of `to_edge`, taken through
`to_edge` and, where it says so, `to_backend` with the demo partitioner. Written, one JSON object a line:

    programs.jsonl.gz  {"name", "core", "edge", "delegated"?}: documents of programs as torch and ExecuTorch serialize them
    broken.jsonl.gz    {"name", "edge", "says"}: programs broken on purpose that ExecuTorch's verifier refuses, and what it says

What torch notes of a node's history (`from_node`) is left out. ExecuTorch's documents keep their schema version.
"""

import copy
import gzip
import io
import json
import logging
import pathlib
import re
import sys
import unittest.mock
import warnings
import zipfile

import torch
from torch.export import Dim

EXECUTORCH_VERSION = "1.5.1"
ROOT = pathlib.Path(__file__).resolve().parent.parent
warnings.filterwarnings("ignore")
logging.disable(logging.ERROR)


class Fn(torch.nn.Module):
    """A function as a module, with parameters and buffers."""

    def __init__(self, fn, **state):
        super().__init__()
        self.fn = fn
        for name, value in state.items():
            if isinstance(value, torch.nn.Module):
                setattr(self, name, value)
            elif value.is_floating_point() and not name.startswith("b_"):
                setattr(self, name, torch.nn.Parameter(value))
            else:
                self.register_buffer(name, value)

    def forward(self, *xs):
        return self.fn(self, *xs)


def f(*shape):
    return torch.ones(shape)


def i(*shape):
    return torch.ones(shape, dtype=torch.int64)


nn, F = torch.nn, torch.nn.functional
B = Dim("b", min=2, max=64)
B2 = Dim("b2", min=2, max=64)


def mutate_buffer(m, x):
    m.b_k.add_(x.sum())
    return x * m.b_k


def programs():
    """Name, module, arguments, dynamic shapes, whether it is delegated too."""
    seq = nn.Sequential
    yield "mixed_int_scalar", Fn(lambda m, x, n: x + n * 2), (f(3, 4), i(4)), None, False
    yield "add_int_scalar", Fn(lambda m, x: x + 1), (f(3, 4),), None, False
    yield "mul_float_scalar", Fn(lambda m, x: x * 2.5), (f(3, 4),), None, False
    yield "int_times_float", Fn(lambda m, n: n * 2.5), (i(3, 4),), None, False
    yield "bool_scalar", Fn(lambda m, x: x + True), (f(3),), None, False
    yield "sub_alpha", Fn(lambda m, x, y: torch.sub(x, y, alpha=2)), (f(3), f(3)), None, False
    yield "sub_mixed", Fn(lambda m, x, y: x - y), (f(3), i(3)), None, False
    yield "div_ints", Fn(lambda m, x, y: x / y), (i(3), i(3)), None, False
    yield "div_int_scalar", Fn(lambda m, x: x / 2), (i(3),), None, False
    yield "div_mode", Fn(lambda m, x, y: torch.div(x, y, rounding_mode="floor")), (f(3), i(3)), None, False
    yield "minimum_mixed", Fn(lambda m, x, y: torch.minimum(x, y)), (f(3), i(3)), None, False
    yield "maximum_mixed", Fn(lambda m, x, y: torch.maximum(x, y)), (f(3), i(3)), None, False
    yield "half_plus_float", Fn(lambda m, x, y: x + y), (f(3).half(), f(3)), None, False
    yield "zero_dim_float", Fn(lambda m, x, y: x + y), (f(3).half(), torch.tensor(2.0)), None, False
    yield "compare_mixed", Fn(lambda m, x, y: x > y), (f(3), i(3)), None, False
    yield "compare_scalar", Fn(lambda m, x: x >= 0.5), (f(3),), None, False
    yield "where_scalar", Fn(lambda m, x: torch.where(x > 0, x, 0.0)), (f(3),), None, False
    yield "pow_scalar", Fn(lambda m, x: x**2 + 2.0**x), (f(3),), None, False
    yield "clamp", Fn(lambda m, x: x.clamp(0, 6)), (f(3),), None, False
    yield "linear", nn.Linear(4, 3), (f(2, 4),), {"input": {0: B}}, True
    yield "mlp", seq(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)), (f(2, 4),), None, True
    yield "conv", seq(nn.Conv2d(3, 4, 3), nn.ReLU()), (f(1, 3, 8, 8),), None, True
    yield "conv_bn", seq(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU()).eval(), (f(1, 3, 8, 8),), None, False
    yield "max_pool", nn.MaxPool2d(2), (f(1, 3, 8, 8),), None, False
    yield "avg_pool", nn.AvgPool2d(2), (f(1, 3, 8, 8),), None, False
    yield "layer_norm", nn.LayerNorm(4), (f(2, 4),), None, True
    yield "group_norm", nn.GroupNorm(2, 4), (f(1, 4, 3, 3),), None, False
    yield "embedding", nn.Embedding(10, 4), (i(2, 3),), None, False
    yield "softmax", nn.Softmax(-1), (f(2, 4),), None, False
    yield "gelu", nn.GELU(), (f(2, 4),), None, False
    yield "silu", nn.SiLU(), (f(2, 4),), None, True
    yield "hardswish", nn.Hardswish(), (f(2, 4),), None, False
    yield "view", Fn(lambda m, x: x.view(2, 6)), (f(3, 4),), None, False
    yield "view_dynamic", Fn(lambda m, x: x.view(x.shape[0] * 4)), (f(3, 4),), [{0: B}], False
    yield "permute_relu", Fn(lambda m, x: x.permute(1, 0).relu()), (f(3, 4),), None, False
    yield "transpose_mm", Fn(lambda m, x: x.t() @ x), (f(3, 4),), [{0: B}], True
    yield "slice_select", Fn(lambda m, x: x[1:, 0] + x[0, 1]), (f(3, 4),), None, False
    yield "full_slice", Fn(lambda m, x: x[:] * 2), (f(3, 4),), None, False
    yield "squeeze", Fn(lambda m, x: x.unsqueeze(0).squeeze(0) + 1), (f(3, 4),), None, False
    yield "expand", Fn(lambda m, x: x.expand(3, 4) * 2), (f(1, 4),), None, False
    yield "split", Fn(lambda m, x: torch.split(x, 2, 1)), (f(3, 4),), None, False
    yield "chunk_cat", Fn(lambda m, x: torch.cat(x.chunk(2, 1)[::-1], 0)), (f(3, 4),), None, False
    yield "cat_empty", Fn(lambda m, x: torch.cat([x, x[:0]], 0)), (f(3, 4),), None, False
    yield "stack", Fn(lambda m, x, y: torch.stack([x, y])), (f(3), f(3)), None, False
    yield "cat_mixed", Fn(lambda m, x, y: torch.cat([x, y])), (f(3), i(3)), None, False
    yield "size_times", Fn(lambda m, x: x * x.shape[0]), (f(3, 4),), [{0: B}], False
    yield "size_add", Fn(lambda m, x: x.sum(0) + x.shape[0] / 2), (f(3, 4),), [{0: B}], False
    yield "arange", Fn(lambda m, x: torch.arange(x.shape[0]) + x[:, 0]), (f(3, 4),), [{0: B}], False
    yield "full", Fn(lambda m, x: torch.full((3, 4), 2.0) + x), (f(3, 4),), None, False
    yield "zeros_like", Fn(lambda m, x: torch.zeros_like(x) + x), (f(3, 4),), None, False
    yield "to_half", Fn(lambda m, x: x.to(torch.float16) * 2), (f(3, 4),), None, False
    yield "to_same", Fn(lambda m, x: x.to(torch.float32, copy=True) * 2), (f(3, 4),), None, False
    yield "clone_last", Fn(lambda m, x: x.to(memory_format=torch.channels_last) + 1), (f(1, 3, 4, 4),), None, False
    yield "contiguous", Fn(lambda m, x: x.permute(0, 2, 1).contiguous()), (f(2, 3, 4),), None, False
    yield "mean_dim", Fn(lambda m, x: x.mean(-1, keepdim=True)), (f(3, 4),), None, False
    yield "any", Fn(lambda m, x: (x > 0).any()), (f(3, 4),), None, False
    yield "argmax", Fn(lambda m, x: x.argmax(-1)), (f(3, 4),), None, False
    yield "topk", Fn(lambda m, x: torch.topk(x, 2)), (f(3, 4),), None, False
    yield "index", Fn(lambda m, x, n: x[n]), (f(3, 4), i(2)), None, False
    yield "index_put", Fn(lambda m, x, n: x.index_put((n,), x[0])), (f(3, 4), i(2)), None, False
    yield "gather", Fn(lambda m, x, n: x.gather(1, n)), (f(3, 4), i(3, 1)), None, False
    yield "buffer", Fn(lambda m, x: x + m.b_k * 2, b_k=f(4)), (f(3, 4),), None, False
    yield "buffer_update", Fn(mutate_buffer, b_k=f(4)), (f(4),), None, False
    yield "attention", Fn(lambda m, q: F.scaled_dot_product_attention(q, q, q)), (f(1, 2, 3, 4),), None, False
    yield "addmm_add", Fn(lambda m, a, x, b: torch.mm(a, x) + b - a), (f(2, 2), f(2, 2), f(2, 2)), None, True
    yield "lstm", nn.LSTM(4, 3, batch_first=True), (f(2, 3, 4),), None, False
    yield "cond", Fn(lambda m, x: torch.cond(x.sum() > 0, lambda t: t.sin(), lambda t: t.cos(), (x,))), (f(3),), None, False
    yield "bmm_dynamic", Fn(lambda m, x, y: torch.bmm(x, y)), (f(2, 3, 4), f(2, 4, 5)), [{0: B}, {0: B}], False
    yield "item", Fn(lambda m, n: torch.zeros(n.item() + 1)), (torch.tensor(3),), None, False
    yield "masked_fill", Fn(lambda m, x: x.masked_fill(x > 0, -1.0)), (f(3, 4),), None, False


def clean(document):
    """Leaves out what the tests have no use for."""
    for node in document["graph_module"]["graph"]["nodes"]:
        node.get("metadata", {}).pop("from_node", None)
    return document


def saved(program):
    """The document that torch.export.save writes."""
    buffer = io.BytesIO()
    torch.export.save(program, buffer)
    archive = zipfile.ZipFile(io.BytesIO(buffer.getvalue()))
    name = next(name for name in archive.namelist() if name.endswith("models/model.json"))
    return clean(json.loads(archive.read(name)))


def small(record):
    """A lowered module's record without its weights."""
    if isinstance(record, dict):
        for key in ("original_state_dict", "original_constants", "original_constant_tensors"):
            if key in record:
                record[key] = ""
        for value in record.values():
            small(value)
    return record


def delegated(program):
    """The document that ExecuTorch writes; torch cannot write delegates."""
    from executorch.exir import save

    buffer = io.BytesIO()
    save(program, buffer)
    archive = zipfile.ZipFile(io.BytesIO(buffer.getvalue()))
    document = clean(json.loads(archive.read("serialized_exported_program.json")))
    for node in document["graph_module"]["graph"]["nodes"]:
        for given in node["inputs"]:
            text = given["arg"].get("as_string", "")
            if text.startswith("{"):
                record = small(json.loads(text))
                clean(record["original_module"])
                given["arg"]["as_string"] = json.dumps(record)
    return document


def breaks():
    """Name, program it is made of, and how its graph module is broken."""
    import executorch.exir.dialects.edge._ops  # noqa: F401
    from executorch.exir.dialects._ops import ops as exir_ops

    edge, aten = exir_ops.edge.aten, torch.ops.aten

    def calls(gm):
        return [node for node in gm.graph.nodes if node.op == "call_function"]

    def target(op):
        def change(gm):
            calls(gm)[-1].target = op
        return change

    def result(dtype, at=-1):
        def change(gm):
            node = calls(gm)[at]
            node.meta["val"] = node.meta["val"].to(dtype)
        return change

    def argument(index, value):
        def change(gm):
            node = calls(gm)[-1]
            node.update_arg(index, value)
        return change

    def given(dtype, at=-1):
        def change(gm):
            node = [node for node in gm.graph.nodes if node.op == "placeholder"][at]
            node.meta["val"] = node.meta["val"].to(dtype)
        return change

    for name in ("add_int_scalar", "mul_float_scalar", "sub_alpha", "minimum_mixed"):
        yield f"scalar_in_{name}", name, argument(1, 2.0)
        yield f"int_in_{name}", name, argument(1, 2)
    for dtype in ("uint32", "uint64", "float8_e4m3fn", "float64", "complex32"):
        yield f"result_{dtype}", "mul_float_scalar", result(getattr(torch, dtype))
        yield f"input_{dtype}", "permute_relu", given(getattr(torch, dtype))
    yield "abs_of_bool", "softmax", result(torch.bool)
    yield "softmax_of_int", "softmax", result(torch.int64)
    yield "compare_gives_float", "compare_scalar", result(torch.float32)
    yield "argmax_gives_int32", "argmax", result(torch.int32)
    yield "embedding_result", "embedding", result(torch.int32)
    yield "gelu_int", "gelu", result(torch.int32)
    yield "unwrapped_relu", "permute_relu", target(aten.relu.default)
    yield "unwrapped_sin", "permute_relu", target(aten.sin.default)
    yield "no_core_selu", "permute_relu", target(edge.selu.default)
    yield "no_core_silu", "permute_relu", target(edge.silu.default)
    yield "no_core_square", "permute_relu", target(edge.square.default)
    yield "clone_with_format", "permute_relu", target(edge.clone.default)
    yield "to_copy_with_format", "permute_relu", target(edge._to_copy.default)
    yield "no_core_relu6", "permute_relu", target(edge.relu6.default)
    yield "mean_of_int", "mean_dim", result(torch.int64)
    yield "any_gives_float", "any", result(torch.float32)


def write(path, rows):
    text = "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)
    # Stack traces name files without their folders, also in records that are texts within texts.
    text = re.sub(r'(File \\+")[^"\\]*/', r"\1", text)
    # Without a time, so that the same programs give the same bytes.
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


def refusal(program):
    from executorch.exir.verification.verifier import EXIREdgeDialectVerifier

    try:
        EXIREdgeDialectVerifier()(program.graph_module)
    except Exception as error:  # noqa: BLE001
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        return f"{type(error).__name__}: {' '.join(lines[:2])}"[:400]
    return None


def saved_unchecked(program):
    """The document of a program that no verifier lets pass."""
    from torch._export.verifier import Verifier

    with unittest.mock.patch.object(Verifier, "check", lambda *_: None):
        return saved(program)


def main():
    from executorch.exir import to_edge
    from executorch.exir.backend.test.backend_with_compiler_demo import BackendWithCompilerDemo  # noqa: F401
    from executorch.exir.backend.test.op_partitioner_demo import AddMulPartitionerDemo
    from executorch.exir.program._program import _default_decomposition_table

    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "tests" / "data" / "edge"
    folder.mkdir(parents=True, exist_ok=True)
    rows, edges = [], {}
    for name, module, args, dynamic, delegate in programs():
        row = {"name": name}
        try:
            program = torch.export.export(module, args, dynamic_shapes=dynamic if not isinstance(dynamic, list) else (tuple(dynamic),), strict=False)
            row["core"] = saved(program.run_decompositions(_default_decomposition_table()))
            manager = to_edge(program)
            edges[name] = manager.exported_program()
            try:
                row["edge"] = saved(edges[name])
            except Exception:  # noqa: BLE001
                # torch cannot write Edge operators that give lists.
                row["edge"] = delegated(edges[name])
        except Exception as error:  # noqa: BLE001
            print(f"{name}: {type(error).__name__}: {str(error)[:300]}", file=sys.stderr)
            continue
        try:
            if delegate:
                lowered = manager.to_backend(AddMulPartitionerDemo())
                row["delegated"] = delegated(lowered.exported_program())
        except Exception as error:  # noqa: BLE001
            print(f"{name}: delegated: {type(error).__name__}: {str(error)[:300]}", file=sys.stderr)
        rows.append(row)
    write(folder / "programs.jsonl.gz", rows)
    broken = []
    for name, base, change in breaks():
        try:
            program = copy.deepcopy(edges[base])
            change(program.graph_module)
            says = refusal(program)
            if says is None:
                print(f"{name}: ExecuTorch accepts it", file=sys.stderr)
                continue
            broken.append({"name": name, "edge": saved_unchecked(program), "says": says})
        except Exception as error:  # noqa: BLE001
            print(f"{name}: {type(error).__name__}: {str(error)[:300]}", file=sys.stderr)
    write(folder / "broken.jsonl.gz", broken)
    print(len(rows), "programs,", sum("delegated" in row for row in rows), "delegated,", len(broken), "broken")


main()
