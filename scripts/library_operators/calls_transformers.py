"""Calls of the operators of transformers."""
import torch
import transformers
import transformers.integrations.moe
from tensors import bf16, f32, f64, of

LIBRARY = f"transformers {transformers.__version__}"
MM, BACKWARD = "transformers.grouped_mm_fallback.default", "transformers.grouped_mm_fallback_backward.default"
OFFSETS = of(1, 3, 6)
CALLS = [
    (MM, f32(6, 4), f32(3, 4, 5), OFFSETS),
    (MM, bf16(6, 4), bf16(3, 4, 5), of(1, 3, 6, dtype=torch.int32)),
    (MM, f32(4, 6).t(), f32(3, 4, 5), OFFSETS),
    (MM, f32(0, 4), f32(3, 4, 5), OFFSETS * 0),
    (MM, f32(6, 4, 1), f32(3, 4, 5), OFFSETS),
    (MM, f32(6, 4), f32(4, 5), OFFSETS),
    (MM, f32(6, 4), f32(3, 5, 5), OFFSETS),
    (MM, f32(6, 4), f32(2, 4, 5), OFFSETS),
    (MM, f32(6, 4), f32(3, 4, 5), OFFSETS.view(3, 1)),
    (MM, f32(6, 4), f32(3, 4, 5), OFFSETS.to(torch.int16)),
    (MM, f32(6, 4), f64(3, 4, 5), OFFSETS),
    (BACKWARD, f32(6, 4), f32(3, 4, 5), OFFSETS, f32(6, 5)),
    (BACKWARD, f32(4, 6).t(), f32(3, 5, 4).transpose(1, 2), OFFSETS, f32(6, 5)),
    (BACKWARD, f32(6, 4), f32(3, 4, 5), OFFSETS, f32(6, 4)),
    (BACKWARD, f32(6, 4), f32(3, 4, 5), OFFSETS, f64(6, 5)),
]
