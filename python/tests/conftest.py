"""What the tests share: the examples of the repository."""

from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture
def area() -> Path:
    """A small program whose guards are `x <= y` and `x*y < 1000` for the sizes of its two inputs."""
    return EXAMPLES / "area.pt2"


@pytest.fixture
def area_spec() -> Path:
    """A spec of it that is too wide."""
    return EXAMPLES / "area.json"
