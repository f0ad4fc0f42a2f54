"""Checks of many programs on a Ray cluster."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import Any

from sizewise._arguments import check_count
from sizewise._errors import Unsupported
from sizewise._many import checked, found, not_checked
from sizewise._report import Report

#: The forms that reports have that come from a worker: all of them would take longer than the check.
_FORMS = ("json", "text")

#: How many batches are under way for each processor of the cluster.
_AHEAD = 4


def check_many(paths: Any, *, batch: int = 16, retries: int = 4) -> Iterator[Report]:
    """Checks several programs, in order, on the workers of a Ray cluster.

    A batch whose worker dies is given to another one. If that goes on, its programs are checked one by one; a program
    that cannot be checked ends none of the others: its report has the verdict ``"invalid"`` and the code
    ``"not-checked"``. Reports have text and JSON only.

    Parameters
    ----------
    paths : iterable or path
        Programs and folders of them, as `sizewise.check_many` takes them. The workers read the files, so they need the
        same folders.
    batch : int
        The programs that a task checks.
    retries : int
        How often a task is given to another worker.

    Raises
    ------
    Unsupported
        If Ray is not installed.
    """
    check_count("batch", batch, 1)
    check_count("retries", retries, 0)
    if isinstance(paths, (str, bytes, os.PathLike)):
        paths = [paths]
    try:
        import ray
    except ImportError as error:
        raise Unsupported(f"sizewise.ray needs Ray, `pip install ray`: {error}") from error
    return _check_many(ray, found(paths), batch, retries)


def _check_many(ray: Any, programs: Iterator[tuple[Any, bool]], batch: int, retries: int) -> Iterator[Report]:
    if not ray.is_initialized():
        ray.init(log_to_driver=False)
    task = ray.remote(max_retries=retries)(_checked)
    most = _AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1)))
    waiting: deque[tuple[list[tuple[Any, bool]], Any]] = deque()
    more = True
    while more or waiting:
        while more and len(waiting) < most:
            taken = list(islice(programs, batch))
            more = len(taken) == batch
            if taken:
                waiting.append((taken, task.remote(taken)))
        if waiting:
            yield from _results(ray, *waiting.popleft())


def _results(ray: Any, programs: list[tuple[Any, bool]], result: Any) -> Iterator[Report]:
    """The reports of a batch; one by one if no worker survived it."""
    try:
        states = ray.get(result)
    except ray.exceptions.RayError as error:
        if len(programs) == 1:
            yield not_checked(programs[0][0], f"no worker survived the check: {type(error).__name__}")
            return
        alone = ray.remote(max_retries=1)(_checked)
        for program in programs:
            yield from _results(ray, [program], alone.remote([program]))
        return
    yield from map(Report.of_texts, states)


def _checked(programs: list[tuple[Any, bool]]) -> list[dict[str, str]]:
    """Runs on a worker."""
    return [{form: report._render(form) for form in _FORMS} for report in (checked(*one) for one in programs)]
