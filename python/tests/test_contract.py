"""Contracts: what they refuse, and how they travel."""

import json
import pathlib
import shutil
import zipfile

import pytest

import sizewise
from sizewise import Contract, ContractError

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture(scope="module")
def area():
    return sizewise.contract(EXAMPLES / "area.pt2")


def test_a_contract_refuses_what_the_program_refuses(area):
    for x, y in [((3,), (5,)), ((6,), (5,)), ((2,), (101,)), ((31,), (33,)), ((3, 1), (5,)), ((0,), (0,))]:
        runs = sizewise.evaluate(EXAMPLES / "area.pt2", {"x": x, "y": y}).ok if len(x) == 1 else False
        assert area.accepts({"x": x, "y": y}) == runs, (x, y)
        assert area.accepts([x, y]) == runs, (x, y)


@pytest.mark.parametrize(
    "inputs, refusal",
    [
        ({"x": (6,), "y": (5,)}, "x.shape[0] <= y.shape[0] does not hold"),
        ({"x": (6, 1), "y": (5,)}, "x has to be a tensor of 1 dimension, no size of which is negative"),
        ({"x": (-1,), "y": (5,)}, "x has to be a tensor of 1 dimension, no size of which is negative"),
        ({"x": (1 << 70,), "y": (5,)}, "x has to be a tensor of 1 dimension, no size of which is negative"),
        ({"x": 3, "y": (5,)}, "x has to be a tensor of 1 dimension, no size of which is negative"),
        ({"x": (6,)}, "y is missing"),
        ({"x": (6,), "y": (5,), "z": (1,)}, "z is no input"),
        ([(6,)], "there have to be 2 inputs, not 1"),
    ],
)
def test_a_refusal_says_why(area, inputs, refusal):
    assert area.refusal(inputs) == refusal


def test_a_written_contract_is_read(area, tmp_path):
    path = tmp_path / "area.json"
    path.write_text(area.to_json())
    assert Contract.read(path) == area


def test_a_single_input_stands_for_itself():
    thirds = sizewise.contract(EXAMPLES / "thirds.pt2")
    rest = sizewise.evaluate(EXAMPLES / "thirds.pt2", {thirds.input_names[0]: (6, *thirds_rest(thirds))}).ok
    assert thirds.accepts((6, *thirds_rest(thirds))) == thirds.accepts([(6, *thirds_rest(thirds))]) == rest


def thirds_rest(contract):
    return tuple(size for size in contract.document["inputs"][0]["sizes"] if isinstance(size, int))


def test_what_is_no_contract_is_refused(area):
    for text in ["", "[]", "{}", '{"contract_version": 2}', b"\xff"]:
        with pytest.raises(ContractError):
            Contract.from_json(text)
    area_text = area.to_json()
    document = json.loads(area_text)
    import base64

    compact = base64.b64decode(document["compact"])
    # The remainder of a size without a dimension, of a tensor; a double as an integer.
    size = bytes.fromhex("535a430100020001070001070000010902010000808080800405")
    double = bytes.fromhex("535a4301000200010700010700000117030000000000004540030000000000004540040000")
    for damaged in [
        size,
        double,
        b"",
        compact[:3],
        b"XYZ" + compact[3:],
        compact[:20],
        compact[:4] + b"\0\xff\xff\xff\xff\xff",
    ]:
        document["compact"] = base64.b64encode(damaged).decode()
        with pytest.raises(ContractError):
            Contract(document).refusal([(1,), (1,)])
    for missing in ("compact", "inputs", "checks"):
        with pytest.raises(ContractError):
            Contract({key: value for key, value in json.loads(area_text).items() if key != missing})


def test_a_contract_travels_in_an_archive(area, tmp_path):
    path = tmp_path / "area.pt2"
    shutil.copy(EXAMPLES / "area.pt2", path)
    with pytest.raises(ContractError, match="holds no contract"):
        Contract.from_archive(path)
    area.add_to_archive(path)
    area.add_to_archive(path)
    assert Contract.from_archive(path) == area
    assert zipfile.ZipFile(path).testzip() is None
    assert sizewise.check(path).verdict == sizewise.check(EXAMPLES / "area.pt2").verdict
    with pytest.raises(ContractError, match="another contract"):
        sizewise.contract(EXAMPLES / "bert.pt2").add_to_archive(path)


def test_a_contract_travels_in_an_onnx_model(tmp_path):
    onnx = pytest.importorskip("onnx")
    path = tmp_path / "patches.onnx"
    text = (EXAMPLES / "patches.onnx").read_text()
    onnx.save(onnx.parser.parse_model(text), path)
    contract, verdict = sizewise.contract(path), sizewise.check(path).verdict
    with pytest.raises(ContractError, match="no contract in its metadata"):
        Contract.from_onnx(path)
    contract.add_to_onnx(path)
    size = path.stat().st_size
    contract.add_to_onnx(path)
    assert (Contract.from_onnx(path), path.stat().st_size) == (contract, size)
    assert sizewise.check(path).verdict == verdict
    entries = {entry.key: entry.value for entry in onnx.load(path).metadata_props}
    assert json.loads(entries["sizewise_contract"])["contract_version"] == 1
    # A model as text, and what is none.
    for other in [text.encode(), b"no model at all"]:
        path.write_bytes(other)
        with pytest.raises(ContractError, match="this is no ONNX model"):
            Contract.from_onnx(path)


def test_torch_loads_an_archive_with_a_contract(tmp_path):
    torch = pytest.importorskip("torch")

    class Sum(torch.nn.Module):
        def forward(self, x, y):
            return x + y

    shapes = ({0: torch.export.Dim("n", min=2, max=9)},) * 2
    exported = torch.export.export(Sum(), (torch.ones(3), torch.ones(3)), dynamic_shapes=shapes)
    path = tmp_path / "sum.pt2"
    torch.export.save(exported, path)
    contract = sizewise.contract(path)
    contract.add_to_archive(path)
    assert Contract.from_archive(path) == contract
    module = torch.export.load(path).module()
    for sizes in [(3, 3), (9, 9), (10, 10), (3, 4), (1, 1)]:
        inputs = tuple(torch.ones(size) for size in sizes)
        if contract.accepts(inputs):
            module(*inputs)
        elif max(sizes) > 1:
            with pytest.raises((RuntimeError, AssertionError)):
                module(*inputs)


def test_a_contract_is_the_result_of_a_method(area):
    pytest.importorskip("torch")
    (tensor,) = area.constant_methods().values()
    assert Contract.from_method([tensor]) == area
    assert Contract.from_method(tensor) == area
