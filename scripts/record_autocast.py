#!/usr/bin/env python3
"""Writes tests/data/autocast.txt: calls in autocast regions, and what torch gives.

    python3 scripts/record_autocast.py [-o tests/data/autocast.txt]

Needs torch of TORCH_VERSION. Calls on the CPU are run; those on CUDA are run on fake tensors, without a device. Each call of
CALLS is made with its floating operands in several dtypes, in each region of REGIONS.
"""

import argparse
import contextlib
import logging
import pathlib
import re
import warnings

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

TORCH_VERSION = "2.15.0"
ROOT = pathlib.Path(__file__).resolve().parent.parent

# Around the call from the outside in: device type, dtype, enabled.
REGIONS = {
    "cpu bfloat16": [("cpu", torch.bfloat16, True)],
    "cpu float16": [("cpu", torch.float16, True)],
    "cpu bfloat16 off": [("cpu", torch.bfloat16, False)],
    "cpu bfloat16, cpu bfloat16 off": [("cpu", torch.bfloat16, True), ("cpu", torch.bfloat16, False)],
    "cpu bfloat16 off, cpu float16": [("cpu", torch.bfloat16, False), ("cpu", torch.float16, True)],
    "cpu float16, cpu bfloat16": [("cpu", torch.float16, True), ("cpu", torch.bfloat16, True)],
    "cuda float16": [("cuda", torch.float16, True)],
    "cuda bfloat16": [("cuda", torch.bfloat16, True)],
    "cuda float16, cpu bfloat16": [("cuda", torch.float16, True), ("cpu", torch.bfloat16, True)],
}

# An operator and its arguments; a list of numbers under a name is a tensor of that shape, `i` before the numbers makes it one of integers.
CALLS = """
mm.default a[2,3] b[3,4]: a, b
bmm.default a[2,3,4] b[2,4,5]: a, b
addmm.default a[4] b[2,3] c[3,4]: a, b, c
baddbmm.default a[2,3,5] b[2,3,4] c[2,4,5]: a, b, c
addbmm.default a[3,5] b[2,3,4] c[2,4,5]: a, b, c
mv.default a[2,3] b[3]: a, b
matmul.default a[2,3,4] b[4,5]: a, b
linalg_matmul.default a[3,4] b[4,5]: a, b
linear.default a[2,3] b[4,3] c[4]: a, b, c
conv1d.default a[2,3,8] b[4,3,3] c[4]: a, b, c
conv2d.default a[2,3,8,8] b[4,3,3,3]: a, b
conv_transpose2d.input a[2,3,8,8] b[3,4,3,3]: a, b
prelu.default a[2,3] b[3]: a, b
scaled_dot_product_attention.default a[2,3,4,5] b[2,3,4,5] c[2,3,4,5]: a, b, c
linalg_multi_dot.default a[2,3] b[3,4] c[4,5]: [a, b, c]
chain_matmul.default a[2,3] b[3,4]: [a, b]
corrcoef.default a[3,4]: a
cov.default a[3,4]: a
einsum.default a[2,3] b[3,4]: 'ij,jk->ik', [a, b]
einsum.default a[2,3] b[2,3]: 'ij,ij->ij', [a, b]
inner.default a[2,3] b[4,3]: a, b
dot.default a[3] b[3]: a, b
outer.default a[2] b[3]: a, b
rnn_tanh_cell.default a[2,4] b[2,5] c[5,4] d[5,5]: a, b, c, d
gru_cell.default a[2,4] b[2,5] c[15,4] d[15,5]: a, b, c, d
exp.default a[2,3]: a
log.default a[2,3]: a
pow.Tensor_Scalar a[2,3]: a, 2
pow.Tensor_Tensor a[2,3] b[2,3]: a, b
square.default a[2,3]: a
reciprocal.default a[2,3]: a
rsqrt.default a[2,3]: a
softplus.default a[2,3]: a
layer_norm.default a[2,3] b[3] c[3]: a, [3], b, c
rms_norm.default a[2,3] b[3]: a, [3], b
group_norm.default a[2,4,3] b[4] c[4]: a, 2, b, c
native_layer_norm.default a[2,3] b[3] c[3]: a, [3], b, c, 1e-05
cdist.default a[2,3] b[4,3]: a, b
cosine_similarity.default a[2,3] b[2,3]: a, b
pairwise_distance.default a[2,3] b[2,3]: a, b
mse_loss.default a[2,3] b[2,3]: a, b
l1_loss.default a[2,3] b[2,3]: a, b
smooth_l1_loss.default a[2,3] b[2,3]: a, b
binary_cross_entropy.default a[2,3] b[2,3]: a, b
binary_cross_entropy_with_logits.default a[2,3] b[2,3]: a, b
nll_loss_nd.default a[2,3] b[i2]: a, b
cross_entropy_loss.default a[2,3] b[i2]: a, b
logsumexp.default a[2,3]: a, [1]
sum.default a[2,3]: a
sum.dim_IntList a[2,3]: a, [1]
sum.dim_IntList a[2,3]: a, [1], dtype = torch.bfloat16
mean.dim a[2,3]: a, [1]
prod.default a[2,3]: a
prod.dim_int a[2,3]: a, 1
cumsum.default a[2,3]: a, 1
softmax.int a[2,3]: a, 1
norm.Scalar a[2,3]: a
norm.ScalarOpt_dim a[2,3]: a, 2, [1]
linalg_vector_norm.default a[2,3]: a
linalg_norm.default a[2,3]: a
frobenius_norm.dim a[2,3]: a, [1]
cat.default a[2,3] b[2,3]: [a, b]
stack.default a[2,3] b[2,3]: [a, b]
concat.default a[2,3] b[2,3]: [a, b]
hstack.default a[2,3] b[2,3]: [a, b]
addcmul.default a[2,3] b[2,3] c[2,3]: a, b, c
addcdiv.default a[2,3] b[2,3] c[2,3]: a, b, c
atan2.default a[2,3] b[2,3]: a, b
bilinear.default a[2,3] b[2,4] c[5,3,4]: a, b, c, None
index_copy.default a[4,3] b[i2] c[2,3]: a, 0, b, c
scatter_add.default a[4,3] b[i2,3] c[2,3]: a, 0, b, c
grid_sampler.default a[1,2,4,4] b[1,3,3,2]: a, b, 0, 0, False
avg_pool3d.default a[1,2,4,4,4]: a, [2, 2, 2]
max_pool3d.default a[1,2,4,4,4]: a, [2, 2, 2]
reflection_pad1d.default a[2,4]: a, [1, 1]
pad.default a[2,4]: a, [1, 1], 'reflect'
pad.default a[2,4]: a, [1, 1]
quantile.scalar a[5]: a, 0.5
trace.default a[3,3]: a
linalg_inv.default a[3,3]: a
linalg_matrix_power.default a[3,3]: a, 2
linalg_matrix_power.default a[3,3]: a, 1
fft_rfft.default a[8]: a
upsample_nearest1d.vec a[1,2,4]: a, [8], None
batch_norm.default a[2,3,4] b[3] c[3] d[3] e[3]: a, b, c, d, e, False, 0.1, 1e-05, False
relu.default a[2,3]: a
add.Tensor a[2,3] b[2,3]: a, b
mul.Tensor a[2,3] b[2,3]: a, b
gelu.default a[2,3]: a
"""

SHORT = {
    torch.float32: "f32",
    torch.bfloat16: "bf16",
    torch.float16: "f16",
    torch.float64: "f64",
    torch.int64: "i64",
    torch.complex64: "c64",
    torch.complex32: "c32",
    torch.complex128: "c128",
    torch.bool: "b8",
}
F32, BF16, F16, F64, INT = torch.float32, torch.bfloat16, torch.float16, torch.float64, torch.int64
# What the floating operands are in turn; each combination is recorded once.
DTYPES = [[F32], [BF16], [F16], [BF16, F32], [F32, BF16], [F64], [INT]]
CUDA_DTYPES = [[F32], [F16], [F16, F32], [F32, F16], [F64]]
# Not recorded on CUDA, where fake tensors check their dtypes less than the device does.
CPU_ONLY = ("avg_pool3d", "batch_norm", "fft_rfft", "index_copy")
# What refuses a call for the region's sake.
REFUSED = ("Unexpected floating ScalarType", "unsafe to autocast")

HEADER = f"""\
# Calls in autocast regions and what torch {TORCH_VERSION} gives; written by scripts/record_autocast.py, do not edit.
# REGIONS from the outside in; OPERANDS; CALL; RESULTS
"""


@contextlib.contextmanager
def entered(regions):
    """Runs in regions, whose devices need not be there."""
    before = [(device, torch.is_autocast_enabled(device), torch.get_autocast_dtype(device)) for device, *_ in regions]
    for device, dtype, enabled in regions:
        torch.set_autocast_dtype(device, dtype)
        torch.set_autocast_enabled(device, enabled)
    torch.set_autocast_cache_enabled(False)
    try:
        yield
    finally:
        for device, enabled, dtype in reversed(before):
            torch.set_autocast_enabled(device, enabled)
            torch.set_autocast_dtype(device, dtype)


def described(tensor):
    """A tensor as tables have it."""
    return f"{SHORT[tensor.dtype]}{list(tensor.shape)}{tensor.device.type if tensor.device.type != 'cpu' else ''}"


def outcome(op, call, operands, regions, mode):
    """The results of a call, `refused`, or None for a call that torch does not make for other reasons."""
    names = {"torch": torch, **operands}
    try:
        with mode, entered(regions):
            result = eval(f"op({call})", {"op": op, **names})
    except Exception as error:  # the operators' own errors are of many types
        return "refused" if any(text in str(error) for text in REFUSED) else None
    results = result if isinstance(result, (tuple, list)) else [result]
    return ", ".join(described(r) for r in results)


def operands_of(text, dtypes, device, mode):
    """The tensors that a call of CALLS is made on."""
    made, turn = {}, 0
    for name, integers, sizes in re.findall(r"(\w)\[(i?)([\d,]*)\]", text):
        shape = [int(size) for size in sizes.split(",") if size]
        dtype = INT if integers else dtypes[turn % len(dtypes)]
        turn += not integers
        with mode:
            made[name] = torch.ones(shape, dtype=dtype, device=device)
    return made


def lines(region):
    """The lines of one region."""
    regions = REGIONS[region]
    # What differs from region to region differs alike for all operators of a policy.
    calls = CALLS.strip().splitlines()
    if region not in ("cpu bfloat16", "cuda float16"):
        calls = [c for c in calls if c.split(".")[0] in ("mm", "cat", "exp", "mse_loss", "relu")]
    device = "cuda" if region.startswith("cuda") else "cpu"
    mode = FakeTensorMode() if device == "cuda" else contextlib.nullcontext()
    for text in calls:
        head, _, call = text.partition(": ")
        name, _, shapes = head.partition(" ")
        op = torch.ops.aten
        for part in name.split("."):
            op = getattr(op, part)
        if device == "cuda" and name.split(".")[0] in CPU_ONLY:
            continue
        for dtypes in DTYPES if device == "cpu" else CUDA_DTYPES:
            operands = operands_of(shapes, dtypes, device, mode)
            floating = sum(t.dtype != INT for t in operands.values())
            if len(dtypes) > 1 and floating < 2:
                continue
            found = outcome(op, call, operands, regions, mode)
            if found is not None:
                tensors = ", ".join(f"{name} {described(t)}" for name, t in operands.items())
                yield f"{region}; {tensors}; aten.{name}({call}); {found}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=pathlib.Path, default=ROOT / "tests/data/autocast.txt")
    output = parser.parse_args().output
    if torch.__version__.partition("+")[0] != TORCH_VERSION:
        raise SystemExit(f"torch {TORCH_VERSION} is needed, this is {torch.__version__}")
    warnings.simplefilter("ignore")
    logging.disable()
    output.write_text(HEADER + "".join(line for region in REGIONS for line in lines(region)))


if __name__ == "__main__":
    main()
