"""Calls of ExecuTorch's operators."""
from importlib.metadata import version

import torch
from executorch.exir.passes import dim_order_ops_registry
from executorch.extension.llm.custom_ops import custom_ops
from tensors import bf16, f16, f32, f64, i8, i64, u8

import executorch.exir.passes.propagate_device_pass  # noqa: F401

assert dim_order_ops_registry and custom_ops
LIBRARY = f"executorch {version('executorch')}"
CACHE, Q, KV = (1, 16, 4, 8), (1, 3, 4, 8), (1, 3, 4, 8)


def sdpa(q=Q, k=KV, v=KV, kc=CACHE, vc=CACHE, start=2, length=3, mask=None, make=f32, causal=True, cache_make=None, kv_make=None):
    cache, kv = cache_make or make, kv_make or make
    return ("llama.sdpa_with_kv_cache.default", make(*q), kv(*k), kv(*v), cache(*kc), cache(*vc), start, length, mask, 0.0, causal)


def custom(q=Q, kc=CACHE, vc=CACHE, start=2, mask=None, make=f32, causal=True, k_make=None):
    return ("llama.custom_sdpa.default", make(*q), (k_make or make)(*kc), make(*vc), start, mask, 0.0, causal)


def quantized(q=Q, k=(1, 5, 4, 8), points=i8, scales=f32, make=i8, q_scale=(1, 3, 4, 1), k_scale=(1, 5, 4, 1)):
    return ("llama.custom_quantized_sdpa.default", make(*q), make(*k), make(*k), 2, None, 0.0, True, None, points(*q_scale), scales(*q_scale), points(*k_scale), scales(*k_scale), points(*k_scale), scales(*k_scale))


def delta(q=(1, 4, 3, 8), k=(1, 4, 3, 8), v=(1, 4, 3, 6), decay=(1, 4, 3, 8), beta=(1, 4, 3), state=(1, 4, 8, 6), make=f32, name="gated_delta_rule"):
    return (f"llama.{name}.default", make(*q), make(*k), make(*v), make(*decay), make(*beta), make(*state))


def dims(name, *args, **kwargs):
    return (f"dim_order_ops.{name}.default", *args, kwargs)


UPDATE, INDICES = "llama.update_cache.default", "llama.update_cache_with_indices.default"
CROSS = "executorch.update_cross_attn_cache.default"
LAST = f32(2, 3, 4, 5).to(memory_format=torch.channels_last)
CALLS = [
    sdpa(),
    sdpa(mask=f32(3, 16), causal=False),
    sdpa(q=(1, 3, 8, 8)),
    sdpa(make=f16),
    sdpa(make=bf16),
    sdpa(make=f64),
    sdpa(start=14),
    sdpa(start=-1),
    sdpa(k=(1, 2, 4, 8)),
    sdpa(q=(1, 3, 6, 8)),
    sdpa(q=(1, 3, 4, 6)),
    sdpa(q=(2, 3, 4, 8)),
    sdpa(q=(3, 4, 8)),
    sdpa(k=(3, 4, 8)),
    sdpa(v=(3, 4, 8)),
    sdpa(kc=(16, 4, 8), vc=(16, 4, 8)),
    sdpa(vc=(1, 15, 4, 8)),
    sdpa(cache_make=f16),
    sdpa(kv_make=f16),
    sdpa(mask=f32(1, 3, 16), causal=False),
    sdpa(mask=f64(3, 16), causal=False),
    custom(),
    custom(q=(1, 1, 8, 8), start=15),
    custom(mask=f32(3, 16), causal=False),
    custom(make=f64),
    custom(start=14),
    custom(q=(1, 3, 6, 8)),
    custom(q=(1, 3, 4, 6)),
    custom(q=(2, 3, 4, 8)),
    custom(q=(3, 4, 8)),
    custom(kc=(16, 4, 8)),
    custom(vc=(1, 12, 4, 8)),
    custom(k_make=f16),
    custom(mask=f32(1, 3, 5), causal=False),
    quantized(),
    quantized(make=u8),
    quantized(points=f32),
    quantized(scales=f64),
    quantized(q_scale=(1, 2, 4, 1)),
    quantized(k_scale=(1, 4, 4, 1)),
    quantized(q=(3, 4, 8)),
    ("llama.custom_quantized_sdpa.default", i8(*Q), i8(*Q), i8(*Q), 0),
    (UPDATE, f32(*KV), f32(*CACHE), 2),
    (UPDATE, f16(*KV), f16(*CACHE), 13),
    (UPDATE, f32(*KV), f32(*CACHE), 14),
    (UPDATE, f32(*KV), f32(*CACHE), 16),
    (UPDATE, f32(*KV), f32(*CACHE), -1),
    (UPDATE, f32(*KV), f16(*CACHE), 2),
    (UPDATE, f32(2, 3, 4, 8), f32(*CACHE), 2),
    (UPDATE, f32(1, 3, 5, 8), f32(*CACHE), 2),
    (UPDATE, f32(1, 3, 4, 7), f32(*CACHE), 2),
    (UPDATE, f32(3, 4, 8), f32(16, 4, 8), 2),
    (INDICES, f32(*KV), f32(*CACHE), 2, i64(1, 3)),
    (INDICES, f32(*KV), f32(*CACHE), 2, i64(1, 4)),
    (INDICES, f32(*KV), f32(*CACHE), 2, i64(2, 3)),
    (INDICES, f32(*KV), f32(*CACHE), 2, i64(3)),
    (INDICES, f32(*KV), f32(*CACHE), 2, f32(1, 3)),
    (INDICES, f32(*KV), f32(2, 16, 4, 8), 2, i64(1, 3)),
    ("llama.fast_hadamard_transform.default", f32(3, 8)),
    ("llama.fast_hadamard_transform.default", f32(2, 3, 128)),
    ("llama.fast_hadamard_transform.default", f32(3, 7)),
    ("llama.fast_hadamard_transform.default", f32(3, 28)),
    delta(),
    delta(decay=(1, 4, 3)),
    delta(q=(1, 8, 3, 8)),
    delta(make=f64),
    delta(q=(1, 3, 3, 8)),
    delta(v=(1, 4, 2, 6)),
    delta(beta=(1, 4, 2)),
    delta(state=(1, 4, 8, 5)),
    delta(decay=(1, 4, 3, 7)),
    delta(q=(4, 3, 8)),
    delta(name="channelwise_gated_delta_rule"),
    delta(name="channelwise_gated_delta_rule", beta=(1, 4, 2)),
    dims("_to_dim_order_copy", f32(2, 3, 4, 5), dtype=torch.float16, dim_order=[0, 1, 2, 3]),
    dims("_to_dim_order_copy", f32(2, 3, 4, 5), dim_order=[0, 2, 3, 1]),
    dims("_to_dim_order_copy", LAST, dim_order=[0, 1, 2, 3]),
    dims("_to_dim_order_copy", LAST, dtype=torch.int64),
    dims("_to_dim_order_copy", f32(2, 3, 4), dtype=torch.int64, dim_order=[0, 1, 2]),
    dims("_to_dim_order_copy", f32(3, 2).t(), dtype=torch.float64, dim_order=[0, 1]),
    dims("_to_dim_order_copy", f32(), dtype=torch.float64, dim_order=[]),
    dims("_to_dim_order_copy", f32(2, 3, 4), dim_order=[0, 2, 1]),
    dims("_to_dim_order_copy", f32(2, 3, 4, 5), dim_order=[0, 3, 1, 2]),
    dims("_to_dim_order_copy", f32(2, 3, 4), dim_order=[0, 2, 3, 1]),
    dims("_clone_dim_order", f32(2, 3, 4, 5), dim_order=[0, 2, 3, 1]),
    dims("_clone_dim_order", LAST),
    dims("_clone_dim_order", LAST, dim_order=[0, 1, 2, 3]),
    dims("_clone_dim_order", f32(2, 3), dim_order=[1, 0]),
    dims("_empty_dim_order", [2, 3, 4, 5], dtype=torch.float32, dim_order=[0, 2, 3, 1]),
    dims("_empty_dim_order", [2, 3], dim_order=[0, 1]),
    dims("_empty_dim_order", [2, 3], dtype=torch.int8),
    dims("_empty_dim_order", [2, -3], dim_order=[0, 1]),
    dims("_empty_dim_order", [2, 3], dim_order=[1, 0]),
    ("et_copy._h2d_copy.default", f32(2, 3)),
    ("et_copy._h2d_copy.default", f32(3, 2).t()),
    ("et_copy._d2h_copy.default", f32(2, 3)),
    (CROSS, f32(1, 4, 3, 8), f32(1, 4, 16, 8)),
    (CROSS, f32(1, 4, 17, 8), f32(1, 4, 16, 8)),
    (CROSS, f32(2, 4, 3, 8), f32(1, 4, 16, 8)),
    (CROSS, f32(1, 3, 3, 8), f32(1, 4, 16, 8)),
    (CROSS, f32(1, 4, 3, 7), f32(1, 4, 16, 8)),
    (CROSS, f64(1, 4, 3, 8), f32(1, 4, 16, 8)),
    (CROSS, f32(4, 3, 8), f32(1, 4, 16, 8)),
]
