"""Builders of sample operations: outputs as `name:type`, inputs as `origin.name`, separated by blanks."""

from __future__ import annotations

from fll_hbase.runtime.json_types import Json


def read(name: str, description: str, source: Json, outputs: str) -> Json:
    """Return a READ of a source, as in documents of the REST contract."""
    return {
        "type": "READ",
        "name": name,
        "description": description,
        "source": source,
        "outputs": _outputs(outputs),
    }


def transform(name: str, description: str, inputs: str, outputs: str, **indirect: str) -> Json:
    """Return a TRANSFORM; `indirect` has inputs by kind, such as `filter="read.status"`."""
    return {
        "type": "TRANSFORM",
        "name": name,
        "description": description,
        "inputs": _inputs(inputs, indirect),
        "outputs": _outputs(outputs),
    }


def write(name: str, description: str, destination: Json, inputs: str, **indirect: str) -> Json:
    """Return a WRITE; `indirect` has the dependencies of all its rows by kind."""
    return {
        "type": "WRITE",
        "name": name,
        "description": description,
        "destination": destination,
        "inputs": _inputs(inputs, indirect),
    }


def dataset(namespace: str, name: str, description: str = "") -> Json:
    """Return a dataset as a source or destination."""
    members = {"namespace": namespace, "name": name}
    return members | {"description": description} if description else members


def _outputs(fields: str) -> list[Json]:
    # strict: an output without a type is a mistake in the sample.
    return [dict(zip(("name", "type"), field.split(":"), strict=True)) for field in fields.split()]


def _inputs(direct: str, indirect: dict[str, str]) -> list[Json]:
    inputs = [_input(field) for field in direct.split()]
    for kind, fields in indirect.items():
        inputs += [_input(field) | {"influence": "indirect", "kind": kind} for field in fields.split()]
    return inputs


def _input(field: str) -> Json:
    # The first dot only: no operation of the sample has one in its name, as fields may.
    origin, _, name = field.partition(".")
    return {"origin": origin, "name": name}
