"""How does the sample say operations: fields as `name:type`, inputs as `origin.name`, blanks between them."""

from __future__ import annotations

from fll_hbase.json_types import Json


def read(name: str, description: str, source: Json, outputs: str) -> Json:
    """A READ of fields."""
    return {
        "type": "READ",
        "name": name,
        "description": description,
        "source": source,
        "outputs": _outputs(outputs),
    }


def transform(name: str, description: str, inputs: str, outputs: str, **indirect: str) -> Json:
    """A TRANSFORM; `indirect` names inputs by kind, such as `filter="read.status"`."""
    return {
        "type": "TRANSFORM",
        "name": name,
        "description": description,
        "inputs": _inputs(inputs, indirect),
        "outputs": _outputs(outputs),
    }


def write(name: str, description: str, destination: Json, inputs: str, **indirect: str) -> Json:
    """A WRITE; `indirect` names influences on the whole destination by kind."""
    return {
        "type": "WRITE",
        "name": name,
        "description": description,
        "destination": destination,
        "inputs": _inputs(inputs, indirect),
    }


def end_point(namespace: str, name: str, description: str = "") -> Json:
    """An end point; a description makes it findable by people."""
    said = {"namespace": namespace, "name": name}
    return said | {"description": description} if description else said


def _outputs(said: str) -> list[Json]:
    return [dict(zip(("name", "type"), field.split(":"), strict=True)) for field in said.split()]


def _inputs(direct: str, indirect: dict[str, str]) -> list[Json]:
    inputs = [_input(said) for said in direct.split()]
    for kind, several in indirect.items():
        inputs += [_input(said) | {"influence": "indirect", "kind": kind} for said in several.split()]
    return inputs


def _input(said: str) -> Json:
    origin, _, name = said.partition(".")
    return {"origin": origin, "name": name}
