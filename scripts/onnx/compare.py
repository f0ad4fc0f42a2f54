"""Exports a module, has sizewise write it as ONNX, and compares onnxruntime with torch; needs torch, onnx and onnxruntime."""

import copy
import logging
import pathlib
import subprocess
import tempfile
import warnings

import numpy
import onnx
import onnxruntime
import torch
from torch.utils._pytree import tree_leaves

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)
onnxruntime.set_default_logger_severity(3)
BFLOAT16 = 16


def leaves(values):
    return [value for value in tree_leaves(values) if value is not None]


def array(value):
    if not isinstance(value, torch.Tensor):
        return numpy.array(value)
    value = value.detach()
    return (value.float() if value.dtype == torch.bfloat16 else value).numpy()


def passed(value):
    """A value as onnxruntime takes it; numpy has no bfloat16."""
    make = onnxruntime.OrtValue
    if isinstance(value, torch.Tensor) and value.dtype == torch.bfloat16:
        return make.ortvalue_from_numpy_with_onnx_type(value.view(torch.uint16).numpy(), BFLOAT16)
    return make.ortvalue_from_numpy(numpy.asarray(array(value)))


def given(value):
    if value.element_type() == BFLOAT16:
        return torch.from_dlpack(value._ortvalue.to_dlpack()).float().numpy()
    return value.numpy()


def difference(got, wanted, tolerance):
    """What differs between one result and another; none if they are equal."""
    if got.shape != wanted.shape:
        return f"shape {got.shape}, torch {wanted.shape}"
    if wanted.shape and got.dtype != wanted.dtype:
        return f"dtype {got.dtype}, torch {wanted.dtype}"
    got, wanted = got.astype(numpy.float64), wanted.astype(numpy.float64)
    if not numpy.allclose(got, wanted, rtol=tolerance, atol=tolerance, equal_nan=True):
        return f"values differ by up to {numpy.abs(got - wanted).max(initial=0)}"
    return None


def depth(module):
    """How deep control flow and regions nest in a graph."""
    graphs = {name for name, inner in module.named_children() if isinstance(inner, torch.fx.GraphModule)}
    used = [node.target for node in module.graph.nodes if node.op == "get_attr" and node.target in graphs]
    return max((1 + depth(getattr(module, name)) for name in used), default=0)


def compare(binary, module, inputs, dynamic_shapes, decomposed=False, tolerance=1e-4):
    """What comes of a module, exported with the first inputs and run with all.

    That is `ok`, or what went wrong and how; and whether it has control flow within control flow.
    """
    try:
        program = torch.export.export(module, inputs[0], dynamic_shapes=dynamic_shapes, strict=False)
        program = program.run_decompositions() if decomposed else program
    except Exception as error:
        return "not exported", str(error), False
    return *written(binary, program, module, inputs, tolerance), depth(program.graph_module) > 1


def written(binary, program, module, inputs, tolerance):
    with tempfile.TemporaryDirectory() as folder:
        archive, path = str(pathlib.Path(folder, "program.pt2")), str(pathlib.Path(folder, "model.onnx"))
        try:
            torch.export.save(program, archive)
        except Exception as error:
            return "not saved", str(error)
        command = [binary, "show", archive, "--as", "onnx", "--output", path]
        shown = subprocess.run(command, capture_output=True, text=True)
        if shown.returncode != 0:
            return "not written", shown.stderr
        try:
            onnx.checker.check_model(path, full_check=True)
        except Exception as error:
            return "refused by onnx.checker", str(error)
        try:
            session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        except Exception as error:
            return "refused by onnxruntime", str(error)
        return run(program, session, module, inputs, tolerance)


def run(program, session, module, inputs, tolerance):
    signature = program.graph_signature
    users = [spec.arg.name for spec in signature.input_specs if spec.kind.name == "USER_INPUT"]
    names = {argument.name for argument in session.get_inputs()}
    others = [spec for spec in signature.output_specs if spec.kind.name != "USER_OUTPUT"]
    accepting, ran = program.module(), 0
    for arguments in inputs:
        try:
            exported = leaves(copy.deepcopy(accepting)(*copy.deepcopy(arguments)))
        except Exception:
            # What the program refuses need not be refused by a model, which has no assertions.
            continue
        # A call may write buffers, which a model returns and does not keep.
        called = copy.deepcopy(module)
        try:
            wanted = [array(value) for value in leaves(called(*copy.deepcopy(arguments)))]
        except Exception:
            # Some control flow is exported that torch cannot run otherwise.
            wanted = [array(value) for value in exported]
        feed = {name: passed(value) for name, value in zip(users, leaves(arguments)) if name in names}
        try:
            got = session.run_with_ort_values(None, feed)
        except Exception as error:
            if "OrtValueTensorSlicer" in str(error):
                # onnxruntime refuses a `Scan` of no slices, which docs/passes.md says.
                continue
            return "fails in onnxruntime", str(error)
        ran += 1
        buffers = [array(called.get_buffer(spec.target)) for spec in others if spec.kind.name == "BUFFER_MUTATION"]
        if len(buffers) == len(others):
            wanted = buffers + wanted
        else:
            got = got[len(others) :]
        if not others and len(got) > len(wanted):
            # A training program has no mutations in its signature; its model returns the buffers that it writes all the same.
            before = dict(module.named_buffers())
            wanted = [array(b) for name, b in called.named_buffers() if not torch.equal(b, before[name])] + wanted
        got = [given(value) for value in got]
        if len(got) != len(wanted):
            return "differs", f"{len(got)} results, torch {len(wanted)}"
        for index, pair in enumerate(zip(got, wanted)):
            found = difference(*pair, tolerance)
            if found:
                sizes = [tuple(value.shape) for value in leaves(arguments) if isinstance(value, torch.Tensor)]
                return "differs", f"result {index} for {sizes}: {found}"
    return ("ok", "") if ran else ("refused by torch", "at all sizes")
