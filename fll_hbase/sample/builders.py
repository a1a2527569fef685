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
    """Return a TRANSFORM of direct `inputs`; `indirect` has others by kind, as in `filter="read.status"`."""
    return {
        "type": "TRANSFORM",
        "name": name,
        "description": description,
        "inputs": _inputs(inputs, indirect),
        "outputs": _outputs(outputs),
    }


def write(name: str, description: str, destination: Json, inputs: str, **indirect: str) -> Json:
    """Return a WRITE of direct `inputs`; `indirect` has the dependencies of all its rows by kind."""
    return {
        "type": "WRITE",
        "name": name,
        "description": description,
        "destination": destination,
        "inputs": _inputs(inputs, indirect),
    }


def dataset(namespace: str, name: str, description: str = "") -> Json:
    """Return a dataset as a source or destination, without an empty description."""
    members = {"namespace": namespace, "name": name}
    return members | {"description": description} if description else members


def _outputs(fields: str) -> list[Json]:
    """Return the fields of a text such as `id:long name:string`. Raises ValueError for one without a type."""
    # strict: an output without a type is a mistake in the sample.
    return [dict(zip(("name", "type"), field.split(":"), strict=True)) for field in fields.split()]


def _inputs(direct: str, indirect: dict[str, str]) -> list[Json]:
    """Return the direct inputs of a text such as `read.id parse.name`, then the indirect ones by kind."""
    inputs = [_input(field) for field in direct.split()]
    for kind, fields in indirect.items():
        inputs += [_input(field) | {"influence": "indirect", "kind": kind} for field in fields.split()]
    return inputs


def _input(field: str) -> Json:
    """Return an input of a text `origin.name`, split at its first dot."""
    # The first dot only: no operation of the sample has one in its name, as fields may.
    origin, _, name = field.partition(".")
    return {"origin": origin, "name": name}
