"""Checks of many programs."""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from sizewise._arguments import check_count
from sizewise._check import check
from sizewise._errors import SizewiseError, SpecError
from sizewise._remote import files_within, is_file, is_url
from sizewise._report import Report

#: The programs and models that folders are looked through for.
_ENDINGS = (".pt2", ".onnx")


def check_many(paths: Any, jobs: int | None = None, *, progress: bool = False) -> Iterator[Report]:
    """Checks several programs, in order, on several threads.

    A program that cannot be checked ends none of the others: its report has the verdict ``"invalid"``, and
    `Report.diagnostics` says why, with the code ``"not-checked"``. Such a report has text and JSON only.

    Parameters
    ----------
    paths : iterable, path or bytes
        Programs, as `check` takes them, and folders of them; a path or bytes is one. A program that was found in a folder is
        checked under the spec beside it (``model.spec.json``, ``model.spec.py``), others under their own contracts.
        Paths such as ``s3://bucket/models`` are read with fsspec.
    jobs : int, optional
        Threads; by default as many as there are processors.
    progress : bool
        Whether a bar is shown (with tqdm, if it is installed).
    """
    if isinstance(paths, (str, bytes, os.PathLike)):
        paths = [paths]
    if jobs is not None:
        check_count("jobs", jobs, 1)
    return _check_many(paths, jobs or os.cpu_count() or 1, progress)


def _check_many(paths: Iterable[Any], jobs: int, progress: bool) -> Iterator[Report]:
    from concurrent.futures import Future, ThreadPoolExecutor

    programs: Any = found(paths)
    if progress:
        try:
            from tqdm.auto import tqdm
        except ImportError:
            pass
        else:
            programs = tqdm(list(programs))
    with ThreadPoolExecutor(jobs) as threads:
        # Reports hold their programs: few are made before they are asked for.
        waiting: deque[Future[Report]] = deque()
        try:
            for program, in_folder in programs:
                waiting.append(threads.submit(checked, program, in_folder))
                if len(waiting) > 2 * jobs:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for report in waiting:
                report.cancel()


def found(paths: Iterable[Any]) -> Iterator[tuple[Any, bool]]:
    """The programs that paths stand for, and whether each was found in a folder."""
    for path in paths:
        if is_url(path):
            yield from _found_remote(path)
        elif isinstance(path, (str, os.PathLike)) and os.path.isdir(path):
            for folder, folders, files in os.walk(os.fspath(path)):
                folders[:] = sorted(name for name in folders if not name.startswith("."))
                for name in sorted(files):
                    if name.lower().endswith(_ENDINGS) and not name.startswith("."):
                        yield os.path.join(folder, name), True
        else:
            yield path, False


def _found_remote(url: str) -> Iterator[tuple[Any, bool]]:
    try:
        files = files_within(url)
    except SizewiseError:
        # The check of it says what is wrong.
        files = None
    if files is None:
        yield url, False
        return
    for file in files:
        if file.lower().endswith(_ENDINGS):
            yield file, True


def spec_beside(program: str | os.PathLike[str]) -> str | None:
    """The spec that stands beside a program: ``model.spec.json`` or ``model.spec.py``.

    Raises
    ------
    SpecError
        If there are both, or the one is no file.
    """
    stem = os.path.splitext(os.fspath(program))[0]
    specs = [stem + ending for ending in (".spec.json", ".spec.py")]
    known = [spec for spec in specs if (is_file(spec) if is_url(spec) else os.path.lexists(spec))]
    if len(known) > 1:
        raise SpecError(f"{os.fspath(program)}: it has two specs, {known[0]} and {known[1]}; keep one")
    if known and not is_url(known[0]) and not os.path.isfile(known[0]):
        raise SpecError(f"{os.fspath(program)}: its spec {known[0]} is no file that can be read")
    return known[0] if known else None


def checked(program: Any, in_folder: bool) -> Report:
    """A check under the spec beside a program that was found in a folder; a report of what stopped it, if something did."""
    try:
        return check(program, spec_beside(program) if in_folder else None)
    except (SizewiseError, OSError, MemoryError) as error:
        return not_checked(program, str(error) or type(error).__name__)


def not_checked(program: Any, message: str) -> Report:
    """The report of a program that could not be checked."""
    name = os.fspath(program) if isinstance(program, (str, os.PathLike)) else "program"
    stand_in: Any = _NotChecked(str(name), message)
    return Report(stand_in)


class _NotChecked:
    """What stands for the native report of a program that could not be checked."""

    def __init__(self, path: str, message: str) -> None:
        self.path, self.message = path, message.removeprefix(f"{path}: ")

    def render(self, format: str) -> str | None:
        if format == "text":
            return f"{self.path}: not checked\n\nerror[not-checked]: {self.message}\n"
        if format != "json":
            return None
        note = {"code": "not-checked", "level": "error", "message": self.message, "node": None, "location": None}
        lists = ("inputs", "outputs", "guards", "minimal_guards", "mismatches", "unsupported", "fixes", "help")
        data: dict[str, Any] = {
            "program": {"path": self.path},
            "verdict": "invalid",
            "assumed": "contract",
            **{name: [] for name in (*lists, "runtime_asserts", "ledger")},
            "symbols": {},
            "diagnostics": [note],
            "timings": {},
        }
        return json.dumps(data, indent=2) + "\n"
