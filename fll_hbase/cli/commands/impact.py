"""`fll impact`: what a change would change, and what is downstream of it, before it is merged."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from fll_hbase.cli import groups
from fll_hbase.cli.error_output import FAILURE, print_err
from fll_hbase.cli.options import (
    NAME,
    NAMESPACE,
    Command,
    Option,
    Target,
    add_options,
    optional_single_field_arguments,
    target_options,
)
from fll_hbase.cli.output import CSV, JSON, TABLE, format_options, print_answer
from fll_hbase.cli.query_options import query_options
from fll_hbase.cli.render.changes import impact_table
from fll_hbase.cli.render.time_text import describe_window
from fll_hbase.cli.run_options import PIPELINE, SQL, file_run
from fll_hbase.cli.word_choice import WordChoice
from fll_hbase.model.content_changes import ChangeKind
from fll_hbase.model.masking import HIDDEN
from fll_hbase.queries.impact.change_impact import FieldChange, Impact, ImpactAnswer
from fll_hbase.queries.time_window import WindowText
from fll_hbase.runtime import config
from fll_hbase.sources.dialect_names import DIALECT_ALIASES, DIALECTS

MARKDOWN = "markdown"
_KINDS = tuple(kind.value for kind in ChangeKind)


class KindList(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.4
    """Kinds of changes, separated by commas."""

    name = "kinds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the kinds. Raises BadParameter for any other word."""
        if not isinstance(value, str):
            return value
        choice = WordChoice(_KINDS)
        return frozenset(choice.convert(word.strip(), param, ctx) for word in value.split(","))


def change_options(command: Command) -> Command:
    """Add the options of a change, unchecked: of a single field, a SQL file, a pipeline or a dbt project."""
    file = click.File("rb")
    folder = click.Path(path_type=Path)
    options: tuple[Option, ...] = (
        click.option("--drop", is_flag=True, help="FIELD goes."),
        click.option("--rename", metavar="TO", type=NAME, help="FIELD gets the name TO."),
        click.option("--type", "new_type", metavar="T", type=NAME, help="FIELD gets the type T."),
        click.option("--dbt", metavar="DIR", type=folder, help="The target folder of a dbt project."),
        click.option("--sql", metavar="FILE", type=file, help="A SQL script."),
        click.option("--pipeline", metavar="FILE", type=file, help="A pipeline config."),
        click.option(
            "--namespace",
            "program_namespace",
            metavar="NS",
            type=NAMESPACE,
            help="Namespace of the programs.",
        ),
        click.option("--dataset-namespace", metavar="NS", help="Of the datasets (default: --namespace)."),
        click.option("--application", metavar="A", type=NAME, help="With --sql or --pipeline."),
        click.option("--program", metavar="P", type=NAME, help="With --sql or --pipeline."),
        click.option("--dialect", type=WordChoice((*DIALECTS, *DIALECT_ALIASES)), help="With --sql."),
        click.option("--catalog", metavar="C", type=NAME, help="With --sql: catalog of names without one."),
        click.option("--schema", metavar="S", type=NAME, help="With --sql: schema of names without one."),
        click.option("--argument", metavar="KEY=VALUE", multiple=True, help="With --pipeline: a macro."),
    )
    return add_options(command, options)


@groups.command(
    "fll impact bank/DailyTransactions.UID --drop --window now-90d",
    "fll impact --dbt target --namespace shop --fail-on removed,retyped",
    "fll impact --sql nightly.sql --namespace shop --application a --program nightly",
)
@optional_single_field_arguments
@change_options
@click.option(
    "--fail-on",
    metavar="KINDS",
    type=KindList(),
    default=frozenset(),
    help=f"Exit code 1 for any of: {', '.join(_KINDS)}.",
)
@query_options(Impact)
@target_options
@format_options(TABLE, JSON, CSV, MARKDOWN)
def impact(
    *,
    namespace: str,
    name: str,
    field: str,
    query: Impact,
    window: WindowText,
    fail_on: frozenset[str],
    target: Target,
    output_format: str,
    **change: Any,
) -> None:
    """Show what a change would change, and what recorded runs made from it. Nothing is stored.

    The change is of one FIELD (--drop, --rename or --type), or in files: --dbt, --sql or --pipeline. Each
    program of the files is compared with its last run of the window. Programs without a run are listed as
    unrecorded, not as unchanged. --format markdown is a comment for a pull request.
    """
    _check(name, field, change)
    if name:
        query = replace(query, fields=(_field_change(namespace, name, field, change),))
    else:
        documents = (_document(change),)
        query = replace(query, namespace=change["program_namespace"], documents=documents)
    with target.open() as client:
        answer = client.ask(query)
    shown = window.answered(answer.window)
    print_answer(
        answer,
        output_format,
        table=lambda: impact_table(answer.body, shown),
        texts={MARKDOWN: partial(_markdown, answer.body, shown)},
    )
    if failed := sorted(fail_on & answer.body.counts.keys(), key=_KINDS.index):
        print_err(f"fll: the change has changes of kind {', '.join(failed)} (--fail-on).")
        click.get_current_context().exit(FAILURE)
    # What a token may not read cannot fail its workflow.
    if fail_on and set(answer.body.truncated_by) - {HIDDEN}:
        print_err("fll: --fail-on needs a complete answer.")
        click.get_current_context().exit(FAILURE)


def _markdown(body: ImpactAnswer, window: WindowText) -> str:
    # Imported here, because other formats do not need it.
    from fll_hbase.queries.impact.markdown import to_markdown

    return to_markdown(body, window=describe_window(window))


def _check(name: str, field: str, change: Mapping[str, Any]) -> None:
    """Raise UsageError unless there is one change with the options that it needs, and no others."""
    kinds = [option for option in ("drop", "rename", "new_type") if change[option]]
    files = [option for option in ("dbt", "sql", "pipeline") if change[option] is not None]
    if bool(name) + len(files) != 1:
        raise click.UsageError("Give one change: FIELD, --dbt, --sql or --pipeline.")
    if name and len(kinds) != 1:
        raise click.UsageError("Give one of --drop, --rename TO and --type T.")
    if files and kinds:
        raise click.UsageError("--drop, --rename and --type need a FIELD.")
    allowed = _OPTIONS[files[0]] if files else ()
    given = [option for option in _FILE_OPTIONS if change[option] and option not in allowed]
    if given:
        raise click.UsageError(f"{', '.join(map(_option, given))}: not for this change.")
    required = ["program_namespace"] + (["application", "program"] if files and files != ["dbt"] else [])
    missing = [option for option in required if files and not change[option]]
    if missing:
        raise click.UsageError(f"--{files[0]} needs {', '.join(map(_option, missing))} too.")


_DATASETS = ("program_namespace", "dataset_namespace")
_PROGRAM = ("application", "program")
_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "dbt": _DATASETS,
    SQL: (*_DATASETS, *_PROGRAM, "dialect", "catalog", "schema"),
    PIPELINE: ("program_namespace", *_PROGRAM, "argument"),
}
"""Options of a change in files, by the option of the file."""

_FILE_OPTIONS = tuple(dict.fromkeys(option for options in _OPTIONS.values() for option in options))


def _option(parameter: str) -> str:
    """Return the option of a parameter."""
    return f"--{parameter.removeprefix('program_').replace('_', '-')}"


def _field_change(namespace: str, name: str, field: str, change: Mapping[str, Any]) -> FieldChange:
    """Return the change of one field."""
    names = {"namespace": namespace, "name": name, "field": field}
    if change["drop"]:
        return FieldChange(**names, change="drop")
    if change["rename"]:
        return FieldChange(**names, change="rename", to=change["rename"])
    return FieldChange(**names, change="type", to=change["new_type"])


def _document(change: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document that would be recorded. Raises UnreadableDocument, TooLarge or UsageError."""
    if change["dbt"] is not None:
        # Imported here, because the other changes need no reader of artifacts.
        from fll_hbase.sources import dbt

        return dbt.read_target(change["dbt"], dataset_namespace=change["dataset_namespace"] or "")
    kind = SQL if change["sql"] is not None else PIPELINE
    run = file_run(kind, change)
    (line,) = run.read(change[kind], bytes_max=config.from_environment().document_bytes_max)
    if line.error is not None:
        raise line.error
    document: dict[str, Any] = json.loads(line.raw)
    return document
