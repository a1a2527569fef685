"""Questions after runs were recorded: commands about them, ready to be pasted."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from fll_hbase.cli import times
from fll_hbase.cli.options import Target, now_ms
from fll_hbase.queries import time_window
from fll_hbase.runtime import config
from fll_hbase.runtime.errors import LineageError
from fll_hbase.runtime.escape import escape_control

if TYPE_CHECKING:
    from fll_hbase.client.connection import Connection


def dataset_question(client: Connection, run: str) -> str:
    """Return the command that shows the lineage of a dataset that a run wrote, or else read.

    Return "" without a dataset, or if the run cannot be read. The window of the command contains the run, and
    is left out if it is the default. This takes one read.
    """
    try:
        details = client.run(run).body
    # The runs are recorded even if they cannot be read: a token may have only the right to record.
    except LineageError:
        return ""
    written = [item for item in details.datasets if item.direction != "forward"] or list(details.datasets)
    if not written:
        return ""
    names = f"{written[0].namespace}/{written[0].name}"
    if not names.isprintable():
        return ""
    window = time_window.parse_window(None, None, now_ms=now_ms())
    if window.start_ms <= details.start_time <= window.stop_ms:
        return f"fll lineage {shlex.quote(names)}"
    zone = times.load_zone(config.from_environment().timezone)
    day = datetime.fromtimestamp(details.start_time / 1000, zone)
    return f"fll lineage {shlex.quote(names)} --window {day:%Y-%m-%d}"


def next_questions(runs: Sequence[str], count: int, question: str, target: Target) -> Iterator[str]:
    """Yield lines with the first ids of `count` runs and commands about the first run, if there are runs."""
    if not runs:
        return
    more = f" and {count - len(runs):,} more" if count > len(runs) else ""
    yield escape_control(f"{'Run' if count == 1 else 'Runs'} {', '.join(runs)}{more}. Ask next:")
    options = {"--store": target.store, "--server": target.server}
    given = "".join(
        f" {name} {shlex.quote(config.without_credentials(value))}"
        for name, value in options.items()
        if value
    )
    for command in filter(None, (f"fll run {shlex.quote(runs[0])}", question)):
        yield f"  {escape_control(command)}{given}"
