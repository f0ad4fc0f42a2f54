#!/usr/bin/env python3
"""Writes data/autocast.txt: what autocast does with the operands of each operator, by device type.

    python3 scripts/generate_autocast.py [-o data/autocast.txt]

Needs torch of TORCH_VERSION, no device. Each overload with a kernel for a device type's autocast key is called in an enabled
region on tensors without storage, which record the casts that reach them before anything else does; that tells the policy.
The same version of torch gives the same bytes.

Operators without such a kernel that are made of operators with one are listed here by hand, in COMPOSITES, from runs of
torch's own sample inputs under autocast, compared with the results of each policy; scripts/record_autocast.py records calls
of them that the tests hold against the table.
"""

import argparse
import collections
import pathlib
import warnings

import torch

TORCH_VERSION = "2.15.0"
ROOT = pathlib.Path(__file__).resolve().parent.parent

KEYS = {
    "cpu": "AutocastCPU",
    "cuda": "AutocastCUDA",
    "xpu": "AutocastXPU",
    "mps": "AutocastMPS",
    "mtia": "AutocastMTIA",
    "maia": "AutocastMAIA",
}
# Their lists are those of packages outside torch.
ELSEWHERE = ["hpu", "ipu", "xla"]

LOWER, FULL = torch.bfloat16, torch.float32

# Where the operators within are treated, so that the whole is as if it were. `recorded`: no policy of the whole says the
# result, which depends on sizes or on other arguments.
COMPOSITES = {
    "cpu": {
        "lower": "_convolution_mode.default chain_matmul.default linalg_matmul.default"
        " linalg_multi_dot.default rnn_relu_cell.default rnn_tanh_cell.default",
        "fp32": "nll_loss_nd.default",
        "promote": "column_stack.default concat.default concatenate.default dstack.default hstack.default row_stack.default"
        " vstack.default",
        "recorded": "_pad_enum.default corrcoef.default cov.default einsum.default gru.data gru.input gru_cell.default inner.default istft.default"
        " linalg_matrix_power.default linalg_pinv.atol_rtol_float linalg_pinv.atol_rtol_tensor linalg_pinv.default"
        " linalg_pinv.rcond_tensor linalg_polar.default lstm.data lstm.input lstm_cell.default matrix_power.default"
        " pad.default rnn_relu.data rnn_relu.input rnn_tanh.data rnn_tanh.input tensordot.default",
    },
    "cuda xpu mtia maia": {
        "lower": "_convolution_mode.default conv1d.padding conv2d.padding conv3d.padding linalg_matmul.default",
        "fp32": "_upsample_bicubic2d_aa.vec _upsample_bilinear2d_aa.vec _upsample_nearest_exact1d.vec"
        " _upsample_nearest_exact2d.vec _upsample_nearest_exact3d.vec arccos.default arcsin.default cross_entropy_loss.default"
        " cumulative_trapezoid.dx cumulative_trapezoid.x linalg_norm.default linalg_norm.ord_str nll_loss_nd.default"
        " pairwise_distance.default special_erfinv.default special_expm1.default special_log1p.default"
        " special_logsumexp.default square.default sum_to_size.default trapezoid.dx trapezoid.x trapz.dx trapz.x"
        " upsample_bicubic2d.vec upsample_bilinear2d.vec upsample_linear1d.vec upsample_nearest1d.vec upsample_nearest2d.vec"
        " upsample_nearest3d.vec upsample_trilinear3d.vec",
        "recorded": "_weight_norm.default corrcoef.default cov.default gru.data gru.input inner.default linalg_cond.default linalg_cond.p_str"
        " linalg_matrix_power.default linalg_pinv.atol_rtol_float linalg_pinv.atol_rtol_tensor linalg_pinv.default"
        " linalg_pinv.rcond_tensor linalg_polar.default lstm.data lstm.input matrix_power.default norm_except_dim.default"
        " rnn_relu.data rnn_relu.input rnn_tanh.data rnn_tanh.input special_log_softmax.default special_softmax.default"
        " vander.default",
    },
    "mps": {
        "recorded": "_convolution_mode.default _weight_norm.default arccos.default arcsin.default conv1d.padding conv2d.padding"
        " conv3d.padding corrcoef.default cov.default cross_entropy_loss.default cumulative_trapezoid.dx cumulative_trapezoid.x"
        " gru.data gru.input gru_cell.default inner.default linalg_cond.default linalg_cond.p_str linalg_matmul.default"
        " linalg_matrix_power.default linalg_norm.default linalg_norm.ord_str linalg_pinv.atol_rtol_float"
        " linalg_pinv.atol_rtol_tensor linalg_pinv.default linalg_pinv.rcond_tensor linalg_polar.default lstm.data lstm.input"
        " matrix_power.default nll_loss_nd.default norm_except_dim.default pairwise_distance.default rnn_relu.data"
        " rnn_relu.input rnn_relu_cell.default rnn_tanh.data rnn_tanh.input rnn_tanh_cell.default special_erfinv.default"
        " special_expm1.default special_log1p.default special_log_softmax.default special_logsumexp.default"
        " special_softmax.default square.default sum_to_size.default trapezoid.dx trapezoid.x trapz.dx trapz.x vander.default",
    },
}

HEADER = f"""\
# What autocast does with operands, of torch {TORCH_VERSION}; written by scripts/generate_autocast.py, do not edit.
# Derived from PyTorch (BSD-3-Clause, see its LICENSE file).
#
# default DTYPE DEVICES: the dtype of a region that names none.
# POLICY OPERATOR DEVICES, sorted by operator. Policies:
#   lower       floating operands are cast to the region's dtype
#   fp32        they are cast to float32
#   fp32_dtype  without a dtype argument, that becomes float32 where the first operand is floating
#   fp32_append the first operand is cast to float32 (torch passes a dtype to another overload)
#   promote     they are cast to float32 if one is of it, else to the region's dtype
#   banned      the operator is refused
#   recorded    made of operators that are treated: the result has the dtype that the program records
# Tensors of other devices, of float64 and of no floating dtype stay as they are.
"""


class Reached(Exception):
    """The operator behind autocast was reached."""


class Traced(torch.Tensor):
    """A tensor without storage that records how it is cast, and ends the call at anything else."""

    casts = []

    @staticmethod
    def __new__(cls, dtype, device, cast=False):
        made = torch.Tensor._make_wrapper_subclass(cls, (2, 2), dtype=dtype, device=device)
        made.cast = cast
        return made

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func is torch.ops.aten._to_copy.default and not args[0].cast:
            cls.casts.append((args[0].dtype, kwargs.get("dtype")))
            return Traced(kwargs.get("dtype"), args[0].device, cast=True)
        raise Reached(func, kwargs.get("dtype"))


def argument(arg, tensor, device):
    """A value for an argument of a schema."""
    kind = str(arg.type)
    if kind in ("Tensor", "Optional[Tensor]"):
        return tensor()
    if kind == "List[Tensor]":
        return [tensor(), tensor()]
    if kind == "List[Optional[Tensor]]":
        return [Traced(torch.int64, device)]
    if arg.name == "dim" and kind == "List[int]":
        return [0, 1]
    plain = {"int": 1, "SymInt": 1, "number": 1, "float": 1.0, "bool": False}
    if kind in plain:
        return plain[kind]
    if kind == "str":
        return {"equation": "ij,jk->ik", "ord": "fro", "padding": "same"}.get(arg.name, "x")
    if kind in ("List[int]", "List[SymInt]", "List[bool]"):
        return [1] * (arg.N or 2)
    return None


def call(op, dtypes, device):
    """The casts of a call on tensors of these dtypes in turn, and how it ended."""
    Traced.casts = []
    made = [0]

    def tensor():
        made[0] += 1
        return Traced(dtypes[(made[0] - 1) % len(dtypes)], device)

    positional = [argument(a, tensor, device) for a in op._schema.arguments if not a.kwarg_only]
    keywords = {a.name: argument(a, tensor, device) for a in op._schema.arguments if a.kwarg_only}
    torch.set_autocast_dtype(device, LOWER)
    torch.set_autocast_cache_enabled(False)
    torch.set_autocast_enabled(device, True)
    try:
        op(*positional, **keywords)
        end = None
    except Exception as error:  # the operators' own errors are of many types
        end = error
    finally:
        torch.set_autocast_enabled(device, False)
    between = [c for c in Traced.casts if c in ((FULL, LOWER), (LOWER, FULL))]
    return between, end


def policy(op, device):
    """The policy of an operator's kernel for a device type's autocast key."""
    full, _ = call(op, [FULL], device)
    lower, end = call(op, [LOWER], device)
    mixed = call(op, [LOWER, FULL], device)[0] or call(op, [FULL, LOWER], device)[0]
    if full:
        return "lower"
    if lower:
        return "fp32"
    if mixed:
        return "promote"
    if isinstance(end, Reached) and end.args[1] == FULL:
        return "fp32_dtype" if end.args[0] is op else "fp32_append"
    if "unsafe to autocast" in str(end):
        return "banned"
    # A dtype that was set makes softmax cast, which needs the device itself; for float64 none is set.
    if not isinstance(end, Reached) and isinstance(call(op, [torch.float64], device)[1], Reached):
        return "fp32_dtype"
    # Casts its operands by itself, behind checks of their shapes.
    if str(op) == "aten._cudnn_rnn.default":
        return "lower"
    raise SystemExit(f"{op} on {device}: no policy is known by these effects: {end}")


def overloads():
    """Names and overloads of the operators of torch's library."""
    for qualified in sorted(torch._C._dispatch_get_all_op_names()):
        namespace, _, name = qualified.partition("::")
        name, _, overload = name.partition(".")
        packet = getattr(getattr(torch.ops, namespace), name, None)
        if packet is not None and hasattr(packet, overload or "default"):
            yield qualified, getattr(packet, overload or "default")


def composites():
    """Device type, policy and overload for each entry of COMPOSITES."""
    for devices, policies in COMPOSITES.items():
        for name, operators in policies.items():
            for op in operators.split():
                yield from ((device, name, op) for device in devices.split())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=pathlib.Path, default=ROOT / "data/autocast.txt")
    output = parser.parse_args().output
    if torch.__version__.partition("+")[0] != TORCH_VERSION:
        raise SystemExit(f"torch {TORCH_VERSION} is needed, this is {torch.__version__}")
    warnings.simplefilter("ignore")

    defaults, lines = collections.defaultdict(list), collections.defaultdict(list)
    for device in [*KEYS, *ELSEWHERE]:
        defaults[str(torch.get_autocast_dtype(device)).removeprefix("torch.")].append(device)
    for qualified, op in overloads():
        for device, key in KEYS.items():
            if torch._C._dispatch_has_kernel_for_dispatch_key(qualified, key):
                lines[str(op), policy(op, device)].append(device)
    for device, name, op in composites():
        if torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{op.removesuffix('.default')}", KEYS[device]):
            raise SystemExit(f"{op} has a policy of its own on {device}")
        lines[f"aten.{op}", name].append(device)
    text = [f"default {dtype} {' '.join(devices)}\n" for dtype, devices in sorted(defaults.items())]
    for (op, name), devices in sorted(lines.items()):
        text.append(f"{name} {op} {' '.join(device for device in KEYS if device in devices)}\n")
    output.write_text(HEADER + "".join(text))


if __name__ == "__main__":
    main()
