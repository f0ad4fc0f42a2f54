"""`record`: traces of real exports, and what `sizewise replay` says of them."""

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F
from torch import nn, randn
from torch.export import Dim, export
from torch.fx.experimental.symbolic_shapes import ShapeEnv

import sizewise

from programs import module  # isort: skip

pytestmark = pytest.mark.torch
AUTO = Dim.AUTO


class Windows(nn.Module):
    def forward(self, x: Any, y: Any) -> Any:
        b, h, c = x.shape
        padded = F.pad(x, (0, 0, 0, (4 - h % 4) % 4)) + y
        return padded.view(b, padded.shape[1] // 4, 4, c).reshape(b, -1, c)[:, :h]


INPUTS = (randn(2, 10, 3), randn(2, 12, 3))
SHAPES = ({0: AUTO, 1: AUTO}, {0: AUTO, 1: AUTO})


def lines(path: Path) -> list[dict[str, Any]]:
    text = gzip.open(path, "rt").read() if path.suffix == ".gz" else path.read_text()
    return [json.loads(line) for line in text.splitlines()]


def replayed(path: Path, *options: str) -> str:
    code = "from sizewise._main import main; main()"
    command = [sys.executable, "-c", code, "replay", str(path), *options]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("name", ["trace.jsonl", "trace.jsonl.gz"])
def test_a_trace(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    with sizewise.record(path, "windows", "export") as recorder:
        program = export(Windows(), INPUTS, dynamic_shapes=SHAPES)
    assert not recorder.failures
    events = lines(path)
    head = {
        "e": "program",
        "format": 1,
        "program": "windows",
        "mode": "export",
        "torch": torch.__version__.split("+")[0],
    }
    assert events[0] == head and events[-1]["e"] == "end" and events[-1]["ok"]
    numbered = events[1:-1]
    order = [event["i"] for event in numbered]
    assert order == sorted(set(order)) and all(event.get("by", -1) < event["i"] for event in numbered)
    kinds = {event["e"] for event in numbered}
    assert {"env", "symbol", "eval", "replace", "guards"} <= kinds
    [guards] = [event for event in numbered if event["e"] == "guards"]
    env = next(node for node in program.graph.nodes if "val" in node.meta).meta["val"].fake_mode.shape_env
    assert guards["recorded"] == [str(guard.expr) for guard in env.guards]
    asked = [event for event in numbered if event["e"] == "eval"]
    assert [event["guard"] for event in asked if event["how"] == "guard"] == guards["recorded"]
    assert all(event["at"].startswith("test_record.py:") for event in asked if event["how"] == "guard")
    assert all(event["value"] == event["result"] for event in asked if isinstance(event["value"], bool))


def test_the_replay_of_a_trace(tmp_path: Path) -> None:
    path = tmp_path / "windows.jsonl.gz"
    with sizewise.record(path):
        export(Windows(), INPUTS, dynamic_shapes=SHAPES)
    asked = {event["i"]: event for event in lines(path)[1:-1]}
    answers = [json.loads(line) for line in replayed(path).splitlines()]
    decided = 0
    for answer in answers:
        event = asked[answer["i"]]
        if answer.get("answer") is None:
            continue
        decided += 1
        assert event["value"] in (None, answer["answer"]), event
        if isinstance(event["result"], bool):
            assert event["result"] == answer["answer"], event
    assert decided > 10
    assert "guards recorded" in replayed(path, "--format", "text")


def test_an_error_and_a_file(tmp_path: Path) -> None:
    def forward(self: Any, n: Any) -> Any:
        k = n.item()
        return n + 1 if k > 3 else n - 1

    path = tmp_path / "error.jsonl"
    with pytest.raises(Exception, match="data-dependent"), sizewise.record(path):
        export(module(forward), (torch.tensor(5),))
    events = lines(path)
    assert events[-1]["ok"] is False and "data-dependent" in events[-1]["error"][1]
    assert [event["how"] for event in events if event["e"] == "eval"][-1] == "error"


def test_with_compile_and_a_decider(tmp_path: Path) -> None:
    path, original = tmp_path / "compiled.jsonl", {name: getattr(ShapeEnv, name) for name in dir(ShapeEnv)}
    torch._dynamo.reset()
    with sizewise.record(path) as recorder, sizewise.decider("first", debug=True) as asked:
        torch.compile(Windows(), backend="eager", dynamic=True)(*INPUTS)
    torch._dynamo.reset()
    assert not recorder.failures and asked.stats.decided > 0
    assert {name: getattr(ShapeEnv, name) for name in dir(ShapeEnv) if name in original} == original
    kinds = {event["e"] for event in lines(path)}
    assert {"guards", "freeze", "eval"} <= kinds
    replayed(path)
