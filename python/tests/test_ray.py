"""`sizewise.ray.check_many`: every program is answered once, whatever becomes of workers."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

ray = pytest.importorskip("ray")

import sizewise
from sizewise.ray import check_many

PROGRAMS = Path(__file__).resolve().parents[2] / "tests" / "data" / "programs"


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Any:
    ray.init(num_cpus=2, log_to_driver=False, include_dashboard=False)
    yield
    ray.shutdown()


@pytest.fixture
def programs(tmp_path: Path) -> list[str]:
    sources = sorted(PROGRAMS.rglob("*.pt2"))[:20]
    for at in range(100):
        shutil.copy(sources[at % len(sources)], tmp_path / f"{at:03}.pt2")
    (tmp_path / "050a.pt2").write_bytes(b"no program")
    return sorted(str(path) for path in tmp_path.iterdir())


def answers(reports: Any) -> list[tuple[str, str]]:
    return [(report.to_dict()["program"]["path"], report.verdict) for report in reports]


def workers() -> list[int]:
    """The processes of workers, which are named for what they run."""
    lines = [(path.parent.name, path.read_bytes()) for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    return [int(pid) for pid, line in lines if line.startswith((b"ray::_checked", b"ray::IDLE"))]


def test_reports_are_those_of_one_machine_and_in_order(programs: list[str]) -> None:
    assert answers(check_many(programs)) == answers(sizewise.check_many(programs))


def test_a_worker_that_is_killed_costs_no_answer(programs: list[str]) -> None:
    expected = answers(sizewise.check_many(programs))
    found, killed = [], 0
    for report in check_many(programs, batch=4):
        found += answers([report])
        if len(found) in (10, 40):
            os.kill(workers()[0], signal.SIGKILL)
            killed += 1
    assert found == expected and killed == 2


@pytest.mark.parametrize("wrong", [{"batch": 0}, {"retries": -1}])
def test_counts_are_refused_that_are_none(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError):
        check_many([], **wrong)
