"""Golden cases: text files with an input and, below `--expect`, a line for each fact that its source answers.

A file has lines `name: value`, then sections. A section begins with a line such as `--sql`: two hyphens and
one word. `pytest --update` rewrites the expected part; golden_facts describes its notation.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[1] / "golden"

_MARKER = re.compile(r"--([a-z]+)\n", re.ASCII)
_EXPECT = "--expect\n"


@dataclass(frozen=True)
class Case:
    """One file: its input as members and sections, and the expected lines."""

    path: Path
    members: dict[str, str]
    sections: tuple[tuple[str, str], ...]
    expected: str

    @property
    def source(self) -> str:
        """The folder's name."""
        return self.path.parent.name

    @property
    def name(self) -> str:
        """The file's name without its suffix."""
        return self.path.stem

    def texts(self, section: str) -> list[str]:
        """Return the text of each section of that name."""
        return [text for name, text in self.sections if name == section]

    def json(self, section: str) -> Any:
        """Return the value of a section of JSON; an empty object if the section is missing."""
        return json.loads("".join(self.texts(section)) or "{}")

    def check(self, lines: Iterable[str], *, update: bool) -> None:
        """Fail with a diff if `lines` are not the expected ones; with `update`, rewrite them instead."""
        actual = "".join(f"{line}\n" for line in lines)
        if update:
            given = self.path.read_bytes().decode().partition(_EXPECT)[0]
            self.path.write_bytes(f"{given}{_EXPECT}{actual}".encode())
        elif actual != self.expected:
            texts = self.expected.splitlines(), actual.splitlines()
            diff = difflib.unified_diff(*texts, f"{self.path} (expected)", "actual", lineterm="", n=1)
            pytest.fail("\n".join(diff), pytrace=False)


def merge(variants: dict[str, list[str]]) -> list[str]:
    """Merge the lines of several variants: a line that only some have begins with their names, `[a, b] `."""
    merged: list[tuple[str, list[str]]] = []
    for name, lines in variants.items():
        matcher = difflib.SequenceMatcher(None, [line for line, _ in merged], lines, autojunk=False)
        parts: list[tuple[str, list[str]]] = []
        for tag, start, stop, first, last in matcher.get_opcodes():
            if tag == "equal":
                parts += [(line, [*names, name]) for line, names in merged[start:stop]]
            else:
                parts += merged[start:stop] + [(line, [name]) for line in lines[first:last]]
        merged = parts
    return [line if len(names) == len(variants) else f"[{', '.join(names)}] {line}" for line, names in merged]


def read_case(path: Path) -> Case:
    """Read a file; ends of lines are kept as they are."""
    given, marker, expected = path.read_bytes().decode().partition(_EXPECT)
    assert marker, f"{path} has no line --expect"
    head, sections = "", []
    for line in given.splitlines(keepends=True):
        match = _MARKER.fullmatch(line)
        if match:
            sections.append([match[1], ""])
        elif sections:
            sections[-1][1] += line
        else:
            head += line
    members = dict(line.split(": ", 1) for line in head.splitlines())
    # The newline before the next marker is not part of the text.
    return Case(path, members, tuple((name, text.removesuffix("\n")) for name, text in sections), expected)


def read_cases(source: str) -> list[Case]:
    """Read all cases of a source, by name."""
    return [read_case(path) for path in sorted((FOLDER / source).glob("*.txt"))]
