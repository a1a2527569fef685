"""Serve the API."""

from __future__ import annotations

from importlib import import_module

import click

from fll_hbase import config
from fll_hbase.cli.options import STORE_HELP
from fll_hbase.cli.render.console import print_err


@click.command(
    epilog="""\b
Example:
  fll serve --store sqlite:///data/lineage.db --port 8080 --workers 4
""",
)
@click.option("--store", metavar="URL", help=STORE_HELP)
@click.option("--host", help="Address to listen on; by default FLL_HOST, else this machine alone.")
@click.option("--port", type=click.IntRange(1, 65535), help="By default FLL_PORT, else 8080.")
@click.option("--workers", type=click.IntRange(min=1), help="Processes; by default FLL_WORKERS, else 2.")
def serve(*, store: str | None, host: str | None, port: int | None, workers: int | None) -> None:
    """Serve the REST API, with its documentation at /docs, until interrupted."""
    settings = config.from_environment(store=store, host=host, port=port, workers=workers)
    told = f"Serving {settings.store} at http://{settings.host}:{settings.port}/docs"
    # api and cli stand side by side and import nothing of each other; this is where one starts the other.
    import_module("api.server").serve(settings, begin=lambda: print_err(told))
