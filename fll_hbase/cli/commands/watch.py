"""`fll watch`: the documents that a server received lately, and what became of them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

import click

from fll_hbase.cli.options import Target, resolve_option, target_options, zone_option
from fll_hbase.cli.render import console
from fll_hbase.cli.word_choice import WordChoice
from fll_hbase.client.connection import Connection
from fll_hbase.queries.server_events import Event, Events
from fll_hbase.runtime.escape import escape_control

PAUSE_SECONDS = 2.0
LIMIT = 1_000
_OUTCOMES = ("accepted", "warned", "refused")


@click.command(
    epilog="""\b
Examples:
  fll watch --server http://localhost:8080
  fll watch --outcome refused --since now-1d --server http://localhost:8080
  fll watch --follow --json --server http://localhost:8080
""",
)
@click.option("--since", metavar="TIME", default="now-1h", show_default=True, help="The earliest arrival.")
@click.option("--outcome", type=WordChoice(_OUTCOMES), default=None, help="Only documents with it.")
@click.option("--follow", is_flag=True, help="Go on with those that arrive, until interrupted.")
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
    """Show what arrived lately: from whom, accepted, with warnings, or refused and why; the oldest first.

    It needs a server, which knows the last documents of each of its processes.
    """
    query = Events(since=resolve_option("since", since), outcome=outcome or "", limit=LIMIT)
    with target.open() as client:
        for event in _events(client, query, follow=follow):
            console.print_json(event) if as_json else click.echo(_line(event))


def _events(client: Connection, query: Events, *, follow: bool) -> Iterator[Event]:
    """Yield the events of a server, each once, oldest first; with `follow` without end."""
    # Documents of one millisecond can arrive after a request about it: the next one is about it again.
    shown: set[Event] = set()
    while True:
        body = client.ask(query).body
        if body.truncated:
            console.print_err(f"fll: not complete: more than {query.limit} documents.")
        events = body.events[::-1]
        yield from (event for event in events if event not in shown)
        if not follow:
            if not events:
                console.print_err(f"fll: nothing arrived since {query.since} ({body.covers}).")
            return
        if events:
            newest_ms = events[-1].time
            shown = {event for event in events if event.time == newest_ms}
            query = replace(query, since=f"{newest_ms // 1000}.{newest_ms % 1000:03}")
        time.sleep(PAUSE_SECONDS)


def _line(event: Event) -> str:
    sender = event.sender or event.client or "-"
    about = " ".join(filter(None, (event.namespace, event.program, event.run)))
    warnings = f", warnings: {event.warnings}" if event.warnings else ""
    line = f"{console.format_time(event.time)}  {event.outcome}{warnings}  {event.route}  {sender}"
    reasons = "".join(f"\n    {escape_control(reason)}" for reason in event.reasons)
    return escape_control(f"{line}  {about}".rstrip()) + reasons
