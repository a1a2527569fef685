"""`fll mcp`: queries as tools of an assistant, over standard input and output."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial

import click

from fll_hbase.cli import groups
from fll_hbase.cli.options import Target, open_remote, query_read_seconds, target_options
from fll_hbase.runtime import config


@groups.command(
    "fll mcp --server https://lineage.example.com", "fll mcp --store sqlite:///data/field_level_lineage.db"
)
@click.option("--write", is_flag=True, help="Also offer a tool that records runs.")
@target_options
def mcp(*, write: bool, target: Target) -> None:
    """Serve queries as tools of an assistant (MCP), on standard input and output.

    An assistant such as Claude, Cursor or VS Code starts this command and calls one tool for each query.
    FLL_TOKEN is sent to a server. Answers have at most FLL_MCP_BYTES_MAX bytes. A server offers the same
    tools at `POST /mcp`.
    """
    # Imported here, because the SDK is an extra, and takes longer to import than most commands.
    from fll_hbase.client.opening import open_client
    from fll_hbase.mcp.stdio import serve

    settings = config.from_environment(store=target.store)
    limited = partial(
        serve, can_record=write, bytes_max=settings.mcp_bytes_max, seconds=query_read_seconds(settings)
    )
    server = target.server_of(settings)
    if server is not None:
        # Each call has its own session, because threads may use a session only one at a time.
        limited(lambda: open_remote(server, settings, is_recording=False))
        return
    with open_client(settings.store, settings=settings, create=False) as client:
        limited(lambda: nullcontext(client))
