"""`fll watch`: the documents that a server received lately, and what became of them."""

from __future__ import annotations

import time
from collections.abc import Iterator

import click

from fll_hbase.cli.options import open_target, target_options
from fll_hbase.cli.render import console
from fll_hbase.client.base import LineageClient
from fll_hbase.runtime.escape import escape_control
from fll_hbase.runtime.json_types import Json

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
@click.option("--outcome", type=click.Choice(_OUTCOMES), default=None, help="Only documents with it.")
@click.option("--follow", is_flag=True, help="Go on with those that arrive, until interrupted.")
@click.option("--json", "as_json", is_flag=True, help="A line of JSON for each document.")
@target_options
def watch(
    *, since: str, outcome: str | None, follow: bool, as_json: bool, store: str | None, server: str | None
) -> None:
    """Show what arrived lately: from whom, accepted, with warnings, or refused and why; the oldest first.

    It needs a server, which knows the last documents of each of its processes.
    """
    with open_target(store, server) as client:
        for event in _events(client, since, outcome or "", follow=follow):
            console.print_json(event) if as_json else click.echo(_line(event))


def _events(client: LineageClient, since: str, outcome: str, *, follow: bool) -> Iterator[Json]:
    """Yield the events of a server, each once, oldest first; with `follow` without end."""
    # Documents of one millisecond can arrive after it was asked about: it is asked about again.
    shown: set[str] = set()
    while True:
        answer = client.ask_events(since, outcome=outcome, limit=LIMIT)
        if answer.incomplete:
            console.print_err(f"fll: not complete: {answer.incomplete}.")
        events = answer.body["events"][::-1]
        yield from (event for event in events if str(event) not in shown)
        if not follow:
            if not events:
                console.print_err(f"fll: nothing arrived since {since} ({answer.body['covers']}).")
            return
        if events:
            newest_ms = events[-1]["time"]
            shown = {str(event) for event in events if event["time"] == newest_ms}
            since = f"{newest_ms // 1000}.{newest_ms % 1000:03}"
        time.sleep(PAUSE_SECONDS)


def _line(event: Json) -> str:
    sender = event.get("sender") or event.get("client") or "-"
    about = " ".join(event[name] for name in ("namespace", "program", "run") if name in event)
    warnings = f", warnings: {event['warnings']}" if "warnings" in event else ""
    line = f"{console.format_time(event['time'])}  {event['outcome']}{warnings}  {event['route']}  {sender}"
    reasons = "".join(f"\n    {escape_control(reason)}" for reason in event.get("reasons", ()))
    return escape_control(f"{line}  {about}".rstrip()) + reasons
