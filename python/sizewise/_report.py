"""Reports of checks."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from sizewise import _native
from sizewise._errors import ShapeError, SpecError
from sizewise._read import read
from sizewise._spec import to_objects

#: The formats that a report keeps when it is pickled.
_FORMATS = ("json", "text", "html", "sarif", "github", "torch")

Verdict = Literal["ok", "violated", "unknown", "invalid"]


@dataclass(frozen=True)
class Frame:
    """A line of the stack of calls that made a node."""

    file: str
    line: int
    function: str
    source: str
    #: Whether the file is an installed package's.
    library: bool


@dataclass(frozen=True)
class Condition:
    """A condition that the program needs, with the verdict on it."""

    #: The condition, in the names of the spec where it has such.
    expr: str
    verdict: Literal["implied", "violated", "unknown"]
    #: What gives rise to it: "guard", "precondition", "assertion", "contract", "overflow", "runtime".
    kind: str
    #: What it is, in a sentence.
    message: str
    #: The clause of the operator that demands it.
    clause: str | None
    #: Shapes of the inputs that the spec allows and that break it.
    inputs: dict[str, Any] | None
    #: Values of the symbols there.
    witness: dict[str, int] | None
    #: What gave rise to it: "branch", "operator", "layout" (torch's check of strides), "assertion", "record" (a recorded
    #: size or range) and others.
    cause: str
    #: What follows from: the facts of a proof.
    because: list[str]
    node: str | None
    op: str | None
    #: The line of the user's code.
    file: str | None
    line: int | None
    source: str | None
    #: The path of the module that the node belongs to.
    module: str | None
    #: The calls that led to it, innermost first.
    stack: list[Frame] = field(default_factory=list)
    #: Whether it follows from the spec and the violated conditions before it.
    follows: bool = False
    #: Shapes near the counterexample at which the program runs.
    works: dict[str, Any] | None = None
    #: What every element of the inputs is, where an ONNX model refuses these shapes with such values only.
    values: dict[str, Any] | None = None
    #: The same for the shapes at which it runs.
    works_values: dict[str, Any] | None = None

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True)
class Fix:
    """A change of the spec."""

    #: The change: definitions of dimensions.
    text: str
    #: Whether a check of the changed spec came out ok.
    proved: bool
    #: What the change costs.
    cost: str | None
    #: The whole changed spec as JSON is read.
    spec: Any = None
    #: What inputs and outputs of an ONNX model are to be declared as. The spec is then that of the model with these.
    declarations: list[dict[str, Any]] = field(default_factory=list)
    #: The changed spec as Python to paste, with the containers that the program takes.
    code: str = ""
    #: Whether it rejects shapes that work; `None` if that is not known, or left to the exported module.
    loses: bool | None = None
    #: The change of a `ShapesSpec` as conditions over the variables of the spec as it was given: added to its
    #: assumptions, they are the fix. Empty for a fix in `Dim`.
    assumptions: list[str] = field(default_factory=list)

    @property
    def dynamic_shapes(self) -> Any:
        """The changed spec for ``torch.export.export``."""
        return to_objects(self.code)

    def declared(self, model: Any) -> bytes:
        """The ONNX model that was checked with the declarations of this fix, as the bytes of a file.

        Parameters
        ----------
        model : onnx.ModelProto, path, bytes
            The model.
        """
        return read(model).redeclared(json.dumps(self.declarations))

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class RuntimeAssert:
    """A condition that only data decides."""

    expr: str
    message: str
    after_node: str


@dataclass(frozen=True)
class Value:
    """An input or output."""

    name: str
    #: Sizes: integers, or expressions as text; `None` for what is no tensor.
    shape: list[int | str] | None
    dtype: str
    #: The greatest sizes; outputs only.
    upper_bound: list[int | None] | None = None


class Report:
    """What a check found.

    It is true where the verdict is ``"ok"``. Printing it gives the text of ``sizewise check``; in Jupyter it shows the
    page.
    """

    def __init__(self, native: _native.Report) -> None:
        self._native: _native.Report | None = native
        self._rendered: dict[str, str] = {}
        self._notes: list[dict[str, Any]] = []

    @classmethod
    def of_texts(cls, rendered: dict[str, str]) -> Report:
        """A report of which only these forms are kept, by their names; JSON has to be among them."""
        report = cls.__new__(cls)
        report.__setstate__({"rendered": rendered, "notes": []})
        return report

    def add_note(self, code: str, message: str) -> None:
        """Adds a note to `diagnostics`, the printed report and its JSON: what was done with it. The other forms stay as they are."""
        self._notes.append({"code": code, "level": "note", "message": message, "node": None, "location": None})

    def _render(self, form: str) -> str:
        text = self._rendered.get(form)
        if text is None:
            if self._native is None:
                raise ValueError(f"a report that was pickled has no form {form!r}")
            text = self._rendered[form] = self._native.render(form) or ""
        return text

    @cached_property
    def _data(self) -> dict[str, Any]:
        data: dict[str, Any] = json.loads(self._render("json"))
        return data

    @property
    def verdict(self) -> Verdict:
        """The answer: ``"ok"``, ``"violated"``, ``"unknown"`` or ``"invalid"`` (the spec does not fit)."""
        verdict: Verdict = self._data["verdict"]
        return verdict

    @property
    def ok(self) -> bool:
        """Whether the program runs on every allowed input."""
        return self.verdict == "ok"

    @cached_property
    def conditions(self) -> list[Condition]:
        """All conditions, each with its verdict."""
        return [self._condition(guard) for guard in self._data["guards"]]

    @property
    def violations(self) -> list[Condition]:
        """The conditions that some allowed input breaks; those that follow from others come last."""
        broken = [condition for condition in self.conditions if condition.verdict == "violated"]
        return sorted(broken, key=lambda condition: condition.follows)

    @property
    def unknowns(self) -> list[Condition]:
        """The conditions that were neither proved nor refuted."""
        return [condition for condition in self.conditions if condition.verdict == "unknown"]

    @cached_property
    def fixes(self) -> list[Fix]:
        """Changes of the spec that make it imply every condition.

        Those that keep the dimensions named come first, those that leave them to torch after them. So the first may
        lose shapes that a later one keeps: see `Fix.cost`.
        """
        return [
            Fix(
                text=fix["text"],
                proved=fix["proved"],
                cost=fix["cost"],
                spec=fix["spec"],
                declarations=fix.get("declarations", []),
                code=fix.get("code", "").rstrip("\n"),
                loses=fix["loses"],
                assumptions=fix.get("assumptions") or [],
            )
            for fix in self._data["fixes"]
        ]

    @property
    def runtime_asserts(self) -> list[RuntimeAssert]:
        """What only data decides."""
        asserts = self._data["runtime_asserts"]
        return [RuntimeAssert(a["expr"], a["message"], a["after_node"]) for a in asserts]

    @property
    def inputs(self) -> list[Value]:
        """The inputs with their shapes."""
        return [Value(v["name"], v["shape"], v["dtype"]) for v in self._data["inputs"]]

    @property
    def outputs(self) -> list[Value]:
        """The outputs with their shapes."""
        return [Value(v["name"], v["shape"], v["dtype"], v.get("upper_bound")) for v in self._data["outputs"]]

    @property
    def guards(self) -> list[str]:
        """What the program needs of its inputs beyond their ranges, without conditions that follow from others."""
        guards: list[str] = self._data["minimal_guards"]
        return guards

    @property
    def help(self) -> list[str]:
        """What else can be done, and why there is no fix where there is none."""
        advice: list[str] = self._data["help"]
        return advice

    @property
    def diagnostics(self) -> list[dict[str, Any]]:
        """Warnings and notes."""
        return [*self._data["diagnostics"], *self._notes]

    @property
    def timings(self) -> dict[str, float]:
        """Seconds by phase."""
        timings: dict[str, float] = self._data["timings"]
        return timings

    def _condition(self, guard: dict[str, Any]) -> Condition:
        return Condition(
            expr=guard["shown"],
            verdict=guard["verdict"],
            kind=guard["kind"],
            message=_message(guard, self._data["assumed"]),
            clause=guard["clause"],
            inputs=guard["inputs"],
            witness=guard["witness"],
            cause=guard["cause"],
            because=guard["because"],
            node=guard["node"],
            op=guard["op"],
            file=guard["file"],
            line=guard["line"],
            source=guard["code"],
            module=guard["module"],
            stack=[_frame(frame) for frame in guard["stack"]],
            follows=bool(guard["follows"]),
            works=guard["works"],
            values=guard.get("values"),
            works_values=guard.get("works_values"),
        )

    def to_dict(self) -> dict[str, Any]:
        """The JSON report as objects."""
        data: dict[str, Any] = json.loads(self._render("json"))
        data["diagnostics"].extend(dict(note) for note in self._notes)
        return data

    def to_json(self) -> str:
        """The JSON report."""
        return json.dumps(self.to_dict(), indent=2) + "\n" if self._notes else self._render("json")

    def to_html(self) -> str:
        """A page that needs no network."""
        return self._render("html")

    def to_sarif(self) -> str:
        """A SARIF log, for code scanning."""
        return self._render("sarif")

    def to_github(self) -> str:
        """Annotations for GitHub Actions."""
        return self._render("github")

    def to_model_explorer(self) -> str:
        """The graph for Google's Model Explorer as JSON; each of its ``nodeData`` is for a file of its own."""
        return self._render("model-explorer")

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        notes = "".join(f"\n{note['level']}[{note['code']}]: {note['message']}" for note in self._notes)
        return self._render("text").rstrip("\n") + notes

    def __repr__(self) -> str:
        name, violations = self._data["program"]["path"], len(self.violations)
        return f"<sizewise.Report {name}: {self.verdict}, {violations} violation{'' if violations == 1 else 's'}>"

    def _repr_html_(self) -> str:
        from html import escape

        title = escape(repr(self)[1:-1])
        page = escape(self.to_html(), quote=True)
        frame = f'<iframe srcdoc="{page}" style="width:100%;height:600px;border:0" sandbox="allow-scripts"></iframe>'
        text = f"<pre>{escape(str(self))}</pre>"
        graph = f"<details><summary>Graph</summary>{frame}</details>"
        return f"<details{'' if self.ok else ' open'}><summary>{title}</summary>{text}{graph}</details>"

    def raise_if_violated(self, *, unknown: bool = False) -> None:
        """Raises what is wrong.

        Parameters
        ----------
        unknown : bool
            Whether an undecided program is an error, too.

        Raises
        ------
        ShapeError
            If some allowed input breaks a condition.
        SpecError
            If the spec does not fit the program.
        """
        if self.verdict == "invalid":
            raise SpecError("; ".join(d["message"] for d in self.diagnostics) or str(self))
        if self.verdict == "violated" or (unknown and self.verdict == "unknown"):
            raise ShapeError(str(self), self)

    def __getstate__(self) -> dict[str, Any]:
        rendered = {form: self._render(form) for form in _FORMATS}
        return {"rendered": rendered, "notes": self._notes}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._native = None
        self._rendered = state["rendered"]
        self._notes = state["notes"]


def _frame(frame: dict[str, Any]) -> Frame:
    return Frame(frame["file"], frame["line"], frame["function"], frame["code"], frame["library"])


def _message(guard: dict[str, Any], assumed: str) -> str:
    needed = f"`{guard['shown']}`"
    at = f" ({guard['location']})" if guard["location"] else ""
    of = f" of {guard['op']}" if guard["op"] else ""
    if guard["verdict"] == "violated":
        then = f": {guard['consequence']}" if guard["consequence"] else ""
        allows = "the model declares" if assumed == "declaration" else "the spec allows"
        return f"{allows} shapes that break {needed}{of}{at}{then}"
    if guard["verdict"] == "unknown":
        why = f": {guard['reason']}" if guard["reason"] else ""
        return f"{needed}{of}{at} is undecided{why}"
    return f"{needed}{of}{at} holds"
