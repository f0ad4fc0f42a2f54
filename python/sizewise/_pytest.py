"""The pytest plugin: ``pytest --sizewise models`` makes a test of every program in a folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("sizewise", "shapes of exported programs")
    says = "test each .pt2 and .onnx file under the spec beside it (model.spec.json, model.spec.py)"
    group.addoption("--sizewise", action="store_true", help=says)
    group.addoption("--sizewise-allow-unknown", action="store_true", help="let undecided programs pass")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> ProgramFile | None:
    """Makes a test of a program."""
    if parent.config.getoption("--sizewise") and file_path.suffix.lower() in (".pt2", ".onnx"):
        file: ProgramFile = ProgramFile.from_parent(parent, path=file_path)
        return file
    return None


class ProgramFile(pytest.File):
    """A file with a program."""

    def collect(self) -> Iterator[pytest.Item]:
        yield ProgramItem.from_parent(self, name="shapes")


class ProgramItem(pytest.Item):
    """The test of a program."""

    def runtest(self) -> None:
        # Only a run that asks for it imports sizewise.
        from sizewise._many import spec_beside
        from sizewise.testing import assert_shapes_ok

        unknown = self.config.getoption("--sizewise-allow-unknown")
        assert_shapes_ok(self.path, spec_beside(self.path), allow_unknown=unknown)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        from sizewise._errors import SizewiseError

        if isinstance(excinfo.value, (AssertionError, SizewiseError)):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, f"shapes of {self.path.name}"
