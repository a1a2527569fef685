"""Every command has help, with examples that are valid commands."""

from __future__ import annotations

import shlex
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from api.command import main
from tests.support.commands import fll

COMMANDS = sorted(main.all_commands())


def test_the_commands_are_these() -> None:
    assert COMMANDS == [
        "capture",
        "config",
        "consumers",
        "dataset",
        "diff",
        "export",
        "field",
        "find",
        "grant",
        "history",
        "impact",
        "lineage",
        "ls",
        "mcp",
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
    for parameter in main.all_commands()[command].params:
        if isinstance(parameter, click.Option):
            assert parameter.help or isinstance(parameter.type, click.Choice), parameter.name


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_every_example_is_a_command(command: str, tmp_path: Path) -> None:
    files = ("run.json", "runs.ndjson.gz", "nightly.sql", "etl.json", "questions.txt")
    for file in (*files, "events.ndjson", "plans.ndjson", "lineage.ndjson", "lineage.csv"):
        (tmp_path / file).touch()
    text = fll(*command.split(), "--help").stdout
    examples = [line.strip() for line in text.partition("Example")[2].splitlines() if "  fll " in line]
    assert examples
    for piped in examples:
        for example in piped.split("|"):
            program, name, *arguments = shlex.split(example, comments=True)
            if program == "hbase":
                continue
            # With the settings of `fll`: a command keeps the names of its help that it had first.
            with click.Context(main, **main.context_settings) as root:
                main.all_commands()[name].make_context(name, arguments, parent=root)
            assert not command or command == name or "|" in piped


def test_the_help_has_every_command_once_in_its_section() -> None:
    lines = fll("--help").stdout.splitlines()
    titles = [line for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert titles == ["Options:", "Record:", "Ask:", "Govern:", "Run:", "Store:"]
    sections = lines[lines.index("Record:") : lines.index("  Examples:")]
    listed = [line.split()[0] for line in sections if line.startswith("  ")]
    assert sorted(listed) == COMMANDS


def _groups() -> list[tuple[str, ...]]:
    groups = [name for name in COMMANDS if isinstance(main.all_commands()[name], click.Group)]
    return [(), *((name,) for name in groups)]


@pytest.mark.parametrize("path", _groups())
def test_no_summary_is_cut(path: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Long summaries are folded; of `fll` itself each summary is one line of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    _, _, summaries = fll(*path, "--help").stdout.partition("-h, --help")
    text, _, _ = summaries.partition("Example")
    assert "..." not in text
    assert all(len(line) <= 80 for line in text.splitlines())
    if not path:
        assert all(len(line) <= 80 for line in summaries.splitlines())
        assert sum(line.startswith("  ") for line in text.rstrip().splitlines()[1:]) == len(COMMANDS)


@pytest.mark.parametrize(
    ("command", "names"),
    [
        (("lineage",), "NS/NAME"),
        (("dataset",), "NS/NAME"),
        (("field",), "NS/NAME.FIELD"),
        (("reach",), "NS/NAME.FIELD"),
        (("history",), "NS/NAME.FIELD"),
        (("report", "consumption"), "NS/NAME.FIELD"),
        (("tag", "set"), "NS/NAME.FIELD TAG"),
        (("tag", "list"), "[NS/NAME[.FIELD]]"),
        (("diff",), "NS/NAME[.FIELD]"),
        (("runs",), "[NS[/NAME]]"),
        (("ls",), "[NS[/NAME]]"),
    ],
)
def test_usages_have_names_as_one_argument(command: tuple[str, ...], names: str) -> None:
    usage = fll(*command, "--help").stdout.splitlines()[0]
    assert usage == f"Usage: fll {' '.join(command)} [OPTIONS] {names}"


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ((), ()),
        (("tag",), ("tag",)),
        (("lineage",), ("lineage",)),
        (("tag", "set"), ("tag", "set")),
    ],
)
def test_help_is_a_command(typed: tuple[str, ...], meant: tuple[str, ...]) -> None:
    assert fll("help", *typed).stdout == fll(*meant, "--help").stdout
    if typed and isinstance(main.all_commands()[typed[0]], click.Group):
        assert fll(typed[0], "help", *typed[1:]).stdout == fll(*meant, "--help").stdout


def test_shells_complete_commands_and_options(monkeypatch: pytest.MonkeyPatch) -> None:
    """As docs/ask/command-line.md says: the script of a shell asks `fll` with the words typed so far."""
    monkeypatch.setenv("_FLL_COMPLETE", "bash_source")
    assert "complete -o nosort -F _fll_completion fll" in _completion()
    monkeypatch.setenv("_FLL_COMPLETE", "bash_complete")
    for words, number, expected in (("fll lin", "1", "lineage"), ("fll report c", "2", "consumption")):
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", number)
        assert _completion() == f"plain,{expected}\n"


def _completion() -> str:
    result = CliRunner().invoke(main, prog_name="fll")
    assert result.exit_code == 0
    return result.stdout
