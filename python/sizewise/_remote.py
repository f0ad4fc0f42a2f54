"""Files in object stores, on web servers and wherever else fsspec reads: paths such as ``s3://bucket/model.pt2``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from sizewise._errors import ProgramError, Unsupported

_T = TypeVar("_T")


def is_url(path: Any) -> bool:
    """Whether fsspec reads it: a text that begins with a protocol (``s3://``, ``zip::file://``)."""
    return isinstance(path, str) and re.match(r"[a-z][a-z0-9+.-]+(::[a-z]|://)", path) is not None


def read_bytes(url: str) -> bytes:
    """The bytes of a file.

    Raises
    ------
    ProgramError
        If it cannot be read.
    Unsupported
        If fsspec, or what it needs for the protocol, is not installed.
    """
    return bytes(_at(url, lambda fs, path: fs.cat_file(path)))


def is_file(url: str) -> bool:
    """Whether it is a file."""
    return bool(_at(url, lambda fs, path: fs.isfile(path)))


def files_within(url: str) -> Iterator[str] | None:
    """The files within a folder and the folders in it, but for hidden ones; `None` if it is no folder.

    The files of a folder come before those of the folders in it, each in alphabetical order.
    """

    def within(fs: Any, root: str) -> list[str] | None:
        if not fs.isdir(root):
            return None
        inner = {path: path.removeprefix(root).strip("/").split("/") for path in fs.find(root)}
        seen = [path for path, parts in inner.items() if not any(part.startswith(".") for part in parts)]
        seen.sort(key=lambda path: [(at + 1 < len(inner[path]), part) for at, part in enumerate(inner[path])])
        return [fs.unstrip_protocol(path) for path in seen]

    found = _at(url, within)
    return None if found is None else iter(found)


def _at(url: str, ask: Callable[[Any, str], _T]) -> _T:
    try:
        from fsspec.core import url_to_fs

        return ask(*url_to_fs(url))
    except ImportError as error:
        raise Unsupported(f"{url}: reading it needs fsspec, `pip install 'sizewise[remote]'`: {error}") from error
    except (OSError, ValueError) as error:
        raise ProgramError(f"{url}: {error}") from error
