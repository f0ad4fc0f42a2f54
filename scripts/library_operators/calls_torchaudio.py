"""Calls of torchaudio's operators, with lengths that fit. The wheel asks for the CUDA version that it was built for, which the operators of the CPU do not need."""
import torch

torch.version.cuda = "13.0"
import torchaudio  # noqa: E402
from tensors import f16, f32, f64, i32, i64, of  # noqa: E402

LIBRARY = f"torchaudio {torchaudio.__version__.split('+')[0]}"
LFILTER, OVERDRIVE = "torchaudio._lfilter_core_loop.default", "torchaudio._overdrive_core_loop.default"
ALIGN, RNNT = "torchaudio.forced_align.default", "torchaudio.rnnt_loss_forward.default"


def align(probabilities=(1, 12, 5), targets=((1, 2, 3),), lengths=(12,), target_lengths=(3,), blank=0, dtype=torch.float32, int_dtype=torch.int64):
    return (ALIGN, torch.zeros(*probabilities, dtype=dtype), torch.tensor(targets, dtype=int_dtype), of(*lengths), of(*target_lengths), blank)


def rnnt(logits=(2, 10, 4, 6), targets=(2, 3), lengths=(10, 10), target_lengths=(3, 3), blank=5, dtype=torch.float32, int_dtype=torch.int32, clamp=-1.0, fused=True):
    return (RNNT, torch.rand(*logits).to(dtype), torch.ones(*targets, dtype=int_dtype), of(*lengths, dtype=int_dtype), of(*target_lengths, dtype=int_dtype), blank, clamp, fused)


CALLS = [
    (LFILTER, f32(2, 3, 10), f32(3, 4), f32(2, 3, 13)),
    (LFILTER, f64(2, 3, 10), f64(3, 4), f64(2, 3, 13)),
    (LFILTER, f64(2, 3, 10), f64(3, 4), f32(2, 3, 13)),
    (LFILTER, f32(2, 3, 10), f32(3, 4), f32(2, 3, 12)),
    (LFILTER, f32(2, 3, 10), f32(3, 4), f32(2, 3, 14)),
    (LFILTER, f32(2, 3, 10), f32(2, 4), f32(2, 3, 13)),
    (LFILTER, f32(2, 3, 10), f32(3, 4), f32(1, 3, 13)),
    (LFILTER, f32(3, 10), f32(3, 4), f32(3, 13)),
    (LFILTER, f32(2, 3, 10), f32(4), f32(2, 3, 13)),
    (LFILTER, f16(2, 3, 10), f16(3, 4), f16(2, 3, 13)),
    (OVERDRIVE, f32(2, 10), f32(2, 10), f32(2), f32(2), f32(2, 10)),
    (OVERDRIVE, f64(2, 10), f64(2, 10), f64(2), f64(2), f64(2, 10)),
    (OVERDRIVE, f32(2, 10), f64(2, 10), f32(2), f32(2), f32(2, 10)),
    (OVERDRIVE, i64(2, 10), i64(2, 10), i64(2), i64(2), i64(2, 10)),
    (OVERDRIVE, f32(10), f32(10), f32(1), f32(1), f32(10)),
    align(),
    align(dtype=torch.float64, int_dtype=torch.int32),
    align(dtype=torch.float16),
    align(targets=((1, 2, 3, 4),), target_lengths=(4,)),
    align(probabilities=(2, 12, 5)),
    align(probabilities=(12, 5)),
    align(targets=(1, 2, 3)),
    align(lengths=(12, 12)),
    align(target_lengths=(3, 3)),
    align(blank=5),
    align(blank=-1),
    align(probabilities=(1, 2, 5)),
    align(int_dtype=torch.int16),
    align(dtype=torch.int64),
    rnnt(),
    rnnt(dtype=torch.float16),
    rnnt(dtype=torch.float64),
    rnnt(int_dtype=torch.int64),
    rnnt(targets=(2, 4)),
    rnnt(targets=(1, 3)),
    rnnt(targets=(2, 3, 1)),
    rnnt(logits=(2, 10, 4)),
    rnnt(lengths=(10,)),
    rnnt(target_lengths=(3,)),
    rnnt(blank=6),
    rnnt(blank=-1),
    rnnt(fused=False, clamp=1.0),
]
