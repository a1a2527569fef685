"""Every command has help, with examples that are valid commands."""

from __future__ import annotations

import shlex
from pathlib import Path

import click
import pytest

from api.command import main
from tests.support.commands import fll

COMMANDS = sorted(main.commands)


def test_the_commands_are_these() -> None:
    assert COMMANDS == [
        "capture",
        "consumers",
        "dataset",
        "diff",
        "export",
        "field",
        "find",
        "grant",
        "history",
        "lineage",
        "ls",
        "policy",
        "programs",
        "questions",
        "reach",
        "record",
        "replay",
        "report",
        "retention",
        "run",
        "runs",
        "sample",
        "serve",
        "spark",
        "store",
        "table",
        "tag",
        "token",
        "watch",
    ]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_says_what_it_is_for(command: str) -> None:
    for parameter in main.commands[command].params:
        if isinstance(parameter, click.Option):
            assert parameter.help or isinstance(parameter.type, click.Choice), parameter.name


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_every_example_is_a_command(command: str, tmp_path: Path) -> None:
    for file in ("run.json", "runs.ndjson.gz", "nightly.sql", "etl.json", "questions.txt"):
        (tmp_path / file).touch()
    text = fll(*command.split(), "--help").stdout
    examples = [line.strip() for line in text.partition("Example")[2].splitlines() if "  fll " in line]
    assert examples
    for piped in examples:
        for example in piped.split("|"):
            program, name, *arguments = shlex.split(example)
            if program == "hbase":
                continue
            main.commands[name].make_context(name, arguments)
            assert not command or command == name or "|" in piped
