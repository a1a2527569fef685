"""Sample pipeline in the name-based form: File, Parser, Name-Concatenator, IdGenerator, Store."""

from __future__ import annotations

from fll_hbase.runtime.json_types import Json
from fll_hbase.sample.program import Program, Release, daily, dataset

NAMESPACE = "myns"
SOURCE = dataset(NAMESPACE, "user_data", "files contains user information")
STORED = ("id", "name", "age", "city", "state")
"""Fields that the seed's Store writes: not `offset` and `body`, though no operation drops them."""


def _field(name: str) -> Json:
    """Return a field of the name-based form, typed by its name: `int`, `long` or, by default, `string`."""
    return {"name": name, "type": "int" if name == "age" else "long" if name == "offset" else "string"}


def _operation(name: str, description: str, inputs: list[str], outputs: list[str]) -> Json:
    """Return an operation of the name-based form, with fields given by their names."""
    return {
        "name": name,
        "description": description,
        "inputs": [{"field": _field(field)} for field in inputs],
        "outputs": [_field(field) for field in outputs],
    }


OPERATIONS = [
    _operation("read", "Reading the data from the file", [], ["offset", "body"])
    | {"inputs": [{"source": SOURCE}]},
    _operation(
        "parse",
        "parsing the input body field",
        ["body"],
        ["first_name", "last_name", "age", "city", "state"],
    ),
    _operation("concat", "concatenating the first name and last name", ["first_name", "last_name"], ["name"]),
    # Two operations named `drop`, as in the seed: its form allows it, the reader assigns `drop#2`.
    _operation("drop", "deleting the first name field", ["first_name"], []),
    _operation("drop", "deleting the last name field", ["last_name"], []),
    _operation("create", "creating unique id from the name field", ["name"], ["id"]),
]

_MEMBERS = {
    "destination": dataset(NAMESPACE, "mytableds") | {"fields": [_field(name) for name in STORED]},
    "operations": OPERATIONS,
}

PROGRAMS = (
    Program(
        NAMESPACE,
        "UserData",
        "ETLMapReduce",
        "mapreduce",
        *daily(2, 50),
        releases=(Release("1.0", 0, _MEMBERS),),
    ),
)
