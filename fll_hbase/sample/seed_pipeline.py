"""The pipeline of seed 000 in its own form: File, Parser, Name-Concatenator, IdGenerator, Store."""

from __future__ import annotations

from fll_hbase.json_types import Json
from fll_hbase.sample.builders import end_point
from fll_hbase.sample.schedule import Program, Release, daily

NAMESPACE = "myns"
SOURCE = end_point(NAMESPACE, "user_data", "files contains user information")
STORED = ("id", "name", "age", "city", "state")
"""What the seed's Store holds; `offset` and `body`, which nothing drops, go no further."""


def _field(name: str) -> Json:
    return {"name": name, "type": "int" if name == "age" else "long" if name == "offset" else "string"}


def _operation(name: str, description: str, inputs: list[str], outputs: list[str]) -> Json:
    return {
        "name": name,
        "description": description,
        "inputs": [{"field": _field(taken)} for taken in inputs],
        "outputs": [_field(made) for made in outputs],
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
    _operation("drop", "deleting the first name field", ["first_name"], []),
    _operation("drop", "deleting the last name field", ["last_name"], []),
    _operation("create", "creating unique id from the name field", ["name"], ["id"]),
]

_MEMBERS = {
    "destination": end_point(NAMESPACE, "mytableds") | {"fields": [_field(name) for name in STORED]},
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
