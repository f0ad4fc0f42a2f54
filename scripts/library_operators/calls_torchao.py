"""Calls of torchao's operators."""
import torch
import torchao
from tensors import bf16, f16, f32, f64, i8, i32, i64, u8
from torchao.quantization import quant_primitives

assert quant_primitives
# Scalars as bounds of a dtype, and operands of the GPU's products that do not fit, are left out: no declaration and no kernel tells them.
LIBRARY = f"torchao {torchao.__version__.split('+')[0]}"
CHOOSE, QUANTIZE, DEQUANTIZE = "torchao.choose_qparams_affine.default", "torchao.quantize_affine.default", "torchao.dequantize_affine.default"
FLOAT8, SCALE8 = torch.float8_e4m3fn, "torchao.choose_scale_float8.default"
MATMUL, SCALED = "torchao.int_matmul.default", "torchao.int_scaled_matmul.default"
TO8, FROM8 = "torchao.quantize_affine_float8_non_decomposed.default", "torchao.dequantize_affine_float8_non_decomposed.default"
I8 = torch.int8
CALLS = [
    (CHOOSE, f32(4, 8), "ASYMMETRIC", [1, 8], I8),
    (CHOOSE, f32(4, 8), "SYMMETRIC", [1, 4], I8),
    (CHOOSE, f32(2, 4, 8), "ASYMMETRIC", [1, 1, 8], I8, -128, 127, 1e-5, torch.float32, torch.int8, True),
    (CHOOSE, f32(2, 4, 8), "ASYMMETRIC", [1, 1, 8], I8, -128, 127, 1e-5, torch.float64, torch.int64),
    (CHOOSE, f32(4, 8), "ASYMMETRIC", [4, 8], I8),
    (CHOOSE, f32(4, 8), "ASYMMETRIC", [2, 2], I8, -128, 127, None, None, None, True),
    (CHOOSE, f32(4, 8), "ASYMMETRIC", [2, 2], I8),
    (CHOOSE, bf16(4, 8), "ASYMMETRIC", [1, 8], I8),
    (CHOOSE, f16(4, 8), "SYMMETRIC", [1, 8], torch.uint8),
    (CHOOSE, f32(4, 8), "SYMMETRIC_NO_CLIPPING_ERR", [1, 8], I8),
    (CHOOSE, f32(4, 8), "ASYMMETRIC", [1, 3], I8),
    (CHOOSE, f32(4, 8), "ASYMMETRIC", [8], I8),
    (CHOOSE, f32(4, 8), "ASYMMETRIC", [1, 1, 8], I8),
    (CHOOSE, f64(4, 8), "ASYMMETRIC", [1, 8], I8),
    (CHOOSE, f32(4, 0), "ASYMMETRIC", [1, 0], I8),
    (CHOOSE, f32(4, 8), "ASYMMETRIC", [1, 1], I8),
    (CHOOSE, f32(4, 8), "ASYMMETRIC", [1, 16], I8),
    (QUANTIZE, f32(4, 8), [1, 8], f32(4), i8(4), I8),
    (QUANTIZE, f32(4, 8), [1, 8], f32(4, 1), i8(4, 1), I8, -128, 127),
    (QUANTIZE, f32(4, 8), [1, 4], f32(4, 2), i8(4, 2), I8),
    (QUANTIZE, f32(4, 8), [4, 8], f32(), i8(), I8),
    (QUANTIZE, f32(4, 8), [2, 4], f32(2, 2), i8(2, 2), torch.uint8),
    (QUANTIZE, bf16(4, 8), [1, 8], bf16(4), i8(4), I8),
    (QUANTIZE, f32(8, 4).t(), [1, 8], f32(4), i8(4), I8),
    (QUANTIZE, f32(2, 4, 8), [1, 1, 8], f32(2, 4, 1), i64(2, 4, 1), I8),
    (QUANTIZE, f32(4, 8), [1, 8], f32(4), None, I8),
    (QUANTIZE, f32(4, 8), [1, 8], f32(3), i8(4), I8),
    (QUANTIZE, f32(4, 8), [1, 8], f32(4), i8(3), I8),
    (QUANTIZE, f32(4, 8), [1, 3], f32(4), i8(4), I8),
    (QUANTIZE, f32(4, 8), [8], f32(4), i8(4), I8),
    (QUANTIZE, f64(4, 8), [1, 8], f32(4), i8(4), I8),
    (QUANTIZE, f32(4, 8), [1, 8], f32(4), i8(0), I8),
    (DEQUANTIZE, i8(4, 8), [1, 8], f32(4), i8(4), I8),
    (DEQUANTIZE, i8(4, 8), [1, 4], f32(4, 2), i8(4, 2), I8, -128, 127, torch.float16),
    (DEQUANTIZE, i8(4, 8), [1, 8], f32(4, 1), None, I8),
    (DEQUANTIZE, u8(2, 4, 8), [1, 1, 8], f64(2, 4, 1), i64(2, 4, 1), torch.uint8),
    (DEQUANTIZE, i8(4, 8), [1, 8], f32(3), i8(4), I8),
    (DEQUANTIZE, i8(4, 8), [1, 8], f32(4), i8(3), I8),
    (DEQUANTIZE, i8(4, 8), [1, 5], f32(4), i8(4), I8),
    (DEQUANTIZE, i8(4, 8), [8], f32(4), i8(4), I8),
    (DEQUANTIZE, u8(4, 8), [1, 8], f32(4), i8(4), I8),
    (DEQUANTIZE, i8(4, 8), [1, 8], f32(4), i8(4), I8, -128, 127, torch.int32),
    (SCALE8, f32(4, 8), []),
    (SCALE8, f32(4, 8), [1, 8]),
    (SCALE8, f32(4, 8), [2, 4]),
    (SCALE8, f32(4, 8), [1, 3]),
    (SCALE8, f32(4, 8), [8]),
    (SCALE8, f32(4, 8), [1, 8], FLOAT8, torch.bfloat16),
    (MATMUL, i8(20, 16), i8(16, 24)),
    (MATMUL, i8(4, 16), i8(16, 24)),
    (MATMUL, i8(2, 20, 16), i8(16, 24)),
    (SCALED, i8(20, 16), i8(16, 24), f32(20, 1)),
    (SCALED, i8(20, 16), i8(16, 24), bf16(20, 1)),
    (SCALED, i8(20, 16), i8(16, 24), f32()),
    (SCALED, i8(20, 16), i8(16, 24), f32(1, 24)),
    (TO8, f32(4, 8), f32(4, 1)),
    (TO8, f32(4, 8), f32(4, 2)),
    (TO8, f32(4, 8), f32(), torch.float8_e5m2),
    (TO8, f32(4, 8), f32(3, 1)),
    (TO8, f32(4, 8), f32(4)),
    (TO8, f32(8, 4).t(), f32(4, 1)),
    (FROM8, f32(4, 8).to(FLOAT8), f32(4, 1)),
    (FROM8, f32(4, 8).to(FLOAT8), f32(4, 2), torch.bfloat16),
    (FROM8, f32(4, 8).to(FLOAT8), f32(3, 1)),
    (FROM8, f32(4, 8).to(FLOAT8), f32(4)),
    (FROM8, f32(4, 8).to(FLOAT8), f32()),
]
