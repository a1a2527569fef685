"""`fll capture hook`: capture in every process of a Python environment."""

from __future__ import annotations

import click

from fll_hbase.capture import launch
from fll_hbase.cli import groups
from fll_hbase.runtime.errors import ConfigurationError


@groups.command(
    "fll capture hook install", "spark-submit --conf spark.fll.capture.url=http://lineage:8080 job.py"
)
@click.argument("action", type=click.Choice(["install", "remove", "status"]))
def hook(*, action: str) -> None:
    """Install or remove the hook of this Python environment, or say whether it is there.

    With it, all Spark sessions are captured whose settings name a server: FLL_CAPTURE_URL, or
    spark.fll.capture.url. Processes without these settings, or without Spark, are as before.
    """
    try:
        if action == "install":
            click.echo(f"installed: {launch.install_hook()}")
        elif action == "remove":
            click.echo("removed" if launch.remove_hook() else "there was no hook")
        else:
            path = launch.hook_path()
            click.echo(f"installed: {path}" if path.exists() else f"not installed: there is no {path}")
    except OSError as error:
        raise ConfigurationError(f"{launch.hook_path()} cannot be changed: {error.strerror}") from error
