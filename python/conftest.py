"""Which files are not collected for doctests where torch is missing: those that import it."""

import importlib.util

if importlib.util.find_spec("torch") is None:
    _NEED_TORCH = ("_literals", "_signature", "_sizes", "_trees", "_walk")
    collect_ignore = ["tests/programs.py", *(f"sizewise/{name}.py" for name in _NEED_TORCH)]
