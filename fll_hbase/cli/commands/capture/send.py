"""`fll capture send`: record the plans that wait in a spool of capture."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import click

from fll_hbase.capture.capture_settings import default_spool
from fll_hbase.capture.plan_delivery import PlanDelivery, send_left
from fll_hbase.capture.plan_spool import open_plan_spool
from fll_hbase.cli import groups
from fll_hbase.cli.error_output import FAILURE, print_err
from fll_hbase.cli.options import RECORD_TIMEOUT_SECONDS
from fll_hbase.client.remote.http_session import HttpSession
from fll_hbase.queries.reports.report_document import count_text
from fll_hbase.runtime import config
from fll_hbase.runtime.errors import LineageError
from fll_hbase.runtime.escape import escape_control


@groups.command("fll capture send /var/spool/capture")
@click.argument("directory", metavar="[SPOOL]", required=False, type=click.Path(path_type=Path))
@click.option(
    "--server", metavar="URL", help="Send everything to this server (default: where each plan was to go)."
)
def send(*, directory: Path | None, server: str | None) -> None:
    """Record the plans of applications that ended before their lineage was recorded.

    SPOOL is by default FLL_CAPTURE_SPOOL, else the default directory. Plans of applications that are still
    running are left to them. After an interruption, run the same command again; runs are stored once.
    """
    settings = config.from_environment()
    path = directory or Path(settings.capture_spool or default_spool())
    spool = open_plan_spool(path, create=False)
    deliveries: dict[Path, PlanDelivery] = {}
    # One destination after the other, because each needs its own client.
    for destination in [None] if server else spool.destinations():
        url = server or str(destination)
        with closing(
            HttpSession(url, timeout_seconds=RECORD_TIMEOUT_SECONDS, token=settings.token)
        ) as client:
            try:
                for delivery in send_left(spool, client, destination=destination):
                    deliveries[delivery.plan_file.path] = delivery
            except LineageError as error:
                raise LineageError(f"{error}. So far: {_summary(deliveries)}. Run it again") from error
    click.echo(_summary(deliveries))
    for refused in spool.refused():
        advice = "`fll record` says why, and records them once corrected"
        print_err(escape_control(f"{refused} has events that were refused: {advice}"))
    if any(delivery.refused for delivery in deliveries.values()):
        click.get_current_context().exit(FAILURE)


def _summary(deliveries: Mapping[Path, PlanDelivery]) -> str:
    """Return the numbers of events and applications that were sent, as text."""
    done = deliveries.values()
    left = sum(not delivery.is_complete for delivery in done)
    waiting = f", {left} of them may still be written to and stay" if left else ""
    sent, refused = sum(item.sent for item in done), sum(item.refused for item in done)
    applications = count_text(len(done), "application")
    return f"{count_text(sent, 'event')} recorded, {refused:,} refused, of {applications}{waiting}"
