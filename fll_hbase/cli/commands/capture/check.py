"""`fll capture check`: whether capture works here, with a real write."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import click

from fll_hbase.capture.capture_settings import CaptureSettings, read_settings
from fll_hbase.capture.plan_spool import open_plan_spool
from fll_hbase.cli import groups
from fll_hbase.cli.error_output import FAILURE
from fll_hbase.cli.options import NAMESPACE, QUERY_TIMEOUT_SECONDS, SPOOL, query_read_seconds
from fll_hbase.client.remote.http_session import HttpSession
from fll_hbase.client.remote.remote_client import HttpClient
from fll_hbase.runtime import config
from fll_hbase.runtime.errors import LineageError
from fll_hbase.runtime.escape import escape_control

SPARK_SECONDS_MAX = 180.0


@groups.command("fll capture check --server http://lineage:8080 --namespace shop")
@click.option("--server", metavar="URL", help="URL of the server (default: FLL_CAPTURE_URL).")
@click.option("--namespace", type=NAMESPACE, help="Namespace of the jobs (default: FLL_CAPTURE_NAMESPACE).")
@click.option("--spool", metavar="DIR", type=SPOOL, help="Directory of plans (default: FLL_CAPTURE_SPOOL).")
def check(*, server: str | None, namespace: str | None, spool: Path | None) -> None:
    """Check the settings, the spool, the server and its token, and Spark with a write that is recorded.

    The write belongs to a job `fll capture check`, and goes to a temporary directory. The exit code is 1 if
    any part fails.
    """
    arguments = {
        "capture_url": server,
        "capture_namespace": namespace,
        "capture_spool": str(spool) if spool else None,
    }
    settings = read_settings(arguments, lambda _: None)
    if settings is None:
        raise click.UsageError("no server: give --server, or set FLL_CAPTURE_URL.")
    results = [_check_spool(settings), _check_server(settings)]
    if all(results):
        results.append(_check_spark(settings))
    if not all(results):
        click.get_current_context().exit(FAILURE)


def _check_spool(settings: CaptureSettings) -> bool:
    """Print whether the spool can be opened, with its refused files; return whether it can."""
    try:
        spool = open_plan_spool(settings.spool)
        refused = len(spool.refused())
    except LineageError as error:
        return _report("spool", str(error), passed=False)
    files = "1 file" if refused == 1 else f"{refused:,} files"
    advice = f"; {files} of refused events" if refused else ""
    return _report("spool", f"{spool.path} can be written{advice}", passed=True)


def _check_server(settings: CaptureSettings) -> bool:
    """Send an empty list of events to the server; print and return whether the server accepts it."""
    try:
        with closing(HttpSession(settings.url, **_waits(), token=settings.token)) as session:
            session.record_events([])
    except LineageError as error:
        return _report("server", str(error), passed=False)
    token = "accepts FLL_TOKEN" if settings.token else "needs no token"
    return _report("server", f"{settings.destination} accepts events and {token}", passed=True)


def _check_spark(settings: CaptureSettings) -> bool:
    """Run the small job in its own process, print how it and its write went; return whether both passed."""
    with tempfile.TemporaryDirectory(prefix="fll-capture-") as directory:
        environment = {
            **os.environ,
            "FLL_CAPTURE_URL": settings.url,
            "FLL_CAPTURE_NAMESPACE": settings.namespace,
            "FLL_CAPTURE_SPOOL": str(settings.spool),
        }
        command = [sys.executable, "-m", "fll_hbase.capture.probe", directory]
        try:
            done = subprocess.run(  # noqa: S603 (this Python, and a module of this package)
                command,
                env=environment,
                capture_output=True,
                text=True,
                timeout=SPARK_SECONDS_MAX,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return _report("Spark", f"the job did not end within {SPARK_SECONDS_MAX:.0f} s", passed=False)
        if done.returncode:
            return _report("Spark", _last_line(done.stderr), passed=False)
        outcome = json.loads(done.stdout)
        if not outcome["captured"]:
            return _report("Spark", f"{outcome['spark']}: {_last_line(done.stderr)}", passed=False)
        _report("Spark", f"{outcome['spark']} accepts the listener", passed=True)
        if not outcome["recorded"]:
            return _report("write", _last_line(done.stderr), passed=False)
        return _check_lineage(settings, str(Path(directory).resolve()))


def _check_lineage(settings: CaptureSettings, directory: str) -> bool:
    """Print and return whether the server has the lineage of the write."""
    try:
        with closing(HttpClient(settings.url, **_waits(), token=settings.token)) as client:
            answer = client.lineage("file", f"{directory}/target", direction="backward")
    except LineageError as error:
        return _report("write", f"recorded, but not shown: {error}", passed=False)
    pairs = [f"{row['sourceField']} -> {row['destinationField']}" for row in answer]
    return _report("write", f"recorded: {', '.join(pairs)}", passed=bool(pairs))


def _waits() -> dict[str, float]:
    """Return, as arguments of a client, how long requests are retried and how long each waits for data."""
    read_seconds = query_read_seconds(config.from_environment())
    return {"timeout_seconds": QUERY_TIMEOUT_SECONDS, "read_seconds": read_seconds}


def _last_line(text: str) -> str:
    """Return the last line of a text that is not blank, or a phrase if there is none."""
    return (text.strip().splitlines() or ["no reason was given"])[-1]


def _report(part: str, text: str, *, passed: bool) -> bool:
    """Print whether a part passed, escaped for a terminal; return `passed`."""
    click.echo(escape_control(f"{'ok    ' if passed else 'FAULT '} {part}: {text}"))
    return passed
