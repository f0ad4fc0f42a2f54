"""Many programs: `check_many` over folders, and the pytest plugin."""

from __future__ import annotations

import importlib.util
import pickle
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import sizewise

pytest_plugins = ["pytester"]

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Programs: one that its spec breaks, one that serves its own contract, one in a folder within, one that is none."""
    models = tmp_path / "models"
    (models / "deep").mkdir(parents=True)
    (models / ".hidden").mkdir()
    shutil.copy(EXAMPLES / "area.pt2", models / "a.pt2")
    shutil.copy(EXAMPLES / "area.json", models / "a.spec.json")
    shutil.copy(EXAMPLES / "area.pt2", models / "deep/b.pt2")
    shutil.copy(EXAMPLES / "area.pt2", models / ".hidden/c.pt2")
    (models / "none.pt2").write_text("nothing")
    (models / "notes.txt").write_text("no program")
    return models


def test_a_folder_is_checked_in_order(folder: Path) -> None:
    for jobs in (1, 3):
        reports = list(sizewise.check_many(folder, jobs=jobs))
        paths = [Path(report.to_dict()["program"]["path"]).relative_to(folder).as_posix() for report in reports]
        assert paths == ["a.pt2", "none.pt2", "deep/b.pt2"]
        assert [report.verdict for report in reports] == ["violated", "invalid", "ok"]


def test_a_program_that_cannot_be_checked_is_a_report(folder: Path) -> None:
    programs = [folder / "none.pt2", folder / "missing.pt2", b"PK", folder / "deep/b.pt2"]
    *broken, good = sizewise.check_many(programs, jobs=2)
    assert good.ok
    for report in broken:
        assert report.verdict == "invalid" and not report
        assert [note["code"] for note in report.diagnostics] == ["not-checked"]
        assert report.conditions == report.fixes == report.inputs == []
        assert "not checked" in str(report) and repr(report).endswith(": invalid, 0 violations>")
        assert pickle.loads(pickle.dumps(report)).verdict == "invalid"
        with pytest.raises(sizewise.SpecError):
            report.raise_if_violated()
    (folder / "a.spec.py").write_text("dynamic_shapes = {}")
    first = next(iter(sizewise.check_many([folder])))
    assert first.verdict == "invalid" and "it has two specs" in first.diagnostics[0]["message"]


def test_few_reports_are_made_before_they_are_asked_for(area: Path) -> None:
    asked = 0

    def programs() -> Iterator[Path]:
        nonlocal asked
        for _ in range(100):
            asked += 1
            yield area

    reports = sizewise.check_many(programs(), jobs=2)
    assert next(reports).ok and asked < 10


def test_the_plugin_makes_a_test_of_every_program(pytester: pytest.Pytester, folder: Path) -> None:
    shutil.copytree(folder, pytester.path / "models")
    plugin = ("-p", "no:cacheprovider", "models")
    assert pytester.runpytest(*plugin).ret == pytest.ExitCode.NO_TESTS_COLLECTED
    ran = pytester.runpytest(*plugin, "--sizewise", "-v")
    ran.assert_outcomes(passed=1, failed=2)
    ran.stdout.fnmatch_lines(["*a.pt2*FAILED*"])
    ran.stdout.fnmatch_lines(["*Write instead:*"])
    ran.stdout.fnmatch_lines(["*b.pt2*PASSED*"])


def test_a_cluster_needs_ray() -> None:
    if importlib.util.find_spec("ray") is not None:
        pytest.skip("Ray is installed")
    from sizewise.ray import check_many as on_ray

    with pytest.raises(sizewise.Unsupported, match="pip install ray"):
        on_ray([])


def test_programs_are_read_where_fsspec_finds_them(folder: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    memory.put(str(folder), "/bucket/models", recursive=True)
    reports = list(sizewise.check_many(["memory://bucket/models", "memory://bucket/models/a.pt2", "memory://bucket/none"]))
    read = [(report.to_dict()["program"]["path"], report.verdict) for report in reports]
    models = "memory:///bucket/models"
    assert read == [
        (f"{models}/a.pt2", "violated"),
        (f"{models}/none.pt2", "invalid"),
        (f"{models}/deep/b.pt2", "ok"),
        ("memory://bucket/models/a.pt2", "ok"),
        ("memory://bucket/none", "invalid"),
    ]
    assert sizewise.check("memory://bucket/models/a.pt2", "memory://bucket/models/a.spec.json").verdict == "violated"


def test_urls_that_nothing_reads_say_what_is_missing() -> None:
    pytest.importorskip("fsspec")
    for url, message in [
        ("nowhere://models/a.pt2", "nowhere"),
        ("memory://missing/a.pt2", "memory://missing/a.pt2"),
    ]:
        with pytest.raises(sizewise.ProgramError, match=message):
            sizewise.check(url)
