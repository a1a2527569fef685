"""Write the pages of docs/reference that the code determines: `python tools/reference_pages.py`.

`commands.md` comes from the command line, `routes.md` from the OpenAPI document, `changelog.md` from
CHANGELOG.md, and `python-api.md` lists what mkdocstrings then fills in from docstrings. A test compares them
with the code; `--update` rewrites them.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from api import create_app
from api.command import main as fll
from fll_hbase import recorder
from fll_hbase.client.connection import Connection
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "reference"

_PROPER = {"cdap": "CDAP", "datahub": "DataHub", "dbt": "dbt", "openlineage": "OpenLineage", "sql": "SQL"}
_METHODS = ("get", "put", "post", "patch", "delete")


def pages() -> dict[str, str]:
    """Return the text of each generated page by its name."""
    writers = {"commands.md": _commands_page, "routes.md": _routes_page, "python-api.md": _python_page}
    written = {name: "\n".join(lines()).rstrip() + "\n" for name, lines in writers.items()}
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    return written | {"changelog.md": changelog.replace("](docs/", "](../")}


def _commands_page() -> Iterator[str]:
    yield "# Commands\n"
    yield "Every command of `fll` with its options, as `--help` prints them."
    yield "[Terminal](../ask/command-line.md) shows how to use them.\n"
    root = click.Context(fll, info_name="fll", **fll.context_settings)
    for title, names in fll._sections.items():
        yield f"## {title}\n"
        for name in names:
            yield from _command(fll.all_commands()[name], name, root)


def _command(command: click.Command, name: str, parent: click.Context) -> Iterator[str]:
    """Yield the section of a command, and for a group the sections of its commands."""
    context = click.Context(command, parent=parent, info_name=name, **command.context_settings)
    yield f"### {context.command_path}\n"
    yield f"```sh\n{context.get_usage().removeprefix('Usage: ')}\n```\n"
    yield _paragraphs(command.help or "")
    options = [item for item in command.get_params(context) if isinstance(item, click.Option)]
    records = [item.get_help_record(context) for item in options if "--help" not in item.opts]
    yield from _table(("option", "meaning"), [(f"`{record[0]}`", record[1]) for record in records if record])
    examples = (command.epilog or "").partition("\n  ")[2]
    if examples:
        lines = [line.strip() for line in examples.splitlines()]
        yield "```sh\n" + "\n".join(line for line in lines if line) + "\n```\n"
    if isinstance(command, click.Group):
        for child, subcommand in command.all_commands().items():  # type: ignore[attr-defined]
            yield from _command(subcommand, child, context)


def _routes_page() -> Iterator[str]:
    table = open_table("sqlite:///:memory:")
    try:
        document = create_app(LineageStore(table)).test_client().get("/openapi.json").get_json()
    finally:
        table.close()
    yield "# REST routes\n"
    yield "Every route with its parameters. A server has them as an OpenAPI document at `/openapi.json`,"
    yield "and shows them at `/docs`. [REST API](rest.md) has what all routes share, with examples.\n"
    operations = [
        (method, path, item[method], item.get("parameters", []))
        for path, item in document["paths"].items()
        for method in _METHODS
        if method in item
    ]
    for tag in document["tags"]:
        yield f"## {_PROPER.get(tag['name'], tag['name'].capitalize())}\n"
        yield f"{_plain(tag['description'])}.\n"
        for method, path, operation, shared in operations:
            if tag["name"] in operation["tags"]:
                parameters = {item["name"]: item for item in [*shared, *operation["parameters"]]}
                yield from _route(f"{method.upper()} {path}", operation, list(parameters.values()))


def _route(title: str, operation: dict[str, Any], parameters: list[dict[str, Any]]) -> Iterator[str]:
    yield f"### `{title}`\n"
    yield _paragraphs("\n\n".join(filter(None, [operation["summary"], operation.get("description")])))
    yield from _table(
        ("parameter", "in", "type", "meaning"),
        [
            (f"`{item['name']}`", item["in"], _type(item.get("schema", {})), item.get("description", ""))
            for item in parameters
        ],
    )
    bodies = operation.get("requestBody", {}).get("content", {})
    if bodies:
        yield f"Body: {', '.join(f'`{media}`' for media in bodies)}.\n"
    answers = {status: item for status, item in sorted(operation["responses"].items()) if status < "400"}
    yield from _table(
        ("status", "answer", "formats"),
        [
            (
                status,
                item.get("description", ""),
                ", ".join(f"`{media}`" for media in item.get("content", {})),
            )
            for status, item in answers.items()
        ],
    )
    errors = [status for status in sorted(operation["responses"]) if status >= "400"]
    if errors:
        yield f"Errors: {', '.join(errors)}.\n"


def _type(schema: dict[str, Any]) -> str:
    """Return a schema in words: its type, choices, bounds and default."""
    kind = schema.get("type", "string")
    text = " or ".join(kind) if isinstance(kind, list) else kind
    if "enum" in schema:
        text = " or ".join(f"`{value}`" for value in schema["enum"] if value is not None)
    if "maximum" in schema:
        text += f", {schema.get('minimum', 0)} to {schema['maximum']}"
    if schema.get("default") is not None:
        text += f", default `{str(schema['default']).lower()}`"
    return text


def _python_page() -> Iterator[str]:
    yield "# Python API\n"
    yield "Generated from docstrings: the site of `make docs` shows them here."
    yield "[Ask from Python](../ask/python.md) and [record from Python](../record/python.md) have examples.\n"
    yield "## Ask\n"
    yield "::: fll_hbase.client.opening.connect\n"
    yield "::: fll_hbase.client.connection.Connection\n    options: {members: [ask, items, batch, close]}\n"
    yield "::: fll_hbase.client.answers.TypedAnswer\n"
    yield "::: fll_hbase.client.answers.TableAnswer\n"
    yield "## Queries\n"
    yield "Each query is a class, and a method of the client: `client.programs(…)` is"
    yield "`client.ask(Programs(…))`.\n"
    yield from _table(
        ("method", "query"), [(f"`{name}`", f"`{query.__name__}`") for name, query in _queries()]
    )
    for query in dict.fromkeys(query for _, query in _queries()):
        yield f"::: {query.__module__}.{query.__name__}\n    options: {{members: false}}\n"
    yield "## Record\n"
    for name in recorder.__all__:
        yield f"::: fll_hbase.recorder.{name}\n"
    yield "## Errors\n"
    yield "::: fll_hbase.runtime.errors\n    options: {show_root_heading: false}\n"


def _queries() -> Iterator[tuple[str, type]]:
    """Yield the methods of a client that send a query, with the query's class."""
    for name, member in vars(Connection).items():
        query = getattr(member, "_query", None)
        if query is not None:
            yield name, query()


def _table(titles: tuple[str, ...], rows: list[tuple[str, ...]]) -> Iterator[str]:
    """Yield a table of Markdown; nothing for no rows."""
    if rows:
        yield f"| {' | '.join(titles)} |\n|{'---|' * len(titles)}"
        yield from (f"| {' | '.join(_plain(cell) for cell in row)} |" for row in rows)
        yield ""


def _plain(text: str) -> str:
    """Return text as one line of Markdown that does not break a cell of a table."""
    line = " ".join(text.split())
    return re.sub(r"`[^`]*`|[<>|]", lambda match: _escaped(match[0]), line)


def _escaped(text: str) -> str:
    if not text.startswith("`"):
        return "\\" + text
    # A pipe in code also ends a cell. Some renderers would show a backslash before it.
    return text if "|" not in text else f"<code>{html.escape(text[1:-1]).replace('|', '&#124;')}</code>"


def _paragraphs(text: str) -> str:
    """Return a help text or description as paragraphs of Markdown."""
    parts = re.split(r"\n\s*\n", text.replace("\b", "").strip())
    return "".join(f"{_plain(part)}\n\n" for part in parts if part).rstrip("\n") + "\n"


def main() -> None:
    """Write the pages."""
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
