"""`fll capture run` and `hook`: capture in one program, or in every process of a Python environment."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from fll_hbase.capture import launch
from fll_hbase.cli import groups
from fll_hbase.cli.options import NAMESPACE, SPOOL
from fll_hbase.runtime.errors import ConfigurationError

SERVER_HELP = "URL of the server (default: FLL_CAPTURE_URL, else FLL_SERVER)."
SPOOL_HELP = "Directory of plans that wait to be sent (default: FLL_CAPTURE_SPOOL)."


@groups.command(
    "fll capture run --server http://lineage:8080 job.py 2026-11-01",
    "fll capture run --server http://lineage:8080 -m package.job",
    "fll capture run spark-submit --master spark://host:7077 job.py",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.option("--server", metavar="URL", help=SERVER_HELP)
@click.option("--namespace", type=NAMESPACE, help="Namespace of the jobs (default: FLL_CAPTURE_NAMESPACE).")
@click.option("--spool", metavar="DIR", type=SPOOL, help=SPOOL_HELP)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def run(*, server: str | None, namespace: str | None, spool: Path | None, command: tuple[str, ...]) -> None:
    """Run COMMAND, a Python program or any other that starts one, and capture its Spark sessions.

    COMMAND replaces this process, so output, signals and exit code are its own. With spark-submit, capture
    works in client mode, where the driver runs on this machine.
    """
    settings = {
        "FLL_CAPTURE_URL": server or os.environ.get("FLL_CAPTURE_URL") or os.environ.get("FLL_SERVER"),
        "FLL_CAPTURE_NAMESPACE": namespace,
        "FLL_CAPTURE_SPOOL": str(spool.absolute()) if spool else None,
    }
    if not settings["FLL_CAPTURE_URL"]:
        raise click.UsageError("no server: give --server, or set FLL_CAPTURE_URL.")
    arguments = launch.command_line(command)
    environment = launch.captured_environment(os.environ, settings)
    sys.stdout.flush()
    try:
        os.execvpe(arguments[0], arguments, environment)  # noqa: S606 (the command of the user)
    except OSError as error:
        raise ConfigurationError(f"{arguments[0]} cannot be run: {error.strerror}") from error


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
