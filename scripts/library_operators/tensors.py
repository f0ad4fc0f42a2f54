"""Tensors for calls: by dtype and sizes, or of given numbers."""
import torch


def maker(dtype):
    def make(*sizes):
        if dtype.is_floating_point or dtype.is_complex:
            return torch.rand(sizes, dtype=torch.float32).to(dtype)
        return torch.ones(sizes, dtype=torch.int64).to(dtype)

    return make


f32, f64, f16, bf16 = map(maker, (torch.float32, torch.float64, torch.float16, torch.bfloat16))
i8, u8, i32, i64, b8 = map(maker, (torch.int8, torch.uint8, torch.int32, torch.int64, torch.bool))


def of(*numbers, dtype=torch.int64):
    """A tensor of these numbers."""
    return torch.tensor(numbers, dtype=dtype)
