"""Programs that torch.export refuses for conditions on sizes, and which of them export with a decider.

Each is exported without a decider and in both modes; what exports is compared with eager torch.
"""

import contextlib
import io
import logging
import warnings
from typing import Any

import torch
from failing import CASES
from reported import REPORTED
from small import Function

import sizewise


def attempt(function: Any, example: Any, shapes: Any, examples: Any, mode: Any) -> str:
    """What becomes of it."""
    asked = sizewise.decider(mode, debug=True) if mode else contextlib.nullcontext()
    try:
        with asked, contextlib.redirect_stdout(io.StringIO()):
            program = torch.export.export(Function(function), example, dynamic_shapes=shapes)
    except Exception as error:
        return "data-dependent" if "data-dependent" in str(error) else f"{str(error).splitlines()[0][:40]}"
    for inputs in examples:
        try:
            result = program.module()(*inputs)
        except (AssertionError, RuntimeError):
            return "refuses an input"
        try:
            torch.testing.assert_close(result, function(*inputs))
        except AssertionError:
            return "WRONG"
    return "exports"


def assumed(function: Any, example: Any, shapes: Any, examples: Any) -> str:
    """What becomes of it with `sizewise.assume`: inputs may be refused where an assumption fails."""
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = sizewise.assume(Function(function), example, dynamic_shapes=shapes)
    except sizewise.DataDependentError:
        return "data"
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0][:60]}"
    refused = 0
    for inputs in (example, *examples):
        try:
            result = found.program.module()(*inputs)
        except (AssertionError, RuntimeError):
            refused += 1
            continue
        try:
            torch.testing.assert_close(result, function(*inputs))
        except AssertionError:
            return "WRONG"
    return f"{found.report.verdict}, {len(found.assumptions)} assumed, refuses {refused} of {1 + len(examples)}"


def main() -> None:
    """Prints a row for each case."""
    torch.set_num_threads(1)
    logging.disable(logging.CRITICAL)
    rows = []
    for kind, cases in (("our own", CASES), ("of issues", REPORTED)):
        fails = rescued = 0
        for name, function, example, shapes, examples in cases:
            with contextlib.redirect_stderr(io.StringIO()):
                outcomes = [attempt(function, example, shapes, examples, mode) for mode in (None, "after", "first")]
            fails += outcomes[0] != "exports"
            rescued += outcomes[0] != "exports" and outcomes[1] == outcomes[2] == "exports"
            last = assumed(function, example, shapes, examples)
            print(f"{name:44} {outcomes[0]:40} {outcomes[1]:16} {outcomes[2]:16} {last}", flush=True)
        rows.append(f"| {kind} | {len(cases)} | {fails} | {rescued} |")
    print("\n| programs | tried | fail in torch | export with a decider, in both modes |\n|" + " --- |" * 4)
    print("\n".join(rows))


if __name__ == "__main__":
    main()
