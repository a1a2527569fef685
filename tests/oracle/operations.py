"""Documents and operations in short."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

RUN = {"application": "shop", "type": "spark", "program": "nightly", "run": "1", "startTime": 1000}


def run(number: int = 1, **members: Any) -> Json:
    return {**RUN, "run": str(number), "startTime": 1000 * number, **members}


def read(name: str, source: str, *outputs: str, **members: Any) -> Json:
    return {"type": "READ", "name": name, "source": {"name": source}, "outputs": list(outputs), **members}


def transform(name: str, inputs: list[str | Json], *outputs: str) -> Json:
    return {"type": "TRANSFORM", "name": name, "inputs": refs(inputs), "outputs": list(outputs)}


def write(name: str, destination: str, *inputs: str | Json) -> Json:
    return {"type": "WRITE", "name": name, "destination": {"name": destination}, "inputs": refs(inputs)}


def refs(inputs: Any) -> list[Json]:
    return [ref(item) if isinstance(item, str) else item for item in inputs]


def ref(text: str) -> Json:
    origin, name = text.split(".", 1)
    return {"origin": origin, "name": name}


def filtered(text: str) -> Json:
    return {**ref(text), "influence": "indirect", "kind": "filter"}
