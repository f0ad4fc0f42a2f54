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


def skill_cases() -> list[tuple[type, tuple, object, bool]]:
    """Modules that torch refuses to export as asked, and whether the skill mends them without a change of the module."""
    import torch
    from torch.export import Dim
    from torch.fx.experimental.dynamic_spec import ShapesSpec, ShapeVar, TensorSpec

    pool = torch.nn.functional.avg_pool1d

    class Pooled(torch.nn.Module):
        def forward(self, x):
            return pool(pool(pool(x, 5), 5), 2, stride=1)

    class Normed(torch.nn.Module):
        def forward(self, x):
            return x.softmax(1) if x.shape[1] > 1 else torch.ones_like(x)

    class Kept(torch.nn.Module):
        def forward(self, x):
            rows = x[x[:, 0] > 0]
            return rows.sum() if rows.shape[0] > 3 else x.sum()

    free = ShapesSpec({"x": TensorSpec([ShapeVar("n"), ShapeVar("m")])})
    wide = {"x": (Dim.STATIC, Dim.STATIC, Dim("time", min=1, max=4096))}
    return [
        (Pooled, (torch.ones(2, 3, 512),), wide, True),
        (Normed, (torch.ones(2, 5),), free, True),
        (Kept, (torch.ones(5, 2),), ShapesSpec({"x": TensorSpec([ShapeVar("n"), None])}), False),
    ]


def test_the_skill_for_agents() -> None:
    pytest.importorskip("torch")
    blocks = (ROOT / "SKILL.md").read_text().split("```python\n")[1:]
    export, verify = (block.split("```")[0] for block in blocks)
    for module, args, spec, mended in skill_cases():
        space: dict[str, object] = {"module": module(), "args": args, "spec": spec}
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(export, space)
        assert ("program" in space) == mended, module
        if mended:
            exec(verify, space)
        else:
            assert "torch._check(rows.shape[0] > 3)" in out.getvalue()


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
