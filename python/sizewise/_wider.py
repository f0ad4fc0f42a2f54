"""Exports that refuse fewer sizes: torch assumes that sizes are 2 or more, and decides by its own rules alone."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from sizewise._check import check
from sizewise._decider import decider
from sizewise._report import Report
from sizewise._resized import say_what_runs


@dataclass(frozen=True)
class Exported:
    """A program, its check, and how to export others like it."""

    program: Any
    report: Report
    attempt: Callable[[Any], Any]


def widest(module: Any, first: Exported, shapes: Any, spec: Any) -> Exported:
    """The first of several exports at none of whose counterexamples the module runs, or the one that was made already.

    Parameters
    ----------
    shapes
        The dimensions to export with.
    spec
        The spec under which programs are checked.
    """
    if not say_what_runs(first.report, module, first.program):
        return first
    for name, within in (("backed_size_oblivious", _size_oblivious), ("sizewise.decider()", decider)):
        attempt = _within(within, first.attempt)
        try:
            program = attempt(shapes)
            report = check(program, spec)
        except Exception:
            continue
        is_wider = report.verdict == "violated" and not say_what_runs(report, module, program)
        if report.verdict == "ok" or is_wider:
            message = f"exported with {name}: otherwise the program refuses sizes at which the module runs"
            report.add_note("exported-again", message)
            return Exported(program, report, attempt)
    return first


def _within(context: Callable[[], Any], attempt: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def exported(shapes: Any) -> Any:
        with context():
            return attempt(shapes)

    return exported


@contextlib.contextmanager
def _size_oblivious() -> Iterator[None]:
    """Within the block torch does not assume that sizes are 2 or more."""
    from torch.fx.experimental import _config

    with _config.patch(backed_size_oblivious=True):
        yield
