"""Running a module as `torch.export` does, without a trace: what its code asks of sizes costs a third of an export."""

from __future__ import annotations

from typing import Any


class _Ran(Exception):
    """The module has run."""


def ran(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None, spec: Any) -> bool:
    """Runs a module on the sizes of a ShapesSpec; whether it came to its end. No program comes of it.

    The parts of torch are its own, not public ones. Where they fail, an export says what is wrong.
    """
    try:
        from torch.export._trace import _compiling_state_context, _non_strict_export

        with _compiling_state_context():
            _non_strict_export(module, args, kwargs or {}, spec, (), None, False, _run)
    except _Ran:
        return True
    except Exception:
        pass
    return False


def _run(module: Any, args: Any, kwargs: Any, parameters: Any, *rest: Any, **options: Any) -> None:
    """What stands for the trace: the module, with parameters that have no data either."""
    from torch._dispatch.python import enable_python_dispatcher
    from torch.export._trace import _detect_attribute_assignment
    from torch.nn.utils.stateless import _reparametrize_module

    with (
        enable_python_dispatcher(),
        _reparametrize_module(module, parameters, tie_weights=True, strict=True),
        _detect_attribute_assignment(module),
    ):
        module(*args, **kwargs)
    raise _Ran
