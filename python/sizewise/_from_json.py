"""Answers of the engine that come as JSON."""

from __future__ import annotations

import json
from functools import cached_property
from typing import Any


class FromJson:
    """An answer, read when it is first looked at."""

    def __init__(self, text: str) -> None:
        self._json = text

    @cached_property
    def _data(self) -> dict[str, Any]:
        return self.to_dict()

    def to_dict(self) -> dict[str, Any]:
        """The answer as the command prints it with ``--format json``."""
        data: dict[str, Any] = json.loads(self._json)
        return data

    def to_json(self) -> str:
        """The same as text."""
        return self._json
