"""`fll policy check`: report new violations of flow policies, once each, for a job that runs now and then."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import BinaryIO
from urllib.parse import quote

import click
from msgspec import to_builtins

from fll_hbase.cli import groups
from fll_hbase.cli.error_output import FAILURE, print_err
from fll_hbase.cli.options import POLICY, TIME, zone_option
from fll_hbase.cli.word_choice import STORE_HELP
from fll_hbase.client.remote.webhook import Webhook
from fll_hbase.model.flow_policy import FlowPolicy
from fll_hbase.queries.flows import flow_policy, violation
from fll_hbase.queries.time_window import iso_text
from fll_hbase.runtime import config
from fll_hbase.runtime.clock import now_ms
from fll_hbase.runtime.escape import escape_control
from fll_hbase.runtime.json_types import Json
from fll_hbase.store.factory import open_store
from fll_hbase.store.flow_check import FlowChecker
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.read.forbidden_flows import FlowReader
from fll_hbase.store.results import Flow

EVENT_TYPE = "fll_hbase.flow.violation"
SECRET_BYTES_MAX = 4_096


@groups.command(
    "fll policy check",
    "fll policy check no-pii-in-marketing --since now-1d",
    "fll policy check --webhook https://alerts.example.org/fll --secret-file secret",
)
@click.argument("policy", metavar="[POLICY]", type=POLICY, required=False)
@click.option(
    "--since",
    "since_ms",
    metavar="TIME",
    type=TIME,
    help="What is new since TIME, if it is before the last check.  [default: the last check]",
)
@click.option("--webhook", "url", metavar="URL", help="Send events to URL instead of standard output.")
@click.option(
    "--secret-file", type=click.File("rb"), help="File with the secret that signs the events of --webhook."
)
@click.option("--store", metavar="URL", help=STORE_HELP)
@zone_option
def check(
    *,
    policy: str | None,
    since_ms: int | None,
    url: str | None,
    secret_file: BinaryIO | None,
    store: str | None,
) -> None:
    """Report violations of POLICY, or of all flow policies, that no earlier check has reported.

    Each violation is one CloudEvent, as a line of JSON or a signed request. Considers all recorded runs, also
    failed ones, whatever their order. A path counts if something in it is new since the last check: recorded
    lineage, a tag, another name of a dataset, or the policy. The first check without --since considers all.
    The exit code is 1 if an event was not delivered, or if a limit cut the check. The next check then repeats
    it, without the violations already reported.
    """
    if (url is None) is not (secret_file is None):
        raise click.UsageError("--webhook and --secret-file go together.")
    settings = config.from_environment(store=store)
    is_complete = True
    with _delivery(url, secret_file) as send, closing(open_store(settings, create=False)) as opened:
        listed = opened.policies.policies() if policy is None else [flow_policy(opened, policy)]
        for item in listed:
            if isinstance(item, FlowPolicy):
                is_complete &= _check(opened, item, send, since_ms)
    if not is_complete:
        click.get_current_context().exit(FAILURE)


def _check(
    store: LineageStore, policy: FlowPolicy, send: Callable[[Json], None], since_ms: int | None
) -> bool:
    """Check a policy, send its new violations and print numbers; return whether no limit cut the check."""
    checker = FlowChecker(store.components, store.table, grace_ms=store.settings.grace_ms)
    result = checker.check(
        policy, lambda event_id, flow: send(event(policy, event_id, flow)), since_ms=since_ms
    )
    contents = "all" if result.contents is None else f"{result.contents:,}"
    line = (
        f"fll: {policy.name}: new violations: {result.reported:,}; contents considered: {contents}; tagged"
        f" fields followed: {result.followed:,}"
    )
    print_err(escape_control(line))
    if FlowReader(store.components).forbids_none(policy):
        print_err(
            escape_control(f"fll: {policy.name}: no recorded dataset matches its patterns: check them.")
        )
    if result.truncated_by:
        print_err(
            f"fll: {escape_control(policy.name)}: not complete. Limits that cut the check:"
            f" {', '.join(result.truncated_by)}. Raise them; the next check looks again."
        )
    return not result.truncated_by


def event(policy: FlowPolicy, event_id: str, flow: Flow) -> Json:
    """Return a violation as a CloudEvent in JSON with this id, the current time and without its programs."""
    body = to_builtins(violation(flow))
    del body["programs"]
    return {
        "specversion": "1.0",
        "id": event_id,
        "source": f"/v3/policies/{quote(policy.name, safe='')}",
        "type": EVENT_TYPE,
        "time": iso_text(now_ms()),
        "datacontenttype": "application/json",
        "data": {"policy": policy.name, "tag": policy.tag, **body},
    }


@contextmanager
def _delivery(url: str | None, secret_file: BinaryIO | None) -> Iterator[Callable[[Json], None]]:
    """Return a context with a function that delivers an event, to a webhook or to standard output.

    Raises ConfigurationError for a URL or secret that a webhook cannot use.
    """
    if url is None or secret_file is None:
        yield _print
        return
    secret = secret_file.read(SECRET_BYTES_MAX).decode(errors="replace").strip()
    with closing(Webhook(url, secret)) as webhook:
        yield webhook.send


def _print(body: Json) -> None:
    """Print an event as a line of JSON; `echo` flushes it."""
    click.echo(json.dumps(body, ensure_ascii=True, separators=(",", ":")))
