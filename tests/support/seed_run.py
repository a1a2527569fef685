"""The sample code of seed 000 in Python, and its document, written by hand."""

from __future__ import annotations

from typing import Any

from fll_hbase.recorder import Destination, Field, FieldOperation, Run, Source

START_MS = 1_442_863_938_000
DESTINATION = Destination("myns", "mytableds")
OPERATIONS = [
    FieldOperation(
        "read",
        "Reading the data from the file",
        inputs=[Source("myns", "user_data", "files contains user information")],
        outputs=["offset", "body"],
    ),
    FieldOperation(
        "parse",
        "parsing the input body field",
        inputs=[Field("body")],
        outputs=["first_name", "last_name", Field("age", "int"), "city", "state"],
    ),
    FieldOperation(
        "concat",
        "concatenating the first name and last name",
        inputs=[Field("first_name"), Field("last_name")],
        outputs=[Field("name", "string")],
    ),
    FieldOperation("drop", "deleting the first name field", inputs=["first_name"]),
    FieldOperation("drop", "deleting the last name field", inputs=["last_name"]),
    FieldOperation(
        "create",
        "creating unique id from the name field",
        inputs=[Field("name")],
        outputs=[Field("id", "string")],
    ),
]


def run(name: str = "run-1", **members: Any) -> Run:
    """A run of the seed's program."""
    given = {"application": "UserData", "program": "ETLMapReduce", "type": "mapreduce", "start_ms": START_MS}
    return Run(**{**given, "run": name, **members})


DOCUMENT: dict[str, Any] = {
    "namespace": "myns",
    "run": {
        "application": "UserData",
        "type": "mapreduce",
        "program": "ETLMapReduce",
        "run": "run-1",
        "startTime": START_MS,
        "state": "COMPLETE",
    },
    "destination": {"namespace": "myns", "name": "mytableds"},
    "operations": [
        {
            "name": "read",
            "description": "Reading the data from the file",
            "inputs": [
                {
                    "source": {
                        "namespace": "myns",
                        "name": "user_data",
                        "description": "files contains user information",
                    }
                }
            ],
            "outputs": ["offset", "body"],
        },
        {
            "name": "parse",
            "description": "parsing the input body field",
            "inputs": [{"field": {"name": "body"}}],
            "outputs": ["first_name", "last_name", {"name": "age", "type": "int"}, "city", "state"],
        },
        {
            "name": "concat",
            "description": "concatenating the first name and last name",
            "inputs": [{"field": {"name": "first_name"}}, {"field": {"name": "last_name"}}],
            "outputs": [{"name": "name", "type": "string"}],
        },
        {
            "name": "drop",
            "description": "deleting the first name field",
            "inputs": [{"field": "first_name"}],
            "outputs": [],
        },
        {
            "name": "drop",
            "description": "deleting the last name field",
            "inputs": [{"field": "last_name"}],
            "outputs": [],
        },
        {
            "name": "create",
            "description": "creating unique id from the name field",
            "inputs": [{"field": {"name": "name"}}],
            "outputs": [{"name": "id", "type": "string"}],
        },
    ],
}
