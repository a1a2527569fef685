"""The command `fll`: the commands of fll_hbase.cli, and `serve`."""

from __future__ import annotations

import click

from fll_hbase.cli import main
from fll_hbase.cli.error_output import print_err
from fll_hbase.cli.word_choice import STORE_HELP
from fll_hbase.runtime import config
from fll_hbase.runtime.errors import ConfigurationError

__all__ = ["main"]


# Added to the group here instead of in fll_hbase.cli, because imports only go down and `api` is the top
# layer.
@main.command(
    epilog="""\b
Example:
  fll serve --store sqlite:///data/lineage.db --port 8080 --workers 4
"""
)
@click.option("--store", metavar="URL", help=STORE_HELP)
@click.option("--host", help="Address to listen on (default: FLL_HOST, else 127.0.0.1).")
@click.option(
    "--port", type=click.IntRange(1, 65535), help="Port to listen on (default: FLL_PORT, else 8080)."
)
@click.option(
    "--workers", type=click.IntRange(min=1), help="Worker processes (default: FLL_WORKERS, else 2)."
)
@click.option(
    "--allow-unauthenticated",
    is_flag=True,
    help="Serve without authentication on an address that others can reach"
    " (default: FLL_ALLOW_UNAUTHENTICATED).",
)
def serve(
    *, store: str | None, host: str | None, port: int | None, workers: int | None, allow_unauthenticated: bool
) -> None:
    """Serve the REST API, with its documentation at /docs, until interrupted."""
    # Imported on demand: Flask and gunicorn are an extra, and would slow the start of every other command.
    try:
        from fll_hbase.tables import is_read_only

        from . import server
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"the server needs {error.name}, which is not installed: pip install '.[server]' in the source"
            " tree, or append [server] to the wheel's name"
        ) from error

    settings = config.from_environment(
        store=store,
        host=host,
        port=port,
        workers=workers,
        allow_unauthenticated=allow_unauthenticated or None,
    )
    scheme = "https" if settings.tls_cert else "http"
    verb = "Serving (read-only)" if is_read_only(settings.store) else "Serving"
    message = f"{verb} {settings.store} at {scheme}://{settings.address}/ (the API: /docs)"
    if settings.metrics_host:
        message += f"; metrics at {scheme}://{settings.metrics_address}/metrics"
    server.serve(settings, on_ready=lambda: print_err(message))
