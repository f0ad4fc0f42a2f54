"""Checks of arguments that several functions take."""

from __future__ import annotations


def check_budget(budget: float) -> None:
    """Refuses a budget that is no number greater than 0."""
    if isinstance(budget, bool) or not isinstance(budget, (int, float)):
        raise TypeError(f"budget: expected a number, got {type(budget).__name__}")
    if not budget > 0:
        raise ValueError(f"budget: expected a number greater than 0, got {budget}")


def check_count(name: str, value: int, least: int) -> None:
    """Refuses a count that is no integer, or too small."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name}: expected an integer, got {type(value).__name__}")
    if value < least:
        raise ValueError(f"{name}: expected at least {least}, got {value}")
