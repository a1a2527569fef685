"""The vectors and the worked example of docs/reference/row-keys.md as values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "row-keys.md"


class Vector(NamedTuple):
    """One line `name [arguments] = key`, or `= start .. stop`."""

    name: str
    arguments: list[Any]
    keys: tuple[bytes, ...]


def vectors() -> list[Vector]:
    """All key vectors of the page, in order."""
    return [_vector(line) for line in _fenced("vectors")]


def example() -> set[tuple[bytes, bytes, bytes]]:
    """The cells of the worked example as row, column and value."""
    cells = set()
    for line in _fenced("cells"):
        row, column, *value = line.encode().split(b" ", 2)
        cells.add((row, column, b"".join(value)))
    return cells


def seal() -> bytes:
    """The seal of the page."""
    (line,) = _fenced("json")
    return line.encode()


def _vector(line: str) -> Vector:
    call, result = line.split(" = ")
    name, arguments = call.split(" ", 1)
    return Vector(name, json.loads(arguments), tuple(result.encode().split(b" .. ")))


def _fenced(kind: str) -> list[str]:
    text = PAGE.read_text(encoding="utf-8")
    _, block = text.split(f"```{kind}\n")
    return block.split("```")[0].splitlines()
