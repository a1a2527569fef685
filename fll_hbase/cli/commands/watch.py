"""`fll watch`: the documents that a server received recently, and their outcomes."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote

import click
from msgspec import to_builtins

from fll_hbase.cli import groups
from fll_hbase.cli.error_output import print_err
from fll_hbase.cli.options import Target, resolve_option, target_options, zone_option
from fll_hbase.cli.render import console
from fll_hbase.cli.word_choice import WordChoice
from fll_hbase.queries import name_json
from fll_hbase.queries.query_batch import QUERIES_MAX
from fll_hbase.queries.server_events import Event, Events
from fll_hbase.runtime.escape import escape_control
from fll_hbase.runtime.json_types import Json

if TYPE_CHECKING:
    from fll_hbase.client.connection import Connection

PAUSE_SECONDS = 2.0
LIMIT = 1_000
COLUMNS_MAX = 10
"""Maximum number of printed columns of a dataset. --json has all."""
_OUTCOMES = ("accepted", "warned", "refused")


@groups.command(
    "fll watch --server http://localhost:8080",
    "fll watch --outcome refused --since now-1d --server http://localhost:8080",
    "fll watch --follow --json --server http://localhost:8080",
)
@click.option("--since", metavar="TIME", default="now-1h", show_default=True, help="The earliest arrival.")
@click.option("--outcome", type=WordChoice(_OUTCOMES), help="Only documents with this outcome.")
@click.option("--follow", is_flag=True, help="Keep printing new documents until interrupted.")
@click.option("--json", "as_json", is_flag=True, help="A line of JSON for each document.")
@zone_option
@target_options
def watch(
    *,
    since: str,
    outcome: Literal["accepted", "warned", "refused"] | None,
    follow: bool,
    as_json: bool,
    target: Target,
) -> None:
    """Show recent documents: from whom, accepted, with warnings, or refused and why; the oldest first.

    For each accepted document, show the datasets that its run wrote and read, with their columns as now
    recorded (newest 100 runs). The command needs a server, which keeps the last documents of each of its
    processes.
    """
    query = Events(since=resolve_option("since", since), outcome=outcome or "", limit=LIMIT)
    with target.open() as client:
        for events in _events(client, query, follow=follow):
            datasets = _datasets(client, events)
            for event in events:
                columns = datasets.get((event.namespace, event.run), [])
                if as_json:
                    body: Json = {**to_builtins(event), **({"datasets": columns} if columns else {})}
                    console.print_json(body)
                else:
                    click.echo("\n".join([_line(event), *map(_dataset_line, columns)]))


def _events(client: Connection, query: Events, *, follow: bool) -> Iterator[list[Event]]:
    """Yield lists of new events of a server, oldest first, which may be empty. With `follow`, never end."""
    # Further documents of a millisecond can arrive after a request, so the next request includes it again.
    shown: set[Event] = set()
    while True:
        body = client.ask(query).body
        if body.truncated:
            print_err(f"fll: not complete: more than {query.limit} documents.")
        events = body.events[::-1]
        yield [event for event in events if event not in shown]
        if not follow:
            if not events:
                print_err(f"fll: nothing arrived since {query.since} ({body.covers}).")
            return
        if events:
            newest_ms = events[-1].time
            shown = {event for event in events if event.time == newest_ms}
            query = replace(query, since=f"{newest_ms // 1000}.{newest_ms % 1000:03}")
        time.sleep(PAUSE_SECONDS)


def _datasets(client: Connection, events: Sequence[Event]) -> dict[tuple[str, str], list[Json]]:
    """Return the datasets of the newest runs of events by namespace and run, in one request.

    The newest are at most QUERIES_MAX. Runs of refused documents, and runs that may not be read or that the
    server no longer has, are left out.
    """
    accepted = (event for event in events if event.run and event.outcome != "refused")
    runs = list(dict.fromkeys((event.namespace, event.run) for event in accepted))[-QUERIES_MAX:]
    if not runs:
        return {}
    paths = ["/v3/namespaces/{}/runs/{}".format(*(quote(name, safe="") for name in run)) for run in runs]
    answers = client.batch(*paths).body.answers
    return {
        run: list(_datasets_of(answer.body["operations"]))
        for run, answer in zip(runs, answers, strict=True)
        if answer.status == HTTPStatus.OK
    }


def _datasets_of(operations: Sequence[Json]) -> Iterator[Json]:
    """Yield the datasets that operations write, then the datasets that they read, each with its columns."""
    for direction, dataset, fields in (("writes", "destination", "inputs"), ("reads", "source", "outputs")):
        columns: dict[str, set[str]] = defaultdict(set)
        for operation in operations:
            if dataset in operation:
                # A filter by another dataset is an input of the WRITE, but not a column of the written
                # dataset.
                parts = (part for part in operation.get(fields, ()) if part.get("influence") != "indirect")
                names = {part["name"] for part in parts}
                columns[name_json.text(operation[dataset])] |= names
        for name, names in columns.items():
            yield {"direction": direction, "dataset": name, "columns": sorted(names)}


def _dataset_line(dataset: Json) -> str:
    """Return a dataset as a line with its first COLUMNS_MAX columns."""
    names = dataset["columns"]
    more = f" and {len(names) - COLUMNS_MAX:,} more" if len(names) > COLUMNS_MAX else ""
    shown = ", ".join(names[:COLUMNS_MAX]) or "no column"
    return escape_control(f"    {dataset['direction']} {dataset['dataset']}: {shown}{more}")


def _line(event: Event) -> str:
    """Return an event as a line, and a line for each reason below it."""
    sender = event.sender or event.client or "-"
    about = " ".join(filter(None, (event.namespace, event.program, event.run)))
    warnings = f", warnings: {event.warnings}" if event.warnings else ""
    line = f"{console.format_time(event.time)}  {event.outcome}{warnings}  {event.route}  {sender}"
    reasons = "".join(f"\n    {escape_control(reason)}" for reason in event.reasons)
    return escape_control(f"{line}  {about}".rstrip()) + reasons
