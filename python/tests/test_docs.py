"""The examples of the documentation run as written."""

import contextlib
import doctest
import io
import json
import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("page", "torch"),
    [
        ("README.md", True),
        ("python/README.md", False),
        ("docs/contract.md", False),
        ("docs/data_dependent.md", True),
        ("docs/failed_exports.md", True),
        ("docs/first_check.md", True),
        ("docs/python.md", True),
        ("docs/torch.md", True),
    ],
)
def test_pages(page: str, torch: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if torch:
        pytest.importorskip("torch")
    monkeypatch.chdir(ROOT)
    failed, tried = doctest.testfile(str(ROOT / page), module_relative=False)
    assert tried > 5 and failed == 0


def test_the_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    notebook = json.loads((ROOT / "python/examples/first_check.ipynb").read_text())
    monkeypatch.chdir(ROOT / "python/examples")
    space: dict[str, object] = {"__name__": "notebook"}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile("".join(cell["source"]), "cell", "exec"), space)
            said = "".join(text for output in cell["outputs"] for text in output.get("text", []))
            assert out.getvalue() == said
    assert os.getcwd() == str(ROOT / "python/examples")
