"""`fll spark retention`: delete expired runs, then collect unreferenced rows."""

from __future__ import annotations

import json
from typing import BinaryIO

import click

from fll_hbase.cli.commands.spark import common
from fll_hbase.cli.options import NAMESPACE
from fll_hbase.cli.time_options import TIME, time_options
from fll_hbase.config import Settings
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.retention_policy import RetentionPolicy
from fll_hbase.store.factory import check_grace
from fll_hbase.tables import hbase_url


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
@click.option(
    "--before",
    "cutoff_ms",
    metavar="TIME",
    type=TIME,
    default=None,
    help="Delete runs that started before TIME.",
)
@click.option("--namespace", metavar="NS", type=NAMESPACE, default=None, help="Only for datasets of NS.")
@click.option("--name", metavar="NAME", default=None, help="Only for this dataset of NS.")
@click.option("--policy", type=click.File("rb"), default=None, help="JSON file with a retention policy.")
@click.option("--dry-run", is_flag=True, help="Report what would be deleted; delete nothing.")
@time_options
@common.job_options
def retention(
    *,
    cutoff_ms: int | None,
    namespace: str | None,
    name: str | None,
    policy: BinaryIO | None,
    dry_run: bool,
    settings: Settings,
    launch: common.LaunchOptions,
) -> None:
    """Delete runs that started before their cut-off, then collect rows that no run references.

    A run is deleted when it started before the cut-offs of all its datasets. If it started before only some
    of these cut-offs, it stays, but the datasets with those cut-offs lose their references to it. Cut-offs
    come from --before or --policy; without either, only unreferenced rows are collected.
    Rows written within the grace period (one hour) always stay: safe while writers run. A shorter one is
    refused while other processes use the store.
    """
    # Compared with None: `--before 0` is a valid cut-off.
    if policy is not None and cutoff_ms is not None:
        raise click.UsageError("Give --before or --policy, not both.")
    if (namespace or name) and cutoff_ms is None:
        raise click.UsageError("--namespace and --name go with --before.")
    if name and not namespace:
        raise click.UsageError("--name goes with --namespace.")
    rules = _read_policy(policy) if policy is not None else _policy(cutoff_ms or 0, namespace, name)
    check_grace(settings)
    with common.spark_job("retention", settings, launch) as spark:
        from fll_hbase.spark.jobs import retention as job

        report = job.apply_retention(spark, settings, rules, dry_run=dry_run)
    hint = _compaction_hint(settings.store) if not dry_run and report.bytes else ""
    members = {**report.summary(), "next": hint}
    common.print_summary(members, lambda: f"{report}\n{hint}".rstrip(), launch.summary)


def _policy(before_ms: int, namespace: str | None, name: str | None) -> RetentionPolicy:
    if namespace and name:
        return RetentionPolicy(datasets_ms={Dataset(namespace, name): before_ms})
    return RetentionPolicy(namespaces_ms={namespace: before_ms}) if namespace else RetentionPolicy(before_ms)


def _read_policy(file: BinaryIO) -> RetentionPolicy:
    """Read a policy file of JSON; absent members set no cut-off. Raises UsageError with what is wrong."""
    try:
        members = json.load(file)
        # A misspelt member would otherwise mean that nothing is deleted, or more than intended.
        unknown = members.keys() - {"before", "namespaces", "endpoints"}
        if unknown:
            raise ValueError(f"unknown members {sorted(unknown)}")
        return RetentionPolicy(
            TIME.convert(members.get("before", "0"), None, None),
            {name: TIME.convert(time, None, None) for name, time in members.get("namespaces", {}).items()},
            {
                Dataset(rule["namespace"], rule["name"]): TIME.convert(rule["before"], None, None)
                for rule in members.get("endpoints", [])
            },
        )
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise click.UsageError(f"{file.name} is not a policy: {error}; --help shows one.") from error


def _compaction_hint(store: str) -> str:
    """Return how to free the space of deleted cells; empty for a store that needs nothing."""
    # A delete in HBase only puts a marker; a major compaction removes the cells and the markers.
    if not store.startswith(hbase_url.SCHEME):
        return ""
    table = hbase_url.parse_url(store).table
    return f"HBase frees it with the next major compaction; in its shell: major_compact '{table}'"
