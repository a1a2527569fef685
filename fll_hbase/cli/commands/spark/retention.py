"""Take away what is too old, and what nothing needs."""

from __future__ import annotations

import json
from math import ceil
from typing import Any, BinaryIO

import click

from fll_hbase import time_window
from fll_hbase.cli.clock import now_ms
from fll_hbase.cli.commands.spark import common
from fll_hbase.cli.options import NAMESPACE
from fll_hbase.config import Settings
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.retention_policy import RetentionPolicy
from fll_hbase.tables import hbase_url


class Moment(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.4
    """A time, given to the command as milliseconds since 1970."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            return ceil(time_window.parse_seconds(str(value), now_ms=now_ms()) * 1000)
        except ValueError as error:
            self.fail(str(error), param, ctx)


MOMENT = Moment()


@click.command(
    epilog="""\b
Examples:
  fll spark retention --dry-run
  fll spark retention --before now-400d
  fll spark retention --before now-30d --namespace scratch
  fll spark retention --policy retention.json
A policy: {"before": "now-400d", "namespaces": {"scratch": "now-30d"},
           "endpoints": [{"namespace": "hr", "name": "people", "before": "now-90d"}]}
""",
)
@click.option("--before", metavar="TIME", type=MOMENT, default=None, help="Runs that started before go.")
@click.option("--namespace", metavar="NS", type=NAMESPACE, default=None, help="Only of end points of NS.")
@click.option("--name", metavar="NAME", default=None, help="Only of this end point of NS.")
@click.option("--policy", type=click.File("rb"), default=None, help="A file of horizons, as JSON.")
@click.option("--dry-run", is_flag=True, help="Tell what would go, and take nothing.")
@common.job_options
def retention(
    *,
    before: int | None,
    namespace: str | None,
    name: str | None,
    policy: BinaryIO | None,
    dry_run: bool,
    settings: Settings,
    master: str,
) -> None:
    """Purge runs that started before a horizon, then sweep what nothing needs any more.

    A run goes when it lies before the horizons of all its end points; until then those beyond theirs lose
    their references to it. Without any horizon it only sweeps. What was put within the last hour or so (the
    grace period) always stays: safe beside running writers.
    """
    if policy is not None and before is not None:
        raise click.UsageError("Give --before or --policy, not both.")
    if (namespace or name) and before is None:
        raise click.UsageError("--namespace and --name go with --before.")
    if name and not namespace:
        raise click.UsageError("--name goes with --namespace.")
    horizons = _policy(policy) if policy is not None else _horizons(before or 0, namespace, name)
    with common.running("retention", master) as spark:
        from fll_hbase.spark.jobs import retention as job

        retained = job.apply_retention(spark, settings, horizons, dry_run=dry_run)
    hint = _compaction(settings.store) if not dry_run and retained.bytes else ""
    common.summary({**retained.summary(), "next": hint}, lambda: f"{retained}\n{hint}".rstrip())


def _horizons(before_ms: int, namespace: str | None, name: str | None) -> RetentionPolicy:
    if namespace and name:
        return RetentionPolicy(datasets_ms={Dataset(namespace, name): before_ms})
    return RetentionPolicy(namespaces_ms={namespace: before_ms}) if namespace else RetentionPolicy(before_ms)


def _policy(file: BinaryIO) -> RetentionPolicy:
    """The horizons of a file. Raises UsageError that names what is wrong."""
    try:
        said = json.load(file)
        unknown = said.keys() - {"before", "namespaces", "endpoints"}
        if unknown:
            raise ValueError(f"unknown members {sorted(unknown)}")
        return RetentionPolicy(
            MOMENT.convert(said.get("before", "0"), None, None),
            {ns: MOMENT.convert(time, None, None) for ns, time in said.get("namespaces", {}).items()},
            {
                Dataset(one["namespace"], one["name"]): MOMENT.convert(one["before"], None, None)
                for one in said.get("endpoints", [])
            },
        )
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise click.UsageError(f"{file.name} is no policy: {error}; --help shows one.") from error


def _compaction(store: str) -> str:
    """What is left to do: HBase frees nothing before a major compaction."""
    if not store.startswith(hbase_url.SCHEME):
        return ""
    table = hbase_url.parse_url(store).table
    return f"HBase frees it with the next major compaction; in its shell: major_compact '{table}'"
