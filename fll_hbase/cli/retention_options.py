"""Options of retention commands, with or without Spark: cut-offs, a policy file, a dry run."""

from __future__ import annotations

import functools
import json
from typing import Any, BinaryIO

import click

from fll_hbase.cli.options import NAME, NAMESPACE, TIME, Command, zone_option
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.retention_policy import RetentionPolicy
from fll_hbase.store.maintenance.retention import RUNS, RetentionReport
from fll_hbase.tables import hbase_url


def policy_options(command: Command) -> Command:
    """Add --before, --namespace, --name, --policy and --timezone, received as `rules`, and --dry-run.

    Without --before and --policy, the rules expire no run. A wrong combination is a UsageError.
    """

    @click.option(
        "--before", "cutoff_ms", metavar="TIME", type=TIME, help="Delete runs that started before TIME."
    )
    @click.option("--namespace", metavar="NS", type=NAMESPACE, help="Only for datasets of NS.")
    @click.option("--name", metavar="NAME", type=NAME, help="Only for this dataset of NS.")
    @click.option("--policy", type=click.File("rb"), help="JSON file with a retention policy.")
    @click.option("--dry-run", is_flag=True, help="Report what would be deleted; delete nothing.")
    @zone_option
    @functools.wraps(command)
    def with_policy(
        *,
        cutoff_ms: int | None,
        namespace: str | None,
        name: str | None,
        policy: BinaryIO | None,
        **others: Any,
    ) -> None:
        # Compared with None, because `--before 0` is a valid cut-off.
        if policy is not None and cutoff_ms is not None:
            raise click.UsageError("Give --before or --policy, not both.")
        if (namespace or name) and cutoff_ms is None:
            raise click.UsageError("--namespace and --name go with --before.")
        if name and not namespace:
            raise click.UsageError("--name goes with --namespace.")
        rules = read_policy(policy) if policy is not None else to_policy(cutoff_ms or 0, namespace, name)
        command(rules=rules, **others)

    return with_policy


def to_policy(before_ms: int, namespace: str | None, name: str | None) -> RetentionPolicy:
    """Return the policy of one cut-off for a dataset, a namespace, or, without a namespace, everything."""
    if namespace and name:
        return RetentionPolicy(datasets_ms={Dataset(namespace, name): before_ms})
    return RetentionPolicy(namespaces_ms={namespace: before_ms}) if namespace else RetentionPolicy(before_ms)


def read_policy(file: BinaryIO) -> RetentionPolicy:
    """Read a JSON policy file, in which absent members set no cut-off. Raises UsageError with the fault."""
    try:
        members = json.load(file)
        # Ignoring a misspelt member could delete nothing, or more than intended.
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


def closing_note(store: str, rules: RetentionPolicy, report: RetentionReport) -> str:
    """Return what a cut-off changes, in a dry run or if no run was deleted, else how to free space, or ""."""
    has_cutoff = rules != RetentionPolicy()
    if report.dry_run:
        text = "Without --dry-run, answers leave out runs before the cut-off at once. This cannot be undone."
        return text if has_cutoff else ""
    if has_cutoff and not report.counts[RUNS]:
        return (
            "Answers leave out runs before the cut-off from now on. Rows younger than the grace period are"
            " deleted by a later job."
        )
    return compaction_hint(store) if report.bytes else ""


def compaction_hint(store: str) -> str:
    """Return a sentence on how to free the space of deleted cells in HBase, or "" for another store."""
    # A delete in HBase only puts a marker. A major compaction removes the cells and the markers.
    if not store.startswith(hbase_url.SCHEME):
        return ""
    table = hbase_url.parse_url(store).table
    return f"HBase frees it with the next major compaction (HBase shell: major_compact '{table}')"
