"""The lines of the manual's page on continuous integration, and those of the action, run as they are."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def tries() -> Any:
    spec = importlib.util.spec_from_file_location("try_ci", ROOT / "scripts/release/try_ci.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """A path on which `sizewise` is this package's command."""
    command = tmp_path / "bin" / "sizewise"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m sizewise._main "$@"\n')
    command.chmod(0o755)
    package = str(ROOT / "python")
    return {**os.environ, "PATH": f"{command.parent}:{os.environ['PATH']}", "PYTHONPATH": package}


def test_the_manual(tries: Any, tmp_path: Path, env: dict[str, str]) -> None:
    tries.try_manual(tmp_path, env, None)


def test_the_action(tries: Any, tmp_path: Path, env: dict[str, str]) -> None:
    tries.try_action(tmp_path, env, None)


def test_a_wrong_line_is_seen(tries: Any, tmp_path: Path, env: dict[str, str]) -> None:
    (tmp_path / "bin" / "sizewise").write_text("#!/bin/sh\nexit 0\n")
    with pytest.raises(AssertionError):
        tries.try_action(tmp_path, env, None)
    assert tries.runs("- run: a\n  name: x\n- run: |\n    b\n    c\n  shell: bash\n") == ["a", "b\nc"]
