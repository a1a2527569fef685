"""Datasets in columns, each derived from the column before it: the graphs that the page draws."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from fll_hbase.runtime.json_types import Json

NAMESPACE = "layers"
ROOT = "d000"
"""The dataset that all others are derived from; the first column has only this one."""


@dataclass(frozen=True, slots=True)
class Layers:
    """`datasets` of `fields` each, in columns of `height`, with `pairs` of fields between neighbours."""

    datasets: int
    fields: int
    pairs: int
    height: int

    @property
    def hops(self) -> int:
        """Return the hops from the root to the last column."""
        return -(-(self.datasets - 1) // self.height)

    def documents(self, start_ms: int) -> Iterator[bytes]:
        """Generate a document for each dataset but the root: a run that reads one or two and writes it."""
        for number in range(1, self.datasets):
            yield json.dumps(self._document(number, start_ms)).encode()

    def _document(self, number: int, start_ms: int) -> Json:
        share, rest = divmod(self.pairs, self.datasets - 1)
        count = share + (number <= rest)
        first, second = self._parents(number)
        inputs: dict[int, list[str]] = {}
        for pair in range(count):
            parent = second if pair % 2 else first
            inputs.setdefault(parent, []).append(_field((pair * 7 + pair // self.fields) % self.fields))
        return {
            "namespace": NAMESPACE,
            "run": {
                "application": "layers",
                "type": "spark",
                "program": f"write_{_dataset(number)}",
                "run": f"layers-{number}",
                "startTime": start_ms + number,
            },
            "operations": [
                *_reads(inputs),
                *_transforms(inputs, self.fields),
                _write(number, count, self.fields),
            ],
        }

    def _parents(self, number: int) -> tuple[int, int]:
        """The dataset beside this one in the previous column, and the one below that."""
        column, row = divmod(number - 1, self.height)
        if column == 0:
            return 0, 0
        previous = (column - 1) * self.height + 1
        return previous + row, previous + (row + 1) % self.height


MEDIUM = Layers(datasets=50, fields=20, pairs=1_000, height=7)
LARGE = Layers(datasets=300, fields=20, pairs=5_000, height=15)


def _reads(inputs: dict[int, list[str]]) -> Iterator[Json]:
    for parent, names in inputs.items():
        yield {
            "type": "READ",
            "name": f"read_{_dataset(parent)}",
            "source": {"namespace": NAMESPACE, "name": _dataset(parent)},
            "outputs": sorted(set(names)),
        }


def _transforms(inputs: dict[int, list[str]], fields: int) -> Iterator[Json]:
    """One operation for each pair, so that each has one input and one output."""
    outputs = 0
    for parent, names in inputs.items():
        for name in names:
            yield {
                "type": "TRANSFORM",
                "name": f"derive_{outputs}",
                "inputs": [{"origin": f"read_{_dataset(parent)}", "name": name}],
                "outputs": [_field(outputs % fields)],
            }
            outputs += 1


def _write(number: int, count: int, fields: int) -> Json:
    inputs = [{"origin": f"derive_{pair}", "name": _field(pair % fields)} for pair in range(count)]
    destination = {"namespace": NAMESPACE, "name": _dataset(number)}
    return {"type": "WRITE", "name": "write", "destination": destination, "inputs": inputs}


def _dataset(number: int) -> str:
    return f"d{number:03}"


def _field(number: int) -> str:
    return f"field_{number:02}"
