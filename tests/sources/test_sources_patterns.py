"""Every regular expression of the product takes time in proportion to the text, whatever the text is."""

from __future__ import annotations

import pkgutil
import re
import re._parser as sre_parser  # type: ignore[import-not-found]
import time
from collections import deque
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest

import api
import fll_hbase

CHARACTERS = 32_000
SECONDS_MAX = 0.05
"""CPU time of a search that needs no second look: most of linear work takes less."""

GROWTH_MAX = 20
"""Times the work of a text that is eight times as long: 8 if it is linear, 64 if it is quadratic."""

LEFT_OUT = ("fll_hbase.capture.site", "fll_hbase.spark", "fll_hbase.capture.launch")
"""Modules that need Spark, or start something when they are imported."""
_USES = "search|match|fullmatch|finditer|findall|split|sub|subn"


@cache
def _modules() -> dict[str, Any]:
    """All modules of the product by name."""
    names = [
        entry.name
        for package in (fll_hbase, api)
        for entry in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
        if not entry.name.startswith(LEFT_OUT)
    ]
    return {name: resolve_name(name) for name in names}


@cache
def _sources() -> dict[str, str]:
    return {name: Path(module.__file__ or "").read_text() for name, module in _modules().items()}


def _patterns() -> dict[str, re.Pattern[Any]]:
    """The patterns that modules and their classes have, by module and name."""
    patterns = {}
    for module_name, module in _modules().items():
        for name, value in vars(module).items():
            values = vars(value).items() if isinstance(value, type) else [("", value)]
            for member, pattern in values:
                if isinstance(pattern, re.Pattern):
                    patterns[f"{module_name}:{name}{member and '.'}{member}"] = pattern
    return patterns


def _is_searched(path: str) -> bool:
    """Return whether the product looks for a pattern anywhere in a text, and not only at a place of it."""
    name = path.partition(":")[2].rpartition(".")[2]
    uses = re.compile(rf"\b{name}\s*\.\s*({_USES})\b")
    near = set(uses.findall(_sources()[path.partition(":")[0]]))
    used = near or {use for text in _sources().values() for use in uses.findall(text)}
    return bool(used - {"match", "fullmatch"})


def _sample(parsed: Any, branch: int) -> str:
    """A text as a pattern describes it: what is repeated once, of alternatives the one of that number."""
    text = ""
    for operation, argument in parsed:
        match str(operation):
            case "LITERAL" | "NOT_LITERAL":
                text += chr(argument) if str(operation) == "LITERAL" else "a"
            case "IN":
                text += next((chr(value) for kind, value in argument if str(kind) == "LITERAL"), "a")
            case "ANY":
                text += "a"
            case "BRANCH":
                text += _sample(argument[1][min(branch, len(argument[1]) - 1)], branch)
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                text += _sample(argument[2], branch)
            case "SUBPATTERN":
                text += _sample(argument[3], branch)
            case "ATOMIC_GROUP":
                text += _sample(argument, branch)
    return text


def _hostile(pattern: re.Pattern[Any]) -> Iterator[tuple[str, str]]:
    """Yield a head and what is repeated after it, of texts that repeat parts of what is looked for."""
    source = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    samples = [_sample(sre_parser.parse(source, pattern.flags & re.VERBOSE), branch) for branch in range(4)]
    letters = list(dict.fromkeys(["".join(re.findall(r"[^\w\s\\]", source)), "a !", *samples]))
    singles = list(dict.fromkeys("".join(letters)))[:16]
    units = [*singles, *("".join(pair) for pair in product(singles[:7], repeat=2))]
    for sample in samples:
        # Beginnings of what is looked for, and its parts.
        units += [
            sample[start:end] for start in range(min(len(sample), 12)) for end in (start + 3, start + 6)
        ]
        units += [sample[:end] for end in range(2, min(len(sample), 24), 3)]
    for unit in dict.fromkeys(filter(None, units)):
        for head in ("", samples[0][: len(samples[0]) // 2]):
            yield head, unit


def _seconds(pattern: re.Pattern[Any], head: str, unit: str, characters: int, *, is_searched: bool) -> float:
    """CPU time of finding all matches in a text of that length, or of comparing the whole text."""
    text = head + unit * (characters // len(unit)) + "\x00"
    data = text if isinstance(pattern.pattern, str) else text.encode()
    began = time.thread_time()
    if is_searched:
        deque(pattern.finditer(data), maxlen=0)
    else:
        pattern.match(data)
        pattern.fullmatch(data)
    return time.thread_time() - began


def _is_linear(
    pattern: re.Pattern[Any],
    head: str,
    unit: str,
    *,
    is_searched: bool,
    measurements: int = 5,
    characters: int = CHARACTERS,
) -> bool:
    """Return whether the work grows with a text, whatever the speed of the machine.

    What else the machine does may disturb some measurements, so the least of several counts.
    """
    if _seconds(pattern, head, unit, characters, is_searched=is_searched) < SECONDS_MAX:
        return True
    short, long = (
        min(_seconds(pattern, head, unit, count, is_searched=is_searched) for _ in range(measurements))
        for count in (characters // 8, characters)
    )
    return long < GROWTH_MAX * short


@pytest.mark.parametrize("path", _patterns())
def test_work_is_linear_in_the_text(path: str) -> None:
    pattern, is_searched = _patterns()[path], _is_searched(path)
    for head, unit in _hostile(pattern):
        assert _is_linear(pattern, head, unit, is_searched=is_searched), f"{path}: {head!r}, {unit!r} often"


def test_what_is_quadratic_is_found() -> None:
    """A pattern that was in the product: of names in brackets, and many do not end."""
    pattern = re.compile(r"`([^`]*)`|\[([^\]]*)\]")
    texts = _hostile(pattern)
    count = CHARACTERS // 4
    assert not all(
        _is_linear(pattern, *text, is_searched=True, measurements=2, characters=count) for text in texts
    )
