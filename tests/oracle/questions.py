"""Random queries after a history, with the oracle's answers."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any
from urllib.parse import quote, urlencode

from tests.oracle.documents import END_POINTS, FIELDS, NAMESPACES, STARTS_MS, Documents
from tests.oracle.oracle import Oracle

EDGES_MS = sorted({max(0, start + step) for start in STARTS_MS for step in (-1, 0, 1)} | {10**13})
LEVELS = [1, 1, 2, 3, 4, 6, 32, 33]
WINDOWED = ("high", "detailed", "first", "runs")


@dataclass(frozen=True, slots=True)
class Ask:
    """One question; `start_ms` is in, `end_ms` is out."""

    kind: str
    namespace: str = ""
    name: str = ""
    field: str = ""
    start_ms: int = 0
    end_ms: int = 10**13
    options: tuple[tuple[str, str], ...] = ()

    @property
    def url(self) -> str:
        """The path and query, each name in its one segment."""
        end_point = f"/v3/namespaces/{_segment(self.namespace)}/endpoints/{_segment(self.name)}"
        paths = {
            "high": f"{end_point}/fields/lineage",
            "detailed": f"{end_point}/fields/{_segment(self.field)}/lineage",
            "first": f"{end_point}/fields/{_segment(self.field)}/lineage".replace(
                "/endpoints/", "/datasets/", 1
            ),
            "runs": f"{end_point}/runs",
            "fields": f"{end_point}/fields",
            "endpoints": f"/v3/namespaces/{_segment(self.namespace)}/endpoints",
            "namespaces": "/v3/namespaces",
        }
        window = [("start", _seconds(self.start_ms)), ("end", _seconds(self.end_ms))]
        query = (window if self.kind in WINDOWED else []) + list(self.options)
        return paths[self.kind] + ("?" + urlencode(query) if query else "")

    def expected(self, oracle: Oracle) -> tuple[int, Any, bool]:
        """An answer of the oracle: status, body, and whether `Truncated: true` is due."""
        dataset = (self.namespace, self.name)
        window = (self.start_ms, self.end_ms)
        options = {name: _value(value) for name, value in self.options}
        if self.kind == "high":
            return oracle.high_level(*dataset, *window, **options)
        answers = {
            "detailed": lambda: oracle.detailed(*dataset, self.field, *window, **options),
            "first": lambda: oracle.first_design(*dataset, self.field, *window, **options),
            "runs": lambda: oracle.runs(*dataset, *window),
            "fields": lambda: oracle.fields(*dataset, **options),
            "endpoints": lambda: oracle.end_points(self.namespace, **options),
            "namespaces": oracle.namespaces,
        }
        return (*answers[self.kind](), False)


def _segment(name: str) -> str:
    """One path segment; a dot segment is encoded, lest a client takes it for a step in the path."""
    return quote(name, safe="").replace(".", "%2E") if set(name) == {"."} else quote(name, safe="")


def _seconds(ms: int) -> str:
    return f"{ms // 1000}.{ms % 1000:03}" if ms % 1000 else str(ms // 1000)


def _value(text: str) -> Any:
    if text.isdigit():
        return int(text)
    return {"true": True, "false": False}.get(text, text)


class Questions:
    """Random questions about the world of some documents."""

    def __init__(self, random: Random, documents: Documents) -> None:
        self.random = random
        self.documents = documents

    def sample_asks(self, count: int) -> list[Ask]:
        """The catalogue's questions once, and so many others."""
        fixed = [Ask("namespaces"), *(Ask("endpoints", namespace) for namespace in NAMESPACES)]
        return fixed + [self.random_ask() for _ in range(count)]

    def random_ask(self) -> Ask:
        kind = self.random.choices(["high", "detailed", "first", "runs", "fields"], [4, 6, 3, 1, 1])[0]
        field = self.random.choice(self.documents.fields if self.random.random() < 0.97 else FIELDS)
        return Ask(kind, *self._random_dataset(), field, *self._window(), tuple(self._options(kind).items()))

    def _random_dataset(self) -> tuple[str, str]:
        namespace, name = self.random.choice(self.documents.datasets)
        if self.random.random() < 0.05:
            return self.random.choice(NAMESPACES), self.random.choice(END_POINTS)
        return namespace, name

    def _window(self) -> tuple[int, int]:
        if self.random.random() < 0.35:
            return 0, 10**13
        start, end = sorted(self.random.choices(EDGES_MS, k=2))
        return start, end

    def _options(self, kind: str) -> dict[str, str]:
        maybe = {
            "high": {"level": [str(n) for n in LEVELS], "direction": ["both", "backward", "forward"]},
            "detailed": {"direction": ["backward", "forward"], "view": ["detailed", "simple"]},
            "fields": {"prefix": ["", "a", "em", "😀"]},
        }.get(kind, {})
        if kind in ("high", "detailed"):
            maybe["indirect"] = ["true", "false"]
        if kind in ("high", "detailed", "first"):
            maybe["failed"] = ["false", "true"]
        return {
            name: self.random.choice(values) for name, values in maybe.items() if self.random.random() < 0.7
        }
