#!/usr/bin/env python3
"""Records what operators of well-known libraries do: calls with valid and invalid operands, in the notation of tests/kernels.

  scripts/library_operators/record.py LIBRARY > tests/library_operators/LIBRARY.txt

LIBRARY is one of the files beside this one (torchvision, torchaudio, quantized_decomposed, torchao, transformers, fbgemm, executorch), which
imports the library and lists calls. Each call is made twice: with fake tensors, as torch.export makes it, and on the CPU with data. A line says
`invalid` where either refuses it (what the fake kernel refuses cannot be exported, what the real one refuses fails when the program runs), and
else what the fake kernel returns, because that is what exported programs record; where there is none, what the real one returns. Lines under
`# the fake kernel differs` say where the two disagree. Each call is made in a process of its own, since some kernels do not survive wrong operands.
"""
import importlib
import logging
import os
import re
import select
import signal
import sys
import warnings

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv

# How long a call may take.
SECONDS = 20
SHORT = {
    torch.uint8: "u8", torch.int8: "i8", torch.int16: "i16", torch.int32: "i32", torch.int64: "i64", torch.float16: "f16",
    torch.float32: "f32", torch.float64: "f64", torch.complex64: "c64", torch.bool: "b8", torch.bfloat16: "bf16", torch.uint16: "u16",
    torch.float8_e4m3fn: "f8e4m3fn", torch.float8_e5m2: "f8e5m2",
}


def text(value):
    """A value in the notation of the tables."""
    if value is None:
        return "None"
    if isinstance(value, torch.Tensor):
        sizes = ",".join(str(size) for size in value.shape)
        shown = f"{SHORT[value.dtype]}[{sizes}]"
        usual, stride = [], 1
        for size in reversed(value.shape):
            usual.insert(0, stride)
            stride = stride * (size if not isinstance(size, int) or size > 1 else 1)
        if value.dim() > 1 and all(isinstance(size, int) for size in value.shape) and usual != list(value.stride()):
            shown += "(" + ",".join(str(stride) for stride in value.stride()) + ")"
        return shown
    if isinstance(value, (list, tuple)):
        if value and all(isinstance(item, (torch.Tensor, type(None))) for item in value):
            return "{" + ", ".join(map(text, value)) + "}"
        return "[" + ",".join(map(text, value)) + "]"
    if isinstance(value, torch.dtype):
        return SHORT[value]
    if isinstance(value, str):
        return f"'{value}'"
    return str(value)


def results(value):
    if isinstance(value, (list, tuple)) and not all(isinstance(item, torch.Tensor) for item in value) or isinstance(value, tuple):
        return ", ".join(map(text, value))
    return text(value)


def overload(name):
    found = torch.ops
    for part in name.split("."):
        found = getattr(found, part)
    return found


def attempt(run):
    try:
        return results(run())
    except NotImplementedError as error:
        missing = "Could not run" in str(error) or "fake impl" in str(error)
        return "missing" if missing else f"invalid: {error}"
    except Exception as error:  # noqa: BLE001: whatever a kernel raises
        kind = type(error).__name__
        message = str(error).strip().split("\n")[0]
        missing = kind in ("UnsupportedOperatorException", "UnsupportedFakeTensorException", "DynamicOutputShapeException", "DataDependentOutputException")
        return "missing" if missing or "no fake impl" in message else f"invalid: {kind} {message}"


def fake(op, args, kwargs):
    mode = FakeTensorMode(shape_env=ShapeEnv(), allow_fallback_kernels=False)
    move = lambda value: mode.from_tensor(value, static_shapes=True) if isinstance(value, torch.Tensor) else value
    args, kwargs = torch.utils._pytree.tree_map(move, (list(args), kwargs))
    with mode:
        return attempt(lambda: op(*args, **kwargs))


def real(op, args, kwargs):
    clone = lambda value: value.clone() if isinstance(value, torch.Tensor) else value
    args, kwargs = torch.utils._pytree.tree_map(clone, (list(args), kwargs))
    return attempt(lambda: op(*args, **kwargs))


def apart(run):
    """What a function returns, in a process of its own."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os.write(write, run().encode()[:60000])
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        if not select.select([pipe], [], [], SECONDS)[0]:
            os.kill(child, signal.SIGKILL)
        answer = pipe.read().decode()
    _, status = os.waitpid(child, 0)
    return answer if status == 0 and answer else "invalid: the process ended"


def short(refusal):
    """The beginning of a message, without places in source files."""
    message = re.sub(r" at /\S*|\S*\.cpp:\d+,? ?|\w+\(?\)?, (?=\S*\.cpp)", "", refusal.removeprefix("invalid: ").splitlines()[0])
    return message[:110].strip()


def same(a, b):
    """Whether two results agree; a size that only the run decides agrees with any."""
    strip = lambda shown: re.sub(r"\([0-9,]*\)", "", shown)
    pattern = re.sub(r"(?<=[\[,])u\d+", r"\\d+", re.escape(strip(a)).replace(r"\[", "[").replace(r"\,", ","))
    return re.fullmatch(pattern.replace("[", r"\["), strip(b)) is not None


def record(calls):
    for name, *args in calls:
        if name.startswith("#"):
            print(name)
            continue
        kwargs = args.pop() if args and isinstance(args[-1], dict) else {}
        op = overload(name)
        shown = [text(arg) for arg in args] + [f"{key}={text(value)}" for key, value in kwargs.items()]
        by_fake, by_real = apart(lambda: fake(op, args, kwargs)), apart(lambda: real(op, args, kwargs))
        known = [answer for answer in (by_fake, by_real) if not answer.startswith("missing")]
        refused = [answer for answer in known if answer.startswith("invalid")]
        if not known:
            print(f"{name}: {by_fake} {by_real}", file=sys.stderr)
            continue
        outcome = "invalid" if refused else known[0]
        if len(refused) == 1 and len(known) == 2:
            side = "fake" if by_fake.startswith("invalid") else "real"
            print(f"# only the {side} kernel refuses this: {short(refused[0])}")
        elif not refused and len(known) == 2 and not same(by_fake, by_real):
            print(f"# the real kernel gives {by_real}")
        print(f"{name}({', '.join(shown)}) -> {outcome}")
        if os.environ.get("WHY") and refused:
            print(f"    # {refused[0][:300]}", file=sys.stderr)


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    library = importlib.import_module(f"calls_{sys.argv[1]}")
    print(f"# {library.LIBRARY}, recorded with torch {torch.__version__.split('+')[0]} by scripts/library_operators/record.py")
    record(library.CALLS)
